"""What happens next, as a plan of events. Pure: time, ids and digests are arguments.

In every plan the ledger anchor (`run_started`, `advance_recorded`, a checkpoint's `node_created`,
`run_closed`, `confirmation_recorded`, a person's `gap_recorded`) is the run's first event.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.ids import (
    AttemptId,
    Autonomy,
    first_node_of,
    node_after,
)
from handrail.contract.outcome import Fault
from handrail.engine.events import (
    RULES,
    Artifact,
    CapabilityObserved,
    ContextSet,
    GapRecorded,
    NodeCreated,
    ObservationRecorded,
    PlannedEvent,
    PreferencesChanged,
    Scope,
    SessionCreated,
    ValueOwner,
)
from handrail.engine.facts import (
    DEFAULT_PREFERENCES,
    KeptWork,
    WorkDone,
    apply_delta,
    change_at_start,
    facts_after,
    facts_at,
    first_facts,
    list_blockers,
    preferences_after,
)
from handrail.engine.gathered import NO_PREFERENCES, Gathered, StartFacts
from handrail.engine.history import (
    History,
    Node,
    gaps_at,
)
from handrail.engine.judge.actions import runs_unasked
from handrail.engine.judge.arrival import (
    PersonsWord,
    assess_arrival,
    list_dropped_items,
    list_unasked_gaps,
)
from handrail.engine.judge.artifacts import KnownGaps, Place
from handrail.engine.judge.assess import (
    ShownState,
    Verdict,
    answer_report,
    assess_progress,
    collect_brought,
    find_way,
    place_of,
)
from handrail.engine.judge.missing_lists import name_carried
from handrail.engine.judge.resolving import (
    is_evidence_gap,
    resolve_by_observation,
    resolve_by_output,
    resolve_by_verification,
    unverified_gaps,
)
from handrail.engine.navigate import Complete, Move, Running, first_move, frames_of, leaf_at
from handrail.engine.owners import find_refused, keep_stronger, refuse_context
from handrail.engine.plans import (
    Accepted,
    gap_of,
    plan_advance,
    plan_blocked,
    plan_carried_preferences,
    plan_disclosures,
    plan_edge,
    plan_event,
    plan_evidence,
    plan_gaps,
    plan_helper,
    plan_observed_changes,
    plan_preferences,
    plan_trace,
    plan_tree,
    plan_validations,
    plan_work,
)
from handrail.engine.reasons import Block, ContextKey, InputProblem, Proceed, Reason, shorten_message
from handrail.workflows.compiled import (
    WITH_CHILDREN,
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    Leaf,
    Option,
    Step,
)
from handrail.workflows.conditions import Facts, named_value

if TYPE_CHECKING:
    from handrail.engine.children.joins import Joined
    from handrail.engine.judge.evidence import Witnessed
    from handrail.engine.judge.places import Look
    from handrail.engine.judge.proofs import ProofFacts, ProofVerdict

MOST_PROBLEMS = 20


def decide_start(history: History, facts: StartFacts, salt: int = 0) -> list[PlannedEvent]:
    """Return the plan of a run and its first node, in a session that may be new."""
    first = first_node_of(facts.run_id, salt)
    at_first = Scope(run_id=facts.run_id, node_id=first)
    known = first_facts(facts.workflow, facts.context)
    move = first_move(facts.workflow, known)
    begun = change_at_start(history, facts.preferences, f"prf_{first}", facts.defaults)
    started = replace(facts.started, rules=RULES, pins=tuple(sorted(facts.handed)))
    owners: dict[str, ValueOwner] = dict.fromkeys(facts.from_goal, "goal")
    initial = ContextSet(context=facts.context, source="initial", owners=owners)
    unsent = [gap_of(reason) for reason in assess_arrival(facts.workflow, move, known).reasons]
    opened: list[PlannedEvent] = []
    if facts.workflow.v >= WITH_CHILDREN:
        # Few workflows delegate work.
        from handrail.engine.children.opening import add_nothing, plan_first_children  # noqa: PLC0415

        initial = add_nothing(initial, facts.workflow, move)
        opened = plan_first_children(facts, started, first, begun.effective, salt)
    return [
        *_session_opening(history, facts),
        plan_event(f"run_started:{facts.run_id}", Scope(run_id=facts.run_id), started),
        plan_event(f"node_created:{first}", at_first, NodeCreated(node_kind="step", state=move.state)),
        plan_preferences(at_first, begun),
        *([plan_event(f"context_set:{first}", at_first, initial)] if initial.context else []),
        *plan_gaps(at_first, first, unsent),
        *plan_trace(at_first, move.trace),
        *opened,
    ]


def list_unmet_lists(facts: StartFacts) -> list[tuple[str, Reason]]:
    """Return the lists that the way to the first step needs and lacks. A start can be refused, but not
    blocked.
    """
    known = first_facts(facts.workflow, facts.context)
    move = first_move(facts.workflow, known)
    unmet = assess_arrival(facts.workflow, move, known).reasons
    return [(one.pointer.key, one) for one in unmet if isinstance(one.pointer, ContextKey)]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One chance to acknowledge a node, or to save progress at it."""

    node: Node
    attempt_id: AttemptId


