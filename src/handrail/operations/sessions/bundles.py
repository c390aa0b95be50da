"""`session.export` and `session.import`: a session as a bundle or a report, and a bundle as a session.

An import is gated: everything is checked before anything is written, and all of it is one commit, so a crash
leaves nothing or everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail import __version__
from handrail.contract.catalogue import E_USAGE, INVARIANT_VIOLATION, SESSION_NOT_HEALTHY
from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import encoded_size, take_first
from handrail.contract.ids import BlobRef, SessionId, node_tag, session_id_for_bundle
from handrail.contract.json.canonical import chain_digest, digest, genesis
from handrail.contract.outcome import Answer, Fault, Json, NextCall, Success
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import spell_hidden
from handrail.engine.bundles.document import Producer, Salvage
from handrail.engine.bundles.reading import ReadBundle, read_bundle
from handrail.engine.bundles.writing import write_bundle
from handrail.engine.events import PlannedEvent, Scope, SessionImported, decode_event, encode_event, is_newer
from handrail.engine.folding import fold
from handrail.engine.reply import ToolCall
from handrail.operations.finding import find_records
from handrail.ports.log import Blob, Committed, Conflict, Draft, Health, Loaded, Record, Replayed
from handrail.projections.overview import session_status
from handrail.projections.report.markdown import markdown_report, report_page
from handrail.projections.report.story import Story
from handrail.runtime.damaged_sessions import read_blob, read_text, refuse_unsound
from handrail.runtime.operation import Chunked, Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import call_to_resume, empty_session, healthy_session, judge_origin
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.compiled import CompiledWorkflow, decode_compiled, walk_parts

ExportedAs: TypeAlias = Literal["bundle", "markdown", "html"]

MEDIA_TYPES: dict[ExportedAs, str] = {
    "bundle": "application/json",
    "markdown": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
PRODUCER = f"handrail {__version__}"


class ExportSession(Input, frozen=True, kw_only=True):
    """Which session, and in which form."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    exported_as: Maybe[
        Annotated[ExportedAs, Meta(description="The form; default bundle, which can be imported.")]
    ] = msgspec.field(default=UNSET, name="as")
    salvage: Maybe[
        Annotated[
            bool, Meta(description="Of a damaged session, export the part that is proven, marked as such.")
        ]
    ] = UNSET

    with_code: Maybe[
        Annotated[
            bool, Meta(description="In a bundle, carry the files of the project that its steps kept, too.")
        ]
    ] = UNSET


class ExportedSession(Answer, frozen=True, kw_only=True):
    """The export. `content` is the bundle itself, or the text of the report; only a bundle has an id."""

    session_id: str
    exported_as: ExportedAs = msgspec.field(name="as")
    media_type: str
    bundle_id: str = ""
    event_count: int
    health: str
    is_salvage: bool
    content: Any = UNSET
    """Left out where it went into a file."""
    path: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET


def export_session(rt: ReadPorts, request: ExportSession) -> ExportedSession:
    """Nothing in it is a token, and nothing names a place on this machine.

    Raises Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY where only a part is proven and no salvage was asked
    for, and a BUNDLE_ code where an import would refuse the bundle.
    """
    exported = export_in_chunks(rt, request)
    content = b"".join(exported.chunks)
    is_bundle = exported.facts["as"] == "bundle"
    return msgspec.convert(
        {**exported.facts, "content": msgspec.json.decode(content) if is_bundle else content.decode()},
        ExportedSession,
    )


def export_in_chunks(rt: ReadPorts, request: ExportSession) -> Chunked:
    """The same without the content, and the content as the bytes of its file.

    Raises what `export_session` raises, before there is a first byte.
    """
    loaded = find_records(rt, request.session_id)
    session_id = SessionId(request.session_id)
    exported_as: ExportedAs = "bundle" if request.exported_as is UNSET else request.exported_as
    match exported_as:
        case "bundle":
            return _bundle(
                rt,
                session_id,
                loaded,
                is_salvage=request.salvage is True,
                with_code=request.with_code is True,
            )
        case "markdown" | "html":
            return _report(rt, session_id, loaded, exported_as)
        case never:
            assert_never(never)


