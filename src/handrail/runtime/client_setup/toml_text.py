"""One table of a TOML file, edited as text and checked against the standard parser. Pure."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from handrail.runtime.client_setup.jsonc import NotEditable

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


def table(text: str, path: tuple[str, str]) -> dict[str, Any] | None:
    """The table as the parser reads it; None when there is none. Raises NotEditable."""
    outer = _parsed(text).get(path[0], {})
    found = outer.get(path[1]) if isinstance(outer, dict) else None
    return found if isinstance(found, dict) else None


def with_table(text: str, path: tuple[str, str], content: dict[str, Any]) -> str:
    """The text with the table: in its old place, or at the end. Raises NotEditable."""
    lines = [f"[{path[0]}.{path[1]}]"]
    lines += [f"{_key(key)} = {toml_value(value)}" for key, value in content.items()]
    span = _span(text, path)
    if span is not None:
        changed = text[: span[0]] + "\n".join(lines) + "\n" + text[span[1] :]
    else:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        changed = text + gap + "\n".join(lines) + "\n"
    expected = _parsed(text)
    if not isinstance(expected.setdefault(path[0], {}), dict):
        raise NotEditable(f"{path[0]} is no table in it")
    expected[path[0]][path[1]] = content
    return _checked(changed, expected)


def without_table(text: str, path: tuple[str, str]) -> str:
    """The text without the table and the tables below it. Raises NotEditable."""
    span = _span(text, path)
    if span is None:
        raise NotEditable("the table is written in another form")
    start = span[0]
    if text[max(0, start - 2) : start] == "\n\n":
        start -= 1  # the empty line that came with it
    expected = _parsed(text)
    del expected[path[0]][path[1]]
    if not expected[path[0]]:
        del expected[path[0]]
    return _checked(text[:start] + text[span[1] :], expected)


def toml_value(value: Any) -> str:
    """Strings, numbers and lists are written as in JSON; a table inside goes on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {toml_value(one)}" for key, one in value.items()) + " }"
    return msgspec.json.encode(value).decode()


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else msgspec.json.encode(key).decode()


def _span(text: str, path: tuple[str, str]) -> tuple[int, int] | None:
    """From its header to the next header that does not belong to it."""
    if table(text, path) is None:
        return None
    name = rf"{re.escape(path[0])}[ \t]*\.[ \t]*(?:{re.escape(path[1])}|\"{re.escape(path[1])}\")"
    opened = re.search(rf"^[ \t]*\[[ \t]*{name}[ \t]*\]", text, re.MULTILINE)
    if opened is None:
        raise NotEditable("the table is written in another form")
    for header in _HEADER.finditer(text, opened.end()):
        if not re.match(rf"[ \t]*\[[ \t]*{name}[ \t]*\.", text[header.start() :]):
            return opened.start(), header.start()
    return opened.start(), len(text)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as trouble:
        raise NotEditable("it is not TOML") from trouble


def _checked(text: str, expected: dict[str, Any]) -> str:
    """An edit counts only if it says what was meant and nothing else."""
    if _parsed(text) != expected:
        raise NotEditable("the table cannot be changed without touching something else")
    return text
