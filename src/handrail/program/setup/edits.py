"""Edits of a client's file that add or remove our entry, in JSON with comments. Pure."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final, Literal

import msgspec

from handrail.contract.hook_events import RETIRED_HOOKS
from handrail.contract.outcome import Json
from handrail.ports.program import ClientPlaces
from handrail.program.setup.clients import (
    ENTRIES,
    HOOKS,
    TABLE,
    ClientName,
    Scope,
    ToolSet,
    hook_of,
    is_own_hook,
    path_of,
)


def spell_table(path: tuple[str, str], content: dict[str, Any]) -> str:
    """A table of TOML, for a person to put into a file."""
    lines = (f"{key} = {msgspec.json.encode(value).decode()}" for key, value in content.items())
    return "\n".join([f"[{path[0]}.{path[1]}]", *lines])


# Entries and hooks

HOOKS_VERSION = 1
"""Of Cursor's file of hooks."""


def decode_text(content: bytes | None) -> str:
    """Raises NotEditable."""
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as trouble:
        raise NotEditable("it is not UTF-8") from trouble


def read_entry(name: ClientName, text: str, tool_set: ToolSet) -> Any:
    """Return our entry as it is written; None if there is none. Raises NotEditable."""
    client = TABLE[name]
    if client.is_toml:
        return _read_toml(text).get(client.key, {}).get(ENTRIES[tool_set])
    held = find_at(_object(text), (client.key, ENTRIES[tool_set])) if text.strip() else None
    return None if held is None else held.plain


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as trouble:
        raise NotEditable("it is not TOML") from trouble


def has_entry(held: Any, entry: dict[str, Any]) -> bool:
    """Whether an entry starts what ours would, whatever a user added to it."""
    return isinstance(held, dict) and held == {**held, **entry}


def write_entry(name: ClientName, text: str, entry: dict[str, Any], tool_set: ToolSet) -> str:
    """Return the text with our entry; what a user added to it stays. Raises NotEditable."""
    held = read_entry(name, text, tool_set)
    if has_entry(held, entry):
        return text
    whole = {**held, **entry} if isinstance(held, dict) else entry
    path = (TABLE[name].key,)
    return _ended(set_member(text if text.strip() else "{}", path, ENTRIES[tool_set], whole), text)


def remove_entry(name: ClientName, text: str, tool_set: ToolSet) -> str:
    if read_entry(name, text, tool_set) is None:
        return text
    return _without(text, (TABLE[name].key,), lambda part: part.key == ENTRIES[tool_set])


def write_hooks(name: ClientName, text: str, command: tuple[str, ...]) -> str:
    """Return the text with one element for each event; an element of ours with another path is corrected.

    Elements of retired events are removed.
    """
    changed = _without_retired(text) if text.strip() else "{}"
    for event in reversed(HOOKS[name].events):
        wanted = hook_of(name, event, command)
        if wanted in _elements(changed, event):
            continue
        changed = add_element(_without_hook(changed, event), ("hooks", event), wanted)
    if HOOKS[name].is_flat and find_member(_object(changed), "version") is None:
        changed = set_member(changed, (), "version", HOOKS_VERSION)
    return changed if changed == text else _ended(changed, text)


def remove_hooks(name: ClientName, text: str) -> str:
    for event in HOOKS[name].events:
        text = _without_hook(text, event)
    return _without_retired(text)


def _without_retired(text: str) -> str:
    for event in RETIRED_HOOKS:
        text = _without_hook(text, event)
    return text


def _without_hook(text: str, event: str) -> str:
    while any(is_own_hook(event, element) for element in _elements(text, event)):
        text = _without(text, ("hooks", event), lambda part: is_own_hook(event, part.value.plain))
    return text


def _elements(text: str, event: str) -> list[Any]:
    held = find_at(_object(text), ("hooks", event)) if text.strip() else None
    return held.plain if held is not None and isinstance(held.plain, list) else []


def _without(text: str, path: tuple[str, ...], is_wanted: Any) -> str:
    held = find_at(parse(text), path)
    assert held is not None, "the caller found it there"
    place = next(place for place, part in enumerate(held.parts) if is_wanted(part))
    return remove_part(text, path, place)


def _object(text: str) -> Value:
    held = parse(text)
    if not isinstance(held.plain, dict):
        raise NotEditable("it is not one object")
    return held


def _ended(changed: str, text: str) -> str:
    """A new file ends with a line end; one that was there keeps its own end."""
    return changed if text.strip() or changed.endswith("\n") else changed + "\n"


def snippet_of(name: ClientName, entries: dict[str, dict[str, Any]]) -> str:
    """Return the text to add to the file by hand."""
    client = TABLE[name]
    if client.is_toml:
        return "\n".join(spell_table((client.key, key), entry) for key, entry in entries.items())
    return msgspec.json.encode({client.key: entries}).decode()


def hooks_snippet(name: ClientName, command: tuple[str, ...]) -> str:
    version: dict[str, Json] = {"version": HOOKS_VERSION} if HOOKS[name].is_flat else {}
    content: Json = {
        **version,
        "hooks": {event: [hook_of(name, event, command)] for event in HOOKS[name].events},
    }
    return msgspec.json.encode(content).decode()


