"""The next run of a proof, or the word that the runs so far give. Pure.

A proof calls `decide` after every run. The order is 4, 3, 2, and 1 if it is needed: most changes need three
runs. Combinations with the same files are one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.evidence.cases import (
    Cases,
    Files,
    Key,
    Proving,
    describe_key,
    describe_unloaded,
    find_broken,
    find_proving,
    find_still_red,
    is_red,
    make_cell,
    needs_baseline,
)
from handrail.evidence.change import Change, RunName, has_known_syntax, list_broken
from handrail.evidence.proof import Cell, Cells, Proof, ProofSubject, ProofWord, bound_names
from handrail.evidence.runs import RunResult

Step: TypeAlias = RunName | Literal["in_place", "repeat"]
"""`in_place`: the check in the project itself, as it is; `repeat`: new tests with the old code again."""

END: Final = "tests_after_code_after"
WITHOUT: Final = "tests_after_code_before"
BEFORE: Final = "tests_before_code_after"
BASELINE: Final = "tests_before_code_before"

RUN_LABELS: Final[dict[Step, str]] = {
    END: "new tests with the new code",
    WITHOUT: "new tests with the old code",
    BEFORE: "old tests with the new code",
    BASELINE: "old tests with the old code",
    "rules_after": "the end with its own rules",
    "control": "the end with the changed files broken on purpose",
    "in_place": "the check in place",
    "repeat": "new tests with the old code, again",
}
"""The name of each run while it is under way."""

_LONGEST_QUOTE: Final = 200
_MOST_QUOTED_LINES: Final = 3
_WHOLE: Final[Key] = ("the tests of the start", "")
_SLOW: Final = "see docs/how-to/prove-in-ci.md for slow checks"


class ProofTask(msgspec.Struct, frozen=True, kw_only=True):
    """What one proof is to show, and how."""

    change: Change
    trees: Mapping[RunName, str]
    """The id of the tree of each run; runs with the same id are one run. The control is not among them."""
    seconds: int
    """The time limit of a run."""
    may_run_in_place: bool = False
    """Whether the end is the working tree, so that the check can be tried there before the word FAILS is
    given.
    """
    subject: ProofSubject = ProofSubject()
    remarks: tuple[str, ...] = ()


class RunNext(msgspec.Struct, frozen=True, kw_only=True):
    """The run that has to be done next."""

    step: Step


Next: TypeAlias = RunNext | Proof


class _Missing(Exception):
    def __init__(self, step: Step) -> None:
        self.step = step


class _Untried(Exception):
    def __init__(self, reason: str) -> None:
        self.reason = reason


def decide(task: ProofTask, results: Mapping[Step, RunResult]) -> Next:
    """Return what to run next, or the proof."""
    state = _Runs(task, results)
    try:
        return _judge(state)
    except _Missing as missing:
        return RunNext(step=missing.step)
    except _Untried as untried:
        return state.conclude("not_tried", reason=untried.reason)


class _Runs:
    """The runs so far; combinations with the same tree share one run."""

    def __init__(self, task: ProofTask, results: Mapping[Step, RunResult]) -> None:
        self.task = task
        self.results = results
        change = task.change
        self.files = Files(
            changed=frozenset(change.tests),
            gone=frozenset(path for path in change.tests if path not in change.after),
            is_code=lambda file: change.sets.get(file) == "code",
        )

    def find(self, step: Step) -> RunResult | None:
        if step in self.results:
            return self.results[step]
        if step == "in_place" or step == "repeat":
            return None
        tree = self.task.trees.get(step)
        return None if tree is None else self._find_same(tree)

    def _find_same(self, tree: str) -> RunResult | None:
        same = (self.results.get(name) for name, other in self.task.trees.items() if other == tree)
        return next((result for result in same if result is not None), None)

    def get(self, step: Step) -> RunResult:
        """Return the result of a run that ended. Raise if it is still to come, or if its result says
        nothing.
        """
        result = self.find(step)
        if result is None:
            raise _Missing(step)
        if result.state == "timed_out":
            raise _Untried(
                f"too slow: no end within {self.task.seconds} seconds ({RUN_LABELS[step]}); {_SLOW}"
            )
        if result.state == "interrupted":
            raise _Untried("it was interrupted")
        if result.state == "not_started":
            raise _Untried(f"the check did not start: {result.reason or 'no reason is known'}")
        return result

    def get_cases(self, step: Step) -> Cases:
        """Return the cases of a run of a check that names cases at its end; empty if this run did not get
        that far.
        """
        return Cases(self.get(step))

    def is_same(self, one: RunName, other: RunName) -> bool:
        return self.task.trees[one] == self.task.trees[other]

    def conclude(
        self, word: ProofWord, names: Sequence[str] = (), *, total: int | None = None, **known: Any
    ) -> Proof:
        ran = [result.isolation for result in self.results.values() if result.isolation]
        first = self.find(END)
        is_counted = first is not None and first.cases is not None
        ended = [one for one in self.results.values() if one.state in ("passed", "failed")]
        return Proof(
            word=word,
            cells=Cells(
                tests_before_code_before=self._cell(BASELINE),
                tests_before_code_after=self._cell(BEFORE),
                tests_after_code_before=self._cell(WITHOUT),
                tests_after_code_after=self._cell(END),
            ),
            names=bound_names(names),
            names_total=len(names) if total is None else total,
            by_exit_status=bool(ended) and not is_counted,
            isolation=ran[0] if ran else "",
            duration_ms=sum(result.duration_ms for result in self.results.values()),
            remarks=self.task.remarks,
            check=self.task.subject.check,
            command=self.task.subject.command,
            base=self.task.subject.base,
            head=self.task.subject.head,
            **known,
        )

    def _cell(self, run: RunName) -> Cell:
        result = self.find(run)
        return Cell() if result is None else make_cell(result)


def _judge(runs: _Runs) -> Proof:
    if runs.task.change.is_empty:
        raise _Untried("nothing changed: the files at the start and at the end are the same")
    end = runs.get(END)
    if is_red(end):
        return _judge_red(runs, end)
    return _judge_exit_status(runs) if end.cases is None else _judge_cases(runs)


def _judge_red(runs: _Runs, end: RunResult) -> Proof:
    """Return the proof for a red end with the rules of the start: it FAILS only if nothing else explains
    it.
    """
    change = runs.task.change
    if not runs.is_same("rules_after", END) and not is_red(runs.get("rules_after")):
        return runs.conclude("new_rules", change.rules)
    if runs.task.may_run_in_place:
        here = runs.get("in_place")
        if not is_red(here):
            raise _Untried(_explain_copy(end, here))
    at_end = Cases(end)
    red = at_end.list_red()
    baseline = _find_baseline_of_failure(runs) if red else None
    still = find_still_red(at_end, baseline) if baseline is not None else ()
    broken = [key for key in red if key not in still]
    names = [at_end.describe_red(key) for key in (*broken, *still)]
    reason = describe_unloaded(broken) if names else end.reason or _quote_end(end.tail)
    return runs.conclude("fails", names, still_red=len(still), reason=reason)


def _find_baseline_of_failure(runs: _Runs) -> Cases | None:
    """Return the cases of the start, or None if they cannot be run, which changes nothing about the end."""
    try:
        return runs.get_cases(BASELINE)
    except _Untried:
        return None


def _explain_copy(copied: RunResult, here: RunResult) -> str:
    line = _find_first_difference(copied.tail, here.tail)
    shown = f': "{line}"' if line else ""
    return (
        f"the check passes in place and not in a copy of the files{shown}. "
        "Declare `links` or `prepare` for what it needs beside the files, or prove with --in-place"
    )


def _find_first_difference(copied: str, here: str) -> str:
    known = {line.strip() for line in here.splitlines()}
    lines = (line.strip() for line in copied.splitlines())
    return next((line[:_LONGEST_QUOTE] for line in lines if line not in known and not _is_ruler(line)), "")


def _quote_end(tail: str) -> str:
    """Return the last written lines of what a program printed, in quotation marks."""
    lines = [line.strip() for line in tail.splitlines()]
    last = " / ".join([line for line in lines if line and not _is_ruler(line)][-_MOST_QUOTED_LINES:])
    return f'"{last[-_LONGEST_QUOTE:]}"' if last else ""


def _is_ruler(line: str) -> bool:
    """Whether a line is drawn rather than written, such as `==== ERRORS ====`."""
    return 2 * len(line.strip("=_-*# ")) <= len(line)


def _judge_cases(runs: _Runs) -> Proof:
    at_end = runs.get_cases(END)
    if not at_end.colours:
        raise _Untried(
            "the check ran no test; name the tests, or run the check from the folder that has them"
        )
    without, before = runs.get_cases(WITHOUT), runs.get_cases(BEFORE)
    baseline = None
    if runs.is_same(BASELINE, WITHOUT) or needs_baseline(before, without, at_end, runs.files):
        baseline = runs.get_cases(BASELINE)
        broken = _find_broken(runs, before, baseline)
        if broken:
            names = [before.describe_red(key) for key in broken]
            return runs.conclude(
                "rewrote",
                names,
                still_red=len(find_still_red(baseline, before, at_end)),
                reason="" if broken == (_WHOLE,) else describe_unloaded(broken),
            )
    still = 0 if baseline is None else len(find_still_red(baseline, before, at_end))
    proving = find_proving(at_end, without, before, baseline, runs.files)
    if not proving.keys:
        return _judge_unproven(runs, still)
    names = [describe_key(key) for key in proving.keys]
    if len(proving.keys) == len(proving.new) == 1 and not _is_repeated(runs, proving, at_end, before):
        return runs.conclude("flaky", names)
    return runs.conclude(
        "proved",
        names,
        new_tests=len(proving.new),
        red_before=len(proving.red_before),
        still_red=still,
        reason=proving.weakness,
    )


def _find_broken(runs: _Runs, before: Cases, baseline: Cases) -> tuple[Key, ...]:
    if runs.get(BEFORE).cases is None and baseline.list_green():
        return (_WHOLE,)
    return find_broken(before, baseline, runs.files)


def _is_repeated(runs: _Runs, proving: Proving, at_end: Cases, before: Cases) -> bool:
    """Whether the deciding run gives the same answer a second time."""
    again = find_proving(at_end, runs.get_cases("repeat"), before, None, runs.files)
    return again.keys == proving.keys


def _judge_unproven(runs: _Runs, still: int = 0) -> Proof:
    """Return the proof if no test shows the change: it depends on whether the tests execute the changed
    files at all.
    """
    broken = tuple(list_broken(runs.task.change))
    if not broken or runs.is_same(WITHOUT, END) or is_red(runs.get("control")):
        return runs.conclude("kept", still_red=still)
    if any(map(has_known_syntax, broken)):
        return runs.conclude("unseen", broken)
    return runs.conclude("kept", broken, still_red=still)


def _judge_exit_status(runs: _Runs) -> Proof:
    """Return the proof of a check that names no cases, so only the exit status of each run is known."""
    is_without_red, is_before_red = is_red(runs.get(WITHOUT)), is_red(runs.get(BEFORE))
    is_baseline_red = is_red(runs.get(BASELINE))
    if is_before_red and is_baseline_red:
        raise _Untried(
            "the check failed before the change, too, and it names no tests, so nothing can be compared"
        )
    if is_before_red:
        return runs.conclude("rewrote")
    if is_without_red:
        return runs.conclude("proved", red_before=int(is_baseline_red))
    return _judge_unproven(runs)
