"""Parse argv into the command, its values and every problem at once. Nothing is read or opened here."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, assert_never

import msgspec

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault, Json
from handrail.contract.redaction import is_secret_name
from handrail.contract.suggest import count_edits, find_nearest, is_opposed
from handrail.contract.wording import quote
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS

if TYPE_CHECKING:
    from handrail.surfaces.cli.reading.command_types import Command, Param


# Values: the text of one flag → its value, or what is wrong with it

INPUT_LIMIT_BYTES = 1024 * 1024
INPUT_DEPTH = 64
ID_LENGTH = 128

_INTEGER = r"-?[0-9]{1,18}"
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_NO_TEXT = r"[\ud800-\udfff]"
_NO_BYTE = r"[\ud800-\udc7f\udd00-\udfff]"
_CONTROL_IN_TEXT = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_ID = rf"[\x20-\x7e]{{1,{ID_LENGTH}}}"


_PATHS = frozenset({"file", "records", "document", "documents", "source", "sources", "directory"})
"""Only a path may have bytes that are not UTF-8, because the file system allows them."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem of the command line."""

    param: str
    problem: str
    got: str = ""
    expected: str = ""
    is_usage: bool = True
    """Whether the name or shape is unknown; otherwise the name is right and its value is wrong."""
    near: tuple[str, ...] = ()


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A value in a file, or on stdin if `path` is `-`; read after parsing has succeeded."""

    path: str


Value: TypeAlias = (
    str | int | bool | dict[str, Json] | list[Json] | Reference | tuple[Reference, ...] | tuple[str, ...]
)


def label_of(param: Param) -> str:
    """Return the name of a flag or position in a problem."""
    return param["flag"] or param["value"]


def value_of(param: Param, text: str) -> Value | Problem:
    """Return the value that one text stands for."""
    expected = _expected_instead(param, text)
    if expected:
        return Problem(
            param=label_of(param),
            problem="has a wrong value",
            got=_shown(param, text),
            expected=expected,
            is_usage=False,
            near=tuple(_nearest(text, param["choices"])),
        )
    match param["kind"]:
        case "switch":
            return True
        case "int":
            return int(text)
        case "file" | "records" | "document" | "documents" | "source" | "sources":
            return Reference(path=text)
        case "choices" | "ids":
            return tuple(text.split(","))
        case "object" | "array" | "input":
            return _json_or_reference(param, text)
        case "text" | "id" | "token" | "choice" | "directory" | "words":
            return text
        case never:
            assert_never(never)


def report_repeated(param: Param, texts: list[str]) -> Problem:
    """Report a value that may be given once and was given with different texts."""
    shown = ", ".join(_shown(param, text) for text in texts[:3])
    return Problem(param=label_of(param), problem="is given more than once", got=shown, expected="one value")


def object_of(text: str | bytes, label: str) -> dict[str, Json]:
    """Return the JSON object that `text` is.

    Raises: Fault E_VALIDATION or REQUEST_TOO_LARGE, as the decoder does.
    """
    value = _decoded_value(text)
    if isinstance(value, dict):
        return value
    raise _refuse_kind(value, label, "object", "braces")


def array_of(text: str | bytes, label: str) -> list[Json]:
    """Return the JSON array that `text` is. Raises as `object_of` does."""
    value = _decoded_value(text)
    if isinstance(value, list):
        return value
    raise _refuse_kind(value, label, "array", "brackets")


def _refuse_kind(value: Json, label: str, wanted: str, around: str) -> Fault:
    return Fault(
        E_VALIDATION,
        f"{label} is JSON, but not an {wanted}.",
        details={"param": label, "expected": f"a JSON {wanted}", "got": _json_kind(value)},
        hint=f"Send one JSON {wanted} in {around}.",
    )


def _decoded_value(text: str | bytes) -> Json:
    # Most command lines carry no JSON, and its reader is slow to load.
    from handrail.contract.json.strict import decode_json  # noqa: PLC0415 - see above

    return decode_json(text, max_bytes=INPUT_LIMIT_BYTES, max_depth=INPUT_DEPTH)


def _expected_instead(param: Param, text: str) -> str:
    """Return what would be accepted; empty if the text is."""
    is_path = param["kind"] in _PATHS or text.startswith("@")
    if re.search(_NO_BYTE if is_path else _NO_TEXT, text):
        return "UTF-8 text"
    match param["kind"]:
        case "int":
            in_range = re.fullmatch(_INTEGER, text) and param["least"] <= int(text) <= param["most"]
            return "" if in_range else f"an integer from {param['least']} to {param['most']}"
        case "choice":
            return "" if text in param["choices"] else "one of " + ", ".join(param["choices"])
        case "choices":
            unknown = [one for one in text.split(",") if one not in param["choices"]]
            return "some of " + ", ".join(param["choices"]) if unknown else ""
        case "ids":
            is_fine = all(re.fullmatch(_ID, one) for one in text.split(","))
            return (
                "" if is_fine else f"ids of 1 to {ID_LENGTH} printable ASCII characters, with commas between"
            )
        case "id":
            return "" if re.fullmatch(_ID, text) else f"1 to {ID_LENGTH} printable ASCII characters"
        case "file" | "records" | "document" | "documents" | "source" | "sources" | "directory":
            return "a path without control characters" if not text or re.search(_CONTROL, text) else ""
        case "text" | "token":
            return "text without control characters" if re.search(_CONTROL_IN_TEXT, text) else ""
        case "object" | "array" | "input" | "switch" | "words":
            return ""
        case never:
            assert_never(never)


def _json_or_reference(param: Param, text: str) -> Value | Problem:
    if text.startswith("@") and len(text) > 1:
        return Reference(path=text[1:])
    if text == "-" and param["kind"] == "input":
        return Reference(path=text)
    label = label_of(param)
    try:
        return array_of(text, label) if param["kind"] == "array" else object_of(text, label)
    except Fault as fault:
        return Problem(
            param=label,
            problem=f"is refused: {fault.message}",
            expected=f"a JSON {'array' if param['kind'] == 'array' else 'object'} or @FILE",
            is_usage=False,
        )


def show_briefly(text: str) -> str:
    """Return outside text for a problem: short, and without invisible characters."""
    return quote(text).strip('"')


def _shown(param: Param, text: str) -> str:
    """Return what was given; a token is never repeated."""
    return "a token" if param["kind"] == "token" else show_briefly(text)


def _json_kind(value: Json) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), "an array")


# Command lines

HELP_WORD = "help"
"""The word before a command that asks for its help."""
MORE_WORD = "more"
"""The word after `help` that lists the commands which the first page only names."""
SHORT_FLAGS = {"-?": "--help", "-v": "--version", "-V": "--version", "-q": "--quiet"}
SELF_DESCRIPTION = "self."
"""Prefix of operations that must answer even if everything else is broken."""
_FEW = 12
"""Most names in a sentence; more of them become a list."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A command line, as far as it was understood."""

    command: Command | None
    words: str
    """The words that name the command or group, as far as they were understood."""
    values: tuple[tuple[Param, Value], ...]
    """The command's own values, in the order of its row."""
    options: dict[str, Value]
    """Global flags by name."""
    formats: tuple[str, ...]
    """Every format that a flag asked for, in order."""
    problems: tuple[Problem, ...]