def decide_advance(
    history: History, attempt: Attempt, gathered: Gathered, salt: int = 0
) -> list[PlannedEvent]:
    """Return the plan that answers a report of the pending step: the run moves on, or the attempt is
    blocked.
    """
    resolved = [] if gathered.helper is None else plan_helper(history, attempt.node, gathered.helper)
    plan = [*_decide_report(history, attempt, gathered, salt), *resolved]
    other = gathered.other_files
    if other is None:
        return plan
    made = [event.scope for event in plan if isinstance(event.data, NodeCreated)]
    return [*plan, *(plan_tree(scope, other) for scope in made if scope.run_id == attempt.node.run_id)]


# The order keeps a report honest. Values that the agent may not set are refused before anything is judged
# with them. Values are merged from weak to strong (the agent's, an action's or a child's, a person's), so
# conditions read what will be recorded. The report is judged on facts with its context. Only then is the next
# step chosen, on facts with the accepted artifacts and the option taken: a refused artifact must not choose a
# branch. Both kinds of block create the same kind of node, and gaps that the report's observations resolved
# stay resolved. Nothing here reads the outside world: an attempt whose append lost a race is decided again on
# a longer history, with the same `gathered`.
def _decide_report(history: History, attempt: Attempt, gathered: Gathered, salt: int) -> list[PlannedEvent]:
    node, workflow, work = attempt.node, gathered.workflow, gathered.work
    assert isinstance(node.state, Running), "only a pending step can be acknowledged"
    leaf = leaf_at(workflow, node.state)
    refused = find_refused_values(history, workflow, node, work)
    if refused:
        raise refuse_context(refused)
    joined, planned = _join_children(history, attempt, gathered, leaf, salt)
    if planned:
        return planned
    found = work.result if joined is None else work.result | joined.collected
    work = replace(work, result=keep_stronger(history, workflow, node, found))
    kept = collect_brought(history, node, place_of(workflow, node.state, leaf), gathered.kept_notes)
    word, given = _weigh_people(history, attempt, gathered, kept)
    persons = _read_given(workflow, leaf, given)
    sent = work.context | work.result | persons
    held = facts_at(history, workflow, node.node_id)
    autonomy = preferences_after(history, node.node_id).autonomy
    known = _witness(history, node, word, gathered)
    proven = _judge_proof(history, node, leaf, _mode_at(autonomy, gathered), gathered.proof_facts)
    answer = answer_report(
        workflow,
        node.state,
        leaf,
        _mode_at(autonomy, gathered),
        facts_after(history, workflow, node, sent, ()),
        notes=work.notes,
        artifacts=work.artifacts,
        context=sent,
        option=work.option,
        kept=kept,
        gaps=_gaps_before(history, node, (*work.artifacts, *kept.artifacts)),
        shown=ShownState(facts=held, blockers=list_blockers(history, node), word=word, given=given),
        known=known,
        troubles=(*gathered.troubles, *(() if proven is None else proven.reasons)),
    )
    owners = _name_owners(work.result, persons, answer.option, word)
    work, judged = replace(work, context=answer.context, owners=owners), answer.verdict
    resolved = _resolve_gaps(history, node, judged.observed, ())
    resolved += () if proven is None else proven.resolved
    at, seen = attempt.attempt_id, gathered.sighting
    if isinstance(answer.outcome, Block):
        resolved += () if proven is None else proven.held
        return plan_blocked(history, node, at, work, judged, answer.outcome, resolved, salt, seen)
    facts = facts_after(history, workflow, node, answer.context, judged.artifacts, answer.option)
    way = find_way(workflow, node.state, judged, autonomy, facts)
    if isinstance(way.outcome, Block):
        return plan_blocked(history, node, at, work, judged, way.outcome, resolved, salt, seen)
    resolved += _resolve_gaps(history, node, (), judged.artifacts)
    accepted = Accepted(
        verdict=judged,
        outcome=Proceed(gaps=(*answer.outcome.gaps, *way.outcome.gaps)),
        move=_name_carried(history, workflow, node, judged.artifacts, way.move),
        disclosed=(
            *list_unasked_gaps(leaf, autonomy),
            *way.gaps,
            *list_dropped_items(workflow, node.state, held, facts),
            *resolved,
            *(() if proven is None else proven.gaps),
            *_judge_end(way.move, judged, facts),
        ),
        option_id="" if answer.option is None else answer.option.id,
    )
    if workflow.v >= WITH_CHILDREN:
        # Few workflows delegate work.
        from handrail.engine.children.opening import add_joined, plan_advance_and_open  # noqa: PLC0415

        accepted = accepted if joined is None else add_joined(accepted, joined)
        return plan_advance_and_open(history, node, attempt.attempt_id, work, accepted, gathered, facts, salt)
    return plan_advance(
        history, node, attempt.attempt_id, work, accepted, gathered.seen, salt, gathered.sighting
    )


