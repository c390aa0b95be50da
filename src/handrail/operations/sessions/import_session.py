"""`session import`: a session from an exported file.

Gated: everything is checked before anything is written, and all of it is one commit, so a crash leaves
nothing or everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, assert_never

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_USAGE, INVARIANT_VIOLATION
from handrail.contract.disclosure.newest import encoded_size, take_first
from handrail.contract.ids import SessionId, node_tag, session_id_for_bundle
from handrail.contract.json.canonical import chain_digest, digest, genesis
from handrail.contract.outcome import Answer, Fault, Json, Success
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import spell_hidden
from handrail.engine.bundles.reading import ReadBundle, read_bundle
from handrail.engine.events import PlannedEvent, Scope, SessionImported, encode_event
from handrail.engine.reply import ToolCall
from handrail.ports.log import Blob, Committed, Conflict, Draft, Loaded, Replayed
from handrail.projections.overview import session_status
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import call_to_resume, empty_session, healthy_session
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.compiled import CompiledWorkflow, walk_parts

MOST_NAMED = 50
"""Most workflows that a preview names."""
PAGE_BYTES = 24_576
"""Most bytes of the texts of pinned workflows in one preview."""
MOST_OFFSET = 1_000_000
MOST_CHARACTERS = 65_536
"""Most characters of one text that is shown; texts that Handrail compiles are shorter."""
MOST_NAME = 256
_SHOWN_APART = ("id", "kind", "title", "prompt", "body")
ID_SALTS = 100
"""Most sessions that one bundle can become in this store."""
LABEL = "session_imported:"
"""Prefix of the label's dedupe key; the bundle id follows."""


class BundleFile(Input, frozen=True, kw_only=True):
    """The text of a bundle, and its name."""

    source: Annotated[str, Meta(description="Its name, for messages.", max_length=4096)]
    text: Annotated[str, Meta(description="The bundle.")]


class ImportSession(GatedInput, frozen=True, kw_only=True):
    """The bundle, and whether its session keeps its id."""

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
    """The session; `is_imported` is false if the bundle was imported before, and then nothing changes."""

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
    """Whether the same bundle was imported here before, and the session did not change since."""
    has_moved_on: bool = False
    """Whether it was imported and the session changed since; this import then becomes its own session."""


def import_session(rt: WritePorts, request: ImportSession) -> DryRun | Success:
    """Return the preview, or make the import.

    Raise Fault with a BUNDLE_ code, E_CONFIRMATION_REQUIRED or E_CONFLICT.
    """
    _check_part(request)
    bundle = read_bundle(request.bundle.text)
    texts = _texts(bundle, request)
    # The page of a preview is not part of what is confirmed.
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

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write)


def _place(rt: ReadPorts, bundle: ReadBundle, *, is_new: bool) -> _Place:
    """Return the id of the source if it is free, else one that only this bundle leads to."""
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
    """Whether a session came from this bundle, by the key of its label alone.

    This also works for a session that this version cannot read to its end.
    """
    labels = [record.dedupe_key for record in standing.records if record.dedupe_key.startswith(LABEL)]
    return labels[-1:] == [LABEL + bundle.bundle_id]


def _is_untouched(standing: Loaded) -> bool:
    """Whether nothing happened after the import."""
    return standing.records[-1].dedupe_key.startswith(LABEL)


def _has_own_tags(bundle: ReadBundle, session_id: SessionId) -> bool:
    """Whether tokens can distinguish all nodes: under another id, each gets another tag."""
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
    """Return a page of the texts of pinned workflows, if requested; at least one text is always included."""
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
        "last_event_at": bundle.exported_at[:40],  # the same at any time
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


# What the pinned workflows would say to an agent, before a person relies on them


class PinnedWorkflow(Answer, frozen=True, kw_only=True):
    """One workflow that a run is pinned to, by its digests."""

    workflow_id: str
    workflow_hash: str
    texts: int
    prompts_digest: str
    """Digest of the RFC 8785 bytes of the list of all its prompts, in the order of its steps."""


class PinnedText(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The text of one step, function or contract, with hidden characters spelled out."""

    workflow_id: str
    kind: str
    id: str
    title: str = ""
    prompt_digest: str = ""
    """Digest of its UTF-8 bytes as they are pinned."""
    prompt: str = ""
    is_cut: bool = False
    """Whether the text is shortened, because an answer is limited; the digest is of the whole."""
    more: dict[str, Any] = {}
    """Everything of a compiled step except its prompt."""


def _pinned_texts(workflows: Mapping[str, CompiledWorkflow]) -> Iterator[PinnedText]:
    """Yield every text, by workflow: steps in their order, then functions and contracts by name."""
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


OPERATION = Operation(
    name="session.import",
    effect="gated",
    summary="Import a session from a bundle, with its own id or as a new session.",
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