class _Reading:
    """The state of the walk along argv."""

    def __init__(self) -> None:
        self.words: tuple[str, ...] = ()
        self.command: Command | None = None
        self.lost_at: list[str] = []
        """The words from the first unknown one on."""
        self.flags_ended = False
        self.known: dict[str, Param] = {param["flag"]: param for param in GLOBALS}
        self.known["-h"] = self.known["--help"]
        self.given: dict[str, list[str]] = {}
        self.arguments: list[str] = []
        self.problems: list[Problem] = []


def parse(arguments: Sequence[str]) -> Parsed:
    """Return everything that argv says. A problem never hides the next one."""
    reading = _Reading()
    texts = [_decoded(argument) for argument in arguments]
    index = 0
    while index < len(texts):
        index += _take(reading, texts[index], texts[index + 1 :])
    _fill_positions(reading)
    _choose_view(reading)
    options = _options(reading)
    values = _own_values(reading, has_input="--input" in reading.given)
    if reading.lost_at:
        _report_unknown_command(reading)
    elif reading.command is None and reading.words and not {"help", "version"} & set(options):
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
    """Return the leaves below a group; all of them without words."""
    return [path for path in COMMANDS if not mark_of(path) and (not words or path.startswith(words + " "))]


def words_of(path: str) -> str:
    """Return the words that name a command, whichever view of it."""
    return path.partition(" --")[0]


