"""JSON with comments, edited as text: only what is added or taken out changes, byte for byte. Pure."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from handrail.contract.outcome import Json

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9eE+.\-]*|true|false|null")
_DEEPEST = 64


class NotEditable(ValueError):
    """The text is not what this module can change without guessing."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One value and where it stands."""

    start: int
    end: int
    plain: Json
    parts: tuple[Part, ...] = ()
    """Of an object its members, of an array its elements."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A member or an element, with its key if it has one."""

    start: int
    key: str = ""
    value: Value


def parse(text: str) -> Value:
    """The one value of the text. Raises NotEditable, also for a key that stands twice in one object."""
    value = _value(text, _after_space(text, 0), 0)
    if _after_space(text, value.end) != len(text):
        raise NotEditable("something follows the end of the document")
    return value


def find_member(value: Value, key: str) -> Value | None:
    return next((part.value for part in value.parts if part.key == key), None)


def set_member(text: str, path: tuple[str, ...], key: str, content: Json) -> str:
    """The text with `key` in the object at `path`, which is made where it is missing; its place is kept."""
    held = parse(text)
    for depth, name in enumerate(path):
        _require(held, dict)
        inner = find_member(held, name)
        if inner is None:
            for missing in reversed(path[depth + 1 :]):
                content, key = {key: content}, missing
            return _insert(text, held, depth + 1, f"{_encode(name)}: ", {key: content})
        held = inner
    _require(held, dict)
    old = find_member(held, key)
    if old is None:
        return _insert(text, held, len(path) + 1, f"{_encode(key)}: ", content)
    return text[: old.start] + _render(text, content, len(path) + 1) + text[old.end :]


def add_element(text: str, path: tuple[str, ...], content: Json) -> str:
    """The text with one more element in the array at `path`; the array is made where it is missing."""
    held: Value | None = parse(text)
    for name in path:
        assert held is not None, "checked at the end of each round"
        _require(held, dict)
        held = find_member(held, name)
        if held is None:
            return set_member(text, path[:-1], path[-1], [content])
    assert held is not None, "every name was found"
    _require(held, list)
    return _insert(text, held, len(path) + 1, "", content)


def remove_part(text: str, path: tuple[str, ...], place: int) -> str:
    """The text without the part at `place` of the container at `path`, its comma and its line."""
    held = parse(text)
    for name in path:
        inner = find_member(held, name)
        if inner is None:
            raise NotEditable("there is nothing to take out")
        held = inner
    part = held.parts[place]
    start, end = part.start, part.value.end
    comma = _after_space(text, end)
    if text[comma : comma + 1] == ",":
        end = comma + 1
    elif place > 0:  # the last one: the comma before it goes
        start = text.rindex(",", held.parts[place - 1].value.end, start)
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    if text[start - 1 : start] == "\n":
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    if (
        len(held.parts) == 1
        and not text[held.start + 1 : start].strip()
        and not text[end : held.end - 1].strip()
    ):
        return text[: held.start + 1] + text[held.end - 1 :]
    return text[:start] + text[end:]


def _require(held: Value, kind: type) -> None:
    if not isinstance(held.plain, kind):
        raise NotEditable("a part of it has the wrong type")


def _insert(text: str, held: Value, depth: int, label: str, content: Json) -> str:
    """A new first part: no comma of somebody else has to move."""
    end = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    body = f"{end}{unit * depth}{label}{_render(text, content, depth)}"
    tail = "," if held.parts else f"{end}{unit * (depth - 1)}"
    inside = text[held.start + 1 : held.end - 1]
    rest = text[held.start + 1 :] if held.parts or inside.strip() else text[held.end - 1 :]
    return text[: held.start + 1] + body + tail + rest


def _render(text: str, content: Json, depth: int) -> str:
    unit = _unit(text)
    if isinstance(content, dict | list) and content and not _is_short(content):
        end = "\r\n" if "\r\n" in text else "\n"
        inner = f"{end}{unit * (depth + 1)}"
        if isinstance(content, dict):
            lines = [f"{_encode(key)}: {_render(text, one, depth + 1)}" for key, one in content.items()]
            opened, closed = "{", "}"
        else:
            lines = [_render(text, one, depth + 1) for one in content]
            opened, closed = "[", "]"
        return opened + inner + f",{inner}".join(lines) + f"{end}{unit * depth}{closed}"
    if isinstance(content, list):
        return "[" + ", ".join(_encode(one) for one in content) + "]"
    return _encode(content)


def _is_short(content: Json) -> bool:
    return isinstance(content, list) and all(isinstance(one, str) for one in content)


def _encode(content: Json) -> str:
    return msgspec.json.encode(content).decode()


def _unit(text: str) -> str:
    """How one level is set in, as the first indented line does it; two spaces where none is."""
    found = re.search(r"\n([ \t]+)[\"\]}]", text)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _value(text: str, at: int, depth: int) -> Value:
    if depth > _DEEPEST:
        raise NotEditable("it is nested too deeply")
    opened = text[at : at + 1]
    if opened == "{":
        return _object(text, at, depth)
    if opened == "[":
        parts, end = _read_parts(text, at, "]", depth)
        return Value(start=at, end=end, plain=[part.value.plain for part in parts], parts=parts)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise NotEditable("a value is missing or not JSON")
    return Value(start=at, end=found.end(), plain=_decode(found[0]))


def _object(text: str, at: int, depth: int) -> Value:
    parts, end = _read_parts(text, at, "}", depth)
    plain = {part.key: part.value.plain for part in parts}
    if len(plain) != len(parts):
        raise NotEditable("a key appears twice")
    return Value(start=at, end=end, plain=plain, parts=parts)


def _read_parts(text: str, at: int, closing: Literal["}", "]"], depth: int) -> tuple[tuple[Part, ...], int]:
    """The parts up to the closing bracket, and the place after it; a comma may stand before it."""
    parts: list[Part] = []
    at = _after_space(text, at + 1)
    while text[at : at + 1] != closing:
        parts.append(_part(text, at, closing, depth))
        at = _after_space(text, parts[-1].value.end)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        elif text[at : at + 1] != closing:
            raise NotEditable("a comma or a bracket is missing")
    return tuple(parts), at + 1


def _part(text: str, at: int, closing: Literal["}", "]"], depth: int) -> Part:
    if closing == "]":
        return Part(start=at, value=_value(text, at, depth + 1))
    key = _STRING.match(text, at)
    colon = _after_space(text, key.end()) if key else at
    if key is None or text[colon : colon + 1] != ":":
        raise NotEditable("a key or its colon is missing")
    name = _decode(key[0])
    return Part(start=at, key=str(name), value=_value(text, _after_space(text, colon + 1), depth + 1))


def _decode(text: str) -> Json:
    try:
        return msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except msgspec.DecodeError as trouble:
        raise NotEditable("a value is not JSON") from trouble


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "no space at all is a match too"
    return found.end()
