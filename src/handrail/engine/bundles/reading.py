"""A bundle's text → a session that is proven complete and can be continued, or one named fault. Pure.

Order: size, width and depth before anything is decoded, then shape (all in `walk_bundle`), digests, chain,
and the meaning of the events. Nothing is returned until every check has passed.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from handrail.contract.catalogue import BUNDLE_INTEGRITY_FAILED, E_VALIDATION, REQUEST_TOO_LARGE
from handrail.contract.ids import BlobRef, BundleId, RunId, SessionId, WorkflowHash, blob_ref, is_session_id
from handrail.contract.json.canonical import canonical_bytes, chain_digest, genesis
from handrail.contract.json.numbers import LARGEST_INTEGER
from handrail.contract.json.strict import check_json, utf8_text
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote
from handrail.engine.bundles import limits
from handrail.engine.bundles.document import (
    WITH_CODE_VERSION,
    Bundle,
    BundleEvent,
    BundleSession,
    IntegrityEntry,
    ListDigest,
    ManifestRecord,
    altered_fault,
    event_order_fault,
    integrity_entries,
    malformed_fault,
    manifest_order_fault,
    missing_snapshot_fault,
    missing_workflow_fault,
    name_of,
    newer_version_fault,
    too_large_fault,
)
from handrail.engine.bundles.links import check_links
from handrail.engine.bundles.pinned import check_workflows
from handrail.engine.bundles.writing import pins_of
from handrail.engine.code_trees import tree_refs
from handrail.engine.events import (
    EVENT_VERSION,
    EventBody,
    NodeOutputAppended,
    NotesStored,
    TreeRecorded,
    decode_event,
)
from handrail.engine.folding import fold
from handrail.engine.history import History
from handrail.workflows.compiled import CompiledWorkflow


class ReadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One event with its place in the chain of the source."""

    index: int
    dedupe_key: str
    body: bytes
    digest: str
    is_ours: bool = True
    """Always true: a bundle cannot say who made its events, so the store that imports them decides."""


class ReadBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that passed every check."""

    bundle_id: BundleId
    exported_at: str
    session_id: SessionId
    records: tuple[ReadRecord, ...]
    contents: dict[BlobRef, bytes]
    """Contents that the events name by digest: compiled workflows and long notes."""
    workflows: dict[str, CompiledWorkflow]
    """The compiled workflows by hash."""
    history: History


def read_bundle(text: str) -> ReadBundle:
    """Return the session of a bundle.

    Raise Fault with one of the BUNDLE_ codes if a check fails.
    """
    walked = walk_bundle(text)
    bundle = walked.bundle
    _check_integrity(walked)
    _check_continuable(bundle.session)
    records = _chained(walked)
    events = [_event(record) for record in records]
    contents = _contents(bundle.session)
    workflows = check_workflows(bundle.session.pinned_workflows)
    check_links(records, events, workflows)
    _check_pins(walked, events, contents)
    session_id = SessionId(bundle.session.session_id)
    return ReadBundle(
        bundle_id=BundleId(bundle.bundle_id),
        exported_at=bundle.exported_at,
        session_id=session_id,
        records=records,
        contents=contents,
        workflows=workflows,
        history=fold(session_id, records),
    )


def _check_integrity(walked: WalkedBundle) -> None:
    bundle, found = walked.bundle, walked.entries
    listed = {entry.path: entry for entry in bundle.integrity.entries}
    parts = {entry.path: entry for entry in found}
    if len(listed) != len(bundle.integrity.entries):
        raise malformed_fault(
            "A path is listed twice in the bundle's integrity entries.", "integrity/entries"
        )
    for path in sorted(listed.keys() | parts.keys()):
        if path not in parts:
            raise _lacking(path)
        if listed.get(path) != parts[path]:
            raise altered_fault(f"{quote(path)} is not what the bundle's integrity entries say.", path)
    if tuple(listed.values()) != found or bundle.bundle_id != name_of(found, bundle.bundle_schema_version):
        raise altered_fault(
            "The bundle's id or the order of its entries does not fit its content.", "bundleId"
        )


def _lacking(path: str) -> Fault:
    prefix = "session/pinnedWorkflows/"
    if path.startswith(prefix):
        return missing_workflow_fault(path.removeprefix(prefix))
    return altered_fault(f"The bundle lists {quote(path)} and does not hold it.", path)


def _check_continuable(session: BundleSession) -> None:
    if session.salvage is None:
        return
    raise Fault(
        BUNDLE_INTEGRITY_FAILED,
        f"This is a salvage export: the session was {quote(session.salvage.health)} when it was written, "
        "so it can be read but not continued.",
        details={"path": "session/salvage", "found": session.salvage.reason[:200]},
        hint="Read it as it is, or import an export from before the damage.",
    )


def _chained(walked: WalkedBundle) -> tuple[ReadRecord, ...]:
    """Return the events in order, each proven by the manifest record beside it."""
    if len(walked.manifest) != len(walked.events):
        raise manifest_order_fault("The manifest does not have one record per event.", "session/manifest")
    digest = genesis(walked.bundle.session.session_id)
    records = []
    keys: set[str] = set()
    for index, (event, proof) in enumerate(zip(walked.events, walked.manifest, strict=True)):
        path = f"session/events/{index}"
        if event.event_index != index:
            raise event_order_fault(f"Event {event.event_index} stands at place {index}.", path)
        if proof.event_index != index:
            message = f"The manifest record of event {proof.event_index} stands at place {index}."
            raise manifest_order_fault(message, f"session/manifest/{index}")
        if event.dedupe_key in keys:
            raise event_order_fault(f"Event {index} repeats a fact that stands before it.", path)
        keys.add(event.dedupe_key)
        digest = chain_digest(digest, event.dedupe_key, event.body)
        if proof.digest != digest:
            raise altered_fault(f"Event {index} is not what the manifest says.", path)
        records.append(ReadRecord(index=index, dedupe_key=event.dedupe_key, body=event.body, digest=digest))
    return tuple(records)


def _event(record: ReadRecord) -> EventBody:
    try:
        return decode_event(record.body)
    except Fault as fault:
        path = f"session/events/{record.index}"
        message = f"Event {record.index} is of a kind or version that this version does not know."
        found = str(fault.details["found"])
        raise newer_version_fault(message, path, found=found, supported=EVENT_VERSION) from fault


def _contents(session: BundleSession) -> dict[BlobRef, bytes]:
    """Return the contents that are named by digest, as the store keeps them. Each must have the digest in
    its name.
    """
    held = {f"pinnedWorkflows/{ref}": canonical_bytes(flow) for ref, flow in session.pinned_workflows.items()}
    held |= {f"artifacts/{ref}": kept.text.encode() for ref, kept in session.artifacts.items()}
    held |= {f"code/{ref}": _decoded(ref, encoded) for ref, encoded in session.code.items()}
    contents = {}
    for name, content in held.items():
        if name.partition("/")[2] != blob_ref(content):
            raise altered_fault(
                f"{quote(name)} does not have the content that its name says.", f"session/{name}"
            )
        contents[blob_ref(content)] = content
    return contents


def _decoded(ref: str, encoded: str) -> bytes:
    try:
        return b64decode(encoded, validate=True)
    except ValueError as error:
        raise malformed_fault("Code in the bundle is not base64.", f"session/code/{ref[:80]}") from error


def _check_pins(walked: WalkedBundle, events: list[EventBody], contents: dict[BlobRef, bytes]) -> None:
    """Check that every reference has its target, that every target is referred to, and that the manifest
    lists them all.
    """
    session = walked.bundle.session
    hashes: dict[RunId, WorkflowHash] = {}
    used: set[str] = set()
    for index, event in enumerate(events):
        pins = pins_of(event, hashes)
        if pins != walked.manifest[index].pins:
            raise altered_fault(
                f"The manifest names other contents for event {index}.", f"session/manifest/{index}"
            )
        for pin in pins:
            _check_target(session, event, pin, contents)
        used.update(pins)
    for event in events:
        if isinstance(event.data, TreeRecorded):  # nothing depends on it, so it may be absent
            used.update(tree_refs(event.data))
    unused = sorted({*session.snapshots, *session.pinned_workflows, *session.artifacts, *session.code} - used)
    if unused:
        raise malformed_fault(f"Nothing in the bundle refers to {quote(unused[0])}.", "session")


def _check_target(session: BundleSession, event: EventBody, pin: str, contents: dict[BlobRef, bytes]) -> None:
    match event.data:
        case NodeOutputAppended(notes=NotesStored(excerpt=excerpt, size_bytes=size_bytes)):
            whole = contents.get(BlobRef(pin))
            if whole is None:
                raise altered_fault("The bundle lacks the whole of long notes.", f"session/artifacts/{pin}")
            if size_bytes != len(whole) or not whole.startswith(excerpt.encode()):
                raise altered_fault("Long notes and their excerpt differ.", f"session/artifacts/{pin}")
        case _ if pin in session.pinned_workflows:
            pass
        case _ if pin not in session.snapshots:
            raise missing_snapshot_fault(pin)
        case _:
            _check_snapshot(session, pin)


def _check_snapshot(session: BundleSession, ref: str) -> None:
    if blob_ref(canonical_bytes(session.snapshots[ref])) != ref:
        raise altered_fault("A snapshot is not the position that its name says.", "session/snapshots")


# A bundle's text → its parts: bounded and checked before they are decoded, one event at a time

_T = TypeVar("_T")
_LISTS: tuple[str, ...] = ("events", "manifest")
_UNITS = {"bytes": "bytes", "depth": "nested levels"}


class WalkedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, with its body as the store keeps it."""

    event_index: int
    dedupe_key: str
    body: bytes


class WalkedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The document, with its two long lists apart: in `bundle.session` they are empty."""

    bundle: Bundle
    events: tuple[WalkedEvent, ...]
    manifest: tuple[ManifestRecord, ...]
    entries: tuple[IntegrityEntry, ...]
    """The integrity entries that the document must have."""


def walk_bundle(text: str) -> WalkedBundle:
    """Return the parts of a bundle that is small enough, valid JSON, and of a shape that this version
    knows.

    Raise Fault BUNDLE_TOO_LARGE, BUNDLE_INVALID_FORMAT or BUNDLE_UNSUPPORTED_VERSION if it is not.
    """
    parts = _parts_of(_checked_text(text), "")
    if "bundleSchemaVersion" not in parts:
        raise malformed_fault(
            "The file is not a bundle: bundleSchemaVersion is missing.", "bundleSchemaVersion"
        )
    _check_version(_decode(parts["bundleSchemaVersion"], "bundleSchemaVersion"))
    session = _parts_of(parts.pop("session", b"{}"), "session")
    named = [name for name in _LISTS if name in session]
    lists = {name: _parts_in(session, name) for name in named}
    document = {name: _decode(part, name) for name, part in parts.items()}
    document["session"] = {name: _decode(part, f"session/{name}") for name, part in session.items()}
    bundle = _converted(document, Bundle, "")
    digests = {name: ListDigest() for name in lists}
    try:
        manifest = tuple(_each(lists, "manifest", ManifestRecord, digests))
        events = tuple(map(_event_of, enumerate(_each(lists, "events", BundleEvent, digests))))
        if bundle.session.code and bundle.bundle_schema_version < WITH_CODE_VERSION:
            raise malformed_fault("A bundle of this version carries no code.", "session/code")
        if not is_session_id(bundle.session.session_id):
            raise malformed_fault("The bundle's session id is not valid.", "session/sessionId")
        entries = integrity_entries(document["session"], digests)
    except Fault as fault:
        if fault.kind is not E_VALIDATION:
            raise
        message = f"The bundle holds a value without a canonical form. {fault.message}"
        raise malformed_fault(message, "session") from fault
    return WalkedBundle(bundle=bundle, events=events, manifest=manifest, entries=entries)


def _checked_text(text: str) -> bytes:
    """Return the bytes of a text after checking that it is JSON and within the limits."""
    if len(text) > limits.MOST_BYTES:
        raise too_large_fault("bytes", len(text), limits.MOST_BYTES)
    if (
        limits.estimate_width(text) > limits.MOST_VALUES
        and (width := limits.measure_width(text)) > limits.MOST_VALUES
    ):
        raise too_large_fault("values", width, limits.MOST_VALUES)
    try:
        sound = utf8_text(text, limits.MOST_BYTES)
        check_json(sound, limits.MOST_DEPTH)
    except Fault as fault:
        if fault.kind is REQUEST_TOO_LARGE:
            what, measured = fault.details["what"], fault.details["measured"]
            raise too_large_fault(_UNITS[what], measured, fault.details["limit"]) from fault
        raise malformed_fault(f"The file is not a bundle. {fault.message}") from fault
    return sound.encode()


def _parts_of(content: bytes, path: str) -> dict[str, msgspec.Raw]:
    """Return the members of an object as they are written. The text was checked, so no name occurs twice."""
    parts: dict[str, msgspec.Raw] = _read(content, dict[str, msgspec.Raw], path)
    return parts


def _parts_in(session: dict[str, msgspec.Raw], name: str) -> list[msgspec.Raw]:
    """Return the items of a long list, and empty that list in the session."""
    items: list[msgspec.Raw] = _read(session[name], list[msgspec.Raw], f"session/{name}")
    session[name] = msgspec.Raw(b"[]")
    if len(items) > limits.MOST_EVENTS:
        raise too_large_fault("events", len(items), limits.MOST_EVENTS)
    return items


def _each(
    lists: dict[str, list[msgspec.Raw]], name: str, shape: type[_T], digests: dict[str, ListDigest]
) -> Iterator[_T]:
    """Yield the items of a list one by one, and add each to the digest."""
    for index, part in enumerate(lists[name]):
        path = f"session/{name}/{index}"
        item = _decode(part, path)
        digests[name].take(item)
        yield _converted(item, shape, path)


def _event_of(placed: tuple[int, BundleEvent]) -> WalkedEvent:
    index, event = placed
    try:
        body = msgspec.json.encode(event.body)
    except (UnicodeEncodeError, OverflowError) as error:
        path = f"session/events/{index}"
        raise malformed_fault("An event holds a value that cannot be stored.", path) from error
    return WalkedEvent(event_index=event.event_index, dedupe_key=event.dedupe_key, body=body)


def _decode(content: bytes, path: str) -> Json:
    return _read(content, Any, path)


def _read(content: bytes, shape: Any, path: str) -> Any:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.DecodeError as error:
        raise _misshapen(error, path) from error


def _check_version(version: Json) -> None:
    if type(version) is not int or not 1 <= version <= LARGEST_INTEGER:
        raise malformed_fault("The bundle's version is not a number from 1 on.", "bundleSchemaVersion")
    if version > WITH_CODE_VERSION:
        message = (
            f"The bundle has version {version}; this version of handrail reads up to {WITH_CODE_VERSION}."
        )
        raise newer_version_fault(
            message, "bundleSchemaVersion", found=str(version), supported=WITH_CODE_VERSION
        )


def _converted(value: Json, shape: type[_T], path: str) -> _T:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise _misshapen(error, path) from error


def _misshapen(error: msgspec.DecodeError, path: str) -> Fault:
    # msgspec ends its messages with: at `$.path`.
    _, _, place = str(error).rpartition(" - at `$.")
    where = "/".join(filter(None, (path, place.rstrip("`").replace(".", "/"))))
    return malformed_fault(f"The bundle has another shape: {quote(str(error))}.", where)
