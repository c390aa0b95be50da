"""Simulates a workflow without an agent: all branches within bounds, in every mode. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, assert_never

import msgspec

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.ids import Autonomy
from handrail.contract.outcome import Fault
from handrail.engine.facts import add_loop_values, apply_report, carry_facts, first_facts
from handrail.engine.judge.assess import Answer, answer_report, find_way
from handrail.engine.navigate import (
    Complete,
    EnteredLoop,
    EvaluatedCondition,
    ExitedLoop,
    LoopExit,
    Move,
    Running,
    TraceEntry,
    first_move,
    leaf_at,
    move_effort,
)
from handrail.engine.reasons import Block
from handrail.engine.simulation.made_reports import (
    PLAIN_NOTES,
    MadeReport,
    Paths,
    flip_condition,
    input_paths,
    list_starts,
    lists_in,
    loops_in,
    make_joins,
    make_required_values,
    notes_for,
    report_without_artifact,
    simulation_effort,
    used_conditions,
    valid_reports,
)
from handrail.engine.simulation.report import (
    Coverage,
    DeadStep,
    Limits,
    LoopEnds,
    ModeWalked,
    ProblemKind,
    PromptSize,
    Report,
    SimulationProblem,
)
from handrail.engine.standing import render_step
from handrail.workflows.checking.reachability import Domains, never_holds
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    Leaf,
    Loop,
    Part,
    Step,
    Until,
    While,
    list_required_contracts,
    loop_variables,
    names_set_inside,
)
from handrail.workflows.conditions import (
    MISSING,
    And,
    Compare,
    Condition,
    Facts,
    asks_for_decision,
    comparisons,
    label_condition,
    parts_of,
    value_of,
)
from handrail.workflows.contracts.check import fitting_example
from handrail.workflows.limits import Effort
from handrail.workflows.part_contents import leaves_in_loops

# Steps that no walk reached: dead if that is proven, untried if only a limit was reached


class _Judge:
    """What is known about one workflow from all its walks."""

    def __init__(
        self, workflow: CompiledWorkflow, walks: Iterable[Walks], *, is_whole: bool, iterations: int
    ) -> None:
        """Keep the walks. `is_whole`: every start was tried and no walk was cut short; `iterations`: limit
        of each loop.
        """
        self._workflow = workflow
        self._held = {name for taken in walks for name in taken.held}
        self._entered = {name for taken in walks for name in taken.entered}
        self._is_whole = is_whole
        self._iterations = iterations
        self._domains = Domains(workflow)
        loops = loops_in(workflow.steps)
        self._changing = set(names_set_inside(workflow.steps)).union(*map(loop_variables, loops))
        """Names whose values arise during a run."""

    def is_dead(self, part: Part, around: tuple[Loop, ...]) -> bool:
        """Whether a part certainly cannot be reached: no values lead there, or every way was walked and
        nothing was left out.
        """
        on_the_way = list(self._conditions(part, around))
        if on_the_way and never_holds(And(of=tuple(on_the_way)), self._domains, can_decide=False):
            return True
        return self._is_whole and not any(map(self._is_open, on_the_way)) and not self._is_cut(around)

    def why(self, part: Part, around: tuple[Loop, ...]) -> str:
        """Return the outermost condition or loop that kept every walk away."""
        for outer in (*around, part):
            if outer.when and outer.when not in self._held:
                whose = "its condition" if outer is part else f"the condition of the loop {outer.id}"
                return f"{whose} {label_condition(self._workflow.conditions, outer.when)} never held"
            if isinstance(outer, Loop) and outer.id not in self._entered:
                return f"the loop {outer.id} never ran"
        return "no walk leads there"

    def _conditions(self, part: Part, around: tuple[Loop, ...]) -> Iterator[Condition]:
        """Yield the conditions that must hold on the way to a part; a loop's own decision can always hold."""
        for outer in (*around, part):
            if outer.when:
                yield self._workflow.conditions[outer.when]
            if isinstance(outer, Loop) and isinstance(outer.repeat, While):
                condition = self._workflow.conditions[outer.repeat.condition]
                if not asks_for_decision(condition):
                    yield condition

    def _is_open(self, condition: Condition) -> bool:
        """Whether a condition reads something of which not every value was tried."""
        return any(
            isinstance(one, Compare) and (bool(one.artifact) or one.input.partition(".")[0] in self._changing)
            for one in parts_of(condition)
        )

    def _is_cut(self, around: tuple[Loop, ...]) -> bool:
        return any(loop.max_iterations > self._iterations for loop in around)


