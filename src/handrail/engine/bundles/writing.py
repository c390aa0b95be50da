"""A session's records → the bytes of its bundle, in chunks: the same session gives the same bytes. Pure.

Only the time of export differs. The first pass collects the digests and what the events depend on, and
checks the limits. Only then is the first byte written, and writing needs no more memory than a chunk. The
store's own digests prove its contents, so nothing is judged here; an import judges what comes from
elsewhere.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from handrail.contract.ids import BlobRef, RunId, SessionId, WorkflowHash
from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.json.strict import is_deeper
from handrail.contract.outcome import Json
from handrail.engine.bundles import limits
from handrail.engine.bundles.document import (
    BUNDLE_VERSION,
    INTEGRITY_KIND,
    WITH_CODE_VERSION,
    Integrity,
    IntegrityEntry,
    ListDigest,
    Producer,
    Salvage,
    entry_of,
    export_too_large_fault,
    make_snapshot,
    name_of,
)
from handrail.engine.code_trees import tree_refs
from handrail.engine.events import (
    EventBody,
    NodeCreated,
    NodeOutputAppended,
    NotesStored,
    RunStarted,
    TreeRecorded,
    decode_event,
)
from handrail.engine.folding import StoredRecord

_ITEMS = 256
"""Number of events in one chunk."""
_AROUND_BODY, _AROUND_WORKFLOW = 4, 3
"""Number of objects and lists of the document around an event body, and around a workflow."""


class WrittenBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that is ready to be written; `chunks` can be called more than once."""

    bundle_id: str
    event_count: int
    chunks: Callable[[], Iterator[bytes]]


def write_bundle(
    session_id: SessionId,
    records: Sequence[StoredRecord],
    contents: Callable[[BlobRef], bytes | None],
    *,
    exported_at: str,
    producer: Producer,
    salvage: Salvage | None = None,
    code: Callable[[BlobRef], bytes | None] | None = None,
) -> WrittenBundle:
    """Return the bundle of these records.

    `code` returns the lists and packs of the nodes' trees, or None for those that are not included; without
    it, the bundle has none.

    `contents` returns what the records name by digest, or None, in a salvage, for what is lost. A salvage
    is only for reading and has no limits.

    Raise Fault BUNDLE_TOO_LARGE if the bundle exceeds a limit.
    """
    if salvage is None and len(records) > limits.MOST_EVENTS:
        raise export_too_large_fault("events", len(records), limits.MOST_EVENTS)
    gathered = _GatheredRecords(session_id, contents, salvage, code)
    version = BUNDLE_VERSION if code is None else WITH_CODE_VERSION
    for record in records:
        gathered.take(record)
    if salvage is None and gathered.is_too_deep:
        raise export_too_large_fault("nested levels", limits.MOST_DEPTH + 1, limits.MOST_DEPTH)
    entries = gathered.entries()
    head = {
        "bundleSchemaVersion": version,
        "bundleId": name_of(entries, version),
        "exportedAt": exported_at,
        "producer": producer,
        "integrity": Integrity(kind=INTEGRITY_KIND, entries=entries),
    }

    def chunks() -> Iterator[bytes]:
        yield msgspec.json.encode(head)[:-1]
        yield from gathered.chunks(records)

    if salvage is None:
        _check_size(chunks)
    return WrittenBundle(bundle_id=name_of(entries, version), event_count=len(records), chunks=chunks)


