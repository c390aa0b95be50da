"""How a step delegates work: the runs that it opens, in the commit that arrives there. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from handrail.contract.ids import (
    AttemptId,
    NodeId,
    RunId,
    SessionId,
    WorkflowHash,
    first_node_of,
    node_after,
    run_id_for,
)
from handrail.contract.json.canonical import digest
from handrail.engine.children.joins import (
    Joined,
    Take,
    as_choice,
    collect_nothing,
    find_join,
    list_passed,
    take_join,
)
from handrail.engine.events import (
    RULES,
    ContextSet,
    GapRecorded,
    NodeCreated,
    Parent,
    PlannedEvent,
    Preferences,
    PreferencesChanged,
    PreferencesDelta,
    RunClosed,
    RunStarted,
    Scope,
    ValueOwner,
)
from handrail.engine.facts import (
    WorkDone,
    add_loop_values,
    cap_preferences,
    facts_at,
    first_facts,
    list_blockers,
    preferences_after,
)
from handrail.engine.history import History, Node, Run
from handrail.engine.judge.arrival import PersonsWord, assess_arrival
from handrail.engine.judge.artifacts import check_start_context
from handrail.engine.judge.assess import ShownState, Verdict, choice_gaps, judge_word
from handrail.engine.navigate import Move, Running, State, first_move, leaf_at
from handrail.engine.owners import fill_from_goal
from handrail.engine.plans import (
    Accepted,
    gap_of,
    plan_advance,
    plan_blocked,
    plan_event,
    plan_gaps,
    plan_preferences,
    plan_trace,
)
from handrail.engine.reasons import (
    Block,
    Proceed,
    Reason,
    WaitsFor,
    WorkflowStep,
    consequence,
    shorten_message,
)
from handrail.engine.tips import find_tip
from handrail.workflows.compiled import CompiledWorkflow, Delegate
from handrail.workflows.conditions import Facts
from handrail.workflows.limits import MAX_CHILDREN, MAX_RUN_CHILDREN
from handrail.workflows.part_contents import Handout, list_handouts

if TYPE_CHECKING:
    from handrail.engine.gathered import Gathered, StartFacts

Workflows: TypeAlias = Mapping[WorkflowHash, CompiledWorkflow]
"""The workflows that a run may delegate."""


class Opener(msgspec.Struct, frozen=True, kw_only=True):
    """The run and the node that delegate work."""

    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    goal: str
    run: RunStarted | Run
    """The delegating run; its children have its source, project, checks and rule for confirmations."""
    preferences: Preferences


def list_arriving(workflow: CompiledWorkflow, state: State, facts: Facts) -> tuple[Handout, ...]:
    """Return what the step at the end of a move delegates, up to the limit of one step."""
    leaf = leaf_at(workflow, state) if isinstance(state, Running) else None
    if not isinstance(leaf, Delegate) or not isinstance(state, Running):
        return ()
    return list_handouts(workflow, leaf, add_loop_values(workflow, state, facts))[:MAX_CHILDREN]


def plan_children(
    opener: Opener, handouts: Sequence[Handout], workflows: Workflows, salt: int
) -> list[PlannedEvent]:
    """Return the events of these children's runs, and of what those runs delegate at once."""
    return [event for one in handouts for event in _plan_child(opener, one, workflows, salt)]


def plan_arrival(
    opener: Opener, workflow: CompiledWorkflow, move: Move, facts: Facts, workflows: Workflows, salt: int
) -> list[PlannedEvent]:
    """Return the events of the children of the step at which a move ends, and of the gaps that its node
    discloses.
    """
    handouts = list_arriving(workflow, move.state, facts)
    at_node = Scope(run_id=opener.run_id, node_id=opener.node_id)
    few = _list_few(workflow, move, len(handouts))
    gaps = [plan_event(f"gap_recorded:{opener.node_id}:{gap.gap_id}", at_node, gap) for gap in few]
    return [*gaps, *plan_children(opener, handouts, workflows, salt)]


