"""Receipts: which command one is of, how it ended, and whether that counts as passed. Pure.

A receipt is honest bookkeeping: it says which command ran, how it ended and on which files. It does not say
that the command was a good one.
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
"""In place of a receipt's directory: such a receipt counts for no claim."""
UNPLACED = ""
"""In place of it where a client's hook does not say where its shell was: then nothing is known."""


ReceiptSource: TypeAlias = Literal["handrail", "companion", "client_hook"]
"""Who saw it: a process that Handrail started, here or elsewhere, or the hook of an agent's client."""

MOST_RECEIPTS: Final[dict[ReceiptSource, int]] = {"handrail": 200, "companion": 200, "client_hook": 50}
"""Receipts of one node that a history keeps, by source; the log has all of them."""

WHO_SAW: Final[dict[ReceiptSource, str]] = {
    "handrail": "started by Handrail",
    "companion": "started by Handrail on the machine of the agent",
    "client_hook": "reported by the client's hook",
}


class PinnedCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A check that the project declared when a run began: this command counts under this name."""

    name: str
    argv: tuple[str, ...]
    """Redacted and bounded, for readers; where that changed nothing, these are the words to start."""
    argv_digest: str
    """Of the words as they are declared (`digest_argv`)."""
    directory: str = ""
    """Relative to the project; empty: logs of older versions do not tell it, nor what follows."""
    timeout_seconds: int = 0
    report_path: str = ""
    report_format: Literal["", ReportFormat] = ""
    environment_digest: str = ""
    """Of the variables that its declaration sets; empty: it sets none. Their values are not stored."""
    is_approved: bool = False
    """A person approved this declaration on this machine before."""


class _Ended(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", omit_defaults=True):
    """Shared options of the ways in which a program ends."""


class Exited(_Ended, frozen=True, kw_only=True, tag="exited"):
    """It ended by itself. Only status 0 is success."""

    status: int


class Signalled(_Ended, frozen=True, kw_only=True, tag="signalled"):
    """A signal ended it."""

    signal: str
    """As in SIGKILL."""


class TimedOut(_Ended, frozen=True, kw_only=True, tag="timed_out"):
    """Its time was over, and Handrail ended it."""

    seconds: int = 0


class NotStarted(_Ended, frozen=True, kw_only=True, tag="not_started"):
    """There was no process."""

    reason: str


class StatusUnknown(_Ended, frozen=True, kw_only=True, tag="unknown"):
    """The status of the program is unknown: a client's hook did not give it, or its line holds several."""


RunOutcome: TypeAlias = Exited | Signalled | TimedOut | NotStarted | StatusUnknown


class Counts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a test runner's report counted; all zero means that it ran nothing."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    xfailed: int | UnsetType = UNSET
    """Those that failed as their marks expect; left out where there are none."""
    by_words: bool | UnsetType = UNSET
    """Read from what a program printed that is no known runner; left out where one says it."""


def write_line(argv: Sequence[str], by: ReceiptSource) -> str:
    """Return a command as a line for a shell; a client's hook gave the line itself."""
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
    """Exit status 0, and where a report is declared, it counts at least one that ran and none that failed."""
    if not isinstance(outcome, Exited) or outcome.status != 0 or uncounted:
        return False
    if counts is None:
        return True
    return counts.passed > 0 and counts.failed == 0 and counts.errors == 0