class _GatheredRecords:
    """What the events depend on, each once, and the digests of all parts."""

    def __init__(
        self,
        session_id: SessionId,
        contents: Callable[[BlobRef], bytes | None],
        salvage: Salvage | None,
        code: Callable[[BlobRef], bytes | None] | None,
    ) -> None:
        self._contents = contents
        self._code_of = code
        self._code: dict[BlobRef, IntegrityEntry] = {}
        self._own: dict[str, Any] = {"sessionId": session_id}
        if salvage is not None:
            self._own["salvage"] = salvage
        self._hashes: dict[RunId, WorkflowHash] = {}
        self._digests = {"events": ListDigest(), "manifest": ListDigest()}
        self._pins: dict[int, tuple[str, ...]] = {}
        self._texts: dict[BlobRef, IntegrityEntry] = {}
        self.snapshots: dict[str, dict[str, Json]] = {}
        self.workflows: dict[str, dict[str, Json]] = {}
        self.is_too_deep = False

    def take(self, record: StoredRecord) -> None:
        body = msgspec.json.decode(record.body)
        pins = self._relied_on(decode_event(record.body))
        if pins:
            self._pins[record.index] = pins
        self._digests["events"].take(
            {"eventIndex": record.index, "dedupeKey": record.dedupe_key, "body": body}
        )
        self._digests["manifest"].take_canonical(self._proof(record))
        self._look_into(body, record.body, limits.MOST_DEPTH - _AROUND_BODY)

    def entries(self) -> tuple[IntegrityEntry, ...]:
        """Return the integrity entries of every part, by path."""
        entries = [
            entry_of(f"session/{name}", msgspec.to_builtins(part))
            for name, part in {**self._own, "snapshots": self.snapshots}.items()
        ]
        entries += [whole.entry(f"session/{name}") for name, whole in self._digests.items()]
        entries += [entry_of(f"session/pinnedWorkflows/{ref}", flow) for ref, flow in self.workflows.items()]
        entries += [*self._texts.values(), *self._code.values()]
        return tuple(sorted(entries, key=lambda entry: entry.path))

    def chunks(self, records: Sequence[StoredRecord]) -> Iterator[bytes]:
        """Yield the session and the end of the document. Event bodies are the stored bytes."""
        yield b',\n"session":' + msgspec.json.encode(self._own)[:-1]
        yield from _lines(b',"events":[', (_event(record) for record in records), b"]")
        yield from _lines(b',"manifest":[', map(self._proof, records), b"]")
        yield from _lines(b',"snapshots":{', _members(self.snapshots), b"}")
        yield from _lines(b',"pinnedWorkflows":{', _members(self.workflows), b"}")
        if self._code:
            code = (_member(ref, self._encoded(ref)) for ref in sorted(self._code))
            yield from _lines(b',"code":{', code, b"}", most=1)
        texts = (_member(ref, self._kept(ref)) for ref in sorted(self._texts))
        yield from _lines(b',"artifacts":{', texts, b"}}}\n", most=1)

    def _relied_on(self, event: EventBody) -> tuple[str, ...]:
        pins = pins_of(event, self._hashes)
        match event.data:
            case RunStarted():
                for name in pins:
                    self._pin(WorkflowHash(name))
            case NodeCreated(state=state) if pins[0] not in self.snapshots:
                assert event.scope.run_id is not None, "a node belongs to a run"
                self.snapshots[pins[0]] = make_snapshot(self._hashes[event.scope.run_id], state)
            case NodeOutputAppended(notes=NotesStored(ref=ref)) if ref not in self._texts:
                if self._contents(ref) is not None:
                    self._texts[ref] = entry_of(f"session/artifacts/{ref}", self._kept(ref))
            case TreeRecorded() as fact if self._code_of is not None:
                for ref in tree_refs(fact):
                    if ref not in self._code and self._code_of(ref) is not None:
                        self._code[ref] = entry_of(f"session/code/{ref}", self._encoded(ref))
            case _:
                pass
        return pins

    def _pin(self, workflow_hash: WorkflowHash) -> None:
        content = None if workflow_hash in self.workflows else self._contents(BlobRef(workflow_hash))
        if content is not None:
            self.workflows[workflow_hash] = msgspec.json.decode(content)
            flow, limit = self.workflows[workflow_hash], limits.MOST_DEPTH - _AROUND_WORKFLOW
            self._look_into(flow, content, limit)

    def _look_into(self, value: Json, content: bytes, limit: int) -> None:
        if content.count(b"[") + content.count(b"{") > limit and is_deeper(value, limit):
            self.is_too_deep = True

    def _kept(self, ref: BlobRef) -> Json:
        content = self._contents(ref)
        assert content is not None, "what was read once is still there"
        return {"mediaType": "text/markdown", "text": content.decode()}

    def _encoded(self, ref: BlobRef) -> Json:
        content = None if self._code_of is None else self._code_of(ref)
        assert content is not None, "what was read once is still there"
        return b64encode(content).decode()

    def _proof(self, record: StoredRecord) -> bytes:
        """Return the manifest record in RFC 8785 form: digests need no escapes."""
        pins = self._pins.get(record.index)
        if pins is None:
            return b'{"digest":"%b","eventIndex":%d}' % (record.digest.encode(), record.index)
        named = '","'.join(pins).encode()
        return b'{"digest":"%b","eventIndex":%d,"pins":["%b"]}' % (
            record.digest.encode(),
            record.index,
            named,
        )


def pins_of(event: EventBody, hashes: dict[RunId, WorkflowHash]) -> tuple[str, ...]:
    """Return the digests that one event depends on. `hashes` maps each run to its workflow and is kept up
    to date.
    """
    run_id = event.scope.run_id
    match event.data:
        case RunStarted(workflow_hash=workflow_hash, pins=pins):
            assert run_id is not None, "a run that started has an id"
            hashes[run_id] = workflow_hash
            return (workflow_hash, *pins)
        case NodeCreated(state=state):
            assert run_id is not None, "a node belongs to a run"
            return (digest(make_snapshot(hashes[run_id], state)),)
        case NodeOutputAppended(notes=NotesStored(ref=ref)):
            return (ref,)
        case _:
            return ()


def _check_size(chunks: Callable[[], Iterator[bytes]]) -> None:
    size = widest = 0
    for chunk in chunks():
        size += len(chunk)
        widest += limits.estimate_width(chunk)
    if size > limits.MOST_BYTES:
        raise export_too_large_fault("bytes", size, limits.MOST_BYTES)
    if widest <= limits.MOST_VALUES:
        return
    width = sum(limits.measure_width(chunk.decode()) for chunk in chunks())
    if width > limits.MOST_VALUES:
        raise export_too_large_fault("values", width, limits.MOST_VALUES)


def _event(record: StoredRecord) -> bytes:
    key = msgspec.json.encode(record.dedupe_key)
    return b'{"eventIndex":%d,"dedupeKey":%b,"body":%b}' % (record.index, key, record.body)


def _members(parts: Mapping[str, Json]) -> Iterator[bytes]:
    return (_member(ref, parts[ref]) for ref in sorted(parts))


def _member(ref: str, part: Json) -> bytes:
    return b"%b:%b" % (msgspec.json.encode(ref), canonical_bytes(part))


def _lines(opening: bytes, items: Iterator[bytes], closing: bytes, most: int = _ITEMS) -> Iterator[bytes]:
    """Yield a line for each item, with many lines in a chunk."""
    before = opening + b"\n"
    while chunk := b",\n".join(islice(items, most)):
        yield before + chunk
        before = b",\n"
    yield (b"\n" if before == b",\n" else opening) + closing