def add_nothing(initial: ContextSet, workflow: CompiledWorkflow, move: Move) -> ContextSet:
    """Return the initial context, with empty results of steps that had nothing to delegate before the first
    step.
    """
    empty = collect_nothing(workflow, move.trace)
    owners: dict[str, ValueOwner] = dict.fromkeys(empty, "action")
    return replace(initial, context=initial.context | empty, owners=initial.owners | owners)


def plan_first_children(
    facts: StartFacts, started: RunStarted, first: NodeId, preferences: Preferences, salt: int
) -> list[PlannedEvent]:
    """Return the events of the children of the step with which a run begins."""
    known = first_facts(facts.workflow, facts.context)
    opener = Opener(
        session_id=facts.session_id,
        run_id=facts.run_id,
        node_id=first,
        goal=facts.observations.get("goal", ""),
        run=started,
        preferences=preferences,
    )
    return plan_arrival(opener, facts.workflow, first_move(facts.workflow, known), known, facts.handed, salt)


def _list_few(workflow: CompiledWorkflow, move: Move, count: int) -> list[GapRecorded]:
    """Return a gap for each step that delegates fewer children than it requires: then all of them must be
    done.
    """
    leaf = leaf_at(workflow, move.state) if isinstance(move.state, Running) else None
    arrived = [(leaf, count)] if isinstance(leaf, Delegate) else []
    return [
        GapRecorded(
            gap_id=f"gap_{step.id}_few",
            severity="warning",
            reason="reported",
            summary=f"“{step.title}” asks for {step.at_least} pieces of work"
            + (
                f" and delegated {found}: all must be done." if found else ", and there was none to delegate."
            ),
        )
        for step, found in (*((one, 0) for one in list_passed(workflow, move.trace)), *arrived)
        if found < step.at_least
    ]


# An advance in a workflow that delegates work


def plan_advance_and_open(
    history: History,
    node: Node,
    attempt_id: AttemptId,
    work: WorkDone,
    accepted: Accepted,
    gathered: Gathered,
    facts: Facts,
    salt: int,
) -> list[PlannedEvent]:
    """Return the events of a run that moves on and, in the same commit, delegates the work of its next
    step.
    """
    workflow, move = gathered.workflow, accepted.move
    preferences = preferences_after(history, node.node_id)
    handouts = list_arriving(workflow, move.state, facts)
    over = consequence(_find_overflow(history, node.run_id, move, len(handouts)), preferences.autonomy)
    if isinstance(over, Block):
        verdict = accepted.verdict
        return plan_blocked(history, node, attempt_id, work, verdict, over, (), salt, gathered.sighting)
    empty = collect_nothing(workflow, move.trace)
    work = replace(work, context=work.context | empty, owners=work.owners | dict.fromkeys(empty, "action"))
    accepted = replace(accepted, outcome=Proceed(gaps=(*accepted.outcome.gaps, *over.gaps)))
    plan = plan_advance(history, node, attempt_id, work, accepted, gathered.seen, salt, gathered.sighting)
    if over.gaps:
        return plan
    opener = _open_at(history, node, attempt_id, preferences, salt)
    return [*plan, *plan_arrival(opener, workflow, move, facts, gathered.handed, salt)]


def join_children(
    history: History, node: Node, attempt_id: AttemptId, gathered: Gathered, word: PersonsWord, salt: int
) -> tuple[Joined, list[PlannedEvent]]:
    """Return what the children of a step deliver, and the plan if an option was chosen by which the step
    stays pending.

    Raise Fault STEP_WAITS while too few children are done.
    """
    joined = take_join(history, gathered.workflow, node, gathered.work.option)
    if not joined.option:
        return joined, []
    return _plan_option(history, node, attempt_id, gathered, joined, word, salt)


