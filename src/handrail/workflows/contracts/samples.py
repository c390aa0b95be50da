"""What the schema of a contract asks for, in words and as documents that fit or do not. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.compiled import MAX_DEPTH, Schema, resolve_ref
from handrail.workflows.contracts.own_members import is_asked_for
from handrail.workflows.contracts.patterns import PART
from handrail.workflows.limits import MAX_EXAMPLE_BYTES, MAX_EXAMPLE_VALUES, Effort
from handrail.workflows.prompt_sections import MAY_BE_LEFT_OUT

# Lines for a prompt
#
# An example shows the shape. These lines say what it cannot show: closed sets, and what may be added.


def describe_fields(schema: Schema) -> list[str]:
    """One line for each member with a closed set or a pattern, and for each that may be left out.

    Members of rows that may be left out share a line: there are several, and every prompt pays for it.
    """
    optional: list[tuple[str, str]] = []
    lines = list(_lines(schema, schema, "", optional, 0))
    if not optional:
        return lines
    rows = [("", ""), *optional]
    names = [name if row == before else f"{row}.{name}" for (before, _), (row, name) in pairwise(rows)]
    return [*lines, f"{', '.join(names)}: {MAY_BE_LEFT_OUT}"]


def _lines(
    schema: Json, root: Schema, path: str, optional: list[tuple[str, str]], depth: int
) -> Iterator[str]:
    """The lines of this part; `optional` gets what is told together."""
    schema = resolve_ref(schema, root)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    for name, declared in properties.items():
        inner = resolve_ref(declared, root)
        if not is_asked_for(inner):
            continue
        here = f"{path}.{name}" if path else name
        text = _describe_field(inner, is_optional=name not in required)
        if text == MAY_BE_LEFT_OUT and path:
            optional.append((path, name))
        elif text:
            yield f"{here}: {text}"
        yield from _lines(inner, root, here, optional, depth + 1)
    if "items" in schema:
        items = resolve_ref(schema["items"], root)
        values = _values(items)
        if values:
            yield f"{path}[]: {values}"
        yield from _lines(items, root, path + "[]", optional, depth + 1)


def _count(schema: dict[str, Json]) -> str:
    """How many there must be, where the example may show fewer."""
    least = schema.get("minItems", 0)
    return f"at least {least}" if isinstance(least, int) and least > 1 else ""


def _describe_field(schema: Json, *, is_optional: bool) -> str:
    values = _values(schema)
    if is_optional:
        parts = [_rows(schema), values, MAY_BE_LEFT_OUT]
        return "; ".join(part for part in parts if part)
    return values


def _rows(schema: Json) -> str:
    """The members of each row: no example shows a list that may be left out."""
    items = schema.get("items") if isinstance(schema, dict) else None
    declared = items.get("properties") if isinstance(items, dict) else None
    held = declared.items() if isinstance(declared, dict) else ()
    members = [name for name, one in held if is_asked_for(one)]
    return f"rows of {', '.join(members)}" if members else ""


def _values(schema: Json) -> str:
    if not isinstance(schema, dict):
        return ""
    if schema.get("type") == "array":
        return _count(schema)
    options, pattern = schema.get("enum"), schema.get("pattern")
    if not isinstance(options, list) or len(options) < 2:
        # What blocks is told before it can block; that a text is not blank goes without saying.
        is_shown = isinstance(pattern, str) and pattern != r"\S"
        return f"matches the pattern {pattern}" if is_shown else ""
    return "one of " + ", ".join(str(option) for option in options)


# A text that matches a pattern: the first of each choice, the fewest of each repetition
#
# It is a guess. Callers check the text against the pattern and do without it if it does not match.

_MOST_CHARACTERS = 200
_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_LOOKS = re.compile(r"\(\?<?[=!]")
_NOTHING = "bBAZz"
_CANDIDATES = "aA1 -_./:x"


def make_text(pattern: str) -> str:
    """A short text that a plain pattern matches; for any other pattern some text."""
    return _Reading(pattern).text()[:_MOST_CHARACTERS]


class _Reading:
    """The parts of one pattern, from the left."""

    def __init__(self, pattern: str) -> None:
        self._parts = [part for part in re.finditer(PART, pattern) if not part["remark"]]
        self._at = 0

    def text(self) -> str:
        """The first alternative up to the end of the group; the others are passed over."""
        made: list[str] = []
        first: str | None = None
        while self._at < len(self._parts):
            part = self._parts[self._at]
            self._at += 1
            if part["close"]:
                break
            if part["bar"]:
                first = "".join(made) if first is None else first
                made = []
            elif part["repeat"]:
                if made:
                    made[-1] = (made[-1] * _least(part))[:_MOST_CHARACTERS]
            elif part["open"]:
                inner = self.text()
                made += [] if _LOOKS.match(part["open"]) else [inner]
            else:
                made.append(_single(part))
        return "".join(made) if first is None else first


def _least(part: re.Match[str]) -> int:
    if part["least"] is not None:
        return min(int(part["least"] or 0), _MOST_CHARACTERS)
    return 1 if part["repeat"].startswith("+") else 0


def _single(part: re.Match[str]) -> str:
    if part["escape"]:
        letter = part["escape"][1]
        return "" if letter in _NOTHING else _CLASSES.get(letter, letter)
    if part["set"]:
        return _member(part["set"])
    return {"^": "", "$": "", ".": "a"}.get(part["plain"], part["plain"])


def _member(written: str) -> str:
    """One character of a set."""
    inside = written[1:].removesuffix("]")
    if inside.startswith("^"):
        try:
            found = re.compile(written)
        except re.error:
            return ""
        return next((one for one in _CANDIDATES if found.fullmatch(one)), "")
    return _CLASSES.get(inside[1], inside[1]) if len(inside) > 1 and inside[0] == "\\" else inside[:1]


# Documents

_NOT_BLANK = r"\S"


def make_sample(schema: Schema) -> Json:
    """A small document that fits, as far as types, bounds and closed lists decide it.

    Raises Fault WORK_LIMIT_EXCEEDED when even the smallest one is large.
    """
    values = Effort(
        MAX_EXAMPLE_VALUES,
        f"The smallest artifact that fits has more than {MAX_EXAMPLE_VALUES} values.",
        "Lower minItems, or require fewer members.",
    )
    characters = Effort(
        MAX_EXAMPLE_BYTES,
        f"The smallest artifact that fits has texts of more than {MAX_EXAMPLE_BYTES} characters.",
        "Lower minLength, minItems or what is required.",
    )
    return _Sampling(schema, values, characters).of(schema, 0)


class _Sampling:
    """One document in the making."""

    def __init__(self, root: Schema, values: Effort, characters: Effort) -> None:
        self._root = root
        self._values = values
        self._characters = characters

    def of(self, schema: Json, depth: int) -> Json:
        schema = resolve_ref(schema, self._root)
        self._values.spend()
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return "text"
        if "const" in schema:
            return self._given(schema["const"])
        if schema.get("enum"):
            return self._given(schema["enum"][0])
        named = schema.get("type", "string")
        match named[0] if isinstance(named, list) and named else named:
            case "object":
                properties = schema.get("properties", {})
                others = schema.get("additionalProperties", {})
                return {
                    name: self.of(properties.get(name, others), depth + 1)
                    for name in schema.get("required", ())
                }
            case "array":
                least = int(min(schema.get("minItems", 0), MAX_EXAMPLE_VALUES + 1))
                return [self.of(schema.get("items", {}), depth + 1) for _ in range(least)]
            case "integer" | "number":
                return schema.get("minimum", min(0, schema.get("maximum", 0)))
            case "boolean":
                return True
            case "null":
                return None
            case _:
                least = int(min(schema.get("minLength", 0), MAX_EXAMPLE_BYTES + 1))
                self._characters.spend(least)
                return _text(schema.get("pattern")).ljust(least, "t")[: schema.get("maxLength")]

    def _given(self, value: Json) -> Json:
        self._characters.spend(len(msgspec.json.encode(value)))
        return msgspec.to_builtins(value)


def _text(pattern: Json) -> str:
    if not isinstance(pattern, str) or pattern == _NOT_BLANK:
        return "text"
    return make_text(pattern)
