"""A bundle's text → a session that is proven whole and can be continued, or one named trouble. Pure.

Order: size and width before parsing, depth while parsing, then shape (all in `parts.py`), digests, chain,
and what the events mean. Nothing is returned before everything holds.
"""

from __future__ import annotations

from base64 import b64decode

import msgspec

from handrail.contract.catalogue import BUNDLE_INTEGRITY_FAILED
from handrail.contract.ids import BlobRef, BundleId, RunId, SessionId, WorkflowHash, blob_ref
from handrail.contract.json.canonical import canonical_bytes, chain_digest, genesis
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.engine.bundles.document import (
    BundleSession,
    altered_fault,
    event_order_fault,
    malformed_fault,
    manifest_order_fault,
    missing_snapshot_fault,
    missing_workflow_fault,
    name_of,
    newer_version_fault,
)
from handrail.engine.bundles.lineage import check_events
from handrail.engine.bundles.parts import WalkedBundle, walk_bundle
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


class ReadBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle in which everything holds."""

    bundle_id: BundleId
    exported_at: str
    session_id: SessionId
    records: tuple[ReadRecord, ...]
    contents: dict[BlobRef, bytes]
    """What the events name by digest: compiled workflows and long notes."""
    workflows: dict[str, CompiledWorkflow]
    """The compiled ones by their hash."""
    history: History


def read_bundle(text: str) -> ReadBundle:
    """The session of a bundle.

    Raises Fault with one of the BUNDLE_ codes.
    """
    walked = walk_bundle(text)
    bundle = walked.bundle
    _check_integrity(walked)
    _check_continuable(bundle.session)
    records = _chained(walked)
    events = [_event(record) for record in records]
    contents = _contents(bundle.session)
    workflows = check_workflows(bundle.session.pinned_workflows)
    check_events(records, events, workflows)
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
    """The events in order, each proven by the manifest record beside it."""
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
    """What is named by digest, as the store keeps it, each under the name it proves to have."""
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
    """Every reference has its target, every target a reference, and the manifest names them all."""
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
        if isinstance(event.data, TreeRecorded):  # nothing relies on it, so it may be absent
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
