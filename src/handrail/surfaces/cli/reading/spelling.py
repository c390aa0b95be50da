"""Spell a call as a command line, and the refusal of a command line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.catalogue import E_INTERRUPTED, E_TIMEOUT, E_USAGE, E_VALIDATION
from handrail.contract.outcome import MESSAGE_LIMIT, Commits, Failure, Fault, Json, NextCall, Success
from handrail.contract.wording import quote_for_shell
from handrail.surfaces.cli.process import Interrupted
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.parse import Parsed, Problem, commands_under, words_of

if TYPE_CHECKING:
    from handrail.surfaces.cli.reading.command_types import Command, Param


# A call as a command line that can be run as it is

HELP = "cli.help"
"""Not an operation: the call that shows the help of `params.command`."""

LINE = "cli.line"
"""Not an operation either: the command line of `params.arguments`."""

_WHEN = {
    "perform_pending_then_continue": "When the step is done",
    "await_user_confirmation": "Ask the user first; once they have answered",
    "rehydrate_only": "To read the step again",
}
_GO_ON = "To go on where the run stands"


PROGRAM = "handrail"


def command_line(call: NextCall, program: str = PROGRAM) -> str | None:
    """Return the call as a shell command; None if no command offers the operation.

    `program` is the name typed here: `handrail`, or its path if it is not on PATH.
    """
    if call.operation == HELP:
        return " ".join(filter(None, (program, "help", call.params.get("command", ""))))
    if call.operation == LINE:
        return " ".join([program, *map(quote_for_shell, call.params["arguments"])])
    offering = [row for row in COMMANDS.values() if row["operation"] == call.operation]
    for command in offering:
        words = _flags(command, call.params)
        if words is not None:
            return " ".join([program, words_of(command["path"]), *words, "--compact"])
    if not offering:
        return None
    whole = ["--input", quote_for_shell(_json(call.params))]
    return " ".join([program, offering[0]["path"], *whole, "--compact"])


def is_followed(parsed: Parsed) -> bool:
    """Whether the call waits for future events."""
    return any(param["flag"] == "--follow" and value is True for param, value in parsed.values)


def go_on_from(arguments: Sequence[str], last: Json) -> NextCall:
    """Return the same line for the events after a given one; without one, the same line."""
    index = last.get("eventIndex") if isinstance(last, dict) else None
    if index is None:
        return NextCall(operation=LINE, params={"arguments": list(arguments)})
    kept = [
        word
        for at, word in enumerate(arguments)
        if not word.startswith("--after=") and "--after" not in (word, arguments[at - 1] if at else "")
    ]
    return NextCall(operation=LINE, params={"arguments": [*kept, "--after", str(index)]})


def next_commands(success: Success, program: str = PROGRAM) -> list[tuple[str, str]]:
    """Return the payload's next calls as command lines, each with when to run it.

    A choice has one for each option; a list has that of its first item. If a used token was sent
    with other content, one line stores that content, and one leads to the present step instead of
    back.
    """
    held = success.page.items[0] if success.page is not None and success.page.items else success.data
    if not isinstance(held, dict):
        return []
    calls = _after_other_content(held)
    calls += [] if any(when == _GO_ON for when, _, _ in calls) else _own_next_calls(held)
    offering = {row["tool"]: row["operation"] for row in COMMANDS.values() if row["tool"]}
    called = [
        (when, NextCall(operation=offering.get(tool, ""), params=params)) for when, tool, params in calls
    ]
    lines = [(when, command_line(call, program)) for when, call in called]
    return [(when, line) for when, line in lines if line]


def _after_other_content(held: dict[str, Json]) -> list[tuple[str, str, Json]]:
    """Return the calls after a used token or key was sent with other content: one stores it, one
    continues.
    """
    warnings = [one for one in held.get("warnings") or [] if isinstance(one, dict)]  # some are sentences
    mismatches = [one for one in warnings if one.get("code") == "REPLAY_INPUT_MISMATCH"]
    calls = [
        (_GO_ON if one.get("purpose") == "go_on" else "To store what you sent now", one.get("nextCall"))
        for one in mismatches
    ]
    current = (held.get("recap") or {}).get("current") or {} if mismatches else {}
    calls += [(_GO_ON, current.get("nextCall"))]
    return [(when, call["tool"], call["params"]) for when, call in calls if call]


def _own_next_calls(held: dict[str, Json]) -> list[tuple[str, str, Json]]:
    call = held.get("nextCall")
    if not isinstance(call, dict) or not call.get("tool"):
        return []
    choose = when_chosen(held)
    calls = [(f"{choose} {one['id']}", one["params"]) for one in call.get("options", [])]
    if call["params"] or not calls:
        is_childs = str(call["params"].get("stateToken", "")).startswith("wk")
        when = (
            "To do the first child yourself"
            if is_childs
            else _WHEN.get(str(held.get("nextIntent")), "To go on")
        )
        calls.append((when, call["params"]))
    return [(when, call["tool"], params) for when, params in calls]


def when_chosen(reply: dict[str, Json]) -> str:
    """Return how the line of an option begins: it says who chooses."""
    is_users = reply.get("nextIntent") == "await_user_confirmation"
    return "When the user chose" if is_users else "To choose"


def _flags(command: Command, params: dict[str, Json]) -> list[str] | None:
    """Return positions, then flags; None if some part of the params has no flag."""
    left: dict[str, Json] = msgspec.json.decode(_json(params))  # a copy to take parts from
    words = []
    project = next(param for param in GLOBALS if param["name"] == "project")
    for param in (*command["params"], project):
        if param["kind"] in ("file", "records", "documents", "sources"):
            continue
        if not param["name"]:  # it only chooses the view
            words.append(param["flag"])
            continue
        value = _take(left, param["name"].split("."))
        if value is None:
            continue
        if param["kind"] == "document" and isinstance(value, dict):
            value = value["source"]  # the text of the file is too long for a command line
        spelled = _spell(param, value)
        if spelled is None:
            return None
        words.append(spelled)
    for name, flag in (("dangerous", "--dangerous"), ("dryRun", "--dry-run")):
        if flag in command["globals"]:
            words += [flag] if left.pop(name, False) is True else []
    if isinstance(left.get("continueOnError"), bool):
        words.append(f"--continue-on-error {str(left.pop('continueOnError')).lower()}")
    return words if not left else None


def _spell(param: Param, value: Json) -> str | None:
    if value is True and param["kind"] == "switch":
        return param["flag"]
    if isinstance(value, bool):
        return None
    if isinstance(value, list) and param["kind"] in ("choices", "ids"):
        return f"{param['flag']} {quote_for_shell(','.join(value))}"
    if isinstance(value, dict | list):
        text = _json(value) if param["kind"] in ("object", "array") else ""
    else:
        text = value if isinstance(value, str) else str(value)
    if not text or "\0" in text:
        return None
    if param["position"]:
        return None if text.startswith("-") else quote_for_shell(text)
    if text.startswith("-"):
        return f"{param['flag']}={quote_for_shell(text)}"
    return f"{param['flag']} {quote_for_shell(text)}"


def _take(params: dict[str, Json], path: list[str]) -> Json:
    """Remove and return the value at a dotted path; None if there is none."""
    name, *rest = path
    if not rest:
        return params.pop(name, None)
    inner = params.get(name)
    if not isinstance(inner, dict):
        return None
    value = _take(inner, rest)
    if value is not None and not inner:
        del params[name]
    return value


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()


# Problems of a command line → one refusal that names them all and what to run instead

MOST_PROBLEMS = 50
"""Most problems in a list, because a longer one does not help; the message says how many there are."""


def refusal(problems: Sequence[Problem], words: str, meant: Sequence[str] | None = None) -> Fault:
    """Return E_USAGE if any name or shape is wrong, otherwise E_VALIDATION.

    `meant` is the same line with its spelling corrected.
    """
    assert problems, "a refusal has a reason"
    is_usage = any(problem.is_usage for problem in problems)
    details: dict[str, Json] = {"problems": [_as_detail(problem) for problem in problems[:MOST_PROBLEMS]]}
    near = [name for problem in problems for name in problem.near]
    if is_usage and near:
        details["did_you_mean"] = list(dict.fromkeys(near))
    if is_usage and any(problem.param == "command" and not problem.got for problem in problems):
        details["commands"] = commands_under(words)
    return Fault(
        E_USAGE if is_usage else E_VALIDATION,
        _message(problems),
        details=details,
        hint=_hint(near, words) if meant is None else "Run the next command.",
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
    """Return the first problem in a sentence, and how many follow it."""
    first = problems[0]
    subject = "The command" if first.param == "command" else first.param
    got = f' ("{first.got}")' if first.got else ""
    expected = f"; expected {first.expected}" if first.expected else ""
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    sentence = f"{subject} {first.problem.removesuffix('.')}{got}{expected}{more}"
    return sentence[: MESSAGE_LIMIT - 1] + "."


def _hint(near: Sequence[str], words: str) -> str:
    meant = f"Did you mean {near[0]}? " if near else ""
    asked = f"{PROGRAM} help {words}".rstrip()
    return f"{meant}`{asked}` shows the words and flags."


# A call that ended before anything was committed


def describe_stop(stop: Interrupted, commits: Commits | None) -> Failure:
    """Return the text that nothing was changed, which is certain, because a commit cannot be interrupted."""
    kind, why = (
        (E_TIMEOUT, "The deadline passed") if stop.is_deadline else (E_INTERRUPTED, "A signal ended the call")
    )
    if commits is None or not commits.is_sent:
        return Failure(kind=kind, message=f"{why}; nothing was changed.", details={"committed": False})
    return Failure(
        kind=kind,
        message=f"{why} before the server answered; whether it made the change is not known.",
        details={"committed": None},
        hint="Send the same call again: what was made is answered, and not made twice.",
    )
