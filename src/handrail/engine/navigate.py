"""Where a run goes next: conditions, loops and the trace of every decision. Pure.

The position is a step id and its loop frames. Nothing is stored about finished steps, so the same facts at
the same position always lead to the same place. A move that passes too many places without reaching a step
is abandoned, and the run stays where it is.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeGuard, assert_never, cast

import msgspec

from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Count,
    Delegate,
    ForEach,
    Leaf,
    Loop,
    Part,
    Step,
    Until,
    While,
    derive_once,
    list_leaves,
)
from handrail.workflows.conditions import (
    ConditionId,
    Facts,
    LoopControl,
    asks_for_decision,
    holds,
    holds_by_options,
    is_ruled_out,
    named_value,
)
from handrail.workflows.limits import MAX_MOVE_PLACES, Effort
from handrail.workflows.part_contents import lacks_list, list_handouts

# The position of a run in its compiled workflow; there is no list of finished steps


class _Tagged(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """Shared options of positions and trace entries, which events hold."""


class LoopFrame(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One loop around the position, outermost first; the first iteration is 0."""

    loop_id: str
    iteration: int


class Running(_Tagged, frozen=True, kw_only=True, tag="running", omit_defaults=True):
    """A step is pending."""

    step_id: str
    loops: tuple[LoopFrame, ...] = ()


class Complete(_Tagged, frozen=True, kw_only=True, tag="complete"):
    """Nothing is pending any more."""


State: TypeAlias = Running | Complete


def frames_of(state: State) -> tuple[LoopFrame, ...]:
    """Return the loops around a position; a finished run has none."""
    return state.loops if isinstance(state, Running) else ()


def step_key(state: State) -> str:
    """Return the name of a step instance: `loop@i/loop@j::stepId`, the bare id outside loops, empty at the
    end.
    """
    if isinstance(state, Complete):
        return ""
    if not state.loops:
        return state.step_id
    return "/".join(f"{frame.loop_id}@{frame.iteration}" for frame in state.loops) + "::" + state.step_id


LoopExit: TypeAlias = Literal[
    "condition_false", "items_exhausted", "limit_reached", "items_missing", "decision_missing"
]
"""Why a loop ended. `items_missing`: its list was not sent. `decision_missing`: there was no decision, in a
run that must not stop.
"""


class SelectedStep(_Tagged, frozen=True, kw_only=True, tag="selected_next_step"):
    step_id: str
    loops: tuple[LoopFrame, ...] = ()


class EvaluatedCondition(_Tagged, frozen=True, kw_only=True, tag="evaluated_condition"):
    condition_id: str
    holds: bool


class SkippedStep(_Tagged, frozen=True, kw_only=True, tag="skipped_step", omit_defaults=True):
    step_id: str
    condition_id: str
    not_needed: bool = False
    """Its condition fails because of a value that was given, not because one is missing."""