def diff_texts(before: str, after: str) -> dict[str, Json]:
    """Return the text that is removed and the text that is added, as lines, without what surrounds them."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    most = min(len(before), len(after)) - start
    while end < most and before[-1 - end] == after[-1 - end]:
        end += 1
    removed = before[start : len(before) - end].splitlines()
    added = after[start : len(after) - end].splitlines()
    hunks = [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    return {"added": len(added), "removed": len(removed), "hunks": hunks[:100]}


# The worker definition: what a client that knows subagents needs to hand work over in one line.


_NAME: Final = "handrail-worker"
_DESCRIPTION: Final = (
    "Does one piece of work that Handrail delegated. Give it the brief and the workToken as they are."
)
_INSTRUCTIONS: Final = """\
You got a brief and a workToken (wk1…). The token opens this piece of work and nothing else.

1. Call continue_workflow with the workToken as stateToken, or run `handrail run continue --state TOKEN`.
2. Do what the step says, and report it with the ackToken of that reply. Follow each reply to the end.
3. If you were given a name, send it as worker, or with `--worker NAME`, when you report.
4. In a shell, set `HANDRAIL_WORK` to the token, so that checks and hooks count for this work, and \
`HANDRAIL_WORKER` to your name.
5. If a reply asks for a person, stop and tell who delegated the work.
6. When the reply says that your part is done, answer with one line: what you found.
"""
_MARKDOWN: Final = f"---\nname: {_NAME}\ndescription: {_DESCRIPTION}\n---\n\n{_INSTRUCTIONS}"
_TOML: Final = (
    f'name = "{_NAME}"\ndescription = "{_DESCRIPTION}"\ndeveloper_instructions = """\n{_INSTRUCTIONS}"""\n'
)


_PLACES: Final[dict[ClientName, str]] = {
    "claude-code": f".claude/agents/{_NAME}.md",
    "cursor": f".cursor/agents/{_NAME}.md",
    "codex": f".codex/agents/{_NAME}.toml",
    "gemini": f".gemini/agents/{_NAME}.md",
    "vscode": f".github/agents/{_NAME}.agent.md",
}
"""Below the project or the home: clients whose own documentation has such definitions; Zed has none."""
_IN_A_PROFILE: Final = ("vscode",)
"""Where those of a user lie in a profile of the editor, which has no one place."""


def worker_file(name: ClientName, scope: Scope, project: str, places: ClientPlaces) -> str:
    """Return where the client reads the definition; empty if it has no such place."""
    if name not in _PLACES or (scope == "user" and name in _IN_A_PROFILE):
        return ""
    return path_of(f"~/{_PLACES[name]}", places) if scope == "user" else f"{project}/{_PLACES[name]}"


def worker_text(name: ClientName) -> str:
    return _TOML if TABLE[name].is_toml else _MARKDOWN


def write_worker(name: ClientName, text: str) -> str:
    """Return the definition in place of an older one of ours. Raises NotEditable if another author wrote
    it.
    """
    if text and f"name: {_NAME}" not in text and f'name = "{_NAME}"' not in text:
        raise NotEditable("it is not Handrail's")
    return worker_text(name)


# JSON with comments, edited as text: only what is added or taken out changes, byte for byte.


_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9eE+.\-]*|true|false|null")
_DEEPEST = 64


class NotEditable(ValueError):
    """The text cannot be changed without guessing."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One value and its place in the text."""

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
    """Return the one value of the text. Raises NotEditable, also if one object has the same key twice."""
    value = _value(text, _after_space(text, 0), 0)
    if _after_space(text, value.end) != len(text):
        raise NotEditable("something follows the end of the document")
    return value


def find_member(value: Value, key: str) -> Value | None:
    return next((part.value for part in value.parts if part.key == key), None)


def find_at(value: Value | None, path: tuple[str, ...]) -> Value | None:
    """Return the value at the path of names; None if there is none."""
    for name in path:
        value = None if value is None else find_member(value, name)
    return value


def set_member(text: str, path: tuple[str, ...], key: str, content: Json) -> str:
    """Return the text with `key` in the object at `path`, which is made if it is missing; an existing key
    keeps its place.
    """
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
    """Return the text with one more element in the array at `path`; the array is made if it is missing."""
    held = find_at(parse(text), path)
    if held is None:
        return set_member(text, path[:-1], path[-1], [content])
    _require(held, list)
    return _insert(text, held, len(path) + 1, "", content)


def remove_part(text: str, path: tuple[str, ...], place: int) -> str:
    """Return the text without the part at `place` of the container at `path`, its comma and its line."""
    held = find_at(parse(text), path)
    if held is None:
        raise NotEditable("there is nothing to take out")
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
    """Insert a new first part, so that no existing comma has to move."""
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
    """Return the indent of one level, as the first indented line has it; two spaces if none is indented."""
    found = re.search(r"\n([ \t]+)[\"\]}]", text)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _value(text: str, at: int, depth: int) -> Value:
    if depth > _DEEPEST:
        raise NotEditable("it is nested too deeply")
    opened = text[at : at + 1]
    if opened == "[":
        parts, end = _read_parts(text, at, "]", depth)
        return Value(start=at, end=end, plain=[part.value.plain for part in parts], parts=parts)
    if opened == "{":
        parts, end = _read_parts(text, at, "}", depth)
        plain = {part.key: part.value.plain for part in parts}
        if len(plain) != len(parts):
            raise NotEditable("a key appears twice")
        return Value(start=at, end=end, plain=plain, parts=parts)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise NotEditable("a value is missing or not JSON")
    return Value(start=at, end=found.end(), plain=_decode(found[0]))


def _read_parts(text: str, at: int, closing: Literal["}", "]"], depth: int) -> tuple[tuple[Part, ...], int]:
    """Return the parts up to the closing bracket, and the position after it; a comma may come before it."""
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
