"""Plans: the events of an advance, a blocked attempt, a checkpoint, a closing, an answer, a session. Pure.

`decide.py` decides what happens; this file says which events record it, in which order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from handrail.contract.ids import AttemptId, NodeId, ObservationKey, SessionId, node_after
from handrail.contract.json.canonical import digest
from handrail.engine.artifact_shapes import ReportedGap
from handrail.engine.events import (
    MOST_TRACE_ENTRIES,
    Advanced,
    AdvanceRecorded,
    Artifact,
    Blocked,
    CloseReason,
    ConfirmationRecorded,
    ContextSet,
    DecisionTraceAppended,
    EdgeCause,
    EdgeCreated,
    EdgeKind,
    Event,
    EvidenceRecorded,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    PlannedEvent,
    PreferencesChanged,
    Project,
    ProofRecorded,
    ReceiptRecorded,
    RunClosed,
    Scope,
    SessionCreated,
    TreeRecorded,
    ValidationPerformed,
)
from handrail.engine.facts import Helper, WorkDone, change_since, excerpt
from handrail.engine.history import (
    History,
    Node,
    attached_to,
    instance_of,
    kept_in_instance,
    seen_at,
    steps_after,
)
from handrail.engine.judge.assess import Verdict
from handrail.engine.judge.computed import sum_changes
from handrail.engine.navigate import (
    DetectedNonTipAdvance,
    EnteredLoop,
    EvaluatedCondition,
    Move,
    TraceEntry,
    list_passed,
)
from handrail.engine.reasons import (
    Block,
    Proceed,
    Reason,
    list_hidden_blockers,
    select_blockers,
    shorten_issues,
    shorten_message,
)

if TYPE_CHECKING:
    from handrail.engine.judge.places import Sighting

MOST_STATEMENTS = 200
"""Limit for the statements of one attempt that the log keeps; the rest is counted."""

# Events that several plans share

OBSERVED_ON_THE_WAY: Final[tuple[ObservationKey, ...]] = ("git_branch", "git_head_sha")

MOST_WORKERS = 8
"""Limit for the helper names that one run keeps; later helpers are not named."""


def plan_event(dedupe_key: str, scope: Scope, data: Event) -> PlannedEvent:
    return PlannedEvent(dedupe_key=dedupe_key, scope=scope, data=data)


def plan_tree(at: Scope, fact: TreeRecorded) -> PlannedEvent:
    """Return the event with the project's files at a node, which may be only planned. A repeat of the same
    tree there is dropped.
    """
    assert at.node_id is not None, "a tree is that of a node"
    return plan_event(
        f"tree_recorded:{at.node_id}:{fact.tree_id}",
        Scope(run_id=at.run_id),
        msgspec.structs.replace(fact, node_id=at.node_id),
    )


def plan_edge(node: Node, to_node_id: NodeId, kind: EdgeKind, cause: EdgeCause) -> PlannedEvent:
    created = EdgeCreated(edge_kind=kind, from_node_id=node.node_id, to_node_id=to_node_id, cause=cause)
    return plan_event(f"edge_created:{node.node_id}->{to_node_id}", Scope(run_id=node.run_id), created)


def plan_work(scope: Scope, work: WorkDone, artifacts: Sequence[Artifact]) -> list[PlannedEvent]:
    """Return the events of a report's content: context, notes, then artifacts by digest. They belong to the
    node they lead to (EXEC lineage).
    """
    node_id = scope.node_id
    assert node_id is not None, "work is recorded at a node"
    plan = []
    if work.context:
        delta = ContextSet(context=work.context, source="agent_delta", owners=work.owners)
        plan.append(plan_event(f"context_set:{node_id}", scope, delta))
    if work.action_line:
        output_id = output_name(node_id, "action")
        acted = NodeOutputAppended(
            output_id=output_id, channel="action", notes=NotesKept(text=work.action_line)
        )
        plan.append(plan_event(f"node_output_appended:{output_id}", scope, acted))
    if work.notes:
        output_id = output_name(node_id, "recap")
        appended = NodeOutputAppended(output_id=output_id, channel="recap", notes=make_notes(work))
        plan.append(plan_event(f"node_output_appended:{output_id}", scope, appended))
    for artifact in artifacts:
        output_id = output_name(node_id, artifact.digest.removeprefix("sha256:")[:16])
        kept = NodeOutputAppended(output_id=output_id, channel="artifact", artifact=artifact)
        plan.append(plan_event(f"node_output_appended:{output_id}", scope, kept))
    return plan


def plan_observed_changes(
    history: History, node: Node, scope: Scope, seen: Mapping[ObservationKey, str]
) -> list[PlannedEvent]:
    """Return observations of branch and head at the new node, if they differ from the node before it.

    Only within one repository: a caller that works elsewhere observes nothing about this run.
    """
    known = seen_at(history, node.node_id)
    if seen.get("repo_root_hash") != known.get("repo_root_hash"):
        return []
    return [
        plan_event(
            f"observation_recorded:{scope.node_id}:{key}",
            scope,
            ObservationRecorded(key=key, value=seen[key]),
        )
        for key in OBSERVED_ON_THE_WAY
        if key in seen and seen[key] != known.get(key)
    ]


def plan_receipt(node: Node, receipt: ReceiptRecorded) -> PlannedEvent:
    """Return the event of a program that ran while this node was pending. A repeat under the same id is
    dropped.
    """
    return plan_event(f"receipt_recorded:{receipt.receipt_id}", Scope(run_id=node.run_id), receipt)


def plan_proof(node: Node, proven: ProofRecorded) -> PlannedEvent:
    """Return the event of a proof at a node. A repeat of the same content is dropped."""
    content = digest(msgspec.to_builtins(proven)).removeprefix("sha256:")
    key = f"proof_recorded:{node.node_id}:{content}"
    return plan_event(key, Scope(run_id=node.run_id), proven)


def output_name(node_id: NodeId, what: str) -> str:
    return f"out_{node_id.removeprefix('nod_')}_{what}"


def plan_trace(scope: Scope, entries: Sequence[TraceEntry]) -> list[PlannedEvent]:
    """Return the event with the decisions that led to a node. The middle of a long trace is left out and
    counted.

    Skipped parts and ends of loops are kept in preference to the conditions that were evaluated.
    """
    if not entries:
        return []
    kept = tuple(entries)
    if len(kept) > MOST_TRACE_ENTRIES:
        kept = tuple(entry for entry in kept if not isinstance(entry, EvaluatedCondition | EnteredLoop))
    more = max(0, len(kept) - MOST_TRACE_ENTRIES)
    first = MOST_TRACE_ENTRIES // 2 if more else len(kept)
    kept = (*kept[:first], *kept[first + more :])
    omitted = len(entries) - len(kept)
    passed = _count_skipped(entries) - _count_skipped(kept) if omitted else None
    appended = DecisionTraceAppended(entries=kept, omitted=omitted, passed_omitted=passed)
    return [plan_event(f"decision_trace_appended:{scope.node_id}", scope, appended)]


def _count_skipped(entries: Sequence[TraceEntry]) -> int:
    return sum(1 for part in list_passed(entries) if not part.not_needed)


def plan_preferences(scope: Scope, change: PreferencesChanged) -> PlannedEvent:
    return plan_event(f"preferences_changed:{scope.node_id}", scope, change)


def plan_carried_preferences(history: History, node: Node, scope: Scope) -> list[PlannedEvent]:
    """Return the event that applies a baseline, if a person set one since, from the next node on."""
    change = change_since(history, node.node_id, f"prf_{scope.node_id}")
    return [] if change is None else [plan_preferences(scope, change)]


def make_notes(work: WorkDone) -> NotesKept | NotesStored:
    if work.notes_ref is None:
        return NotesKept(text=work.notes)
    encoded = work.notes.encode()
    return NotesStored(excerpt=excerpt(work.notes), ref=work.notes_ref, size_bytes=len(encoded))


# An answered attempt: the run moves on, or the attempt is blocked
#
# In both plans the ledger anchor `advance_recorded` comes first (EXEC "Durable accounting").


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a plan which moves the run needs."""

    verdict: Verdict
    outcome: Proceed
    move: Move
    disclosed: tuple[GapRecorded, ...] = ()
    """Gaps that block in no mode, including those of a run that ends here."""
    option_id: str = ""