def _bundle(
    rt: ReadPorts, session_id: SessionId, loaded: Loaded, *, is_salvage: bool, with_code: bool
) -> Chunked:
    health = loaded.health
    records = loaded.records
    if is_salvage:
        records, health = _readable(records, health)
    if health.state != "healthy" and not is_salvage:
        raise _not_whole(session_id, loaded)
    is_damaged = health.state != "healthy"

    def content(ref: BlobRef) -> bytes | None:
        return read_blob(rt.log, ref) if is_salvage else rt.log.get_blob(ref)

    written = write_bundle(
        session_id,
        records,
        content,
        exported_at=_as_of(rt, records),
        producer=Producer(name="handrail", version=__version__),
        salvage=Salvage(health=health.state, reason=health.reason) if is_damaged else None,
        code=partial(read_blob, rt.log) if with_code else None,
    )
    facts = _list_facts(session_id, "bundle", health.state if is_damaged else "healthy", written.event_count)
    return Chunked(facts=facts | {"bundle_id": written.bundle_id}, chunks=written.chunks())


def _list_facts(
    session_id: SessionId, exported_as: ExportedAs, health: str, event_count: int
) -> dict[str, Json]:
    return {
        "session_id": session_id,
        "as": exported_as,
        "media_type": MEDIA_TYPES[exported_as],
        "bundle_id": "",
        "event_count": event_count,
        "health": health,
        "is_salvage": health != "healthy",
    }


def _as_of(rt: ReadPorts, records: tuple[Record, ...]) -> str:
    """The time of the newest event: exports of one state are the same bytes, whenever they are made."""
    return decode_event(records[-1].body).at if records else rt.clock.now()


def _readable(records: tuple[Record, ...], health: Health) -> tuple[tuple[Record, ...], Health]:
    """The events that this version can read, from the first one on."""
    for record in records:
        try:
            decode_event(record.body)
        except Fault:
            return records[: record.index], Health(state="unknown_version", reason="unsupported_version")
    return records, health


def _report(
    rt: ReadPorts, session_id: SessionId, loaded: Loaded, exported_as: Literal["markdown", "html"]
) -> Chunked:
    """Of a damaged session, the part that is proven, under a banner that says so."""
    records, health = _readable(loaded.records, loaded.health)
    history = judge_origin(rt.log, fold(session_id, records))
    contents = {
        run.workflow_hash: read_blob(rt.log, BlobRef(run.workflow_hash)) for run in history.runs.values()
    }
    story = Story(
        history=history,
        workflows={ref: decode_compiled(content) for ref, content in contents.items() if content is not None},
        whole_notes=partial(read_text, rt.log),
        health=health.state,
        health_detail=health.detail,
    )
    write = markdown_report if exported_as == "markdown" else report_page
    content = write(story, exported_at=_as_of(rt, records), producer=PRODUCER)
    facts = _list_facts(session_id, exported_as, health.state, len(records))
    return Chunked(facts=facts, chunks=iter((content.encode(),)))


def _not_whole(session_id: SessionId, loaded: Loaded) -> Fault:
    if is_newer(loaded.health.state):
        return refuse_unsound(session_id, loaded.health, loaded.head)
    details: dict[str, Json] = {
        "session_id": session_id,
        "health": loaded.health.state,
        "reason": loaded.health.reason,
        "event_index": loaded.head,
    }
    return Fault(
        SESSION_NOT_HEALTHY,
        f"Session {session_id} is proven only up to event {loaded.head}.",
        details=details,
        hint="A salvage export holds the proven part, to be read, not continued. Make the call offered here.",
        next_call=NextCall(operation="session.export", params={"sessionId": session_id, "salvage": True}),
    )


EXPORT = Operation(
    name="session.export",
    effect="read",
    summary="Export one session as a bundle that can be imported elsewhere, or as a report.",
    input=ExportSession,
    output=ExportedSession,
    perform=export_session,
    chunked=export_in_chunks,
    shape=Shape(
        levels={"minimal": ("session_id", "as", "bundle_id", "event_count", "health", "is_salvage")},
        id_field="session_id",
        drop_order=("content",),
        untrusted=("content",),
    ),
    errors=(
        "SESSION_NOT_FOUND",
        "SESSION_NOT_HEALTHY",
        "STORE_CORRUPT",
        "STORE_UNSUPPORTED_VERSION",
        "BUNDLE_TOO_LARGE",
        "BUNDLE_INVALID_FORMAT",
    ),
)


# A bundle becomes a session of this store


