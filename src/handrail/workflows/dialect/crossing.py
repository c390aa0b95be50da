"""Shared parts of a translation: pointers, texts, names, ids, and the findings so far. Pure."""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256
from json import dumps
from typing import TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.redaction import change_texts
from handrail.contract.wording import quote
from handrail.workflows.limits import (
    MAX_ID_CHARACTERS,
    MAX_NAME_CHARACTERS,
    MAX_PARTS,
    MAX_PROBLEMS,
    MAX_WORKFLOW_ID_CHARACTERS,
)
from handrail.workflows.problem import Problem, ProblemCode, make_problem, more_problems

# Texts from values that should have been texts: nothing that an author wrote is lost

_SINGLE_BRACES = re.compile(r"(?<![{$])\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")


def as_text(value: Json) -> str:
    """Return a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: Json) -> str:
    """Return a value as JSON; the same value always gives the same text."""
    return dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": "))


def as_listed(value: Json) -> list[Json]:
    """Return a list unchanged, and a single value as a list of it."""
    return value if isinstance(value, list) else [value]


def as_texts(value: Json) -> list[str]:
    """Return the texts of a list, or of a single value, without blank ones."""
    items = value if isinstance(value, list) else [value]
    return [text for item in items if item is not None and (text := as_text(item)).strip()]


def fill_document(value: Json, values: dict[str, str]) -> Json:
    """Return a copy of a document in which every `{{name}}` of `values` is replaced by its value."""
    if not values:
        return value
    pattern = re.compile(r"\{\{\s*(" + "|".join(re.escape(name) for name in sorted(values)) + r")\s*\}\}")
    return change_texts(value, lambda text: pattern.sub(lambda match: values[match[1]], text))


def double_braces(value: Json) -> Json:
    """Return a copy of a document in which every `{name}` is written `{{name}}`."""
    return change_texts(value, lambda text: _SINGLE_BRACES.sub(r"{{\1}}", text))


# Names that the parts of a native document use and nothing in them sets

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)(?:\.[A-Za-z0-9_-]+)*\s*\}\}")
_NAME = re.compile(r"(?!(__proto__|constructor|prototype)$)[A-Za-z_][A-Za-z0-9_-]*")
_UNREAD = frozenset({"validation", "args", "id", "title", "agentRole"})
"""Keys of a part in whose texts no names are replaced."""


def find_implicit_names(steps: Json) -> list[str]:
    """The names, sorted and without their members; variables of a loop do not count inside it."""
    used: set[str] = set()
    _collect(steps, frozenset(), used)
    return sorted(name for name in used if len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name))


def _collect(value: Json, own: frozenset[str], used: set[str]) -> None:
    if isinstance(value, str):
        used |= {match[1] for match in _PLACEHOLDER.finditer(value)} - own
    elif isinstance(value, list):
        for item in value:
            _collect(item, own, used)
    elif isinstance(value, dict):
        inside = own | _variables(value)
        if isinstance(value.get("input"), str):
            used |= {value["input"].partition(".")[0]} - own
        for name, member in value.items():
            if name not in _UNREAD:
                _collect(member, inside if name == "body" else own, used)


def _variables(part: dict[str, Json]) -> frozenset[str]:
    """Return the variables that a loop sets for its body."""
    repeat = part.get("forEach", part.get("count"))
    if not isinstance(repeat, dict):
        return frozenset()
    return frozenset(repeat[name] for name in ("as", "indexAs") if isinstance(repeat.get(name), str))


Object: TypeAlias = dict[str, Json]

NOWHERE = "/-"
"""The native pointer of what is translated only to be put into words."""

# The record of one translation

_KEPT_PARTS = "parts"
"""The member of `extra` with what was kept of steps, by pointer."""


class _Spelling(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the other dialect, at every place where it was met."""

    pointer: str
    became: str
    times: int = 0


