"""A real run kept as a test: what was given and which way it went, replayed on a changed workflow. Pure."""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec

from handrail.contract.ids import NodeId
from handrail.contract.outcome import Answer
from handrail.engine.artifact_shapes import CAPABILITY_OBSERVATION
from handrail.engine.events import Preferences
from handrail.engine.facts import (
    NOTHING_KEPT,
    KeptWork,
    answer_to,
    apply_report,
    carry_facts,
    first_facts,
    preferences_at,
    update_kept,
)
from handrail.engine.history import (
    History,
    Node,
    attached_to,
    instance_of,
    kept_in_instance,
    path_to,
)
from handrail.engine.judge.artifacts import subject_of
from handrail.engine.judge.assess import ShownState, answer_report, find_way, place_of
from handrail.engine.navigate import Move, Running, State, first_move, leaf_at, step_key
from handrail.engine.reasons import Block, Blocker, blocker_of
from handrail.workflows.compiled import Choice, CompiledWorkflow, Leaf, Step
from handrail.workflows.conditions import Facts

FINISHED = "(finished)"


class RecordedReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was sent at one step, and whether it was accepted."""

    step: str
    """The step instance, with its loops."""
    context: dict[str, Any] = {}
    artifacts: tuple[dict[str, Any], ...] = ()
    notes: str = ""
    is_excerpt: bool = False
    """The notes are longer than this; rules about them are not checked again."""
    option_id: str = ""
    was_blocked: bool = False


class RegressionCase(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One run from its start to a node."""

    workflow_id: str
    workflow_hash: str
    preferences: Preferences
    context: dict[str, Any] = {}
    reports: tuple[RecordedReport, ...] = ()
    end: str
    """Where it stood at last: a step instance, or that it was finished."""


class Replay(Answer, frozen=True, kw_only=True):
    """The recorded way beside the way the same reports take now."""

    is_same: bool
    expected: list[str]
    actual: list[str]
    difference: str = ""
    """The first place where they differ; empty if they do not."""


def record(history: History, node_id: NodeId) -> RegressionCase:
    """The run that leads to a node, as a test."""
    path = [node for node in path_to(history, node_id) if node.kind != "checkpoint"]
    first = path[0]
    run = history.runs[first.run_id]
    return RegressionCase(
        workflow_id=run.workflow_id,
        workflow_hash=run.workflow_hash,
        preferences=preferences_at(history, first.node_id),
        context=history.context.get(first.node_id, {}),
        reports=tuple(_report_to(history, node) for node in path[1:]),
        end=_place(path[-1].state),
    )


def replay(case: RegressionCase, workflow: CompiledWorkflow) -> Replay:
    """Send the recorded reports again and compare the way they take."""
    expected = [*(_describe(report.step, report.was_blocked) for report in case.reports), case.end]
    actual = _walk(case, workflow)
    pairs = enumerate(zip_longest(expected, actual, fillvalue="no place"), 1)
    parting = next(((place, was, now) for place, (was, now) in pairs if was != now), None)
    if parting is None:
        return Replay(is_same=True, expected=expected, actual=actual)
    difference = "at place {} the run was at {} and is now at {}".format(*parting)
    return Replay(is_same=False, expected=expected, actual=actual, difference=difference)


def _walk(case: RegressionCase, workflow: CompiledWorkflow) -> list[str]:
    facts = first_facts(workflow, case.context)
    state = first_move(workflow, facts).state
    places: list[str] = []
    kept = NOTHING_KEPT
    seen: tuple[Blocker, ...] = ()
    for report in case.reports:
        if not isinstance(state, Running) or step_key(state) != report.step:
            break  # from here on the reports are about another way
        leaf = _judged_leaf(leaf_at(workflow, state), report)
        if isinstance(leaf, Choice) and _option(leaf, report) is None:
            return [*places, f"{step_key(state)} (no option {report.option_id})"]
        shown = ShownState(facts=facts, blockers=seen)
        move, facts, blockers = _answered(case, workflow, state, leaf, shown, report, kept)
        places.append(_describe(step_key(state), move is None))
        if move is None:
            subject = partial(subject_of, place_of(workflow, state, leaf))
            kept = update_kept(kept, report.notes, report.artifacts, subject)
            seen += blockers
        else:
            kept, seen = NOTHING_KEPT, ()
            facts = carry_facts(facts, state, move.state) if isinstance(move.state, Running) else facts
            state = move.state
    return [*places, _place(state)]