def plan_advance(
    history: History,
    node: Node,
    attempt_id: AttemptId,
    work: WorkDone,
    accepted: Accepted,
    seen: Mapping[ObservationKey, str],
    salt: int,
    sighting: Sighting | None = None,
) -> list[PlannedEvent]:
    """Return the events of a run that moves on. If a step already follows this instance, the new one is a
    fork.
    """
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
        plan_event(f"node_created:{to_node_id}", scope, created),
        plan_edge(node, to_node_id, "acked_step", cause),
        *plan_carried_preferences(history, node, scope),
        *plan_observed_changes(history, node, scope, seen),
        *plan_work(scope, work, accepted.verdict.artifacts),
        *plan_disclosures(history, node, scope, accepted.verdict, accepted.outcome.gaps, accepted.disclosed),
        *plan_trace(scope, (*noticed, *accepted.move.trace)),
        *plan_evidence(node, to_node_id, attempt_id, accepted.verdict, sighting),
    ]


def plan_blocked(
    history: History,
    node: Node,
    attempt_id: AttemptId,
    work: WorkDone,
    verdict: Verdict,
    block: Block,
    resolved: Sequence[GapRecorded],
    salt: int,
    sighting: Sighting | None = None,
) -> list[PlannedEvent]:
    """Return the events of a blocked attempt: the step stays pending, and what was sent is kept for the
    retry.

    What the attempt reports about the run itself counts at once, as if it had been accepted.
    """
    to_node_id = node_after(node.node_id, attempt_id, "blocked", salt)
    scope = Scope(run_id=node.run_id, node_id=to_node_id)
    examples = [reason.example for reason in block.reasons if reason.example is not None]
    outcome = Blocked(
        to_node_id=to_node_id,
        blockers=select_blockers(block.reasons),
        retryable=all(reason.is_retryable for reason in block.reasons),
        example=examples[0] if examples else None,
        issues=shorten_issues(verdict.issues),
        left_out=list_hidden_blockers(block.reasons),
    )
    created = NodeCreated(node_kind="blocked_attempt", parent_node_id=node.node_id, state=node.state)
    return [
        _answer(node, attempt_id, work, outcome),
        *_validations(node, attempt_id, verdict),
        plan_event(f"node_created:{to_node_id}", scope, created),
        plan_edge(node, to_node_id, "blocked", "validation_blocked"),
        *plan_carried_preferences(history, node, scope),
        *plan_work(scope, work, [_strip_acceptance(artifact) for artifact in verdict.brought]),
        *plan_disclosures(history, node, scope, verdict, (), resolved),
        *plan_evidence(node, to_node_id, attempt_id, verdict, sighting),
    ]