def _resolve_gaps(
    history: History, node: Node, observed: Sequence[CapabilityObserved], artifacts: Sequence[Artifact]
) -> list[GapRecorded]:
    """Return resolutions of gaps on the way to a node that were resolved by an observation or an artifact."""
    if not observed and not artifacts:
        return []
    find_gaps = partial(gaps_at, history, node.node_id)
    return [*resolve_by_observation(find_gaps, observed), *resolve_by_output(find_gaps, artifacts)]


def _name_carried(
    history: History, workflow: CompiledWorkflow, node: Node, artifacts: Sequence[Artifact], move: Move
) -> Move:
    if not frames_of(node.state):
        return move
    return name_carried(history, workflow, node, artifacts, move)


def _mode_at(autonomy: Autonomy, gathered: Gathered) -> Autonomy:
    """Return the mode for judging a report: an agent cannot choose a mode that skips the person who has to
    confirm.
    """
    stops = gathered.has_confirmer and autonomy == "full_auto_never_stop"
    return "full_auto_stop_on_user_deps" if stops else autonomy


def _join_children(
    history: History, attempt: Attempt, gathered: Gathered, leaf: Leaf, salt: int
) -> tuple[Joined | None, list[PlannedEvent]]:
    """Return what children deliver, and the plan if an option was chosen by which the step stays pending.

    Raise Fault STEP_WAITS while too few children are done.
    """
    if not isinstance(leaf, Delegate):
        return None, []
    from handrail.engine.children.opening import join_children  # noqa: PLC0415 - few steps delegate work

    word, _ = _weigh_people(history, attempt, gathered, KeptWork())
    return join_children(history, attempt.node, attempt.attempt_id, gathered, word, salt)


def _name_owners(
    result: dict[str, Any], given: dict[str, Any], option: Option | None, word: PersonsWord
) -> dict[str, ValueOwner]:
    """Return the owner of each value that a decision adds to the agent's context."""
    is_persons = option is not None and word.option_id == option.id
    return {
        **dict.fromkeys(result, "action"),
        **dict.fromkeys(given, "person"),
        **dict.fromkeys(() if option is None else option.sets, "person" if is_persons else "agent_option"),
    }


def _judge_end(move: Move, verdict: Verdict, facts: Facts) -> list[GapRecorded]:
    """Return the gap of a run that ends here although its last verification did not pass."""
    if not isinstance(move.state, Complete):
        return []
    return unverified_gaps(facts, verdict.artifacts)