def _answered(
    case: RegressionCase,
    workflow: CompiledWorkflow,
    state: Running,
    leaf: Leaf,
    shown: ShownState,
    report: RecordedReport,
    kept: KeptWork,
) -> tuple[Move | None, Facts, tuple[Blocker, ...]]:
    """Where the report leads, or None when it is blocked, what holds afterwards, and what blocked it."""
    facts = shown.facts
    answer = answer_report(
        workflow,
        state,
        leaf,
        case.preferences.autonomy,
        apply_report(workflow, facts, state, report.context, ()),
        notes=report.notes,
        artifacts=report.artifacts,
        context=report.context,
        option=_option(leaf, report),
        kept=kept,
        shown=shown,
    )
    if isinstance(answer.outcome, Block):
        blockers = tuple(map(blocker_of, answer.outcome.reasons))
        return None, apply_report(workflow, facts, state, answer.context, ()), blockers
    after = apply_report(workflow, facts, state, answer.context, answer.verdict.artifacts, answer.option)
    way = find_way(workflow, state, answer.verdict, case.preferences.autonomy, after)
    return (None if isinstance(way.outcome, Block) else way.move), after, ()


def _report_to(history: History, node: Node) -> RecordedReport:
    assert node.parent is not None, "only the first node has no parent"
    before = history.nodes[node.parent]
    answer = answer_to(history, node.node_id)
    assert answer is not None, "a report made it"
    context = history.context.get(node.node_id, {})
    notes = history.notes.get(node.node_id)
    text = notes.text if notes else ""
    artifacts = tuple(held.artifact.body for held in attached_to(history, node.node_id).artifacts)
    return RecordedReport(
        step=_place(before.state),
        context=context,
        artifacts=(*artifacts, *_seen_beside(history, node, artifacts)),
        notes=text,
        is_excerpt=notes is not None and notes.ref is not None,
        option_id=answer.option_id,
        was_blocked=answer.blocked is not None,
    )


def _seen_beside(
    history: History, node: Node, brought: tuple[dict[str, Any], ...]
) -> tuple[dict[str, Any], ...]:
    """The observations that a report was judged with, and that no report on its way brought."""
    observed = {(seen.capability, seen.status) for seen in attached_to(history, node.node_id).capabilities}
    if not observed or node.parent is None:
        return ()
    on_way = {one.node_id for one in path_to(history, node.node_id) if one.kind != "checkpoint"}
    found: dict[Any, dict[str, Any]] = {}
    for kept in kept_in_instance(history, instance_of(history, node.parent)):
        bodies = [held.artifact.body for held in attached_to(history, kept.node_id).artifacts]
        if kept.index < node.index and kept.node_id not in on_way:
            found |= {body.get("capability"): body for body in bodies if _is_one_of(observed, body)}
    answered = {body.get("capability") for body in brought if _is_one_of(observed, body)}
    return tuple(body for capability, body in found.items() if capability not in answered)


def _is_one_of(observed: Set[tuple[str, str]], body: dict[str, Any]) -> bool:
    is_observation = body["kind"] == CAPABILITY_OBSERVATION
    return is_observation and (body.get("capability"), body.get("status")) in observed


def _judged_leaf(leaf: Leaf, report: RecordedReport) -> Leaf:
    """Notes of which only the beginning was kept cannot be checked against the rules again."""
    if isinstance(leaf, Step) and report.is_excerpt:
        return msgspec.structs.replace(leaf, rules=())
    return leaf


def _option(leaf: Leaf, report: RecordedReport) -> int | None:
    if not isinstance(leaf, Choice):
        return None
    return next((at for at, held in enumerate(leaf.options) if held.id == report.option_id), None)


def _place(state: State) -> str:
    return step_key(state) if isinstance(state, Running) else FINISHED


def _describe(step: str, was_blocked: bool) -> str:
    return f"{step} (blocked)" if was_blocked else step
