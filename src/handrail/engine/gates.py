"""Assessment gates: levels a step must report, some of which demand a follow-up first. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.engine.checks import Check
from handrail.engine.events import Artifact
from handrail.engine.reasons import FIX_BYTES, OutputContract, Reason, ReasonName, fitting
from handrail.engine.reported import ASSESSMENT, Judgement, contract_ref, read_as
from handrail.workflows.compiled import Gate, Step


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """What the gates of a step say about a report."""

    reasons: tuple[Reason, ...] = ()
    checks: tuple[Check, ...] = ()
    passed: frozenset[str] = frozenset()
    """Digests of the assessments that fit their gate."""


def through_gates(step: Step, artifacts: tuple[Artifact, ...]) -> Gated:
    """Every gate against the assessments of the report."""
    reasons: list[Reason] = []
    checks: list[Check] = []
    passed: set[str] = set()
    for gate in step.gates:
        told = [
            (artifact.digest, judgement)
            for artifact in artifacts
            if artifact.kind == ASSESSMENT
            and (judgement := read_as(Judgement, artifact.body)) is not None
            and judgement.assessment_id == gate.assessment_id
        ]
        reason, check = _verdict(gate, [judgement for _, judgement in told])
        checks.append(check)
        if reason is not None:
            reasons.append(reason)
        if check.result == "valid":
            passed |= {digest for digest, _ in told}
    return Gated(reasons=tuple(reasons), checks=tuple(checks), passed=frozenset(passed))


def assessment_example(gate: Gate) -> dict[str, Any]:
    """An assessment that passes: of each dimension the first level that demands nothing."""
    dimensions = {
        name: next((level for level in levels if level not in gate.followups), levels[-1] if levels else "")
        for name, levels in gate.dimensions.items()
    }
    return {
        "kind": ASSESSMENT,
        "assessmentId": gate.assessment_id,
        "dimensions": dimensions,
        "rationale": "<what each level rests on>",
    }


def _verdict(gate: Gate, told: list[Judgement]) -> tuple[Reason | None, Check]:
    ref = contract_ref(ASSESSMENT)
    if not told:
        message = f"This step must deliver the assessment {gate.assessment_id} as an artifact; none came."
        fix = f"Judge each dimension and add the artifact: {_dimensions(gate)}."
        return _reason(gate, "missing", message, fix), Check(contract_ref=ref, result="missing")
    issues = tuple(issue for judgement in told for issue in _issues(gate, judgement))
    if issues:
        message = f"The assessment {gate.assessment_id} does not fit: {'; '.join(issues[:3])}"
        fix = f"Give every dimension one of its levels: {_dimensions(gate)}."
        return _reason(gate, "invalid", message, fix), Check(
            contract_ref=ref, result="invalid", issues=issues
        )
    demands = [
        (name, level)
        for judgement in told
        for name, level in judgement.dimensions.items()
        if level in gate.followups
    ]
    if demands:
        name, level = demands[0]
        message = f"{name} is {level} in the assessment {gate.assessment_id}: that needs a follow-up first."
        fix = f"{gate.followups[level]} Then assess again and make the call in nextCall."
        check = Check(contract_ref=ref, result="invalid", issues=(message,))
        return _reason(gate, "invalid", message, fix), check
    return None, Check(contract_ref=ref, result="valid")


def _issues(gate: Gate, judgement: Judgement) -> list[str]:
    issues = [f"{name} is missing" for name in gate.dimensions if name not in judgement.dimensions]
    for name, level in judgement.dimensions.items():
        levels = gate.dimensions.get(name)
        if levels is None:
            issues.append(f"{fitting(name, 60)} is not a dimension")
        elif levels and level not in levels:
            issues.append(f"{name} cannot be {fitting(level, 60)}; levels: {', '.join(levels)}")
    return issues


def _reason(gate: Gate, what: str, message: str, fix: str) -> Reason:
    names: dict[str, ReasonName] = {
        "missing": "contract_violation:missing_required_output",
        "invalid": "contract_violation:invalid_required_output",
    }
    return Reason(
        name=names[what],
        pointer=OutputContract(contract_ref=contract_ref(ASSESSMENT)),
        message=fitting(message),
        fix=fitting(fix, FIX_BYTES),
        example=assessment_example(gate),
    )


def _dimensions(gate: Gate) -> str:
    return "; ".join(f"{name}: {', '.join(levels)}" for name, levels in gate.dimensions.items())