def plan_attempt_look(
    history: History, workflow: CompiledWorkflow, node: Node, artifacts: Sequence[dict[str, Any]]
) -> Look | None:
    """Return what must be read before a report at this node is judged, including what was already sent for
    it; None if no artifact was sent and the step needs no proof.
    """
    place = Place(workflow=workflow)
    bodies = tuple(artifacts)
    if isinstance(node.state, Running):
        place = place_of(workflow, node.state, leaf_at(workflow, node.state))
        bodies += collect_brought(history, node, place).artifacts
    if not bodies and (place.step is None or place.step.proof is None):
        return None
    from handrail.engine.judge.evidence import plan_look  # noqa: PLC0415 - notes alone need none of it

    def find_value(name: str) -> Any:
        return named_value(facts_at(history, workflow, node.node_id).values, name)

    return plan_look(place, bodies, find_value)


def decide_checkpoint(
    history: History, attempt: Attempt, gathered: Gathered, salt: int = 0
) -> list[PlannedEvent]:
    """Return the plan that saves notes at a node without moving the run: the pending step stays the same.

    Raise Fault VALIDATION_ERROR if a gap, an observation or a divergence is invalid: a checkpoint is never
    blocked, so nothing is stored then.
    """
    node, attempt_id, work = attempt.node, attempt.attempt_id, gathered.work
    to_node_id = node_after(node.node_id, attempt_id, "checkpoint", salt)
    scope = Scope(run_id=node.run_id, node_id=to_node_id)
    verdict = _progress(history, node, gathered)
    is_over = isinstance(node.state, Complete)
    resolved = _resolve_gaps(history, node, verdict.observed, ())
    if is_over and verdict.artifacts and not verdict.reasons:
        resolved += resolve_by_verification(gaps_at(history, node.node_id), verdict.artifacts)
    created = NodeCreated(
        node_kind="checkpoint",
        parent_node_id=node.node_id,
        state=node.state,
        attempt_id=attempt_id,
        input_digest=work.input_digest,
    )
    return [
        plan_event(f"node_created:{to_node_id}", scope, created),
        plan_edge(node, to_node_id, "checkpoint", "checkpoint_created"),
        *plan_carried_preferences(history, node, scope),
        *plan_observed_changes(history, node, scope, gathered.seen),
        *plan_work(scope, work, verdict.artifacts),
        *plan_validations(scope, to_node_id, attempt_id, verdict),
        *plan_disclosures(history, node, scope, verdict, verdict.reasons, resolved),
        *plan_evidence(node, to_node_id, attempt_id, verdict, gathered.sighting),
        *([] if gathered.helper is None else plan_helper(history, node, gathered.helper)),
    ]


def _witness(history: History, node: Node, word: PersonsWord, gathered: Gathered) -> Witnessed | None:
    if gathered.sighting is None:
        return None
    from handrail.engine.judge.evidence import Witnessed  # noqa: PLC0415 - notes alone need none of it
    from handrail.engine.judge.results import compute_results  # noqa: PLC0415 - the same

    computed = compute_results(history, node, gathered.sighting, gathered.proof_facts)
    return Witnessed(
        sighting=gathered.sighting,
        computed=computed,
        is_confirmed=word.is_given,
        is_declined=word.is_declined,
    )


def _judge_proof(
    history: History, node: Node, leaf: Leaf, autonomy: Autonomy, facts: ProofFacts | None
) -> ProofVerdict | None:
    """Return what follows from the proofs of a step, or None if it needs no proof."""
    if facts is None or not isinstance(leaf, Step) or leaf.proof is None:
        return None
    from handrail.engine.judge.proofs import judge_proof  # noqa: PLC0415 - few steps want a proof

    return judge_proof(history, node, leaf, autonomy, facts)


def _weigh_people(
    history: History, attempt: Attempt, gathered: Gathered, kept: KeptWork
) -> tuple[PersonsWord, PersonsWord]:
    """Return how people's answers count for the pending step, and for what only the user can give."""
    node, workflow = attempt.node, gathered.workflow
    assert isinstance(node.state, Running), "only a pending step can be acknowledged"
    leaf = leaf_at(workflow, node.state)
    word = given = PersonsWord()
    if history.confirmations:
        from handrail.engine.ask import weigh_report  # noqa: PLC0415 - in few runs people answer

        word, given = weigh_report(history, workflow, node, gathered.work, kept)
    is_person, is_implied = gathered.confirmations == "person", False
    is_due = is_person or word.is_due or (isinstance(leaf, Step) and bool(leaf.confirmed_by))
    if isinstance(leaf, Action) and not is_due:
        is_implied = runs_unasked(history, workflow, node)
    word = replace(word, is_due=is_due, can_be_asked=gathered.can_ask, is_implied=is_implied)
    return word, replace(given, is_due=is_person)


