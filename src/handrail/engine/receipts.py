"""Receipts: which command one is of, how it ended, and whether that counts as passed. Pure.

A receipt is honest bookkeeping: it says which command ran, how it ended and on which files. It does not say
that the command was a good one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from handrail.contract.json.canonical import digest
from handrail.engine.program_runs import (
    Counts,
    Exited,
    NotStarted,
    RunOutcome,
    Signalled,
    StatusUnknown,
    TimedOut,
)


def digest_argv(argv: Sequence[str]) -> str:
    """Which command it is: the digest of its words as they were given."""
    return digest([word.encode("utf-8", "replace").decode() for word in argv])


def split_command(line: str) -> tuple[str, ...]:
    """The words of a command line, if a shell would start exactly one program with them.

    A line with anything else that a shell reads (pipes, lists, variables, patterns) stays one word: the
    status of such a line is not that of a program in it.
    """
    line = line.strip()
    words: list[str] = []
    word: str | None = None
    quote = ""
    for character in line:
        if character == quote:
            quote = ""
        elif quote == "'" or (quote and character not in _READ_IN_QUOTES):
            word = (word or "") + character
        elif quote or character in _READ_BY_SHELLS:
            return (line,)
        elif character in "'\"":
            quote, word = character, word or ""
        elif character.isspace():
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + character
    words += [] if word is None else [word]
    return tuple(words) if words and not quote and "=" not in words[0] else (line,)


_READ_IN_QUOTES = frozenset("$`\\")
_READ_BY_SHELLS = frozenset("|&;<>()$`\\*?[]{}~#!\n")


def describe_outcome(outcome: RunOutcome) -> str:
    """How it ended, in a few words."""
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


def has_passed(outcome: RunOutcome, counts: Counts | None) -> bool:
    """Exit status 0, and where a report counted tests, at least one that ran and none that failed."""
    if not isinstance(outcome, Exited) or outcome.status != 0:
        return False
    if counts is None:
        return True
    return counts.passed > 0 and counts.failed == 0 and counts.errors == 0