class Crossing:
    """The findings of one translation, and the original pointer of each native one."""

    def __init__(self) -> None:
        self.pointers: dict[str, str] = {}
        """Native pointer to the original one; the longest beginning that is here leads back."""
        self.extra: Object = {}
        self.inputs: Object = {}
        """Inputs that a translation needs, such as the numbers of a counted loop."""
        self._problems: list[Problem] = []
        self._spellings: dict[str, _Spelling] = {}
        self._parts = 0

    def problems(self) -> tuple[Problem, ...]:
        """A warning for each spelling, then one for each place where something is not the same."""
        spelled = [_spelled(name, spelling) for name, spelling in self._spellings.items()]
        found = spelled + self._problems
        if len(found) <= MAX_PROBLEMS:
            return tuple(found)
        return (*found[:MAX_PROBLEMS], more_problems("warning"))

    def read_as(self, name: str, pointer: str, became: str) -> None:
        """A key with the same meaning under another name; reported once for all its places."""
        first = self._spellings.get(name, _Spelling(pointer=pointer, became=became))
        self._spellings[name] = msgspec.structs.replace(first, times=first.times + 1)

    def changed(self, pointer: str, message: str, fix: str, code: ProblemCode = "changed_meaning") -> None:
        """Something that cannot be said in quite the same way; `message` says what stands in."""
        # One more than can be shown: the translation of a hostile file stays small.
        if len(self._problems) <= MAX_PROBLEMS:
            problem = make_problem(code, pointer, message, fix, severity="warning")
            self._problems.append(problem)

    def keep(self, pointer: str, name: str, value: Json, holder: str = "") -> None:
        """Keep a key that is not known, and say so; `holder` is the pointer of the part it belongs to."""
        place = join_pointer(pointer, name)
        self.put_aside(place, name, value, is_top=not pointer)
        message = f"The key {quote(name)} is not known{' in ' + holder if holder else ''}."
        fix = "It is kept with the workflow and changes nothing; remove it if it is a mistake."
        self.changed(place, message, fix, "unknown_key")

    def keep_others(self, pointer: str, value: Object, known: Container[str], holder: str) -> None:
        """Keep every unknown key of a value."""
        for name in value:
            if name not in known:
                self.keep(pointer, name, value[name], holder)

    def put_aside(self, place: str, name: str, value: Json, *, is_top: bool) -> None:
        """Keep a value without meaning here under `extra`."""
        if is_top and name != _KEPT_PARTS:
            self.extra[name] = value
        else:
            self.extra.setdefault(_KEPT_PARTS, {})[place] = value

    def came_from(self, native: str, original: str) -> None:
        self.pointers[native] = original

    def count_part(self) -> bool:
        """Count one more part. Return False if there are more than any workflow may have."""
        self._parts += 1
        return self._parts <= MAX_PARTS + 1


def _spelled(name: str, spelling: _Spelling) -> Problem:
    times = f" ({spelling.times} places)" if spelling.times > 1 else ""
    message = f"{name} is the spelling of another tool{times}; {spelling.became}."
    fix = "You need not do anything; the warning goes away once it is written as named here."
    return make_problem("foreign_spelling", spelling.pointer, message, fix, severity="warning")


# Native ids and names: the same text always gives the same id

_NOT_IN_AN_ID = re.compile(r"[^a-z0-9_-]+")
_REFUSED_NAMES = frozenset({"__proto__", "constructor", "prototype"})
_DIGEST = 8


def own_id(crossing: Crossing, written: str, pointer: str) -> str:
    """Return the native id of a part; the author gets a note if it differs from the written one."""
    made = native_id(written)
    if made != written:
        message = f"The id {quote(written)} has characters that an id cannot have; the part is called {made}."
        crossing.changed(pointer, message, "Write it with a-z, 0-9, _ and -.", "bad_id")
    return made


def native_id(text: str) -> str:
    """An id of lower-case letters, digits, _ and -; long ones end with a digest of the whole."""
    plain = _NOT_IN_AN_ID.sub("-", text.lower()).strip("-") or "part"
    return _shortened(plain, text, MAX_ID_CHARACTERS)


def native_workflow_id(text: str) -> str:
    """`namespace.name`, or a name alone."""
    namespace, dot, name = text.lower().partition(".")
    if not dot:
        return _shortened(_segment(namespace), text, MAX_WORKFLOW_ID_CHARACTERS)
    return _shortened(f"{_segment(namespace)}.{_segment(name)}", text, MAX_WORKFLOW_ID_CHARACTERS)


def native_path(text: str) -> str:
    """A context value, or dotted a member of one, without the braces that some authors put around it."""
    return text.strip().removeprefix("{{").removesuffix("}}").strip()


def native_name(text: str) -> str:
    """A name without members, for loop variables, functions and inputs."""
    name = native_path(text).replace(".", "_")
    return f"{name}_" if name in _REFUSED_NAMES else name


def _segment(text: str) -> str:
    plain = _NOT_IN_AN_ID.sub("-", text).strip("-_") or "workflow"
    return plain if plain[0].isalpha() else f"w-{plain}"


def _shortened(plain: str, text: str, most: int) -> str:
    if len(plain) <= most:
        return plain
    return f"{plain[: most - _DIGEST - 1]}-{sha256(text.encode()).hexdigest()[:_DIGEST]}"