def _answer(node: Node, attempt_id: AttemptId, work: WorkDone, outcome: Advanced | Blocked) -> PlannedEvent:
    recorded = AdvanceRecorded(attempt_id=attempt_id, input_digest=work.input_digest, outcome=outcome)
    scope = Scope(run_id=node.run_id, node_id=node.node_id)
    return plan_event(f"advance_recorded:{node.node_id}:{attempt_id}", scope, recorded)


def _validations(node: Node, attempt_id: AttemptId, verdict: Verdict) -> list[PlannedEvent]:
    """Return the checks of a report, recorded at the node whose pending step was acknowledged, like the
    answer itself.
    """
    scope = Scope(run_id=node.run_id, node_id=node.node_id)
    return plan_validations(scope, f"{node.node_id}:{attempt_id}", attempt_id, verdict)


def plan_validations(scope: Scope, name: str, attempt_id: AttemptId, verdict: Verdict) -> list[PlannedEvent]:
    """Return an event for every check that was made of a report."""
    facts = [
        ValidationPerformed(
            attempt_id=attempt_id,
            contract_ref=check.contract_ref,
            result=check.result,
            issues=tuple(shorten_message(issue) for issue in check.issues),
        )
        for check in verdict.checks
    ]
    return _facts_of(scope, f"validation_performed:{name}", facts)


