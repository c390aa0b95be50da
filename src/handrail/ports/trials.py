"""Trials: run a check on one tree in a scratch copy of the project, and read its test cases.

A trial never writes to the project, unless it was opened in place. What a test runner prints is never
parsed: cases come from hooks that a runner loads because of an environment variable, or from a declared
report. Nothing here raises for an unusual project or program: a trial that could not start is `not_started`,
with a reason that ends a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.ids import Isolation
from handrail.ports.workspace import ReportPlace

CaseOutcome: TypeAlias = Literal["passed", "failed", "error", "skipped"]
"""`error`: set-up or clean-up failed, not the assertion. An expected failure is `skipped`."""
TrialState: TypeAlias = Literal["passed", "failed", "timed_out", "not_started", "interrupted"]
"""How a trial ended; `interrupted` if the caller stopped it."""
StopReason: TypeAlias = Literal["", "signal", "deadline"]

MOST_CASES = 200_000
MOST_CASE_NAME = 1_000
"""Most characters of a case's name; a longer one keeps its beginning and a digest."""
MOST_TAIL_BYTES = 16_384


class TrialCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The check that runs in each trial."""

    command: tuple[str, ...]
    """Words, started without a shell."""
    directory: str = "."
    """Relative to the project."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the declaration sets."""
    inherits: tuple[str, ...] = ()
    """Names of variables that keep the caller's value."""
    timeout_seconds: int = 600
    report: ReportPlace | None = None
    """Where the runner writes its cases. Without it, pytest, unittest, mocha and node:test report theirs.

    The formats `cargo` and `unittest` are text for people and give no cases.
    """
    links: tuple[str, ...] = ()
    """Files and folders of the project that a copy needs, besides `.venv`, `venv` and `node_modules`."""
    prepare: tuple[str, ...] = ()
    """A command that prepares the copy, such as `npm ci`; it runs again whenever a manifest differs."""


class TestCase(msgspec.Struct, frozen=True, kw_only=True):
    """One test case. Subtests are part of their case, and the worst of them decides."""

    __test__ = False

    name: str
    """The name, equal in every trial, such as `tests/test_a.py::test_b[1]`."""
    file: str = ""
    """The file that defines it, relative to the project; empty if the report does not say."""
    outcome: CaseOutcome
    missing_name: str = ""
    """Set if the case failed only because the test uses this name, which is undefined or
    cannot be imported.
    """


class UnloadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A test file that the runner could not load, so its cases are unknown."""

    file: str
    missing_name: str = ""
    """Set if the file could not be loaded only because this name is undefined or cannot be imported."""
    trouble: str = ""
    """The first line of the error, with its type; empty if the runner does not report it."""


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a check ended on one tree."""

    state: TrialState
    """`passed`: exit status 0, no failed case, no unloaded file, and the runner finished."""
    exit_status: int | None = None
    """None if no program ended by itself."""
    cases: tuple[TestCase, ...] | None = None
    """Sorted by name, each name of a file once. None if nothing reports cases."""
    unloaded: tuple[UnloadedFile, ...] = ()
    """Sorted by file."""
    is_ended_early: bool = False
    """The runner's process ended before its tests were finished, whatever its exit status says."""
    tail: str = ""
    """The end of its output, for people; not redacted, and never to be parsed."""
    isolation: Isolation = ""
    duration_ms: int = 0
    processor_ms: int = 0
    """Processor time of the check, without Handrail's own."""
    reason: str = ""
    """Why it did not start, ended early or ended by a signal; empty if the exit status says it all."""


class TrialRoom(Protocol):
    """A place that can run one check on one tree after the other."""

    @property
    def isolation(self) -> Isolation:
        """Return how trials are isolated from the project; empty if none can run."""

    @property
    def environment(self) -> str:
        """Return a digest of everything that decides a trial on this machine, besides check and tree.

        It covers variables, programs and the state of the dependency folders, and is equal for every slot
        and process.
        """

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
        for example with its narrow form, and `timeout_seconds` replaces its time limit.
        """

    def run_in_place(self) -> TrialResult:
        """Run the check once in the present project, with the caller's variables, as `check run` would.

        Handrail itself writes nothing; what the check writes stays.
        """


class Trials(Protocol):
    """Opens places for trials."""

    def open(
        self,
        project: str,
        check: TrialCheck,
        *,
        is_in_place: bool = False,
        stop_reason: Callable[[], StopReason] = lambda: "",
    ) -> AbstractContextManager[TrialRoom]:
        """Open a place for trials for the scope of the `with`.

        Its folder stays, so a second proof of a project writes only what differs; a second place at the same
        time has another folder. With `is_in_place` the trees are written into the project itself, which must
        be as its last commit, and the files are restored at the end of the scope; a process that is killed
        leaves a mixed tree.
        """


class TrialResults(Protocol):
    """Results of earlier trials, by a key of everything that decides one. A cache, never the only record."""

    def find(self, key: str) -> TrialResult | None:
        """Return the result; None if there is none or it cannot be read."""

    def keep(self, key: str, result: TrialResult) -> None:
        """Keep a result for some days. Never raises: after a failure the trial runs again."""


class RefusedRoom:
    """`TrialRoom` that runs nothing and gives the reason."""

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