# The simulation


def simulate_modes(
    workflow: CompiledWorkflow, limits: Limits, modes: tuple[Autonomy, ...]
) -> Iterator[ModeWalked | Report]:
    """Walk the workflow and yield what was reached, what was not, and what would go wrong.

    Each mode is reported as soon as it is walked, then the report on all of them.

    Raise Fault WORK_LIMIT_EXCEEDED if there are already too many values to start with.
    """
    short = clip_loops(workflow, limits.max_loop_iterations)
    effort = simulation_effort()
    paths = input_paths(short, limits.max_loop_iterations, effort)
    contexts, possible = list_starts(short, paths, limits.max_starts, effort)
    walks = {mode: Walks(short, mode, limits, paths, effort) for mode in modes}
    total = sum(1 for _ in leaves_in_loops(workflow.steps))
    for mode, taken in walks.items():
        for context in contexts:
            taken.take(context)
        yield ModeWalked(
            mode=mode,
            coverage=Coverage(reached=len(taken.texts), total=total),
            paths=taken.paths_taken,
            completed=taken.completed,
            truncated=taken.truncated,
            problems=list(taken.problems),
        )
    yield _report(workflow, walks, limits, len(contexts), possible)


def _report(
    workflow: CompiledWorkflow, walks: dict[Autonomy, Walks], limits: Limits, starts: int, possible: int
) -> Report:
    # The modes are walked separately and reported together: a step counts as reached if any mode reaches it,
    # and its prompt is the longest that any mode renders. If a walk was cut short, nothing is reported as
    # dead.
    leaves = list(leaves_in_loops(workflow.steps))
    steps = [part.id for part, _ in leaves]
    reached = {step_id for taken in walks.values() for step_id in taken.texts}
    texts = {
        step_id: max((taken.texts.get(step_id, "") for taken in walks.values()), key=len)
        for step_id in steps
        if step_id in reached
    }
    is_truncated = any(taken.truncated for taken in walks.values())
    judge = _Judge(
        workflow,
        walks.values(),
        is_whole=not is_truncated and possible <= limits.max_starts,
        iterations=limits.max_loop_iterations + 1,
    )
    dead: list[DeadStep] = []
    untried: list[DeadStep] = []
    for part, around in leaves:
        if part.id in reached:
            continue
        reason = judge.why(part, around)
        if judge.is_dead(part, around):
            dead.append(DeadStep(step_id=part.id, reason=reason))
        else:
            untried.append(DeadStep(step_id=part.id, reason=f"the limits of the simulation: {reason}"))
    problems = [problem for taken in walks.values() for problem in taken.problems]
    completed = sum(taken.completed for taken in walks.values())
    return Report(
        ok=not problems and not dead and completed > 0,
        workflow_id=workflow.id,
        coverage=Coverage(reached=len(reached), total=len(steps)),
        by_mode={mode: Coverage(reached=len(taken.texts), total=len(steps)) for mode, taken in walks.items()},
        dead_steps=dead,
        untried=untried,
        paths=sum(taken.paths_taken for taken in walks.values()),
        completed=completed,
        starts_tried=starts,
        starts_possible=possible,
        truncated=is_truncated or bool(untried) or starts < possible,
        prompts=[
            PromptSize(step_id=step_id, size_bytes=len(text.encode()), tokens=estimate_tokens(text) or 0)
            for step_id, text in texts.items()
        ],
        problems=problems,
        loops=list(_loop_ends(workflow, walks)),
        unproven=sorted({step_id for taken in walks.values() for step_id in taken.unproven()}),
    )


