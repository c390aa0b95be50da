"""A session's records → its bundle: the same session gives the same document, but for the time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from handrail.contract.canonical import digest
from handrail.contract.ids import BlobRef, RunId, SessionId, WorkflowHash
from handrail.contract.outcome import Json
from handrail.engine.bundles.document import (
    BUNDLE_VERSION,
    INTEGRITY_KIND,
    Bundle,
    BundleEvent,
    BundleSession,
    Integrity,
    KeptText,
    ManifestRecord,
    Producer,
    Salvage,
    integrity_entries,
    name_of,
    snapshot,
)
from handrail.engine.events import (
    EventBody,
    NodeCreated,
    NodeOutputAppended,
    NotesStored,
    RunStarted,
    decode_event,
)


class ProvenRecord(Protocol):
    """A record with its place in the chain."""

    @property
    def index(self) -> int: ...
    @property
    def dedupe_key(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def digest(self) -> str: ...


def bundle_of(
    session_id: SessionId,
    records: Sequence[ProvenRecord],
    contents: Callable[[BlobRef], bytes | None],
    *,
    exported_at: str,
    producer: Producer,
    salvage: Salvage | None = None,
) -> Bundle:
    """The bundle of these records.

    `contents` gives what they name by digest; None, in a salvage, where it is gone.
    """
    gathering = _Gathering(contents)
    manifest = tuple(gathering.attested(record) for record in records)
    session = BundleSession(
        session_id=session_id,
        salvage=salvage,
        events=tuple(_event(record) for record in records),
        manifest=manifest,
        snapshots=dict(sorted(gathering.snapshots.items())),
        pinned_workflows=dict(sorted(gathering.workflows.items())),
        artifacts=dict(sorted(gathering.texts.items())),
    )
    entries = integrity_entries(msgspec.to_builtins(session))
    return Bundle(
        bundle_schema_version=BUNDLE_VERSION,
        bundle_id=name_of(entries),
        exported_at=exported_at,
        producer=producer,
        integrity=Integrity(kind=INTEGRITY_KIND, entries=entries),
        session=session,
    )


class _Gathering:
    """Collects what the events rely on, each thing once."""

    def __init__(self, contents: Callable[[BlobRef], bytes | None]) -> None:
        self._contents = contents
        self._hashes: dict[RunId, WorkflowHash] = {}
        self.snapshots: dict[str, dict[str, Json]] = {}
        self.workflows: dict[str, dict[str, Json]] = {}
        self.texts: dict[str, KeptText] = {}

    def attested(self, record: ProvenRecord) -> ManifestRecord:
        return ManifestRecord(
            event_index=record.index, digest=record.digest, pins=self._pins(decode_event(record.body))
        )

    def _pins(self, event: EventBody) -> tuple[str, ...]:
        pins = pins_of(event, self._hashes)
        match event.data:
            case RunStarted(workflow_hash=workflow_hash):
                content = self._contents(BlobRef(workflow_hash))
                if content is not None:
                    self.workflows[workflow_hash] = msgspec.json.decode(content)
            case NodeCreated(state=state):
                assert event.scope.run_id is not None, "a node belongs to a run"
                self.snapshots[pins[0]] = snapshot(self._hashes[event.scope.run_id], state)
            case NodeOutputAppended(notes=NotesStored(ref=ref)):
                content = self._contents(ref)
                if content is not None:
                    self.texts[ref] = KeptText(media_type="text/markdown", text=content.decode())
            case _:
                pass
        return pins


def pins_of(event: EventBody, hashes: dict[RunId, WorkflowHash]) -> tuple[str, ...]:
    """What one event relies on, by digest. `hashes` is kept up to date: run to workflow."""
    run_id = event.scope.run_id
    match event.data:
        case RunStarted(workflow_hash=workflow_hash):
            assert run_id is not None, "a run that started has an id"
            hashes[run_id] = workflow_hash
            return (workflow_hash,)
        case NodeCreated(state=state):
            assert run_id is not None, "a node belongs to a run"
            return (digest(snapshot(hashes[run_id], state)),)
        case NodeOutputAppended(notes=NotesStored(ref=ref)):
            return (ref,)
        case _:
            return ()


def _event(record: ProvenRecord) -> BundleEvent:
    body = msgspec.json.decode(record.body)
    assert msgspec.json.encode(body) == record.body, "an event survives being read and written"
    return BundleEvent(event_index=record.index, dedupe_key=record.dedupe_key, body=body)