def find_refused_values(
    history: History, workflow: CompiledWorkflow, node: Node, work: WorkDone
) -> list[InputProblem]:
    """Return the keys of a report that may not be set, each with the owner of the value in force."""
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    option = leaf.options[work.option] if isinstance(leaf, Choice) and work.option is not None else None
    word = given = PersonsWord()
    if history.confirmations:
        from handrail.engine.ask import weigh_answers  # noqa: PLC0415 - in few runs people answer

        if option is not None:
            word = weigh_answers(history, workflow, node, "choose")
        elif isinstance(leaf, Step):
            given = weigh_answers(history, workflow, node, "give")
    taken_by: ValueOwner = "person" if option is not None and word.option_id == option.id else "agent_option"
    persons = {} if leaf is None else _read_given(workflow, leaf, given)
    return find_refused(history, workflow, node, work.context, option, taken_by=taken_by, given=persons)


def _read_given(workflow: CompiledWorkflow, leaf: Leaf, given: PersonsWord) -> dict[str, Any]:
    if not given.is_given:
        return {}
    from handrail.engine.ask import given_values  # noqa: PLC0415 - few steps ask for a value

    return given_values(workflow, leaf, given)


def _progress(history: History, node: Node, gathered: Gathered) -> Verdict:
    workflow, work = gathered.workflow, gathered.work
    if not work.artifacts:
        return Verdict()
    gaps = _gaps_before(history, node, work.artifacts)
    place = (
        place_of(workflow, node.state, leaf_at(workflow, node.state), gaps)
        if isinstance(node.state, Running)
        else Place(workflow=workflow, gaps=gaps)
    )
    known = _witness(history, node, PersonsWord(), gathered)
    verdict = assess_progress(place, work.artifacts, known)
    if verdict.issues:
        raise _refuse_checkpoint(verdict)
    return verdict


def _refuse_checkpoint(verdict: Verdict) -> Fault:
    problems = [
        {"param": f"output.artifacts of {issue.contract_ref}, {issue.pointer}", "problem": issue.message}
        for issue in verdict.issues[:MOST_PROBLEMS]
    ]
    first = verdict.issues[0]
    message = (
        f"An artifact of {first.contract_ref} does not fit: {first.pointer}: {first.message}; nothing was "
        "stored. Correct it or leave it out and send the checkpoint again."
    )
    return Fault(VALIDATION_ERROR, shorten_message(message), details={"problems": problems})


def _gaps_before(history: History, node: Node, bodies: Sequence[dict[str, Any]]) -> KnownGaps:
    """Return the gaps that were recorded on the way to a node, if the report refers to one: the way may be
    long.
    """
    if not any(body.get("resolvesGapId") for body in bodies):
        return KnownGaps()
    gaps = gaps_at(history, node.node_id)
    judged = frozenset(gap.gap_id for gap in gaps if is_evidence_gap(gap))
    return KnownGaps(ids=tuple(gap.gap_id for gap in gaps), by_evidence=judged)


def _session_opening(history: History, facts: StartFacts) -> list[PlannedEvent]:
    plan = []
    if history.head == 0:
        plan.append(plan_event(f"session_created:{facts.session_id}", Scope(), SessionCreated()))
        plan += _first_baseline(facts)
    for key, value in sorted(facts.observations.items()):
        if history.observations.get(key) != value:
            seen = ObservationRecorded(key=key, value=value)
            plan.append(plan_event(f"observation_recorded:{facts.run_id}:{key}", Scope(), seen))
    return plan


def _first_baseline(facts: StartFacts) -> list[PlannedEvent]:
    """Return the event that makes the user's defaults those of the session: changing them later changes no
    running session.
    """
    if facts.defaults == NO_PREFERENCES:
        return []
    change = PreferencesChanged(
        change_id=f"prf_{facts.session_id}",
        source="user",
        operation="run.start",
        delta=facts.defaults,
        effective=apply_delta(DEFAULT_PREFERENCES, facts.defaults),
    )
    return [plan_event(f"preferences_changed:{facts.session_id}", Scope(), change)]