def plan_evidence(
    node: Node,
    to_node_id: NodeId,
    attempt_id: AttemptId,
    verdict: Verdict,
    sighting: Sighting | None,
) -> list[PlannedEvent]:
    """Return the event with the evidence of a report. It belongs to the run and moves no tip."""
    changes = None if sighting is None else sighting.changes
    changed = None if changes is None else sum_changes(changes)
    if not verdict.statements and changed is None:
        return []
    recorded = EvidenceRecorded(
        attempt_id=attempt_id,
        node_id=to_node_id,
        statements=verdict.statements[:MOST_STATEMENTS],
        omitted=max(0, len(verdict.statements) - MOST_STATEMENTS),
        tree="" if sighting is None else sighting.tree,
        machine="" if sighting is None else sighting.machine,
        changed=changed,
    )
    return [plan_event(f"evidence_recorded:{to_node_id}", Scope(run_id=node.run_id), recorded)]


def plan_disclosures(
    history: History,
    node: Node,
    scope: Scope,
    verdict: Verdict,
    missing: Sequence[Reason],
    more: Sequence[GapRecorded],
) -> list[PlannedEvent]:
    """Return events for what was observed, diverged from or missing on the way from a node, whichever call
    it is.

    Each is recorded once, although a retry is judged together with what earlier attempts sent. Only a gap
    that was resolved since may be reported again.
    """
    node_id = scope.node_id
    assert node_id is not None, "what is disclosed belongs to a node"
    observed = _facts_of(scope, f"capability_observed:{node_id}", verdict.observed)
    if not (missing or more or verdict.gaps or verdict.kept_gaps or verdict.divergences):
        return [*observed]  # saves a walk over a step that may have thousands of checkpoints
    instance = instance_of(history, node.node_id)
    before = [attached_to(history, held.node_id) for held in kept_in_instance(history, instance)]
    recorded = [gap for attached in before for gap in attached.gaps]
    resolved = {gap.resolves_gap_id for gap in recorded}
    ever = {_without_name(gap) for gap in recorded}
    still_open = {_without_name(gap) for gap in recorded if gap.gap_id not in resolved}
    kept = [gap for gap in map(_reported_gap, verdict.kept_gaps) if gap not in ever]
    gaps = [*map(gap_of, missing), *map(_reported_gap, verdict.gaps), *kept, *more]
    diverged = {one for attached in before for one in attached.divergences}
    return [
        *observed,
        *plan_gaps(scope, node_id, [gap for gap in gaps if _without_name(gap) not in still_open]),
        *_facts_of(
            scope,
            f"divergence_recorded:{node_id}",
            [one for one in verdict.divergences if one not in diverged],
        ),
    ]


def _reported_gap(gap: ReportedGap) -> GapRecorded:
    return GapRecorded(
        gap_id="",
        severity=gap.severity,
        reason="reported",
        summary=shorten_message(gap.summary),
        resolves_gap_id=gap.resolves_gap_id,
        evidence_refs=gap.evidence_refs,
    )


def _without_name(gap: GapRecorded) -> GapRecorded:
    """Return the gap without its id, which says only where it was recorded, and without what it waits for,
    which its summary says.
    """
    return msgspec.structs.replace(gap, gap_id="", waits_for=None)


def gap_of(reason: Reason) -> GapRecorded:
    """Return the gap for a reason that did not block the run."""
    return GapRecorded(
        gap_id=reason.capability,
        severity="critical",
        reason=reason.name,
        summary=reason.message,
        waits_for=reason.waits_for,
    )


def plan_gaps(scope: Scope, node_id: NodeId, gaps: Sequence[GapRecorded]) -> list[PlannedEvent]:
    """Return events for gaps at a node. The node and a number, or an id that the gap already has, make its
    id.
    """
    body = node_id.removeprefix("nod_")
    named = [
        msgspec.structs.replace(gap, gap_id=f"gap_{body}_{gap.gap_id or number}")
        for number, gap in enumerate(gaps, 1)
    ]
    return _facts_of(scope, f"gap_recorded:{node_id}", named)


