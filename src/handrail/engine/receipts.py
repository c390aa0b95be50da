"""Receipts: the command that ran, how it ended, and whether that counts as passed. Pure.

A receipt records which command ran, how it ended and on which files. It does not say that the command was a
good one.
"""

# Annotations are not strings here: msgspec would compile each of them again in every process.

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.ids import ReportFormat
from handrail.contract.json.canonical import digest
from handrail.contract.wording import spell_argv

ELSEWHERE = "outside the project of the run"
"""The directory of a receipt from outside the project: such a receipt supports no statement."""
UNPLACED = ""
"""The directory if a client's hook did not report it: then it is unknown."""


ReceiptSource: TypeAlias = Literal["handrail", "companion", "client_hook"]
"""The source: a process that Handrail started, here or on another machine, or the hook of an agent's
client.
"""

MOST_RECEIPTS: Final[dict[ReceiptSource, int]] = {"handrail": 200, "companion": 200, "client_hook": 50}
"""Limits for the receipts of one node that a history keeps, by source; the log has all of them."""

WHO_SAW: Final[dict[ReceiptSource, str]] = {
    "handrail": "started by Handrail",
    "companion": "started by Handrail on the machine of the agent",
    "client_hook": "reported by the client's hook",
}


class PinnedCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A check that the project declared when a run began: this command counts under this name."""

    name: str
    argv: tuple[str, ...]
    """The words, redacted and bounded for readers. If that changed nothing, they are the words to start."""
    argv_digest: str
    """Digest of the words as they are declared (`digest_argv`)."""
    directory: str = ""
    """Relative to the project; this and the fields below are empty in logs of older versions."""
    timeout_seconds: int = 0
    report_path: str = ""
    report_format: Literal["", ReportFormat] = ""
    environment_digest: str = ""
    """Digest of the variables that its declaration sets; empty if it sets none. Their values are not
    stored.
    """
    is_approved: bool = False
    """Whether a person had already approved this declaration on this machine."""


class _Ended(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", omit_defaults=True):
    """Shared options of the ways in which a program ends."""


class Exited(_Ended, frozen=True, kw_only=True, tag="exited"):
    """The program ended by itself. Only status 0 is success."""

    status: int


class Signalled(_Ended, frozen=True, kw_only=True, tag="signalled"):
    """A signal ended the program."""

    signal: str
    """The name of the signal, such as SIGKILL."""


class TimedOut(_Ended, frozen=True, kw_only=True, tag="timed_out"):
    """The time limit was over, and Handrail ended the program."""

    seconds: int = 0


class NotStarted(_Ended, frozen=True, kw_only=True, tag="not_started"):
    """No process was started."""

    reason: str


class StatusUnknown(_Ended, frozen=True, kw_only=True, tag="unknown"):
    """The status of the program is unknown: a client's hook did not report it, or its line has several
    programs.
    """


RunOutcome: TypeAlias = Exited | Signalled | TimedOut | NotStarted | StatusUnknown


class Counts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a test runner's report counted; all zero means that it ran nothing."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    xfailed: int | UnsetType = UNSET
    """Tests that failed as their marks expect; unset if there are none."""
    by_words: bool | UnsetType = UNSET
    """The counts come from the output of a program that is no known test runner; unset if they come from
    one.
    """


def write_line(argv: Sequence[str], by: ReceiptSource) -> str:
    """Return a command as a line for a shell; a client's hook reported the line itself."""
    return argv[0] if by == "client_hook" else spell_argv(argv)


def digest_argv(argv: Sequence[str]) -> str:
    """Return the digest that identifies a command: that of its words as they were given."""
    return digest([word.encode("utf-8", "replace").decode() for word in argv])


def describe_outcome(outcome: RunOutcome) -> str:
    """Return how a command ended, in a few words."""
    match outcome:
        case Exited(status=status):
            return f"exit {status}"
        case Signalled(signal=signal):
            return f"ended by {signal}"
        case TimedOut(seconds=seconds):
            return f"timed out after {seconds} s"
        case NotStarted(reason=reason):
            return f"not started: {reason}"
        case StatusUnknown():
            return "status unknown"
        case never:
            assert_never(never)


def has_passed(outcome: RunOutcome, counts: Counts | None, uncounted: str = "") -> bool:
    """Whether a command passed: exit status 0 and, if it has a report, at least one test ran and none
    failed.
    """
    if not isinstance(outcome, Exited) or outcome.status != 0 or uncounted:
        return False
    if counts is None:
        return True
    return counts.passed > 0 and counts.failed == 0 and counts.errors == 0
