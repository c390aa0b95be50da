"""Is what an agent reports for a step enough? Every reason why not, found in one pass. Pure.

The mode plays no part here: `reasons.consequence` decides afterwards what the reasons do.
"""

# ruff: noqa: PLC0415 - only an artifact is checked against a contract

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from handrail.contract.canonical import digest
from handrail.engine.checks import MOST_ISSUES, Check
from handrail.engine.events import Artifact, CapabilityObserved, CapabilityProvenance, DivergenceRecorded
from handrail.engine.gates import through_gates
from handrail.engine.navigate import deciding_loop
from handrail.engine.note_rules import broken_rules
from handrail.engine.reasons import (
    FIX_BYTES,
    CapabilityPointer,
    ContextKey,
    OutputContract,
    Reason,
    ReasonName,
    WorkflowStep,
    fitting,
)
from handrail.engine.reported import (
    CAPABILITY_OBSERVATION,
    GAP,
    LOOP_CONTROL,
    USER_INPUT,
    WORKFLOW_DIVERGENCE,
    Divergence,
    LoopDecision,
    Observation,
    ReportedGap,
    ReportedShape,
    UserInput,
    contract_ref,
    read_as,
    trouble_with,
)
from handrail.engine.state import Running
from handrail.workflows.compiled import CompiledWorkflow, Contract, Step
from handrail.workflows.conditions import Facts

_R = TypeVar("_R", bound=ReportedShape)

SHOWN_ISSUES = 3


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is worth."""

    reasons: tuple[Reason, ...] = ()
    checks: tuple[Check, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    """Ordered by digest, each once."""
    observed: tuple[CapabilityObserved, ...] = ()
    divergences: tuple[DivergenceRecorded, ...] = ()
    gaps: tuple[ReportedGap, ...] = ()
    is_undecided: bool = False
    """The step had to decide about its loop and did not."""


def assess(
    workflow: CompiledWorkflow,
    step: Step,
    state: Running,
    facts: Facts,
    notes: str,
    bodies: Iterable[dict[str, Any]],
) -> Verdict:
    """Judge a report on a pending step. `facts` hold with the report's own context applied."""
    judged = [_judge(workflow, step, state, body) for body in _unique_by_digest(bodies)]
    artifacts = tuple(found.artifact for found in judged)
    observed = _observed(step, artifacts)
    contract_reasons, checks = _contracts(workflow, step, state, judged)
    gated = through_gates(step, artifacts)
    rule_reasons, rule_checks = _rules(step, notes)
    return Verdict(
        reasons=(
            *contract_reasons,
            *gated.reasons,
            *rule_reasons,
            *_capability_reasons(workflow, step, observed),
            *_user_reasons(step, facts, artifacts),
        ),
        checks=(*checks, *gated.checks, *rule_checks),
        artifacts=tuple(_credited(artifact, gated.passed) for artifact in artifacts),
        observed=observed,
        divergences=divergences_told(artifacts, step.id),
        gaps=tuple(_all_of(artifacts, GAP, ReportedGap)),
        is_undecided=any(
            reason.pointer == OutputContract(contract_ref=step.contract)
            for reason in contract_reasons
            if step.contract and workflow.contracts[step.contract].artifact_kind == LOOP_CONTROL
        ),
    )


