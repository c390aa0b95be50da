"""Trials without programs: a project whose tests are lines of text, each about the text of a code file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from handrail.contract.ids import Isolation
from handrail.ports.trees import Trees
from handrail.ports.trials import StopReason, TestCase, TrialCheck, TrialResult
from handrail.ports.worktree import Unseen


class MiniTrials:
    """`ports.Trials`: a line `new: fixed` of a `test_*` file passes if a file that is no test has `fixed`."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.ran: list[str] = []
        """One text for each run: its tests with their outcomes."""
        self.opened: list[TrialCheck] = []
        self.change: Callable[[int, TrialResult], TrialResult] = lambda _, result: result
        """What becomes of the result of a run, by its number."""
        self.is_red_here = True
        """Whether the check fails in place."""

    def open(
        self,
        project: str,
        check: TrialCheck,
        *,
        is_in_place: bool = False,
        stop_reason: Callable[[], StopReason] = lambda: "",
    ) -> AbstractContextManager[MiniRoom]:
        del stop_reason
        self.opened.append(check)
        return nullcontext(MiniRoom(self, project, "in_place" if is_in_place else "linked_folder"))


class MiniRoom:
    environment = "here"

    def __init__(self, trials: MiniTrials, project: str, isolation: Isolation) -> None:
        self._trials = trials
        self._project = project
        self.isolation = isolation

    def run(
        self,
        tree: str,
        *,
        replaced: Mapping[str, bytes] = {},
        command: Sequence[str] = (),
        timeout_seconds: int = 0,
    ) -> TrialResult:
        del timeout_seconds
        entries = self._trials.trees.list_entries(self._project, tree)
        assert not isinstance(entries, Unseen), entries
        held = self._trials.trees.read_all(self._project, {one.object_id for one in entries})
        files = {one.path: replaced.get(one.path, held[one.object_id]).decode() for one in entries}
        tests = {path: text for path, text in files.items() if path.startswith("test_")}
        tests = {path: text for path, text in tests.items() if not command or path in command}
        code = " ".join(text for path, text in files.items() if not path.startswith("test_"))
        cases = tuple(
            TestCase(
                name=f"{path}::{name}",
                file=path,
                outcome="passed" if needle.strip() in code else "failed",
            )
            for path, text in sorted(tests.items())
            for name, _, needle in (line.partition(":") for line in text.splitlines())
        )
        self._trials.ran.append(" ".join(f"{case.name.partition('::')[2]}={case.outcome}" for case in cases))
        is_red = any(case.outcome == "failed" for case in cases)
        result = TrialResult(
            state="failed" if is_red else "passed",
            exit_status=int(is_red),
            cases=cases,
            isolation=self.isolation,
            duration_ms=10,
            tail="collected\nno file data.bin\nend" if is_red else "collected\nend",
        )
        return self._trials.change(len(self._trials.ran), result)

    def run_in_place(self) -> TrialResult:
        self._trials.ran.append("in place")
        return TrialResult(
            state="failed" if self._trials.is_red_here else "passed",
            exit_status=int(self._trials.is_red_here),
            cases=(),
            tail="collected\nend",
        )
