"""The closed set of facts in a session log, and how one becomes the bytes of a record. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import AttemptId, BlobRef, NodeId, RunId, WorkflowHash, WorkflowId
from handrail.contract.outcome import Fault
from handrail.contract.vocabulary import ObservationKey, SourceKind
from handrail.engine.state import State

EVENT_VERSION = 1

NodeKind: TypeAlias = Literal["step", "checkpoint"]
EdgeKind: TypeAlias = Literal["acked_step", "checkpoint"]
EdgeCause: TypeAlias = Literal["advance", "non_tip_advance", "checkpoint_created"]


def _kind_of(class_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


class Fact(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    tag=_kind_of,
    omit_defaults=True,
):
    """Shared options of durable facts: immutable, camelCase on the wire, tagged by `kind`."""


class SessionCreated(Fact, frozen=True, kw_only=True):
    """The session exists."""


class ObservationRecorded(Fact, frozen=True, kw_only=True):
    """Something seen around the session that helps to find it again."""

    key: ObservationKey
    value: str
    confidence: Literal["low", "med", "high"] = "high"


class RunStarted(Fact, frozen=True, kw_only=True):
    """A run began and is pinned to this compiled workflow for good."""

    workflow_id: WorkflowId
    workflow_hash: WorkflowHash
    source_kind: SourceKind
    source_ref: str
    input_digest: str


class NodeCreated(Fact, frozen=True, kw_only=True):
    """A durable point of a run. The snapshot is `{v, workflowHash, state}`; its hash is in the run."""

    node_kind: NodeKind
    parent_node_id: NodeId | None = None
    state: State
    attempt_id: AttemptId | None = None
    """Of a checkpoint: the attempt at the parent that made it."""
    input_digest: str | None = None


class EdgeCreated(Fact, frozen=True, kw_only=True):
    """How a node followed from another."""

    edge_kind: EdgeKind
    from_node_id: NodeId
    to_node_id: NodeId
    cause: EdgeCause


class ContextSet(Fact, frozen=True, kw_only=True):
    """External facts that hold from this node on: a shallow merge in which null deletes."""

    context: dict[str, Any]
    source: Literal["initial", "agent_delta"]


class Advanced(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="advanced"):
    """The attempt moved the run on."""

    to_node_id: NodeId


class AdvanceRecorded(Fact, frozen=True, kw_only=True):
    """An attempt was answered. Replay reads this and computes nothing."""

    attempt_id: AttemptId
    input_digest: str
    outcome: Advanced


class NotesKept(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="inline"):
    """Short notes, whole."""

    text: str


class NotesStored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="blob"):
    """Long notes: whole in the blob, and the excerpt that recaps show."""

    excerpt: str
    ref: BlobRef
    size_bytes: int


class NodeOutputAppended(Fact, frozen=True, kw_only=True):
    """What the agent wrote down on the way to this node."""

    output_id: str
    channel: Literal["recap"]
    notes: NotesKept | NotesStored


Event: TypeAlias = (
    SessionCreated
    | ObservationRecorded
    | RunStarted
    | NodeCreated
    | EdgeCreated
    | ContextSet
    | AdvanceRecorded
    | NodeOutputAppended
)
"""The closed set. A kind or version outside it fails fast."""

EVENT_KINDS: tuple[str, ...] = tuple(_kind_of(kind.__name__) for kind in get_args(Event))


class Scope(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an event is about; neither: the session itself."""

    run_id: RunId | None = None
    node_id: NodeId | None = None


class PlannedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a plan: the fact, its scope, and the key under which it can happen only once."""

    dedupe_key: str
    scope: Scope
    data: Event


class EventBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The stored form. Session id, index and event id are said by the record's place in the chain."""

    v: int
    at: str
    scope: Scope
    data: Event


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(EventBody)


def encode_event(planned: PlannedEvent, at: str) -> bytes:
    """The bytes of one event; they never change again."""
    return _ENCODER.encode(EventBody(v=EVENT_VERSION, at=at, scope=planned.scope, data=planned.data))


def decode_event(body: bytes) -> EventBody:
    """The event of attested bytes.

    Raises Fault STORE_UNSUPPORTED_VERSION: the bytes are proven, so a newer version wrote them.
    """
    try:
        event = _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise _written_by_newer(str(error)) from error
    if event.v != EVENT_VERSION:
        raise _written_by_newer(f"event version {event.v}")
    return event


def _written_by_newer(found: str) -> Fault:
    return Fault(
        STORE_UNSUPPORTED_VERSION,
        "The log holds an event that this version does not know.",
        details={"found": found[:200], "supported": EVENT_VERSION},
    )
