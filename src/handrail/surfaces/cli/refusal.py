"""Problems of a command line → one refusal that says all of them and what to run instead. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.catalogue import E_USAGE, E_VALIDATION
from handrail.contract.outcome import MESSAGE_LIMIT, Fault, Json, NextCall
from handrail.surfaces.cli.parse import commands_under
from handrail.surfaces.cli.spelling import HELP, LINE
from handrail.surfaces.cli.values import Problem

MOST_PROBLEMS = 50
"""A longer list helps nobody; the message says how many there are."""


def refusal(problems: Sequence[Problem], words: str, meant: Sequence[str] | None = None) -> Fault:
    """E_USAGE when a name or shape is wrong anywhere, else E_VALIDATION.

    `meant` is the same line with its spelling put right.
    """
    assert problems, "a refusal has a reason"
    is_usage = any(problem.is_usage for problem in problems)
    details: dict[str, Json] = {"problems": [_as_detail(problem) for problem in problems[:MOST_PROBLEMS]]}
    near = [name for problem in problems for name in problem.near]
    if is_usage and near:
        details["did_you_mean"] = list(dict.fromkeys(near))
    if is_usage and any(problem.param == "command" for problem in problems):
        details["commands"] = commands_under(words)
    return Fault(
        E_USAGE if is_usage else E_VALIDATION,
        _message(problems),
        details=details,
        hint=_hint(near, words) if meant is None else "Run the command in next_command.",
        next_call=NextCall(operation=HELP, params={"command": words})
        if meant is None
        else NextCall(operation=LINE, params={"arguments": list(meant)}),
    )


def _as_detail(problem: Problem) -> dict[str, Json]:
    return {
        "param": problem.param,
        "problem": problem.problem,
        "got": problem.got or None,
        "expected": problem.expected or None,
    }


def _message(problems: Sequence[Problem]) -> str:
    """The first problem in a sentence, and how many follow it."""
    first = problems[0]
    subject = "The command" if first.param == "command" else first.param
    got = f' ("{first.got}")' if first.got else ""
    expected = f"; expected {first.expected}" if first.expected else ""
    more = f" ({len(problems) - 1} more in details.problems)" if len(problems) > 1 else ""
    sentence = f"{subject} {first.problem.removesuffix('.')}{got}{expected}{more}"
    return sentence[: MESSAGE_LIMIT - 1] + "."


def _hint(near: Sequence[str], words: str) -> str:
    help_line = " ".join(filter(None, ("handrail", words, "--help")))
    meant = f"Did you mean {near[0]}? " if near else ""
    return f"{meant}Correct what details.problems names; `{help_line}` shows the words and flags."
