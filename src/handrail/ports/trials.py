"""Trials: run a check on one tree in a scratch copy of the project, and read its test cases.

A trial never writes the project, unless it was opened in place. What a test runner prints is never
parsed: cases come from hooks that a runner loads by an environment variable, or from a declared report.
Nothing here raises for an odd project or program: a trial that could not start is `not_started`, with a
reason that ends a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.ids import Isolation
from handrail.ports.workspace import ReportPlace

CaseOutcome: TypeAlias = Literal["passed", "failed", "error", "skipped"]
"""`error`: its set-up or clean-up failed, not its assertion. An expected failure is `skipped`."""
TrialState: TypeAlias = Literal["passed", "failed", "timed_out", "not_started", "interrupted"]
"""`interrupted`: the caller asked for the end."""
StopReason: TypeAlias = Literal["", "signal", "deadline"]

MOST_CASES = 200_000
MOST_CASE_NAME = 1_000
"""Characters of the name of a case; a longer one keeps its beginning and a digest."""
MOST_TAIL_BYTES = 16_384


class TrialCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What runs in each trial."""

    command: tuple[str, ...]
    """Words, started without a shell."""
    directory: str = "."
    """Relative to the project."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the declaration sets."""
    inherits: tuple[str, ...] = ()
    """Variables that the declaration names: they have the value that the caller has."""
    timeout_seconds: int = 600
    report: ReportPlace | None = None
    """Where the runner writes its cases. Without one, pytest, unittest, mocha and node:test give theirs.

    Of the formats, `cargo` and `unittest` are text for people and give no cases.
    """
    links: tuple[str, ...] = ()
    """Files and folders of the project beside `.venv`, `venv` and `node_modules` that a copy needs."""
    prepare: tuple[str, ...] = ()
    """A command that makes the copy ready, such as `npm ci`; again whenever a manifest differs."""


class TestCase(msgspec.Struct, frozen=True, kw_only=True):
    """One test case. Subtests are part of their case: the worst of them decides."""

    __test__ = False

    name: str
    """The same in every trial, such as `tests/test_a.py::test_b[1]`."""
    file: str = ""
    """The file that defines it, relative to the project; empty if the report does not say."""
    outcome: CaseOutcome
    missing_name: str = ""
    """It failed only because the test uses this name, which could not be imported or is not defined."""


class UnloadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A test file that the runner could not load, so that its cases are not known."""

    file: str
    missing_name: str = ""
    """It could not be loaded only because this name could not be imported or is not defined."""
    trouble: str = ""
    """The first line of the error, with its type; empty if the runner does not say."""


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a check ended on one tree."""

    state: TrialState
    """`passed`: exit status 0, no failed case, no unloaded file, and the runner reached its end."""
    exit_status: int | None = None
    """None if no program ended by itself."""
    cases: tuple[TestCase, ...] | None = None
    """Sorted by name, each name of a file once. None: nothing names cases."""
    unloaded: tuple[UnloadedFile, ...] = ()
    """Sorted by file."""
    is_ended_early: bool = False
    """The runner's process ended before its tests were finished, whatever its exit status says."""
    tail: str = ""
    """The end of what it printed, for people; not redacted, and never to be parsed."""
    isolation: Isolation = ""
    duration_ms: int = 0
    processor_ms: int = 0
    """Processor time of the check, without that of Handrail."""
    reason: str = ""
    """Why it did not start, ended early or ended by a signal; empty if its exit status says all."""


class TrialRoom(Protocol):
    """A place in which one check can run on one tree after the other."""

    @property
    def isolation(self) -> Isolation:
        """How trials are kept apart from the project; empty if none can run."""

    @property
    def environment(self) -> str:
        """A digest of everything beside check and tree that this machine knows to decide a trial: variables,
        programs and the state of the dependency folders. Equal for every slot and process."""

    def run(
        self,
        tree: str,
        *,
        replaced: Mapping[str, bytes] = {},
        command: Sequence[str] = (),
        timeout_seconds: int = 0,
    ) -> TrialResult:
        """Run the check on the files of a tree.

        `replaced` has other contents for files of the tree, by path. A `command` replaces that of the check,
        as its narrow form, and a number of seconds its time limit.
        """

    def run_in_place(self) -> TrialResult:
        """Run the check once in the project as it is, with the caller's variables, as `check run` would.

        Nothing is written by Handrail; what the check writes stays.
        """


class Trials(Protocol):
    """Opens rooms for trials."""

    def open(
        self,
        project: str,
        check: TrialCheck,
        *,
        is_in_place: bool = False,
        stop_reason: Callable[[], StopReason] = lambda: "",
    ) -> AbstractContextManager[TrialRoom]:
        """Return trials for the scope of the `with`.

        Its folder lasts, so that a second proof of a project writes only what differs; a second room at the
        same time has another folder. With `is_in_place` the trees are written into the project itself, which
        must be as its last commit, and the files are brought back at the end of the scope; a process that is
        killed leaves a mixed tree.
        """


class TrialResults(Protocol):
    """The results of earlier trials, by a key that names all that decides one. A cache, never truth."""

    def find(self, key: str) -> TrialResult | None:
        """None: there is none, or it cannot be read."""

    def keep(self, key: str, result: TrialResult) -> None:
        """Keep it for some days. Never raises: then the trial runs again."""


class RefusedRoom:
    """`TrialRoom` in which nothing runs, and why."""

    isolation: Isolation = ""
    environment = ""

    def __init__(self, reason: str) -> None:
        self._result = TrialResult(state="not_started", reason=reason)

    def run(
        self,
        tree: str,
        *,
        replaced: Mapping[str, bytes] = {},
        command: Sequence[str] = (),
        timeout_seconds: int = 0,
    ) -> TrialResult:
        del tree, replaced, command, timeout_seconds
        return self._result

    def run_in_place(self) -> TrialResult:
        return self._result
