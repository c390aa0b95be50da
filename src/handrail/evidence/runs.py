"""What is known of one run of a check: how it ended, and its test cases. Pure."""

# Annotations are not strings here: msgspec would compile each of them again in every process.

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import Isolation


class RanCase(msgspec.Struct, frozen=True, kw_only=True):
    """One test case. Subtests are part of their case: the worst of them decides."""

    name: str
    file: str = ""
    """The file that defines it; empty if the report does not say."""
    outcome: Literal["passed", "failed", "error", "skipped"]
    missing_name: str = ""
    """It failed only because this name could not be imported or is not defined."""


class UnloadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A test file that the runner could not load, so that its cases are not known."""

    file: str
    missing_name: str = ""
    """It could not be loaded only because this name could not be imported or is not defined."""
    trouble: str = ""
    """The first line of the error, with its type; empty if the runner does not say."""


RunState: TypeAlias = Literal["passed", "failed", "timed_out", "not_started", "interrupted"]


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a check ended on one tree."""

    state: RunState
    exit_status: int | None = None
    """None if no program ended by itself."""
    cases: tuple[RanCase, ...] | None = None
    """None if the runner names no cases, so only the exit status is known."""
    unloaded: tuple[UnloadedFile, ...] = ()
    is_ended_early: bool = False
    """The runner ended before its tests were finished, whatever its exit status says."""
    tail: str = ""
    """The end of what it printed."""
    isolation: Isolation = ""
    duration_ms: int = 0
    reason: str = ""
    """Why it did not start, ended early or ended by a signal; empty if its exit status says all."""