MOST_NAMED = 50
"""Workflows that a preview names."""
PAGE_BYTES = 24_576
"""Of the texts of pinned workflows in one preview."""
MOST_OFFSET = 1_000_000
MOST_CHARACTERS = 65_536
"""Of one text that is shown; what the product compiles is shorter."""
MOST_NAME = 256
_SHOWN_APART = ("id", "kind", "title", "prompt", "body")
ID_SALTS = 100
"""Sessions that one bundle can become here."""
LABEL = "session_imported:"
"""How the dedupe key of the label begins; the bundle id follows."""


class BundleFile(Input, frozen=True, kw_only=True):
    """The text of a bundle and what its caller calls it."""

    source: Annotated[str, Meta(description="Its name, for messages.", max_length=4096)]
    text: Annotated[str, Meta(description="The bundle.")]


class ImportSession(GatedInput, frozen=True, kw_only=True):
    """Which bundle, and whether its session keeps its id."""

    bundle: Annotated[BundleFile, Meta(description="The bundle.")]
    as_new: Maybe[
        Annotated[bool, Meta(description="Give the session a new id even where its own is free.")]
    ] = UNSET
    part: Maybe[
        Annotated[
            Literal["summary", "steps"],
            Meta(description="Of a dry run: steps shows the pinned text of every step; default summary."),
        ]
    ] = UNSET
    offset: Maybe[Annotated[int, Meta(description="Of part steps: texts to skip.", ge=0, le=MOST_OFFSET)]] = (
        UNSET
    )