def _facts_of(scope: Scope, key: str, facts: Sequence[Event]) -> list[PlannedEvent]:
    return [plan_event(f"{key}:{number}", scope, fact) for number, fact in enumerate(facts, 1)]


def _strip_acceptance(artifact: Artifact) -> Artifact:
    """Return the artifact without its contract: it does not count until an attempt with it is accepted."""
    return msgspec.structs.replace(artifact, contract_ref="")


# Closings, answers and resolutions


def plan_closing(
    history: History, tip: Node, reason: CloseReason, note: str, request_id: str
) -> list[PlannedEvent]:
    """Return the event that closes a run with this preferred tip. The key counts the run's anchors, so it
    can be closed again.
    """
    closed = RunClosed(reason=reason, node_id=tip.node_id, note=note, request_id=request_id)
    key = f"run_closed:{tip.run_id}:{len(history.anchors[tip.run_id])}"
    return [plan_event(key, Scope(run_id=tip.run_id), closed)]


def plan_confirmation(history: History, answer: ConfirmationRecorded) -> list[PlannedEvent]:
    """Return the event of a person's answer. The key counts the run's anchors, so a person who declined may
    be asked again.
    """
    run_id = history.nodes[answer.node_id].run_id
    key = f"confirmation_recorded:{answer.node_id}:{len(history.anchors[run_id])}"
    return [plan_event(key, Scope(run_id=run_id), answer)]


def plan_resolution(history: History, resolution: GapRecorded) -> list[PlannedEvent]:
    """Return the event that records, once, that a person resolved a gap."""
    assert resolution.node_id is not None, "a gap is recorded at a node"
    run_id = history.nodes[resolution.node_id].run_id
    gap = msgspec.structs.replace(resolution, gap_id=f"{resolution.resolves_gap_id}_settled")
    return [plan_event(f"gap_recorded:settled:{resolution.resolves_gap_id}", Scope(run_id=run_id), gap)]


# A session without a run


def plan_session(
    session_id: SessionId,
    goal: str,
    input_digest: str,
    seen: Mapping[ObservationKey, str],
    project: Project | None = None,
) -> list[PlannedEvent]:
    """Return the events of a session without a run. The goal is in the first event, so every replay can
    show it.
    """
    created = SessionCreated(goal=goal, input_digest=input_digest, project=project)
    return [
        plan_event(f"session_created:{session_id}", Scope(), created),
        *(
            plan_event(
                f"observation_recorded:{session_id}:{key}", Scope(), ObservationRecorded(key=key, value=value)
            )
            for key, value in sorted(seen.items())
        ),
    ]


def plan_session_notes(output_id: str, work: WorkDone) -> list[PlannedEvent]:
    """Return the event of notes that belong to no node. The output id comes from the token, so a repeat
    finds it.
    """
    appended = NodeOutputAppended(
        output_id=output_id, channel="recap", notes=make_notes(work), input_digest=work.input_digest
    )
    return [plan_event(f"node_output_appended:{output_id}", Scope(), appended)]


def plan_helper(history: History, node: Node, helper: Helper) -> list[PlannedEvent]:
    """Return events for where a delegated run works, as its first call says, and for each new name of a
    helper.
    """
    run = history.runs[node.run_id]
    seen: list[tuple[str, ObservationRecorded]] = []
    place, name = helper.project, helper.worker
    if place is not None and not run.has_own_project:
        fact = ObservationRecorded(key="own_project", value=place.directory, project=place)
        seen.append(("own_project", fact))
    if name and name not in run.workers and len(run.workers) < MOST_WORKERS:
        # Low confidence, because nothing proves who calls.
        number = len(run.workers)
        seen.append((f"worker:{number}", ObservationRecorded(key="worker", value=name, confidence="low")))
    at_run = Scope(run_id=run.run_id)
    return [plan_event(f"observation_recorded:{run.run_id}:{key}", at_run, fact) for key, fact in seen]