def mark_of(path: str) -> str:
    """Return the flag that chooses this view of a command; empty for the usual one."""
    return path[len(words_of(path)) :].strip()


def views_of(words: str) -> list[Command]:
    """Return the rows of one command, the usual one first."""
    return [row for path, row in COMMANDS.items() if words_of(path) == words]


def _decoded(argument: str) -> str:
    """Return an argument as UTF-8, however the locale decoded it; a path may keep other bytes."""
    try:
        return os.fsencode(argument).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which only a caller in Python can send
        return argument


def _take(reading: _Reading, text: str, rest: Sequence[str]) -> int:
    """Read one argument, and its value if it is a flag. Return how many arguments were read."""
    if reading.flags_ended or text == "-" or not text.startswith("-"):
        _take_word(reading, text)
        return 1
    if text == "--":
        reading.flags_ended = True
        return 1 + _take_words(reading, rest)
    name, equals, inline = text.partition("=")
    param = reading.known.get(name)
    if param is None:
        return _refuse_flag(reading, name, rest, has_value=bool(equals))
    name = param["flag"]  # `-h` is a spelling of one
    if param["kind"] == "switch":
        if equals:
            reading.problems.append(Problem(param=name, problem="takes no value", got=show_briefly(inline)))
        reading.given.setdefault(name, []).append("")
        return 1
    if equals:
        reading.given.setdefault(name, []).append(inline)
        return 1
    return _take_value(reading, param, rest)


def _take_words(reading: _Reading, rest: Sequence[str]) -> int:
    """Take everything after `--` as one value if the command starts a program; otherwise report it."""
    params = () if reading.command is None else reading.command["params"]
    label = next((label_of(param) for param in params if param["kind"] == "words"), "")
    if not label or not rest:
        return 0
    reading.given[label] = list(rest)
    return len(rest)


def _take_value(reading: _Reading, param: Param, rest: Sequence[str]) -> int:
    flag = param["flag"]
    reading.given.setdefault(flag, [])  # even without its value it chooses the view
    if not rest:
        reading.problems.append(
            Problem(param=flag, problem="needs a value", expected=f"{flag} {param['value']}")
        )
        return 1
    value = rest[0]
    if value == "--" or value.partition("=")[0] in reading.known:
        # A forgotten value must not take the next flag and be stored as text.
        reading.problems.append(
            Problem(
                param=flag,
                problem="needs a value, and the next argument is a flag",
                got=show_briefly(value),
                expected=f"{flag}={value} if that text is meant",
            )
        )
        return 1
    reading.given[flag].append(value)
    return 2


def _take_word(reading: _Reading, word: str) -> None:
    if reading.lost_at:
        reading.lost_at.append(word)
        return
    if reading.command is not None:
        reading.arguments.append(word)
        return
    if word == HELP_WORD and not reading.words:
        reading.given["--help"] = [""]
        return
    path = " ".join((*reading.words, word))
    command = COMMANDS.get(path)
    if command is not None:
        reading.command = command
        for view in reversed(views_of(path)):
            reading.known |= {param["flag"]: param for param in view["params"] if param["flag"]}
    elif not commands_under(path) and not (path == MORE_WORD and "--help" in reading.given):
        reading.lost_at.append(word)
        return
    reading.words = (*reading.words, word)


