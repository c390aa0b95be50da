"""Artifacts whose kind the engine itself reads, each decoded into a closed shape. Pure.

Contracts (workflows/builtins) define what an author may require. This file defines what a run understands
even if the workflow does not require it: a divergence, a gap, an observed capability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from handrail.engine.events import (
    Capability,
    CapabilityProvenance,
    CapabilityStatus,
    DivergenceReason,
    GapSeverity,
)

LOOP_CONTROL = "wr.loop_control"
CAPABILITY_OBSERVATION = "wr.capability_observation"
WORKFLOW_DIVERGENCE = "wr.workflow_divergence"
GAP = "wr.gap"
ASSESSMENT = "wr.assessment"
USER_INPUT = "wr.user_input"
VERIFICATION_REPORT = "wr.verification_report"
DECISION = "wr.decision"
PLAN = "wr.plan"


class ReportedShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Shared options of the shapes: camelCase, unknown members ignored."""


class LoopDecision(ReportedShape, frozen=True, kw_only=True):
    """Whether the loop goes on; without a loop id, it is about the innermost loop."""

    loop_id: str = ""
    decision: Literal["continue", "stop"]


class Observation(ReportedShape, frozen=True, kw_only=True):
    """The result of trying a capability."""

    capability: Capability
    status: CapabilityStatus
    provenance: CapabilityProvenance = "attempted_use"
    summary: str = ""


class Divergence(ReportedShape, frozen=True, kw_only=True):
    """Where and why the agent left the instructions."""

    reason: DivergenceReason
    summary: str
    related_step_id: str = ""


class ReportedGap(ReportedShape, frozen=True, kw_only=True):
    """Something that the agent itself found missing, or an earlier gap that it resolved."""

    severity: GapSeverity = "warning"
    summary: str
    resolves_gap_id: str = ""
    evidence_refs: tuple[str, ...] = ()


class Judgement(ReportedShape, frozen=True, kw_only=True):
    """Levels of an assessment by dimension."""

    assessment_id: str
    dimensions: dict[str, str]
    rationale: str = ""


class UserInput(ReportedShape, frozen=True, kw_only=True):
    """The user's own answer."""

    answer: Any
    given_by: Literal["user"]


Reported = LoopDecision | Observation | Divergence | ReportedGap | Judgement | UserInput

SHAPES: dict[str, type[Reported]] = {
    LOOP_CONTROL: LoopDecision,
    CAPABILITY_OBSERVATION: Observation,
    WORKFLOW_DIVERGENCE: Divergence,
    GAP: ReportedGap,
    ASSESSMENT: Judgement,
    USER_INPUT: UserInput,
}

_R = TypeVar("_R", bound=ReportedShape)


def list_required_members(kind: str) -> tuple[str, ...]:
    """Return the members that a run needs to understand this kind, by their wire names."""
    fields = msgspec.structs.fields(SHAPES[kind])
    return ("kind", *(field.encode_name for field in fields if field.required))


def read_as(shape: type[_R], body: dict[str, Any]) -> _R | None:
    """Return the artifact in this shape, or None if it does not match."""
    try:
        return msgspec.convert(body, shape)
    except msgspec.ValidationError:
        return None


def read_kind(kind: str, body: dict[str, Any]) -> Reported | str | None:
    """Return the artifact in the shape of its kind, or a text that says why it does not match. Return None
    if the engine does not read the kind.
    """
    shape = SHAPES.get(kind)
    try:
        return None if shape is None else msgspec.convert(body, shape)
    except msgspec.ValidationError as error:
        return str(error).replace(" - at `$`", "").replace("`$.", "`")


Misfit: TypeAlias = tuple[str, str]
"""A place of an artifact, and what is wrong there."""


def find_contradictions(kind: str, body: dict[str, Any]) -> list[Misfit]:
    """Return where a well-formed artifact contradicts its own rows.

    A schema checks one member at a time; rules between several members are here, by kind.
    """
    found = _BETWEEN_MEMBERS.get(kind)
    return [] if found is None else found(body)


def _undecided(body: dict[str, Any]) -> list[Misfit]:
    return [*_repeated(body, "options"), *_unknown(body, "options", "/chosen", [body.get("chosen")])]


def _unordered(body: dict[str, Any]) -> list[Misfit]:
    found = _repeated(body, "slices")
    for place, row in enumerate(_rows(body, "slices")):
        at, named = f"/slices/{place}/dependsOn", row.get("dependsOn")
        others = named if isinstance(named, list) else []
        found += [(at, "a slice cannot depend on itself")] if row.get("id") in others else []
        found += _unknown(body, "slices", at, others)
    return found


_BETWEEN_MEMBERS: dict[str, Callable[[dict[str, Any]], list[Misfit]]] = {
    DECISION: _undecided,
    PLAN: _unordered,
}


def _repeated(body: dict[str, Any], rows: str) -> list[Misfit]:
    ids = [row.get("id") for row in _rows(body, rows)]
    places = [place for place, one in enumerate(ids) if one in ids[:place]]
    return [(f"/{rows}/{place}/id", f"is also the id of another of the {rows}") for place in places[:1]]


def _unknown(body: dict[str, Any], rows: str, at: str, names: list[Any]) -> list[Misfit]:
    """Return the first name that is not the id of any row."""
    ids = [row.get("id") for row in _rows(body, rows)]
    missing = [name for name in names if name not in ids]
    known = ", ".join(str(one) for one in ids)
    return [(at, f"{name} is not one of the {rows}: {known}") for name in missing[:1]]


def _rows(body: dict[str, Any], rows: str) -> list[dict[str, Any]]:
    held = body.get(rows)
    return [row for row in held if isinstance(row, dict)] if isinstance(held, list) else []
