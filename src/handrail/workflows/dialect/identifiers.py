"""Ids and names of the other dialect as native ones; the same text always gives the same id. Pure."""

from __future__ import annotations

import re
from hashlib import sha256

from handrail.contract.wording import quoted
from handrail.workflows.dialect.crossing import Crossing
from handrail.workflows.limits import MAX_ID_CHARACTERS, MAX_WORKFLOW_ID_CHARACTERS

_NOT_IN_AN_ID = re.compile(r"[^a-z0-9_-]+")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_REFUSED_NAMES = frozenset({"__proto__", "constructor", "prototype"})
_DIGEST = 8


class Identifiers:
    """The ids of parts that are taken; every part gets one that no other has."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, wanted: str, pointer: str, crossing: Crossing) -> str:
        """The native id of a part, told about where it is not the one that is written."""
        plain = native_id(wanted)
        free = plain
        number = 2
        while free in self._taken:
            ending = f"-{number}"
            free = plain[: MAX_ID_CHARACTERS - len(ending)] + ending
            number += 1
        self._taken.add(free)
        if free != wanted:
            why = "is taken" if free != plain else "has characters that an id cannot have"
            message = f"The id {quoted(wanted)} {why}; the part is called {free}."
            crossing.changed(pointer, message, "Give it an id of its own: a-z, 0-9, _ and -.", "bad_id")
        return free


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
    """A context value, or dotted a member of one: what the engine can look up."""
    plain = text.strip().removeprefix("{{").removesuffix("}}").strip()
    if _PATH.fullmatch(plain):
        return plain
    parts = [_NOT_IN_A_NAME.sub("_", part).strip("_") for part in plain.split(".")]
    joined = ".".join(part for part in parts if part) or "value"
    return joined if joined[0].isalpha() else f"_{joined}"


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
