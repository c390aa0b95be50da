"""A bundle's text → a session that is proven whole and can be continued, or one named trouble. Pure.

Order: size and width before parsing, depth while parsing, then shape (all in `walk_bundle`), digests, chain,
and what the events mean. Nothing is returned before everything holds.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from handrail.contract.catalogue import BUNDLE_INTEGRITY_FAILED, REQUEST_TOO_LARGE
from handrail.contract.ids import BlobRef, BundleId, RunId, SessionId, WorkflowHash, blob_ref, is_session_id
from handrail.contract.json.canonical import canonical_bytes, chain_digest, genesis
from handrail.contract.json.strict import decode_json_at, has_half_escapes, utf8_text
from handrail.contract.json.trouble import explain_broken_syntax, explain_broken_text, explain_refused_text
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
from handrail.engine.bundles.lineage import check_events, check_workflows
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


# A bundle's text → its parts: bounded before it is parsed, walked event by event, digested on the way


# Reading a long JSON text from left to right, item by item, never as one tree
#
# It is as strict as `decode_json`: a key twice, too deep, or broken anywhere is refused with its place.

_SPACE = re.compile(r"[ \t\n\r]*")


class JsonWalk:
    """A place in the text, and how many lists and objects are open around it.

    Everything raises Fault E_VALIDATION or REQUEST_TOO_LARGE for text that is refused.
    """

    def __init__(self, text: str, *, max_depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = self._deepest = 0
        self._max_depth = max_depth
        self._is_suspect = has_half_escapes(text)
        self._skip()

    def is_at(self, opening: str) -> bool:
        """Whether this bracket comes next."""
        return self._text.startswith(opening, self._at)

    def value(self) -> Json:
        """The whole value at this place."""
        value, self._at = decode_json_at(
            self._text,
            self._at,
            depth=self._depth,
            max_depth=self._max_depth,
            is_suspect=self._is_suspect,
        )
        self._skip()
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; after each, the caller reads its value."""
        seen: set[str] = set()
        for _ in self._parts("}"):
            if not self.is_at('"'):
                raise self._broken("Expecting property name enclosed in double quotes")
            place = self._at
            key: str = self.value()
            if key in seen:
                raise explain_broken_text(
                    self._text, place, f"the key {quote(key)} appears twice in one object"
                )
            seen.add(key)
            if not self.is_at(":"):
                raise self._broken("Expecting ':' delimiter")
            self._step()
            yield key

    def items(self) -> Iterator[int]:
        """The places of the list that begins here, from 0; after each, the caller reads its value."""
        return self._parts("]")

    def finish(self) -> None:
        """Nothing more may follow."""
        if self._at < len(self._text):
            raise self._broken("Extra data")
        if self._deepest > self._max_depth:  # of the lists and objects that were entered
            raise explain_refused_text(self._text, self._max_depth)

    def _parts(self, closing: str) -> Iterator[int]:
        self._step()
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        if not self.is_at(closing):
            yield 0
            count = 1
            while self.is_at(","):
                self._step()
                yield count
                count += 1
            if not self.is_at(closing):
                raise self._broken("Expecting ',' delimiter")
        self._depth -= 1
        self._step()

    def _step(self) -> None:
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None, "no space is space, too"
        self._at = space.end()

    def _broken(self, said: str) -> Exception:
        return explain_broken_syntax(self._text, self._at, said)


_T = TypeVar("_T")


# The parts of a bundle


class WalkedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, its body as the store keeps it."""

    event_index: int
    dedupe_key: str
    body: bytes


class WalkedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The document, its two long lists beside it: `bundle.session` has them empty."""

    bundle: Bundle
    events: tuple[WalkedEvent, ...]
    manifest: tuple[ManifestRecord, ...]
    entries: tuple[IntegrityEntry, ...]
    """What the integrity entries must be."""


