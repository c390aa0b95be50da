"""argv → the command, its values and every problem at once. Nothing is read or opened here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.redaction import is_secret_name
from handrail.contract.suggest import nearest
from handrail.surfaces.cli import _table
from handrail.surfaces.cli.values import Problem, Reference, Value, label_of, several_given, shown, value_of

if TYPE_CHECKING:  # only annotations name it, and typed dicts cost at start-up
    from handrail.surfaces.cli.rows import Command, Param

SHORT_FLAGS = {"-h": "--help", "-?": "--help", "-v": "--version", "-V": "--version", "-q": "--quiet"}
SELF_DESCRIPTION = "self."
"""Operations that must answer whatever state everything else is in begin with this."""
LONE_WORDS = {"help": "--help", "version": "--version"}
"""Names are exact, so these are refused; what was meant is told."""
_FEW = 12
"""More names than this make a list, not a sentence."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A command line, understood as far as it goes."""

    command: Command | None
    words: str
    """The words that name the command or group, as far as they were understood."""
    values: tuple[tuple[Param, Value], ...]
    """The command's own values, in the order of its row."""
    options: dict[str, Value]
    """Global flags by name."""
    formats: tuple[str, ...]
    """Every format asked for by a flag, in order."""
    problems: tuple[Problem, ...]


class _Reading:
    """Where the walk along argv stands."""

    def __init__(self) -> None:
        self.words: tuple[str, ...] = ()
        self.command: Command | None = None
        self.lost_at: list[str] = []
        """The words from the first unknown one on."""
        self.flags_ended = False
        self.known: dict[str, Param] = {param["flag"]: param for param in _table.GLOBALS}
        self.given: dict[str, list[str]] = {}
        self.arguments: list[str] = []
        self.problems: list[Problem] = []


def parse(arguments: Sequence[str]) -> Parsed:
    """Everything that argv says. A problem never hides the next one."""
    reading = _Reading()
    texts = [_decoded(argument) for argument in arguments]
    index = 0
    while index < len(texts):
        index += _take(reading, texts[index], texts[index + 1 :])
    _fill_positions(reading)
    options = _options(reading)
    values = _own_values(reading, has_input="--input" in reading.given)
    if reading.lost_at:
        _report_unknown_command(reading)
    elif reading.command is None and not {"help", "version"} & set(options):
        _report_missing_command(reading)
    return Parsed(
        command=reading.command,
        words=" ".join(reading.words),
        values=values,
        options=options,
        formats=_formats(reading),
        problems=tuple(reading.problems),
    )


def commands_under(words: str) -> list[str]:
    """The leaves below a group; all of them without words."""
    return [path for path in _table.COMMANDS if not words or path.startswith(words + " ")]


def _decoded(argument: str) -> str:
    """An argument as UTF-8, whatever the locale made of it; other bytes stay, for a path may have them."""
    try:
        return os.fsencode(argument).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which only a caller within Python can send
        return argument


def _take(reading: _Reading, text: str, rest: Sequence[str]) -> int:
    """Read one argument, and its value if it is a flag; how many arguments that were."""
    if reading.flags_ended or text == "-" or not text.startswith("-"):
        _take_word(reading, text)
        return 1
    if text == "--":
        reading.flags_ended = True
        return 1
    name, equals, inline = text.partition("=")
    param = reading.known.get(name)
    if param is None:
        return _refuse_flag(reading, name, rest, has_value=bool(equals))
    if param["kind"] == "switch":
        if equals:
            reading.problems.append(Problem(param=name, problem="takes no value", got=shown(inline)))
        reading.given.setdefault(name, []).append("")
        return 1
    if equals:
        reading.given.setdefault(name, []).append(inline)
        return 1
    return _take_value(reading, param, rest)


def _take_value(reading: _Reading, param: Param, rest: Sequence[str]) -> int:
    flag = param["flag"]
    if not rest:
        reading.problems.append(
            Problem(param=flag, problem="needs a value", expected=f"{flag} {param['value']}")
        )
        return 1
    value = rest[0]
    if value == "--" or value.partition("=")[0] in reading.known:
        # A forgotten value must not swallow the next flag and be stored as text.
        reading.problems.append(
            Problem(
                param=flag,
                problem="needs a value, and the next argument is a flag",
                got=shown(value),
                expected=f"{flag}={value} if that text is meant",
            )
        )
        return 1
    reading.given.setdefault(flag, []).append(value)
    return 2


def _take_word(reading: _Reading, word: str) -> None:
    if reading.lost_at:
        reading.lost_at.append(word)
        return
    if reading.command is not None:
        reading.arguments.append(word)
        return
    path = " ".join((*reading.words, word))
    command = _table.COMMANDS.get(path)
    if command is not None:
        reading.command = command
        reading.known |= {param["flag"]: param for param in command["params"] if param["flag"]}
    elif not commands_under(path):
        reading.lost_at.append(word)
        return
    reading.words = (*reading.words, word)