def _refuse_flag(reading: _Reading, name: str, rest: Sequence[str], *, has_value: bool) -> int:
    """Report an unknown flag. Return how many arguments to skip with it.

    The word after a flag with a secret name is skipped too, so that it is not shown.
    """
    is_before_word = bool(rest) and not rest[0].startswith("-") and not has_value
    is_secret = is_before_word and is_secret_name(name)
    if reading.lost_at:
        return 2 if is_secret else 1  # it may belong to the command that was meant
    elsewhere = {param["flag"]: param for row in COMMANDS.values() for param in row["params"]}
    if reading.command is None and name in elsewhere:
        reading.problems.append(
            Problem(
                param=name, problem="comes before its command", expected=f"the command's words, then {name}"
            )
        )
        takes_next = elsewhere[name]["kind"] != "switch" and not has_value and bool(rest)
        return 2 if takes_next else 1
    near = [SHORT_FLAGS[name]] if name in SHORT_FLAGS else _nearest(name, _offered(reading))
    label = name if name.isascii() and name.isprintable() else show_briefly(name)
    reading.problems.append(
        Problem(param=label[:80], problem="is not a flag here", expected=" or ".join(near), near=tuple(near))
    )
    has_positions = reading.command is None or any(param["position"] for param in reading.command["params"])
    return 2 if is_secret or (is_before_word and not has_positions) else 1


def _offered(reading: _Reading) -> list[str]:
    """Return the flags to suggest: all of them until the command is known, then those that it takes."""
    if reading.command is None:
        return list(reading.known)
    views = views_of(" ".join(reading.words))
    own = [param["flag"] for view in views for param in view["params"] if param["flag"]]
    return list(dict.fromkeys([*own, *reading.command["globals"]]))


def _nearest(name: str, known: Sequence[str]) -> list[str]:

    return find_nearest(name, known)


def _report_unknown_command(reading: _Reading) -> None:
    from handrail.surfaces.cli.reading.other_words import OTHER_WORDS  # noqa: PLC0415 - most lines are spelled right

    words = [*reading.words, *reading.lost_at[:2]]
    path = " ".join(words[: len(reading.words) + 1])
    longer = " ".join(words[: len(reading.words) + 2])
    known = OTHER_WORDS.get(path) or OTHER_WORDS.get(longer)
    near = [known] if known else find_near_commands(words)
    reading.problems.append(
        Problem(
            param="command",
            problem="is unknown",
            got=show_briefly(path),
            expected=" or ".join(near),
            near=tuple(near),
        )
    )


def find_near_commands(words: Sequence[str], most: int = 3) -> list[str]:
    """Return the commands that were probably meant by the first two words, or else by the first."""
    if " ".join(words[:1]) in _groups() and len(words) == 1:
        return []
    near = find_near(" ".join(words[:2])) or find_near(words[0])
    return [path for path in near if path != words[0]][:most]


def find_near(line: str) -> list[str]:
    """Return commands and groups of which each word matches, exactly or with one slip of the
    keyboard.

    Otherwise those that end with the same word under another noun.
    """
    near = [path for path in (*commands_under(""), *_groups()) if _is_near(line, path)]
    last = line.rpartition(" ")[2]
    if near or last in _groups():
        return near
    return [path for path in commands_under("") if path.rpartition(" ")[2] == last]


def _groups() -> list[str]:
    return list(dict.fromkeys(path.split(" ")[0] for path in commands_under("") if " " in path))


