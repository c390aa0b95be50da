"""What events tell of programs: which ones count under which name, how one ended, what its report counted."""

# Annotations are not strings here: msgspec would compile each of them again in every process.

from typing import Literal, TypeAlias

import msgspec


class PinnedCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A check that the project declared when a run began: this command counts under this name."""

    name: str
    argv: tuple[str, ...]
    """Redacted and bounded, for readers; where that changed nothing, these are the words to start."""
    argv_digest: str
    """Of the words as they are declared (`engine.receipts.digest_argv`)."""
    directory: str = ""
    """Relative to the project; empty: logs of older versions do not tell it, nor what follows."""
    timeout_seconds: int = 0
    report_path: str = ""
    report_format: Literal["", "junit", "jest"] = ""


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
    """A client's hook told of the command, not of its status."""


RunOutcome: TypeAlias = Exited | Signalled | TimedOut | NotStarted | StatusUnknown


class Counts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a test runner's report counted; all zero means that it ran nothing."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