def _refuse_flag(reading: _Reading, name: str, rest: Sequence[str], *, has_value: bool) -> int:
    """Report an unknown flag; how many arguments it takes with it.

    After a telling name stands what must not be shown as a word too many.
    """
    is_before_word = bool(rest) and not rest[0].startswith("-") and not has_value
    is_telling = is_before_word and is_secret_name(name)
    if reading.lost_at:
        return 2 if is_telling else 1  # it may well belong to the command that was meant
    elsewhere = {param["flag"]: param for row in _table.COMMANDS.values() for param in row["params"]}
    if reading.command is None and name in elsewhere:
        reading.problems.append(
            Problem(
                param=name, problem="stands before its command", expected=f"the command's words, then {name}"
            )
        )
        takes_next = elsewhere[name]["kind"] != "switch" and not has_value and bool(rest)
        return 2 if takes_next else 1
    near = [SHORT_FLAGS[name]] if name in SHORT_FLAGS else nearest(name, _offered(reading))
    label = name if name.isascii() and name.isprintable() else shown(name)
    reading.problems.append(
        Problem(param=label[:80], problem="is not a flag here", expected=" or ".join(near), near=tuple(near))
    )
    has_positions = reading.command is None or any(param["position"] for param in reading.command["params"])
    return 2 if is_telling or (is_before_word and not has_positions) else 1


def _offered(reading: _Reading) -> list[str]:
    """The flags that may be proposed: all of them until the command is known, then what it takes."""
    if reading.command is None:
        return list(reading.known)
    own = [param["flag"] for param in reading.command["params"] if param["flag"]]
    return [*own, *reading.command["globals"]]


def _report_unknown_command(reading: _Reading) -> None:
    """The first words may be a misspelt command; the first one alone a misspelt group."""
    known = {path.rsplit(" ", 1)[0] for path in _table.COMMANDS} | set(_table.COMMANDS)
    path = " ".join((*reading.words, reading.lost_at[0]))
    longer = " ".join((*reading.words, *reading.lost_at[:2]))
    near = nearest(longer, _table.COMMANDS) or nearest(path, known)
    near = [LONE_WORDS[path]] if path in LONE_WORDS else near
    reading.problems.append(
        Problem(
            param="command",
            problem="is unknown",
            got=shown(path),
            expected=" or ".join(near),
            near=tuple(near),
        )
    )


def _report_missing_command(reading: _Reading) -> None:
    words = " ".join(reading.words)
    after = [path.removeprefix(words).strip() for path in commands_under(words)]
    few = f"one of {', '.join(after)}" if len(after) <= _FEW else "one of details.commands"
    reading.problems.append(Problem(param="command", problem="is missing", expected=few))


def _fill_positions(reading: _Reading) -> None:
    """The words after the path, one per position; a plural position takes the rest."""
    if reading.command is None:
        return
    left = reading.arguments
    for param in reading.command["params"]:
        if param["position"]:
            count = len(left) if param["is_plural"] else 1
            taken, left = left[:count], left[count:]
            if taken:
                reading.given[label_of(param)] = taken
    if left:
        is_one = len(left) == 1
        reading.problems.append(
            Problem(
                param="argument" if is_one else f"{len(left)} arguments",
                problem="is one too many" if is_one else "are too many",
                got=shown(" ".join(left)),
                expected="text with spaces in quotes",
            )
        )


def _options(reading: _Reading) -> dict[str, Value]:
    """Global flags. One that does not apply is still read: it may say how the refusal shall look."""
    options = {}
    applying = None if reading.command is None else reading.command["globals"]
    for param in _table.GLOBALS:
        flag = param["flag"]
        if flag in reading.given and applying is not None and flag not in applying:
            problem = f"does not apply to `{' '.join(reading.words)}`"
            reading.problems.append(Problem(param=flag, problem=problem))
        value = _value(reading, param, may_repeat=param["name"] == "format")
        if value is not None:
            options[param["name"]] = value
    return options


def _own_values(reading: _Reading, *, has_input: bool) -> tuple[tuple[Param, Value], ...]:
    if reading.command is None:
        return ()
    values = []
    for param in reading.command["params"]:
        value = _value(reading, param, may_repeat=False)
        if value is not None:
            values.append((param, value))
        elif param["required"] and label_of(param) not in reading.given and not has_input:
            reading.problems.append(Problem(param=label_of(param), problem="is missing"))
    return tuple(values)


def _value(reading: _Reading, param: Param, *, may_repeat: bool) -> Value | None:
    """What was given for one parameter; None when nothing was, or it was refused."""
    texts = reading.given.get(label_of(param), [])
    values = [value_of(param, text) for text in texts]
    refused = [value for value in values if isinstance(value, Problem)]
    if refused:
        is_usage = param in _table.GLOBALS and param["kind"] == "choice"
        reading.problems.append(msgspec.structs.replace(refused[0], is_usage=is_usage))
        return None
    if not values:
        return None
    if param["kind"] in ("choices", "ids"):
        several = [one for value in values if isinstance(value, tuple) for one in value]
        return tuple(dict.fromkeys(one for one in several if isinstance(one, str)))
    if param["is_plural"]:
        return tuple(value for value in values if isinstance(value, Reference))
    if len(set(texts)) > 1 and not may_repeat:
        reading.problems.append(several_given(param, texts))
        return None
    value = values[0]
    assert not isinstance(value, Problem), "refused values were reported above"
    return value


def _formats(reading: _Reading) -> tuple[str, ...]:
    """`--json` and `--human` are spellings of `--format`; two that differ are refused together, later."""
    asked = list(reading.given.get("--format", []))
    asked += ["json"] * ("--json" in reading.given) + ["human"] * ("--human" in reading.given)
    return tuple(asked)
