"""What a node takes over from its ancestors, kept up while the log is folded. Pure.

A node without a change of its own shares the value of its parent, so a long run costs no more per step
than a short one. What is added to an older node later does not reach the nodes that already followed it:
their replies stay as they were.
"""

from typing import Any

import msgspec

from handrail.engine.events import Artifact, Preferences
from handrail.engine.reported import LOOP_CONTROL, LoopDecision, read_as
from handrail.engine.state import LoopFrame


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The newest decision about a loop, the frames it was made in, and where it stands in the log."""

    decision: str
    frames: tuple[LoopFrame, ...]
    index: int


class Inherited(msgspec.Struct, frozen=True, kw_only=True):
    """What holds at a node because of its line of ancestors and itself."""

    context: dict[str, Any] = {}
    artifacts: dict[str, dict[str, Any]] = {}
    """The newest validated artifact of each kind."""
    decisions: dict[str, Decided] = {}
    """By loop id; under the empty id, one that named no loop."""
    preferences: Preferences | None = None
    seen: dict[str, str] = {}
    """What was observed on the way, where it differs from the start of the run."""


NOTHING_INHERITED = Inherited()


def with_context(held: Inherited, delta: dict[str, Any]) -> Inherited:
    """A shallow merge in which null deletes."""
    return msgspec.structs.replace(held, context=merged(held.context, delta))


def with_artifact(
    held: Inherited, artifact: Artifact, frames: tuple[LoopFrame, ...], index: int
) -> Inherited:
    """Only what was found valid counts; `frames` are those of the step that delivered it."""
    if not artifact.contract_ref:
        return held
    taken = msgspec.structs.replace(held, artifacts={**held.artifacts, artifact.kind: artifact.body})
    told = read_as(LoopDecision, artifact.body) if artifact.kind == LOOP_CONTROL else None
    if told is None or not frames:
        return taken
    decided = Decided(decision=told.decision, frames=frames, index=index)
    return msgspec.structs.replace(taken, decisions={**held.decisions, told.loop_id: decided})


def with_preferences(held: Inherited, preferences: Preferences) -> Inherited:
    return msgspec.structs.replace(held, preferences=preferences)


def with_seen(held: Inherited, key: str, value: str) -> Inherited:
    return msgspec.structs.replace(held, seen={**held.seen, key: value})


def merged(context: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """Context with a change applied: null deletes, objects and arrays replace."""
    return {key: value for key, value in {**context, **delta}.items() if value is not None}