def add_joined(accepted: Accepted, joined: Joined) -> Accepted:
    """Return the accepted report with the gaps of the join and the statements about its option."""
    verdict = replace(accepted.verdict, statements=(*accepted.verdict.statements, *joined.statements))
    disclosed = (*accepted.disclosed, *joined.gaps)
    return replace(accepted, verdict=verdict, disclosed=disclosed, option_id=joined.option)


def _plan_option(
    history: History,
    node: Node,
    attempt_id: AttemptId,
    gathered: Gathered,
    joined: Joined,
    word: PersonsWord,
    salt: int,
) -> tuple[Joined, list[PlannedEvent]]:
    """Return the join with the option taken, and the plan if the step stays pending. An option that belongs
    to the user is blocked until a person takes it.
    """
    join = find_join(history, gathered.workflow, node)
    assert join is not None, "only a step with children has these options"
    if joined.taken is None:
        autonomy = preferences_after(history, node.node_id).autonomy
        choice = as_choice(join)
        facts = facts_at(history, gathered.workflow, node.node_id)
        shown = ShownState(facts=facts, blockers=list_blockers(history, node), word=word)
        number = [option.id for option in choice.options].index(joined.option)
        assert isinstance(node.state, Running), "only a pending step has options"
        weighed = judge_word(gathered.workflow, node.state, choice, autonomy, shown, facts, Verdict(), number)
        outcome = consequence(weighed.due, autonomy)
        if isinstance(outcome, Block):
            verdict = Verdict(statements=weighed.statements)
            return joined, plan_blocked(history, node, attempt_id, gathered.work, verdict, outcome, (), salt)
        is_unasked = autonomy == "full_auto_never_stop" and not word.option_id
        unasked = tuple(gap_of(reason) for reason in choice_gaps(choice)) if is_unasked else ()
        joined = replace(joined, statements=weighed.statements, gaps=(*joined.gaps, *unasked))
    stays = joined.stays
    return joined, plan_waiting_on(history, node, attempt_id, gathered, joined, salt) if stays else []


def plan_waiting_on(
    history: History, node: Node, attempt_id: AttemptId, gathered: Gathered, joined: Joined, salt: int
) -> list[PlannedEvent]:
    """Return the events of a step that stays pending: for another try, for fewer children because a result
    is taken, or because its run is closed.
    """
    accepted = Accepted(
        verdict=Verdict(statements=joined.statements),
        outcome=Proceed(gaps=()),
        move=Move(state=node.state, trace=()),
        disclosed=joined.gaps,
        option_id=joined.option,
    )
    plan = plan_advance(history, node, attempt_id, gathered.work, accepted, gathered.seen, salt)
    opener = _open_at(history, node, attempt_id, preferences_after(history, node.node_id), salt)
    if joined.option == "again":
        return [*plan, *plan_children(opener, joined.again, gathered.handed, salt)]
    if joined.taken is not None:
        return [*plan, _plan_take(history, opener.node_id, joined.taken)]
    closed = RunClosed(reason="abandoned", node_id=opener.node_id, note="Work that it waited for was closed.")
    return [*plan, plan_event(f"run_closed:{opener.node_id}", Scope(run_id=node.run_id), closed)]


def _plan_take(history: History, node_id: NodeId, take: Take) -> PlannedEvent:
    run_id = take.instead_of.run_id
    closed = RunClosed(
        reason="superseded",
        node_id=find_tip(history, run_id).node_id,
        note=f"What {take.run.run_id} found is taken.",
        taken=take.run.run_id,
    )
    return plan_event(f"run_closed:{node_id}:{run_id}", Scope(run_id=run_id), closed)


def _open_at(
    history: History, node: Node, attempt_id: AttemptId, preferences: Preferences, salt: int
) -> Opener:
    run = history.runs[node.run_id]
    return Opener(
        session_id=history.session_id,
        run_id=run.run_id,
        node_id=node_after(node.node_id, attempt_id, "advance", salt),
        goal=run.seen.get("goal", ""),
        run=run,
        preferences=preferences,
    )