def walk_bundle(text: str) -> WalkedBundle:
    """The parts of a bundle that is small enough, JSON, and of a shape that this version knows.

    Raises Fault BUNDLE_TOO_LARGE, BUNDLE_INVALID_FORMAT or BUNDLE_UNSUPPORTED_VERSION.
    """
    if len(text) > limits.MOST_BYTES:
        raise too_large_fault("bytes", len(text), limits.MOST_BYTES)
    if (
        limits.estimate_width(text) > limits.MOST_VALUES
        and (width := limits.measure_width(text)) > limits.MOST_VALUES
    ):
        raise too_large_fault("values", width, limits.MOST_VALUES)
    walk = _Walk()
    try:
        walk.through(utf8_text(text, limits.MOST_BYTES))
    except Fault as fault:
        if fault.kind is REQUEST_TOO_LARGE:
            what, measured = fault.details["what"], fault.details["measured"]
            raise too_large_fault(_UNITS[what], measured, fault.details["limit"]) from fault
        if fault.details.get("path"):
            raise
        raise malformed_fault(f"The file is not a bundle. {fault.message}") from fault
    return walk.finished()


_UNITS = {"bytes": "bytes", "depth": "nested levels"}


class _Walk:
    """One walk over the text. A wrong shape is reported last: another version may have another one."""

    def __init__(self) -> None:
        self._document: Json = None
        self._trouble: Fault | None = None
        self._events: list[WalkedEvent] = []
        self._manifest: list[ManifestRecord] = []
        self._digests = {"events": ListDigest(), "manifest": ListDigest()}

    def through(self, text: str) -> None:
        walk = JsonWalk(text, max_depth=limits.MOST_DEPTH)
        if walk.is_at("{"):
            self._document = {}
            for name in walk.members():
                enters = name == "session" and walk.is_at("{")
                self._document[name] = self._session(walk) if enters else walk.value()
        else:
            self._document = walk.value()
        walk.finish()

    def _session(self, walk: JsonWalk) -> dict[str, Json]:
        session: dict[str, Json] = {}
        for name in walk.members():
            if name not in self._digests or not walk.is_at("["):
                session[name] = walk.value()
                continue
            session[name] = []
            for index in walk.items():
                if index == limits.MOST_EVENTS:
                    raise too_large_fault("events", limits.MOST_EVENTS + 1, limits.MOST_EVENTS)
                self._take(name, index, walk.value())
        return session

    def _take(self, name: str, index: int, item: Json) -> None:
        if self._trouble is not None:
            return
        path = f"session/{name}/{index}"
        try:
            self._digests[name].take(item)
        except Fault as fault:
            self._trouble = _without_form(fault)
            return
        try:
            if name == "manifest":
                self._manifest.append(_converted(item, ManifestRecord, path))
                return
            self._events.append(_event_at(item, path))
        except Fault as fault:
            self._trouble = fault

    def finished(self) -> WalkedBundle:
        document = self._document
        if not isinstance(document, dict) or "bundleSchemaVersion" not in document:
            raise malformed_fault(
                "The file is not a bundle: bundleSchemaVersion is missing.", "bundleSchemaVersion"
            )
        _check_version(document["bundleSchemaVersion"])
        bundle = _converted(document, Bundle, "")
        if self._trouble is not None:
            raise self._trouble
        if bundle.session.code and bundle.bundle_schema_version < WITH_CODE_VERSION:
            raise malformed_fault("A bundle of this version carries no code.", "session/code")
        if not is_session_id(bundle.session.session_id):
            raise malformed_fault("The bundle's session id is not valid.", "session/sessionId")
        try:
            entries = integrity_entries(document["session"], self._digests)
        except Fault as fault:
            raise _without_form(fault) from fault
        return WalkedBundle(
            bundle=bundle, events=tuple(self._events), manifest=tuple(self._manifest), entries=entries
        )


def _event_at(item: Json, path: str) -> WalkedEvent:
    event = _converted(item, BundleEvent, path)
    try:
        body = msgspec.json.encode(event.body)
    except (UnicodeEncodeError, OverflowError) as error:
        raise malformed_fault("An event holds a value that cannot be stored.", path) from error
    return WalkedEvent(event_index=event.event_index, dedupe_key=event.dedupe_key, body=body)


def _check_version(version: Json) -> None:
    if type(version) is not int or version < 1:
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
        # msgspec ends its sentences with: at `$.path`.
        _, _, place = str(error).rpartition(" - at `$.")
        where = "/".join(filter(None, (path, place.rstrip("`").replace(".", "/"))))
        raise malformed_fault(f"The bundle has another shape: {quote(str(error))}.", where) from error


def _without_form(fault: Fault) -> Fault:
    return malformed_fault(f"The bundle holds a value without a canonical form. {fault.message}", "session")
