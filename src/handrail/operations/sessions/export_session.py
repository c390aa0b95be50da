"""`session export`: a session as a bundle or a report."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import SESSION_NOT_HEALTHY
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Answer, Fault, Json, NextCall
from handrail.contract.parameters import MintedId
from handrail.engine.bundles.document import Producer, Salvage
from handrail.engine.bundles.writing import write_bundle
from handrail.engine.events import decode_event, is_newer
from handrail.engine.folding import fold
from handrail.operations.finding import find_records
from handrail.ports.log import Health, Loaded, Record
from handrail.projections.report.markdown import markdown_report, report_page
from handrail.projections.report.story import Story
from handrail.runtime.damaged_sessions import read_blob, read_text, refuse_unsound
from handrail.runtime.operation import Chunked, Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import judge_origin
from handrail.version import __version__
from handrail.workflows.compiled import decode_compiled

ExportedAs: TypeAlias = Literal["bundle", "markdown", "html"]

MEDIA_TYPES: dict[ExportedAs, str] = {
    "bundle": "application/json",
    "markdown": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
PRODUCER = f"handrail {__version__}"


class ExportSession(Input, frozen=True, kw_only=True):
    """The session, and the form of the export."""

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
    """Left out if it was written to a file."""
    path: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET


def export_session(rt: ReadPorts, request: ExportSession) -> ExportedSession:
    """Return the export; it has no token, and no path of this machine.

    Raise Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY if only a part is proven and no salvage was requested,
    and BUNDLE_TOO_LARGE.
    """
    exported = export_in_chunks(rt, request)
    content = b"".join(exported.chunks)
    is_bundle = exported.facts["as"] == "bundle"
    return msgspec.convert(
        {**exported.facts, "content": msgspec.json.decode(content) if is_bundle else content.decode()},
        ExportedSession,
    )


def export_in_chunks(rt: ReadPorts, request: ExportSession) -> Chunked:
    """Return the same without the content, and the content as the bytes of its file.

    Raise what `export_session` raises, before there is a first byte.
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
    """Return the time of the newest event: exports of one state have the same bytes at any time."""
    return decode_event(records[-1].body).at if records else rt.clock.now()


def _readable(records: tuple[Record, ...], health: Health) -> tuple[tuple[Record, ...], Health]:
    """Return the events that this version can read, from the first one on."""
    for record in records:
        try:
            decode_event(record.body)
        except Fault:
            return records[: record.index], Health(state="unknown_version", reason="unsupported_version")
    return records, health


def _report(
    rt: ReadPorts, session_id: SessionId, loaded: Loaded, exported_as: Literal["markdown", "html"]
) -> Chunked:
    """Return the report; of a damaged session, the part that is proven, under a banner that says so."""
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


OPERATION = Operation(
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
    ),
)
