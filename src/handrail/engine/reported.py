"""Artifacts whose kind the engine itself reads, each decoded into a closed shape. Pure.

Contracts (workflows/builtins) say what an author may ask for; this file says what a run understands,
also where the workflow asks for nothing: a divergence, a gap, an observed capability.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

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
REVIEW_FINDINGS = "wr.review_findings"


class ReportedShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Shared options: camelCase, unknown members ignored."""


class LoopDecision(ReportedShape, frozen=True, kw_only=True):
    """Whether the loop goes on; without a loop id it is about the innermost loop."""

    loop_id: str = ""
    decision: Literal["continue", "stop"]


class Observation(ReportedShape, frozen=True, kw_only=True):
    """What trying a capability showed."""

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
    """Something the agent itself found missing, or an earlier gap that it settled."""

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


def needed_members(kind: str) -> tuple[str, ...]:
    """The members that a run cannot do without to understand this kind, as they are written."""
    fields = msgspec.structs.fields(SHAPES[kind])
    return ("kind", *(field.encode_name for field in fields if field.required))


def read_as(shape: type[_R], body: dict[str, Any]) -> _R | None:
    """The artifact in this shape, or None when it does not fit."""
    try:
        return msgspec.convert(body, shape)
    except msgspec.ValidationError:
        return None


def trouble_with(kind: str, body: dict[str, Any]) -> str:
    """Why a body does not fit the kind it claims; empty when it does or the kind is not one of ours."""
    shape = SHAPES.get(kind)
    if shape is None:
        return ""
    try:
        msgspec.convert(body, shape)
    except msgspec.ValidationError as error:
        return str(error).replace(" - at `$`", "").replace("`$.", "`")
    return ""


def contradictions(kind: str, body: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the verdict of a well-formed report is not what its own rows say: place and fault."""
    verdict = body.get("verdict")
    if kind == VERIFICATION_REPORT and verdict == "passed":
        refuted = _rows_with(body, "claims", "status", "refuted")
        return [("/verdict", f"cannot be passed while claims/{place} is refuted") for place in refuted[:1]]
    if kind == REVIEW_FINDINGS and verdict == "approve":
        severe = _rows_with(body, "findings", "severity", "blocker")
        return [
            ("/verdict", f"cannot be approve while findings/{place} is a blocker") for place in severe[:1]
        ]
    return []


def _rows_with(body: dict[str, Any], rows: str, member: str, value: str) -> list[int]:
    held = body.get(rows)
    listed = held if isinstance(held, list) else []
    return [place for place, row in enumerate(listed) if isinstance(row, dict) and row.get(member) == value]
