"""The plans of an answered attempt: the run moved on, or the attempt was blocked. Pure.

In both the ledger anchor `advance_recorded` comes first (EXEC "Durable accounting").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from handrail.contract.ids import AttemptId, NodeId, node_after
from handrail.contract.vocabulary import ObservationKey
from handrail.engine.assess import Verdict
from handrail.engine.events import (
    Advanced,
    AdvanceRecorded,
    Artifact,
    Blocked,
    EdgeCause,
    Event,
    GapRecorded,
    NodeCreated,
    PlannedEvent,
    Scope,
    ValidationPerformed,
)
from handrail.engine.history import History, Node, steps_after
from handrail.engine.navigate import DetectedNonTipAdvance, Move
from handrail.engine.plans.writing import (
    carried_preferences,
    edge,
    observed_changes,
    planned,
    trace_event,
    work_events,
)
from handrail.engine.reasons import (
    Block,
    Proceed,
    Reason,
    blockers_left_out,
    fitting,
    shown_blockers,
    told_issues,
)
from handrail.engine.work import WorkDone


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a plan that moves the run needs to know."""

    verdict: Verdict
    outcome: Proceed
    move: Move
    disclosed: tuple[GapRecorded, ...] = ()
    """Gaps that no mode is stopped by, those of a run that ends here among them."""
    option_id: str = ""


def plan_advance(
    history: History,
    node: Node,
    attempt_id: AttemptId,
    work: WorkDone,
    accepted: Accepted,
    seen: Mapping[ObservationKey, str],
    salt: int,
) -> list[PlannedEvent]:
    """The run moves. Where a step follows the instance already, a second one is a fork."""
    is_fork = bool(steps_after(history, node.node_id))
    cause: EdgeCause = "non_tip_advance" if is_fork else "advance"
    to_node_id = node_after(node.node_id, attempt_id, "advance", salt)
    scope = Scope(run_id=node.run_id, node_id=to_node_id)
    outcome = Advanced(to_node_id=to_node_id, option_id=accepted.option_id)
    created = NodeCreated(node_kind="step", parent_node_id=node.node_id, state=accepted.move.state)
    noticed = (DetectedNonTipAdvance(node_id=node.node_id),) if is_fork else ()
    return [
        _answer(node, attempt_id, work, outcome),
        *_validations(node, attempt_id, accepted.verdict),
        planned(f"node_created:{to_node_id}", scope, created),
        edge(node, to_node_id, "acked_step", cause),
        *carried_preferences(history, node, scope),
        *observed_changes(history, node, scope, seen),
        *work_events(scope, work, accepted.verdict.artifacts),
        *disclosures(scope, accepted.verdict, accepted.outcome.gaps, accepted.disclosed),
        *trace_event(scope, (*noticed, *accepted.move.trace)),
    ]


def plan_blocked(
    history: History,
    node: Node,
    attempt_id: AttemptId,
    work: WorkDone,
    verdict: Verdict,
    block: Block,
    salt: int,
) -> list[PlannedEvent]:
    """The attempt was not accepted: the pending step stays, and what was brought is kept for the retry."""
    to_node_id = node_after(node.node_id, attempt_id, "blocked", salt)
    scope = Scope(run_id=node.run_id, node_id=to_node_id)
    examples = [reason.example for reason in block.reasons if reason.example is not None]
    outcome = Blocked(
        to_node_id=to_node_id,
        blockers=shown_blockers(block.reasons),
        retryable=all(reason.is_retryable for reason in block.reasons),
        example=examples[0] if examples else None,
        issues=told_issues(verdict.issues),
        left_out=blockers_left_out(block.reasons),
    )
    created = NodeCreated(node_kind="blocked_attempt", parent_node_id=node.node_id, state=node.state)
    return [
        _answer(node, attempt_id, work, outcome),
        *_validations(node, attempt_id, verdict),
        planned(f"node_created:{to_node_id}", scope, created),
        edge(node, to_node_id, "blocked", "validation_blocked"),
        *carried_preferences(history, node, scope),
        *work_events(scope, work, [_unaccepted(artifact) for artifact in verdict.brought]),
        *_facts_of(scope, f"capability_observed:{to_node_id}", verdict.observed),
    ]


def _answer(node: Node, attempt_id: AttemptId, work: WorkDone, outcome: Advanced | Blocked) -> PlannedEvent:
    recorded = AdvanceRecorded(attempt_id=attempt_id, input_digest=work.input_digest, outcome=outcome)
    scope = Scope(run_id=node.run_id, node_id=node.node_id)
    return planned(f"advance_recorded:{node.node_id}:{attempt_id}", scope, recorded)


def _validations(node: Node, attempt_id: AttemptId, verdict: Verdict) -> list[PlannedEvent]:
    """At the node whose pending step was acknowledged, like the answer itself."""
    scope = Scope(run_id=node.run_id, node_id=node.node_id)
    return validations(scope, f"{node.node_id}:{attempt_id}", attempt_id, verdict)


def validations(scope: Scope, name: str, attempt_id: AttemptId, verdict: Verdict) -> list[PlannedEvent]:
    """Every check that was made of a report."""
    facts = [
        ValidationPerformed(
            attempt_id=attempt_id,
            contract_ref=check.contract_ref,
            result=check.result,
            issues=tuple(fitting(issue) for issue in check.issues),
        )
        for check in verdict.checks
    ]
    return _facts_of(scope, f"validation_performed:{name}", facts)


def disclosures(
    scope: Scope, verdict: Verdict, missing: Sequence[Reason], more: Sequence[GapRecorded] = ()
) -> list[PlannedEvent]:
    """What was observed, left aside or missing on the way to a node, whichever call led there."""
    gaps = [gap_of(reason) for reason in missing] + [
        GapRecorded(
            gap_id="",
            severity=told.severity,
            reason="reported",
            summary=fitting(told.summary),
            resolves_gap_id=told.resolves_gap_id,
            evidence_refs=told.evidence_refs,
        )
        for told in verdict.gaps
    ]
    node_id = scope.node_id
    assert node_id is not None, "what is disclosed belongs to a node"
    return [
        *_facts_of(scope, f"capability_observed:{node_id}", verdict.observed),
        *gap_events(scope, node_id, [*gaps, *more]),
        *_facts_of(scope, f"divergence_recorded:{node_id}", verdict.divergences),
    ]


def gap_of(reason: Reason) -> GapRecorded:
    """A reason that did not stop the run."""
    return GapRecorded(
        gap_id=reason.capability, severity="critical", reason=reason.name, summary=reason.message
    )


def gap_events(scope: Scope, node_id: NodeId, gaps: Sequence[GapRecorded]) -> list[PlannedEvent]:
    """Gaps at a node; each is named by the node and its number, or by the name that it brings."""
    body = node_id.removeprefix("nod_")
    named = [
        msgspec.structs.replace(gap, gap_id=f"gap_{body}_{gap.gap_id or number}")
        for number, gap in enumerate(gaps, 1)
    ]
    return _facts_of(scope, f"gap_recorded:{node_id}", named)


def _facts_of(scope: Scope, key: str, facts: Sequence[Event]) -> list[PlannedEvent]:
    return [planned(f"{key}:{number}", scope, fact) for number, fact in enumerate(facts, 1)]


def _unaccepted(artifact: Artifact) -> Artifact:
    """What a blocked attempt brought counts for nothing until an attempt that holds it is accepted."""
    return msgspec.structs.replace(artifact, contract_ref="")