def _loop_ends(workflow: CompiledWorkflow, walks: dict[Autonomy, Walks]) -> Iterator[LoopEnds]:
    exits = sorted({found for taken in walks.values() for found in taken.exits})
    for loop in loops_in(workflow.steps):
        ended = [found for found in exits if found[0] == loop.id]
        yield LoopEnds(
            loop_id=loop.id,
            iterations=sorted({iterations for _, iterations, _ in ended}),
            reasons=sorted({reason for _, _, reason in ended}),
        )


# The walks of one mode: from every start along every branch, each position once.


_T = TypeVar("_T")


class Walks:
    """The walks of one mode so far. There is one object per mode; `take` adds one start after the other."""

    def __init__(
        self, workflow: CompiledWorkflow, mode: Autonomy, limits: Limits, paths: Paths, effort: Effort
    ) -> None:
        self._effort = effort
        self._workflow = workflow
        self._mode = mode
        self._limits = limits
        self._paths = paths
        self._loops = {loop.id: loop for loop in loops_in(workflow.steps)}
        self._lists = {repeat.input for repeat in lists_in(workflow)}
        self._steering = _Steering(workflow)
        self._seen: set[bytes] = set()
        self._answers: dict[tuple[object, ...], Answer] = {}
        self._made: dict[tuple[object, ...], list[MadeReport]] = {}
        self._notes: dict[str, str | None] = {}
        self._checked: set[str] = set()
        self._examples: dict[str, bool] = {}
        self._without_example: set[str] = set()
        self.texts: dict[str, str] = {}
        """The longest prompt of each step, by step id."""
        self.held: set[str] = set()
        self.entered: set[str] = set()
        self.exits: set[tuple[str, int, LoopExit]] = set()
        self.problems: list[SimulationProblem] = []
        self.paths_taken = 0
        self.completed = 0
        self.truncated = False

    def take(self, context: dict[str, Any]) -> None:
        """Take every walk that begins with this context."""
        if self._effort.left <= 0:
            self.truncated = True
            return
        facts = first_facts(self._workflow, context)
        waiting: list[tuple[Running, Facts]] = []
        move = self._counted("", lambda effort: first_move(self._workflow, facts, effort))
        if move is not None:
            self._arrive(move, None, facts, waiting)
        while waiting:
            is_enough = (
                self.paths_taken >= self._limits.max_paths
                or len(self._seen) >= self._limits.max_positions
                or self._effort.left <= 0
            )
            if is_enough:
                self.truncated = True
                return
            state, facts = waiting.pop()
            self._visit(state, facts, waiting)

    def _counted(self, step_id: str, go: Callable[[Effort], _T]) -> _T | None:
        """Return the result of one move, or None if it takes too much work, which is a problem. It spends
        the budget of the simulation.
        """
        effort = move_effort()
        try:
            return go(effort)
        except Fault as fault:
            self._problem("does_not_end", step_id, fault.message)
            return None
        finally:
            self._effort.affords(effort.limit - max(0, effort.left))

    def unproven(self) -> set[str]:
        """Return the steps whose rules or contract no generated report could satisfy."""
        return {step_id for step_id, notes in self._notes.items() if notes is None} | self._without_example

    def _arrive(
        self, move: Move, before: Running | None, facts: Facts, waiting: list[tuple[Running, Facts]]
    ) -> None:
        self._note(move.trace)
        if isinstance(move.state, Complete):
            self.paths_taken += 1
            self.completed += 1
            return
        carried = facts if before is None else carry_facts(facts, before, move.state)
        key = self._steering.key(move.state, carried)
        if key in self._seen:
            self.paths_taken += 1  # the rest of this walk is the same as that of an earlier one
            return
        self._seen.add(key)
        waiting.append((move.state, carried))

    def _note(self, trace: tuple[TraceEntry, ...]) -> None:
        for entry in trace:
            if isinstance(entry, EvaluatedCondition) and entry.holds:
                self.held.add(entry.condition_id)
            elif isinstance(entry, EnteredLoop):
                self.entered.add(entry.loop_id)
            elif isinstance(entry, ExitedLoop):
                self.exits.add((entry.loop_id, entry.iterations, entry.reason))

    def _visit(self, state: Running, facts: Facts, waiting: list[tuple[Running, Facts]]) -> None:
        leaf = self._leaf(state)
        text = render_step(self._workflow, leaf, add_loop_values(self._workflow, state, facts))
        self._effort.affords(1 + len(text) // 512)
        if len(text.encode()) >= len(self.texts.get(leaf.id, "").encode()):
            self.texts[leaf.id] = text
        gone_on = False
        for report in self._reports(leaf, state, facts):
            answer = self._answer(leaf, state, facts, report)
            if isinstance(answer.outcome, Block):
                why = answer.outcome.reasons[0].message
                self._problem("valid_refused", leaf.id, f"The report {report.label!r} was refused: {why}")
                continue
            gone_on = True
            self._go_on(state, facts, answer, waiting)
        if not gone_on:
            self._problem("does_not_end", leaf.id, "No report gets a run past this step.")
        if isinstance(leaf, Step):
            self._go_on_without(leaf, state, facts, waiting)

    def _go_on(
        self, state: Running, facts: Facts, answer: Answer, waiting: list[tuple[Running, Facts]]
    ) -> None:
        after = apply_report(
            self._workflow, facts, state, answer.context, answer.verdict.artifacts, answer.option
        )
        way = self._counted(
            state.step_id,
            lambda effort: find_way(self._workflow, state, answer.verdict, self._mode, after, effort),
        )
        if way is not None and not isinstance(way.outcome, Block):
            self._arrive(way.move, state, after, waiting)

    def _go_on_without(
        self, step: Step, state: Running, facts: Facts, waiting: list[tuple[Running, Facts]]
    ) -> None:
        """Walk, once per step, the way of a report without its artifact, in the mode that never stops."""
        if step.id in self._checked or self._mode != "full_auto_never_stop":
            return
        self._checked.add(step.id)
        report = report_without_artifact(self._workflow, step, state, self._notes_of(step) or PLAIN_NOTES)
        answer = None if report is None else self._answer(step, state, facts, report)
        if answer is not None and not isinstance(answer.outcome, Block) and answer.outcome.gaps:
            self._go_on(state, facts, answer, waiting)

    def _leaf(self, state: Running) -> Leaf:
        leaf = leaf_at(self._workflow, state)
        if isinstance(leaf, Step) and leaf.contract and not self._has_example(leaf.contract):
            self._without_example.add(leaf.id)
            leaf = msgspec.structs.replace(leaf, contract="")
        if isinstance(leaf, Step) and not all(map(self._has_example, list_required_contracts(leaf))):
            self._without_example.add(leaf.id)
            leaf = msgspec.structs.replace(leaf, requires=())
        if isinstance(leaf, Step) and leaf.rules and self._notes_of(leaf) is None:
            return msgspec.structs.replace(leaf, rules=())
        return leaf

    def _has_example(self, contract_id: str) -> bool:
        if contract_id not in self._examples:
            self._examples[contract_id] = bool(fitting_example(self._workflow.contracts[contract_id]))
        return self._examples[contract_id]

    def _notes_of(self, step: Step) -> str | None:
        if step.id not in self._notes:
            self._notes[step.id] = notes_for(step.rules)
        return self._notes[step.id]

    def _reports(self, leaf: Leaf, state: Running, facts: Facts) -> Iterator[MadeReport]:
        match leaf:
            case Step():
                sent = make_required_values(self._workflow, leaf, facts)
                made = [
                    msgspec.structs.replace(one, context=sent | one.context)
                    for one in self._valid(leaf, state)
                ]
                yield from made
                change = self._turned_loop(leaf, state, facts)
                if change is not None:
                    label = f"{made[0].label}, turned"
                    yield msgspec.structs.replace(made[0], label=label, context=sent | change)
            case Choice():
                for place, option in enumerate(leaf.options):
                    yield MadeReport(label=option.id, option=place)
            case Action():
                result: Any = ["result"] if leaf.save_as in self._lists else "result"
                yield MadeReport(label="result", context={leaf.save_as: result} if leaf.save_as else {})
            case Delegate():
                yield from make_joins(leaf)
            case never:
                assert_never(never)

    def _valid(self, step: Step, state: Running) -> list[MadeReport]:
        key = (step.id, *(frame.loop_id for frame in state.loops))
        if key not in self._made:
            self._made[key] = valid_reports(self._workflow, step, state, self._notes_of(step) or PLAIN_NOTES)
        return self._made[key]

    def _turned_loop(self, step: Step, state: Running, facts: Facts) -> dict[str, Any] | None:
        """Return, at the end of an iteration, the change of context that flips the condition of the loop,
        or None.
        """
        if not state.loops:
            return None
        loop = self._loops[state.loops[-1].loop_id]
        if loop.body[-1].id != step.id or not isinstance(loop.repeat, While | Until):
            return None
        condition = self._workflow.conditions[loop.repeat.condition]
        if not any(comparisons(condition)):
            return None
        try:
            return flip_condition(condition, self._paths, facts, self._effort)
        except Fault:  # no budget is left for trying values; the walk ends after this step
            return None

    def _answer(self, leaf: Leaf, state: Running, facts: Facts, report: MadeReport) -> Answer:
        """Return the engine's own answer. Equal reports at one step get equal answers, so each is computed
        once.
        """
        given = apply_report(self._workflow, facts, state, report.context, ())
        needed = leaf.user_only.input if isinstance(leaf, Step) and leaf.user_only else ""
        around = tuple(frame.loop_id for frame in state.loops)
        key = (leaf.id, report.label, around, given.values.get(needed) is not None)
        if key not in self._answers:
            self._answers[key] = answer_report(
                self._workflow,
                state,
                leaf,
                self._mode,
                given,
                notes=report.notes,
                artifacts=report.artifacts,
                context={},
                option=report.option,
            )
        answer = self._answers[key]
        return msgspec.structs.replace(answer, context=report.context | answer.context)

    def _problem(self, kind: ProblemKind, step_id: str, message: str) -> None:
        found = SimulationProblem(kind=kind, step_id=step_id, mode=self._mode, message=message)
        if found not in self.problems:
            self.problems.append(found)


class _Steering:
    """The facts that can change where a run goes; two positions with the same such facts continue in the
    same way.
    """

    def __init__(self, workflow: CompiledWorkflow) -> None:
        atoms = [atom for held in used_conditions(workflow).values() for atom in comparisons(held)]
        arrays = [Compare(input=held.input, op="exists") for held in lists_in(workflow)]
        subjects = {(atom.input, atom.artifact, atom.field): atom for atom in [*atoms, *arrays]}
        self._subjects = [subjects[name] for name in sorted(subjects)]

    def key(self, state: Running, facts: Facts) -> bytes:
        values = [value_of(subject, facts) for subject in self._subjects]
        shown = [None if value is MISSING else [value] for value in values]
        steering = [state, shown, sorted(facts.loop_decisions.items()), facts.chosen]
        return msgspec.json.encode(steering, order="sorted")


def clip_loops(workflow: CompiledWorkflow, iterations: int) -> CompiledWorkflow:
    """Return the same workflow with shorter loops: one iteration more than requested represents their
    limit.
    """
    return msgspec.structs.replace(
        workflow, steps=tuple(_clipped(part, iterations + 1) for part in workflow.steps)
    )


def _clipped(part: Any, most: int) -> Any:
    if not isinstance(part, Loop):
        return part
    return msgspec.structs.replace(
        part,
        max_iterations=min(part.max_iterations, most),
        body=tuple(_clipped(held, most) for held in part.body),
    )