class Carried(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An artifact from before the round that ended, because that round delivered none of its kind."""

    artifact: str
    step_id: str
    """The step instance that delivered it."""


class EnteredLoop(_Tagged, frozen=True, kw_only=True, tag="entered_loop", omit_defaults=True):
    loop_id: str
    iteration: int
    carried: tuple[Carried, ...] = ()
    """Earlier artifacts that decided about this round, because the previous one did not deliver them."""


class ExitedLoop(_Tagged, frozen=True, kw_only=True, tag="exited_loop", omit_defaults=True):
    loop_id: str
    iterations: int
    reason: LoopExit
    not_needed: bool = False
    """It had no round because of a value that was given."""
    carried: tuple[Carried, ...] = ()


class DetectedNonTipAdvance(_Tagged, frozen=True, kw_only=True, tag="detected_non_tip_advance"):
    node_id: str


TraceEntry: TypeAlias = (
    SelectedStep | EvaluatedCondition | SkippedStep | EnteredLoop | ExitedLoop | DetectedNonTipAdvance
)


# What a move skipped


class PassedBy(msgspec.Struct, frozen=True, kw_only=True):
    """A step or loop that a move did not enter: its condition did not hold, or it had no round."""

    part_id: str
    reason: LoopExit = "condition_false"
    condition_id: str = ""
    """The condition of the part itself; empty for a loop that had no round."""
    not_needed: bool = False
    """It was skipped because of a value that was given, so no notice is needed."""


NO_ROUND_WORDS: dict[LoopExit, str] = {
    "condition_false": "its condition did not hold",
    "items_exhausted": "it had nothing to go through",
    "limit_reached": "it may have no round",
    "items_missing": "nobody sent its list",
    "decision_missing": "nobody decided about it",
}
"""Why a part was skipped, for texts that do not have the values of that moment."""


def list_passed(trace: Iterable[TraceEntry]) -> tuple[PassedBy, ...]:
    """Return the parts that a move skipped, in order."""
    found = []
    for entry in trace:
        if isinstance(entry, SkippedStep):
            condition_id, not_needed = entry.condition_id, entry.not_needed
            found.append(PassedBy(part_id=entry.step_id, condition_id=condition_id, not_needed=not_needed))
        elif isinstance(entry, ExitedLoop) and entry.iterations == 0:
            found.append(PassedBy(part_id=entry.loop_id, reason=entry.reason, not_needed=entry.not_needed))
    return tuple(found)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """The new position and why the run is there."""

    state: State
    trace: tuple[TraceEntry, ...]


# Moves


def move_effort() -> Effort:
    """Return the budget of one move."""
    places = f"{MAX_MOVE_PLACES} places: rounds, skipped parts, comparisons"
    trouble = f"The way to the next step passes more than {places}."
    advice = (
        "Nothing was stored, and a run under way stays where it is. Lower the counts of the loops or let a "
        "step in them run; a run that cannot go on can be closed."
    )
    return Effort(MAX_MOVE_PLACES, trouble, advice)


def first_move(workflow: CompiledWorkflow, facts: Facts, effort: Effort | None = None) -> Move:
    """Return the move to the first step whose condition holds.

    Raise Fault WORK_LIMIT_EXCEEDED if that step is too far away.
    """
    walk = _Walk(workflow, facts, effort=effort)
    return walk.done(walk.enter(workflow.steps, ()))


def next_move(
    workflow: CompiledWorkflow,
    state: Running,
    facts: Facts,
    undecided: str = "",
    effort: Effort | None = None,
) -> Move:
    """Return the move from an acknowledged step to the next one. A loop without a decision ends.

    Raise Fault WORK_LIMIT_EXCEEDED if the next step is too far away.
    """
    walk = _Walk(workflow, facts, undecided, effort)
    return walk.done(walk.after(state))


def leaf_at(workflow: CompiledWorkflow, state: Running) -> Leaf:
    """Return the step, choice or action that is pending at a position."""
    parts, place = _way_down(workflow, state.step_id)[-1]
    leaf = parts[place]
    assert not isinstance(leaf, Loop), "a position names a leaf"
    return leaf


def own_action_at(workflow: CompiledWorkflow, state: State) -> Action | None:
    """Return the action that is pending at a position, if Handrail runs it itself."""
    leaf = leaf_at(workflow, state) if isinstance(state, Running) else None
    return leaf if is_own(leaf) else None


def is_guarded(workflow: CompiledWorkflow) -> bool:
    """Whether options can decide if an action of Handrail runs."""
    return bool(offered_names(workflow) and derive_once(workflow, _find_guarded))


def _find_guarded(workflow: CompiledWorkflow) -> frozenset[str]:
    """Return the actions that Handrail runs itself, and the loops around them."""
    own = [leaf for leaf in list_leaves(workflow.steps) if is_own(leaf)]
    return frozenset(parts[place].id for leaf in own for parts, place in _way_down(workflow, leaf.id))


def is_own(leaf: Leaf | None) -> TypeGuard[Action]:
    """Whether Handrail runs this step itself."""
    return isinstance(leaf, Action) and leaf.is_own


def offered_names(workflow: CompiledWorkflow) -> frozenset[str]:
    """Return the values that options of the workflow set."""
    return derive_once(workflow, _list_offered)


def _list_offered(workflow: CompiledWorkflow) -> frozenset[str]:
    choices = (leaf for leaf in list_leaves(workflow.steps) if isinstance(leaf, Choice))
    return frozenset(name for leaf in choices for option in leaf.options for name in option.sets)


def leaves_of(workflow: CompiledWorkflow) -> dict[str, Leaf]:
    """Return every leaf by its id, for callers that look up many."""
    return derive_once(workflow, _map_leaves)


def _map_leaves(workflow: CompiledWorkflow) -> dict[str, Leaf]:
    return {leaf.id: leaf for leaf in list_leaves(workflow.steps)}


def loop_values(
    workflow: CompiledWorkflow, loops: tuple[LoopFrame, ...], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values that hold inside loops: items and indexes on top of the given ones."""
    around = ((find_loop(workflow, frame.loop_id), frame.iteration) for frame in loops)
    return {**values, **_loop_layer(around, values)}


def _loop_layer(around: Iterable[tuple[Loop, int]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that loops add in their current rounds, outermost first."""
    layer: dict[str, Any] = {}
    merged = ChainMap(layer, cast("dict[str, Any]", values))
    for loop, iteration in around:
        match loop.repeat:
            case ForEach(input=name, item=item, index=index):
                items = named_value(merged, name)
                if isinstance(items, list) and iteration < len(items):
                    layer[item] = items[iteration]
                if index:
                    layer[index] = iteration
            case Count(index=index):
                if index:
                    layer[index] = iteration
            case While() | Until():
                pass
    return layer


def open_loops(workflow: CompiledWorkflow, loops: tuple[LoopFrame, ...]) -> tuple[str, ...]:
    """Return the loops around a position that a decision can be about: those that need one, or else all;
    innermost last.
    """
    asking = [
        frame.loop_id
        for frame in loops
        if isinstance(find_loop(workflow, frame.loop_id).repeat, While | Until)
    ]
    return tuple(asking or [frame.loop_id for frame in loops])


def deciding_loop(workflow: CompiledWorkflow, loops: tuple[LoopFrame, ...]) -> str:
    """Return the loop that a decision without a loop id is about: the innermost that needs one, or else the
    innermost.
    """
    found = open_loops(workflow, loops)
    return found[-1] if found else ""


class _Walk:
    """One search for the next leaf. A decision is used once: it never starts two iterations."""

    def __init__(
        self, workflow: CompiledWorkflow, facts: Facts, undecided: str = "", effort: Effort | None = None
    ) -> None:
        self._effort = move_effort() if effort is None else effort
        self._workflow = workflow
        self._facts = facts
        self._undecided = undecided
        self._decisions = dict(facts.loop_decisions)
        self._trace: list[TraceEntry] = []
        self._frames: tuple[LoopFrame, ...] = ()
        self._values = facts.values

    def done(self, found: Running | None) -> Move:
        if found is None:
            return Move(state=Complete(), trace=tuple(self._trace))
        self._trace.append(SelectedStep(step_id=found.step_id, loops=found.loops))
        return Move(state=found, trace=tuple(self._trace))

    def enter(self, parts: tuple[Part, ...], loops: tuple[LoopFrame, ...], start: int = 0) -> Running | None:
        for part in parts[start:]:
            self._effort.spend()
            if part.when and not self._holds(part.when, loops, guards=part.id):
                not_needed = self._is_ruled_out(part.when, loops)
                self._trace.append(
                    SkippedStep(step_id=part.id, condition_id=part.when, not_needed=not_needed)
                )
                continue
            match part:
                case Loop():
                    found = self._iterate(part, loops, 0)
                    if found is not None:
                        return found
                case Delegate() if self._hands_out_nothing(part, loops):
                    self._trace.append(SkippedStep(step_id=part.id, condition_id="", not_needed=True))
                case Step() | Choice() | Action() | Delegate():
                    return Running(step_id=part.id, loops=loops)
                case never:
                    assert_never(never)
        return None

    def _hands_out_nothing(self, step: Delegate, loops: tuple[LoopFrame, ...]) -> bool:
        """Whether a step has its list and its conditions, and still has nothing to delegate."""
        facts = self._facts_inside(loops)
        self._effort.spend(len(step.children))

        return not lacks_list(step, facts) and not list_handouts(self._workflow, step, facts)

    def after(self, state: Running) -> Running | None:
        loops = state.loops
        for parts, place in reversed(_way_down(self._workflow, state.step_id)):
            inside = parts[place]
            if isinstance(inside, Loop):
                frame, loops = loops[-1], loops[:-1]
                found = self._iterate(inside, loops, frame.iteration + 1)
                if found is not None:
                    return found
            found = self.enter(parts, loops, place + 1)
            if found is not None:
                return found
        return None

    def _iterate(self, loop: Loop, loops: tuple[LoopFrame, ...], iteration: int) -> Running | None:
        while True:
            self._effort.spend()
            if not loops:
                self._effort.where = f"the loop {loop.id}"
            reason = self._exit_reason(loop, loops, iteration)
            if reason is not None:
                not_needed = iteration == 0 and self._is_round_ruled_out(loop, loops, reason)
                self._trace.append(
                    ExitedLoop(loop_id=loop.id, iterations=iteration, reason=reason, not_needed=not_needed)
                )
                return None
            self._decisions.pop(loop.id, None)
            self._trace.append(EnteredLoop(loop_id=loop.id, iteration=iteration))
            found = self.enter(loop.body, (*loops, LoopFrame(loop_id=loop.id, iteration=iteration)))
            if found is not None:
                return found
            iteration += 1

    def _exit_reason(self, loop: Loop, loops: tuple[LoopFrame, ...], iteration: int) -> LoopExit | None:
        if iteration > 0 and loop.id == self._undecided and _asks_body(self._workflow, loop):
            return "decision_missing"
        match loop.repeat:
            case While(condition=condition):
                is_first = iteration == 0 and isinstance(self._workflow.conditions[condition], LoopControl)
                if not is_first and not self._holds(condition, loops, loop.id, loop.id):
                    return "condition_false"
            case Until(condition=condition):
                if iteration > 0 and self._holds(condition, loops, loop.id):
                    return "condition_false"
            case ForEach(input=name):
                items = named_value(self._inside(loops), name)
                if not isinstance(items, list):
                    return "items_missing"
                if iteration >= len(items):
                    return "items_exhausted"
            case Count(count=count):
                if iteration >= count:
                    return "items_exhausted"
            case never:
                assert_never(never)
        return "limit_reached" if iteration >= loop.max_iterations else None

    def _facts_inside(self, loops: tuple[LoopFrame, ...]) -> Facts:
        return Facts(
            values=self._inside(loops),
            artifacts=self._facts.artifacts,
            loop_decisions=self._decisions,
            chosen=self._facts.chosen,
            assumed=self._facts.assumed,
        )

    def _is_ruled_out(
        self, condition_id: ConditionId, loops: tuple[LoopFrame, ...], loop_id: str = ""
    ) -> bool:
        return is_ruled_out(self._workflow.conditions[condition_id], self._facts_inside(loops), loop_id)

    def _is_round_ruled_out(self, loop: Loop, loops: tuple[LoopFrame, ...], reason: LoopExit) -> bool:
        """Whether a loop has no first round because of a value that was given: a condition, an empty list,
        a number.
        """
        match loop.repeat:
            case While(condition=condition):
                return self._is_ruled_out(condition, loops, loop.id)
            case ForEach(input=name):
                return reason == "items_exhausted" and name.partition(".")[0] not in self._facts.assumed
            case Until() | Count():
                return True
            case never:
                assert_never(never)

    def _holds(
        self, condition_id: ConditionId, loops: tuple[LoopFrame, ...], loop_id: str = "", guards: str = ""
    ) -> bool:
        """Whether a condition holds. If the part that it guards leads to an action of Handrail, only
        options give the values that options set.
        """
        condition, facts = self._workflow.conditions[condition_id], self._facts_inside(loops)
        if guards in derive_once(self._workflow, _find_guarded):
            offered = offered_names(self._workflow)
            result = holds_by_options(condition, facts, offered, self._effort, loop_id)
        else:
            result = holds(condition, facts, loop_id, self._effort)
        self._trace.append(EvaluatedCondition(condition_id=condition_id, holds=result))
        return result

    def _inside(self, loops: tuple[LoopFrame, ...]) -> Mapping[str, Any]:
        """Return the values that hold inside these loops; built once per round."""
        if loops is not self._frames:
            around = ((find_loop(self._workflow, frame.loop_id), frame.iteration) for frame in loops)
            below = cast("dict[str, Any]", self._facts.values)
            self._values = ChainMap(_loop_layer(around, below), below)
            self._frames = loops
        return self._values


_Way: TypeAlias = tuple[tuple[tuple[Part, ...], int], ...]
"""The way down to a part: at each level, the list that contains it and its position there."""


def _way_down(workflow: CompiledWorkflow, part_id: str) -> _Way:
    way = derive_once(workflow, _ways_down).get(part_id)
    assert way is not None, f"the pinned workflow has no step or loop {part_id}"
    return way


def _ways_down(workflow: CompiledWorkflow) -> dict[str, _Way]:
    """Return the way to every leaf and loop, by its id."""
    found: dict[str, _Way] = {}
    waiting: list[tuple[tuple[Part, ...], _Way]] = [(workflow.steps, ())]
    while waiting:
        parts, above = waiting.pop()
        for place, part in enumerate(parts):
            found[part.id] = (*above, (parts, place))
            if isinstance(part, Loop):
                waiting.append((part.body, found[part.id]))
    return found


def _asks_body(workflow: CompiledWorkflow, loop: Loop) -> bool:
    """Whether another round depends on a decision that the body delivers."""
    repeat = loop.repeat
    return isinstance(repeat, While | Until) and asks_for_decision(workflow.conditions[repeat.condition])


def find_loop(workflow: CompiledWorkflow, loop_id: str) -> Loop:
    """Return the loop of this id; the pinned workflow has it."""
    parts, place = _way_down(workflow, loop_id)[-1]
    loop = parts[place]
    assert isinstance(loop, Loop), "a frame names a loop"
    return loop