def _is_near(typed: str, path: str) -> bool:
    """Whether each word is the same, or differs by one slip in four letters and does not mean the
    opposite.
    """

    pairs = list(zip(typed.lower().split(" "), path.split(" "), strict=False))
    return typed.count(" ") == path.count(" ") and all(
        one == other or (not is_opposed(one, other) and count_edits(one, other, 2) <= len(other) // 4)
        for one, other in pairs
    )


def _report_missing_command(reading: _Reading) -> None:
    words = " ".join(reading.words)
    after = [path.removeprefix(words).strip() for path in commands_under(words)]
    few = f"one of {', '.join(after)}" if len(after) <= _FEW else "one of its commands"
    reading.problems.append(Problem(param="command", problem="is missing", expected=few))


def _fill_positions(reading: _Reading) -> None:
    """Assign the words after the path, one per position; a plural position takes the rest."""
    if reading.command is None:
        return
    left = reading.arguments
    views = views_of(" ".join(reading.words))
    placed = {param["position"]: param for view in reversed(views) for param in view["params"]}
    for position, param in sorted(placed.items()):
        if position and param["kind"] != "words" and label_of(param) not in reading.given:
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
                got=show_briefly(" ".join(left)),
                expected="text with spaces in quotes",
            )
        )


def _choose_view(reading: _Reading) -> None:
    """Return the view of a command that takes most of what was given."""
    views = views_of(" ".join(reading.words))
    if reading.command is None or len(views) == 1:
        return
    given = set(reading.given) - {param["flag"] for param in GLOBALS}
    takes = {view["path"]: {label_of(param) for param in view["params"]} for view in views}
    reading.command = max(views, key=lambda view: len(given & takes[view["path"]]))
    chosen = takes[reading.command["path"]]
    beside = " or ".join(sorted(label for label in given & chosen if label.startswith("-"))) or "the others"
    for label in sorted(given - chosen):
        reading.problems.append(Problem(param=label, problem=f"does not go with {beside}"))


def _options(reading: _Reading) -> dict[str, Value]:
    """Return the global flags. One that does not apply is still read, because it may set the
    refusal's format.
    """
    options = {}
    applying = None if reading.command is None else reading.command["globals"]
    own = () if reading.command is None else [param["flag"] for param in reading.command["params"]]
    for param in GLOBALS:
        flag = param["flag"]
        if flag in own:
            continue  # the operation itself takes it, and checks what it writes
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
        if not param["name"]:  # it only chooses the view
            continue
        if value is not None:
            values.append((param, value))
        elif param["required"] and label_of(param) not in reading.given and not has_input:
            few = f"one of {', '.join(param['choices'])}" if param["choices"] else ""
            reading.problems.append(Problem(param=label_of(param), problem="is missing", expected=few))
    return tuple(values)


def _value(reading: _Reading, param: Param, *, may_repeat: bool) -> Value | None:
    """Return what was given for one parameter; None if nothing was given, or it was rejected."""
    texts = reading.given.get(label_of(param), [])
    values = [value_of(param, text) for text in texts]
    refused = [value for value in values if isinstance(value, Problem)]
    if refused:
        is_usage = param in GLOBALS and param["kind"] == "choice"
        reading.problems.append(msgspec.structs.replace(refused[0], is_usage=is_usage))
        return None
    if not values:
        return None
    if param["kind"] in ("choices", "ids"):
        several = [one for value in values if isinstance(value, tuple) for one in value]
        return tuple(dict.fromkeys(one for one in several if isinstance(one, str)))
    if param["kind"] == "words":
        return tuple(value for value in values if isinstance(value, str))
    if param["is_plural"]:
        return tuple(value for value in values if isinstance(value, Reference))
    if len(set(texts)) > 1 and not may_repeat:
        reading.problems.append(report_repeated(param, texts))
        return None
    value = values[0]
    assert not isinstance(value, Problem), "refused values were reported above"
    return value


def _formats(reading: _Reading) -> tuple[str, ...]:
    """Return the formats. `--json` and `--human` are spellings of `--format`; conflicts are
    reported later.
    """
    asked = list(reading.given.get("--format", []))
    asked += ["json"] * ("--json" in reading.given) + ["human"] * ("--human" in reading.given)
    return tuple(asked)