class ImportedSession(Answer, frozen=True, kw_only=True):
    """The session, and whether this call made it; a bundle that is here already is left as it is."""

    session_id: str
    bundle_id: str
    source_session_id: str
    event_count: int
    run_count: int
    is_imported: bool
    next_call: ToolCall


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the session of a bundle goes."""

    session_id: SessionId
    versions: dict[str, str]
    is_there: bool = False
    """The same bundle was imported here before, and nothing was done there since."""
    has_moved_on: bool = False
    """It was, and work went on there: this import becomes a session of its own."""


def import_session(rt: WritePorts, request: ImportSession) -> DryRun | Success:
    """Show or make the import.

    Raises Fault with a BUNDLE_ code, E_CONFIRMATION_REQUIRED or E_CONFLICT.
    """
    _check_part(request)
    bundle = read_bundle(request.bundle.text)
    texts = _texts(bundle, request)
    # What is shown of a preview is no part of what is confirmed.
    request = msgspec.structs.replace(request, part=UNSET, offset=UNSET)
    file_digest = "sha256:" + hashlib.sha256(request.bundle.text.encode()).hexdigest()

    def resolve() -> Plan[_Place]:
        place = _place(rt, bundle, is_new=request.as_new is True)
        return _plan(bundle, place, _facts(bundle, file_digest) | texts, file_digest)

    def write(place: _Place) -> ImportedSession:
        target = place.session_id
        if not place.is_there:
            _write(rt, bundle, target)
        return ImportedSession(
            session_id=target,
            bundle_id=bundle.bundle_id,
            source_session_id=bundle.session_id,
            event_count=len(bundle.records) + 1,
            run_count=len(bundle.history.runs),
            is_imported=not place.is_there,
            next_call=ToolCall(tool="resume_session", params={"query": target}),
        )

    return preview_or_write(rt, IMPORT, request, workspace="", resolve=resolve, write=write)


def _place(rt: ReadPorts, bundle: ReadBundle, *, is_new: bool) -> _Place:
    """The id of the source if it is free, else one that only this bundle leads to."""
    wanted = [] if is_new else [bundle.session_id]
    has_moved_on = False
    wanted += [session_id_for_bundle(bundle.bundle_id, salt) for salt in range(ID_SALTS)]
    versions: dict[str, str] = {}
    for session_id in wanted:
        standing = rt.log.load(session_id)
        if standing is None and _has_own_tags(bundle, session_id):
            return _Place(
                session_id=session_id,
                versions=versions | {session_id: "absent"},
                has_moved_on=has_moved_on,
            )
        if standing is not None:
            versions[session_id] = standing.records[-1].digest if standing.records else "unproven"
            if not is_new and _came_from(standing, bundle):
                if _is_untouched(standing):
                    return _Place(session_id=session_id, versions=versions, is_there=True)
                has_moved_on = True
    raise Fault(INVARIANT_VIOLATION, "No free session id was found for this bundle.")


def _came_from(standing: Loaded, bundle: ReadBundle) -> bool:
    """Told by the key of its label alone: also of a session that this version cannot read to its end."""
    labels = [record.dedupe_key for record in standing.records if record.dedupe_key.startswith(LABEL)]
    return labels[-1:] == [LABEL + bundle.bundle_id]


def _is_untouched(standing: Loaded) -> bool:
    """Whether the label is the last that happened."""
    return standing.records[-1].dedupe_key.startswith(LABEL)


def _has_own_tags(bundle: ReadBundle, session_id: SessionId) -> bool:
    """Whether tokens can tell all places apart: under another id, each gets another tag."""
    history = bundle.history
    created = {node.index for node in history.nodes.values()}
    created |= {held.index for held in history.session_notes.values()}
    created |= set() if history.opening is None else {history.opening.index}
    reached = genesis(session_id)
    tags = set()
    for record in bundle.records:
        reached = chain_digest(reached, record.dedupe_key, record.body)
        if record.index in created:
            tags.add(node_tag(reached))
    return len(tags) == len(created)


def _check_part(request: ImportSession) -> None:
    if request.part is not UNSET and request.dry_run is not True:
        raise Fault(
            E_USAGE, "--part is for the preview.", details={"usage": "--dry-run --part steps, then --confirm"}
        )
    if request.offset is not UNSET and request.part != "steps":
        raise Fault(E_USAGE, "--offset pages the steps.", details={"usage": "--dry-run --part steps"})


def _texts(bundle: ReadBundle, request: ImportSession) -> dict[str, Json]:
    """A page of what the pinned workflows say, if that was asked for; one text always goes."""
    if request.part != "steps":
        return {}
    texts: list[Json] = [msgspec.to_builtins(text) for text in _pinned_texts(bundle.workflows)]
    offset = 0 if request.offset is UNSET else request.offset
    window = texts[offset:]
    fitting, _ = take_first(window, PAGE_BYTES)
    shown = fitting or window[:1]
    page: dict[str, Json] = {"steps": shown, "steps_total": len(texts)}
    following = offset + len(shown)
    return page | ({"next_offset": following} if following < len(texts) else {})


def _plan(bundle: ReadBundle, place: _Place, facts: dict[str, Json], file_digest: str) -> Plan[_Place]:
    if place.is_there:
        seen = {name: facts[name] for name in ("steps", "steps_total", "next_offset") if name in facts}
        change = Change(action="none", resource="session", id=place.session_id, after=seen or None)
        text = "Nothing: this bundle is imported already."
    else:
        change = Change(action="create", resource="session", id=place.session_id, after=facts)
        text = "One new session; nothing that is stored is changed."
        if place.session_id != bundle.session_id:
            text = f"One new session with a new id; {_why_new(bundle, place)}. Nothing stored is changed."
        text += " No request id leads to it."
    return Plan(
        action="import a session",
        changes=(change,),
        targets=(place.session_id,),
        versions={"bundle": file_digest, **place.versions},
        blast_radius=text,
        found=place,
    )


def _why_new(bundle: ReadBundle, place: _Place) -> str:
    if place.has_moved_on:
        return "this bundle is here already, and work went on there"
    is_taken = bundle.session_id in place.versions
    return f"{bundle.session_id} is {'taken here' if is_taken else 'left free, as asked'}"


def _facts(bundle: ReadBundle, file_digest: str) -> dict[str, Json]:
    history = bundle.history
    return {
        "bundle_id": bundle.bundle_id,
        "digest": file_digest,
        "source_session_id": bundle.session_id,
        "last_event_at": bundle.exported_at[:40],  # the same session makes the same bundle, whenever
        "status": session_status(history),
        "events": len(bundle.records),
        "runs": len(history.runs),
        "nodes": len(history.nodes),
        "workflows": sorted({run.workflow_id for run in history.runs.values()})[:MOST_NAMED],
        "contents": len(bundle.contents),
        "pinned": [
            msgspec.to_builtins(_summary(*one)) for one in sorted(bundle.workflows.items())[:MOST_NAMED]
        ],
    }


def _write(rt: WritePorts, bundle: ReadBundle, target: SessionId) -> None:
    label = SessionImported(
        bundle_id=bundle.bundle_id,
        source_session_id=bundle.session_id,
        source_head=bundle.history.head_digest,
    )
    key = LABEL + bundle.bundle_id
    planned = PlannedEvent(dedupe_key=key, scope=Scope(), data=label)
    drafts = [Draft(dedupe_key=record.dedupe_key, body=record.body) for record in bundle.records]
    drafts.append(Draft(dedupe_key=key, body=encode_event(planned, rt.clock.now(), rt.actor)))
    blobs = [Blob(ref=ref, content=content) for ref, content in bundle.contents.items()]
    with healthy_session(rt, empty_session(target), by_token=False) as (current, witness):
        if current.history.head:
            raise refusal("target_changed")
        match witness.hold.append(0, drafts, blobs):
            case Committed():
                rt.commits.note(call_to_resume(target))
                return
            case Conflict() | Replayed():
                raise refusal("target_changed")
            case never:
                assert_never(never)


# What the pinned workflows would tell an agent, text by text, before anyone relies on it


class PinnedWorkflow(Answer, frozen=True, kw_only=True):
    """One workflow that a run is pinned to, by its digests."""

    workflow_id: str
    workflow_hash: str
    texts: int
    prompts_digest: str
    """Of the RFC 8785 bytes of the list of all its prompts, in the order of its steps."""


class PinnedText(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """One step, function or contract: what it says, with hidden characters spelled out."""

    workflow_id: str
    kind: str
    id: str
    title: str = ""
    prompt_digest: str = ""
    """Of its UTF-8 bytes as they are pinned."""
    prompt: str = ""
    is_cut: bool = False
    """It is longer than an answer may be; the digest is of the whole."""
    more: dict[str, Any] = {}
    """Everything else of a compiled step that is not its prompt."""


def _pinned_texts(workflows: Mapping[str, CompiledWorkflow]) -> Iterator[PinnedText]:
    """Every text, by workflow: steps in their order, then functions and contracts by name."""
    for workflow_hash in sorted(workflows):
        workflow = workflows[workflow_hash]
        name = spell_hidden(workflow.id)
        for part in walk_parts(workflow.steps):
            plain: dict[str, Json] = msgspec.to_builtins(part)
            rest = {key: value for key, value in plain.items() if key not in _SHOWN_APART}
            yield _text(name, plain["kind"], part.id, plain.get("prompt", ""), plain.get("title", ""), rest)
        for function in sorted(workflow.functions):
            yield _text(name, "function", function, workflow.functions[function])
        for contract_id, contract in sorted(workflow.contracts.items()):
            rest = {"artifactKind": contract.artifact_kind, "example": contract.example}
            yield _text(name, "contract", contract_id, contract.guidance, more=rest)


def _text(
    workflow_id: str, kind: str, name: str, prompt: str, title: str = "", more: dict[str, Json] | None = None
) -> PinnedText:
    spelled, others = spell_hidden(prompt[:MOST_CHARACTERS]), _spelled(more or {})
    is_short = len(prompt) <= MOST_CHARACTERS and encoded_size(others) <= MOST_CHARACTERS
    return PinnedText(
        workflow_id=workflow_id[:MOST_NAME],
        kind=kind,
        id=spell_hidden(name[:MOST_NAME]),
        title=spell_hidden(title[:MOST_NAME]),
        prompt_digest="sha256:" + hashlib.sha256(prompt.encode()).hexdigest() if prompt else "",
        prompt=spelled,
        is_cut=not is_short,
        more=others if is_short else {},
    )


def _summary(workflow_hash: str, workflow: CompiledWorkflow) -> PinnedWorkflow:
    prompts = [getattr(part, "prompt", "") for part in walk_parts(workflow.steps)]
    return PinnedWorkflow(
        workflow_id=spell_hidden(workflow.id[:MOST_NAME]),
        workflow_hash=workflow_hash,
        texts=len(prompts) + len(workflow.functions) + len(workflow.contracts),
        prompts_digest=digest(prompts),
    )


def _spelled(value: Any) -> Any:
    match value:
        case str():
            return spell_hidden(value)
        case dict():
            return {spell_hidden(name): _spelled(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_spelled(inner) for inner in value]
        case _:
            return value


IMPORT = Operation(
    name="session.import",
    effect="gated",
    summary="Import the session of a bundle, under its own id or as a new session.",
    input=ImportSession,
    output=ImportedSession,
    perform=import_session,
    errors=(
        "BUNDLE_INVALID_FORMAT",
        "BUNDLE_TOO_LARGE",
        "BUNDLE_UNSUPPORTED_VERSION",
        "BUNDLE_INTEGRITY_FAILED",
        "BUNDLE_MISSING_SNAPSHOT",
        "BUNDLE_MISSING_PINNED_WORKFLOW",
        "BUNDLE_EVENT_ORDER_INVALID",
        "BUNDLE_MANIFEST_ORDER_INVALID",
        "SESSION_LOCKED",
    ),
)