def _find_overflow(history: History, run_id: RunId, move: Move, new: int) -> tuple[Reason, ...]:
    """Return the reason if the run would delegate more than its limit, as a loop can make it do."""
    held = sum(run.parent is not None and run.parent.run_id == run_id for run in history.runs.values())
    if held + new <= MAX_RUN_CHILDREN or not isinstance(move.state, Running):
        return ()
    step_id = move.state.step_id
    message = f"The run has delegated {held} pieces of work; {new} more would be over {MAX_RUN_CHILDREN}."
    return (
        Reason(
            name="unexpected:invariant_violation",
            pointer=WorkflowStep(step_id=step_id),
            waits_for=WaitsFor(kind="context", state="invalid", values={"step": step_id}),
            message=message,
            fix="Close this run and start another one for the rest of the work.",
            is_retryable=False,
        ),
    )


# One child


def _plan_child(opener: Opener, handout: Handout, workflows: Workflows, salt: int) -> list[PlannedEvent]:
    child = handout.child
    workflow = workflows[child.workflow_hash]
    run_id = run_id_for(opener.session_id, f"{opener.node_id}:{handout.child_id}")
    first = first_node_of(run_id, salt)
    at_first = Scope(run_id=run_id, node_id=first)
    filled = fill_from_goal(workflow, handout.inputs, opener.goal)
    context = handout.inputs | filled
    facts = first_facts(workflow, context)
    move = first_move(workflow, facts)
    empty = collect_nothing(workflow, move.trace)
    started = RunStarted(
        workflow_id=child.workflow_id,
        workflow_hash=child.workflow_hash,
        source_kind=opener.run.source_kind,
        source_ref=opener.run.source_ref,
        input_digest=digest({"workflowId": child.workflow_id, "goal": opener.goal, "context": context}),
        project=opener.run.project,
        checks=opener.run.checks,
        confirmations=opener.run.confirmations,
        rules=RULES,
        parent=Parent(run_id=opener.run_id, node_id=opener.node_id, child_id=handout.child_id),
        agent=opener.run.agent,
    )
    # Never looser than the delegating node, and stricter if the author of the child's workflow says so.
    effective = cap_preferences(workflow, opener.preferences) or opener.preferences
    change = PreferencesChanged(
        change_id=f"prf_{first}",
        source="system",
        operation="run.start",
        delta=PreferencesDelta(),
        effective=effective,
    )
    owners: dict[str, ValueOwner] = dict.fromkeys(handout.inputs, "parent")
    owners.update(dict.fromkeys(filled, "goal"))
    owners.update(dict.fromkeys(empty, "action"))
    given = ContextSet(context=context | empty, source="initial", owners=owners)
    below = replace(opener, run_id=run_id, node_id=first, run=started, preferences=effective)
    # A start cannot be blocked to ask a person, so what its first step lacks, or cannot delegate, is a gap.
    unmet = [gap_of(reason) for reason in assess_arrival(workflow, move, facts).reasons]
    gaps = [*_list_misfits(workflow, context), *unmet]
    return [
        plan_event(f"run_started:{run_id}", Scope(run_id=run_id), started),
        plan_event(f"node_created:{first}", at_first, NodeCreated(node_kind="step", state=move.state)),
        plan_preferences(at_first, change),
        *([plan_event(f"context_set:{first}", at_first, given)] if given.context else []),
        *plan_gaps(at_first, first, gaps),
        *plan_trace(at_first, move.trace),
        *plan_arrival(below, workflow, move, facts, workflows, salt),
    ]


def _list_misfits(workflow: CompiledWorkflow, context: dict[str, Any]) -> list[GapRecorded]:
    """Return gaps for inputs of a child that do not match its declaration: the child begins anyway and
    discloses them.
    """
    return [
        GapRecorded(
            gap_id="",
            severity="warning",
            reason="reported",
            summary=shorten_message(f"The input {one.key}: {one.problem}; expected: {one.expected}."),
        )
        for one in check_start_context(workflow.inputs, context)
    ]