def _unique_by_digest(bodies: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Artifacts in the one order they are recorded in, each once."""
    return sorted({digest(body): body for body in bodies}.items())


def divergences_told(artifacts: tuple[Artifact, ...], step_id: str) -> tuple[DivergenceRecorded, ...]:
    """Where a report says that it left the instructions on purpose, whatever the step asked for."""
    return tuple(
        DivergenceRecorded(
            reason=told.reason,
            summary=fitting(told.summary),
            related_step_id=told.related_step_id or step_id,
        )
        for told in _all_of(artifacts, WORKFLOW_DIVERGENCE, Divergence)
    )


def unchecked_artifacts(bodies: Iterable[dict[str, Any]]) -> tuple[Artifact, ...]:
    """Artifacts that nobody asked for, kept as they are."""
    return tuple(
        Artifact(kind=str(body["kind"]), digest=name, body=body) for name, body in _unique_by_digest(bodies)
    )


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact, the contract it falls under, and what is wrong with it."""

    artifact: Artifact
    ref: str = ""
    issues: tuple[str, ...] = ()


def _judge(
    workflow: CompiledWorkflow, step: Step, state: Running, found: tuple[str, dict[str, Any]]
) -> _Judged:
    name, body = found
    kind = str(body["kind"])
    ref = _contract_of(workflow, step, kind)
    if ref:
        from handrail.workflows.contract_check import violations

        issues = [
            f"{issue.pointer or '/'}: {issue.message}"
            for issue in violations(workflow.contracts[ref].schema, body)
        ]
    else:
        trouble = trouble_with(kind, body)
        issues = [trouble] if trouble else []
    if kind == LOOP_CONTROL and not issues:
        issues = _loop_issues(state, body)
    accepted = ref if ref and not issues else ""
    artifact = Artifact(kind=kind, digest=name, body=body, contract_ref=accepted)
    return _Judged(artifact=artifact, ref=ref or contract_ref(kind), issues=tuple(issues[:MOST_ISSUES]))


def _contract_of(workflow: CompiledWorkflow, step: Step, kind: str) -> str:
    """The contract for a kind: the step's own first, then any that the workflow embeds."""
    own = workflow.contracts.get(step.contract)
    if own is not None and own.artifact_kind == kind:
        return step.contract
    return next((ref for ref, held in workflow.contracts.items() if held.artifact_kind == kind), "")


def _loop_issues(state: Running, body: dict[str, Any]) -> list[str]:
    decided = read_as(LoopDecision, body)
    around = [frame.loop_id for frame in state.loops]
    if decided is None or not decided.loop_id or decided.loop_id in around:
        return []
    known = ", ".join(around) or "no loop"
    return [f"/loopId: {decided.loop_id} is not a loop around this step; around it: {known}"]


def _contracts(
    workflow: CompiledWorkflow, step: Step, state: Running, judged: list[_Judged]
) -> tuple[list[Reason], list[Check]]:
    loop_id = deciding_loop(workflow, state.loops)
    reasons, checks = [], []
    refs = dict.fromkeys([step.contract] if step.contract else [])
    refs |= dict.fromkeys(found.ref for found in judged if found.issues or found.artifact.contract_ref)
    for ref in refs:
        under = [found for found in judged if found.ref == ref]
        issues = tuple(issue for found in under for issue in found.issues)[:MOST_ISSUES]
        issues += _contradiction(under)
        contract = workflow.contracts.get(ref)
        if not under:
            checks.append(Check(contract_ref=ref, result="missing"))
            reasons.append(_missing(ref, workflow.contracts[ref], loop_id))
        elif issues:
            checks.append(Check(contract_ref=ref, result="invalid", issues=issues))
            reasons.append(_invalid(ref, contract, loop_id, issues))
        else:
            checks.append(Check(contract_ref=ref, result="valid"))
    return reasons, checks


def _contradiction(under: list[_Judged]) -> tuple[str, ...]:
    """Two decisions about one loop in one report cannot both hold."""
    decided: dict[str, str] = {}
    for found in under:
        told = read_as(LoopDecision, found.artifact.body) if found.artifact.kind == LOOP_CONTROL else None
        if told is not None and decided.setdefault(told.loop_id, told.decision) != told.decision:
            return ("/decision: the report decides twice, and differently",)
    return ()


def _missing(ref: str, contract: Contract, loop_id: str) -> Reason:
    example = required_example(contract, loop_id)
    return Reason(
        name="contract_violation:missing_required_output",
        pointer=OutputContract(contract_ref=ref),
        message=fitting(f"This step must deliver an artifact of kind {contract.artifact_kind}; none came."),
        fix=_fix("Add it to output.artifacts and make the call in nextCall again.", contract),
        example=example,
    )


def _invalid(ref: str, contract: Contract | None, loop_id: str, issues: tuple[str, ...]) -> Reason:
    more = f" ({len(issues) - SHOWN_ISSUES} more)" if len(issues) > SHOWN_ISSUES else ""
    said = "; ".join(fitting(issue, 130) for issue in issues[:SHOWN_ISSUES])
    return Reason(
        name="contract_violation:invalid_required_output",
        pointer=OutputContract(contract_ref=ref),
        message=fitting(f"The artifact does not fit: {said}{more}"),
        fix=_fix("Correct what is named and make the call in nextCall again.", contract),
        example=None if contract is None else required_example(contract, loop_id),
    )


def _fix(advice: str, contract: Contract | None) -> str:
    guidance = contract.guidance if contract is not None else ""
    return fitting(f"{advice} {guidance}".strip(), FIX_BYTES)


def required_example(contract: Contract, loop_id: str) -> dict[str, Any]:
    """An artifact that the contract accepts; one about a loop names the loop at hand."""
    from handrail.workflows.contract_check import example_of

    example = {"kind": contract.artifact_kind} | example_of(contract)
    if contract.artifact_kind == LOOP_CONTROL and loop_id:
        return example | {"loopId": loop_id}
    return example


def _rules(step: Step, notes: str) -> tuple[list[Reason], list[Check]]:
    if not step.rules:
        return [], []
    issues = tuple(broken_rules(step.rules, notes)[:MOST_ISSUES])
    if not issues:
        return [], [Check(result="valid")]
    name: ReasonName = (
        "contract_violation:invalid_required_output"
        if notes
        else "contract_violation:missing_required_output"
    )
    reason = Reason(
        name=name,
        pointer=WorkflowStep(step_id=step.id),
        message=fitting("The notes are not enough yet: " + "; ".join(issues[:SHOWN_ISSUES])),
        fix="Write output.notesMarkdown so that every rule holds and make the call in nextCall again.",
    )
    return [reason], [Check(result="invalid" if notes else "missing", issues=issues)]


def _observed(step: Step, artifacts: tuple[Artifact, ...]) -> tuple[CapabilityObserved, ...]:
    """What the agent saw of its own abilities; trying it in a probe step is strong, a claim stays a claim."""
    return tuple(
        CapabilityObserved(
            capability=seen.capability,
            status=seen.status,
            provenance=_provenance(step, seen),
            summary=fitting(seen.summary),
        )
        for seen in _all_of(artifacts, CAPABILITY_OBSERVATION, Observation)
    )


def _provenance(step: Step, seen: Observation) -> CapabilityProvenance:
    is_tried = seen.provenance != "manual_claim"
    return "probe_step" if is_tried and seen.capability == step.capability else seen.provenance


def _capability_reasons(
    workflow: CompiledWorkflow, step: Step, observed: tuple[CapabilityObserved, ...]
) -> list[Reason]:
    """A probe of a required capability must end in `available`, and by trying it: a claim opens nothing."""
    if not step.capability or workflow.capabilities.get(step.capability) != "required":
        return []
    seen = [fact for fact in observed if fact.capability == step.capability]
    if not seen:
        return []  # nothing seen at all is the missing artifact, which the contract reports
    is_claim = seen[-1].provenance == "manual_claim"
    if seen[-1].status == "available" and not is_claim:
        return []
    pointer = CapabilityPointer(capability=step.capability)
    if seen[-1].status == "unknown" or is_claim:
        return [
            Reason(
                name="capability_missing:required_capability_unknown",
                pointer=pointer,
                message=f"Whether {step.capability} works is still unknown, and this workflow needs it.",
                fix="Try it once and report available or unavailable, with provenance probe_step.",
            )
        ]
    return [
        Reason(
            name="capability_missing:required_capability_unavailable",
            pointer=pointer,
            message=f"This workflow needs {step.capability}, and it is not available here.",
            fix="Ask the user to enable it, then read this step again with the stateToken and go on.",
            is_retryable=False,
        )
    ]


def _user_reasons(step: Step, facts: Facts, artifacts: tuple[Artifact, ...]) -> list[Reason]:
    needed = step.user_only
    if needed is None or (needed.input and facts.values.get(needed.input) is not None):
        return []
    if _all_of(artifacts, USER_INPUT, UserInput):
        return []
    in_context = f"context.{needed.input}, or as " if needed.input else ""
    return [
        Reason(
            name=USER_REASONS[needed.reason],
            pointer=ContextKey(key=needed.input) if needed.input else WorkflowStep(step_id=step.id),
            message="Only the user can give what this step needs.",
            fix=f"Ask the user, then send the answer as {in_context}an artifact like the example.",
            example={"kind": USER_INPUT, "answer": "<what the user said>", "givenBy": "user"},
        )
    ]


USER_REASONS: dict[str, ReasonName] = {
    "needs_user_secret_or_token": "user_only_dependency:needs_user_secret_or_token",
    "needs_user_account_access": "user_only_dependency:needs_user_account_access",
    "needs_user_artifact": "user_only_dependency:needs_user_artifact",
    "needs_user_choice": "user_only_dependency:needs_user_choice",
    "needs_user_approval": "user_only_dependency:needs_user_approval",
    "needs_user_environment_action": "user_only_dependency:needs_user_environment_action",
}


def _credited(artifact: Artifact, passed: frozenset[str]) -> Artifact:
    """An assessment that its gate accepted counts as validated even where no contract asks for it."""
    if artifact.contract_ref or artifact.digest not in passed:
        return artifact
    return msgspec.structs.replace(artifact, contract_ref=contract_ref(artifact.kind))


def _all_of(artifacts: tuple[Artifact, ...], kind: str, shape: type[_R]) -> list[_R]:
    """The artifacts of a kind that fit its shape."""
    read = (read_as(shape, artifact.body) for artifact in artifacts if artifact.kind == kind)
    return [told for told in read if told is not None]
