"""What is known while one document is translated: what was found, what came from where. Pure."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from handrail.contract.outcome import Json
from handrail.contract.wording import quoted
from handrail.workflows.dialect.pointers import child
from handrail.workflows.limits import MAX_PARTS, MAX_PROBLEMS
from handrail.workflows.problem import Problem, ProblemCode

Object: TypeAlias = dict[str, Json]

NOWHERE = "/-"
"""The native pointer of what is translated only to be put into words."""

_KEPT_PARTS = "parts"
"""The member of `extra` with what was kept of steps, by pointer."""


class _Spelling(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the other dialect, at every place where it was met."""

    pointer: str
    became: str
    times: int = 0


class Crossing:
    """The notebook of one translation."""

    def __init__(self) -> None:
        self.pointers: dict[str, str] = {}
        """Native pointer to the original one; the longest beginning that is here leads back."""
        self.extra: Object = {}
        self.inputs: Object = {}
        """Inputs that a translation needs, such as the numbers of a counted loop."""
        self.guidance: list[str] = []
        """Texts of parts that can only be said to the whole workflow."""
        self._problems: list[Problem] = []
        self._spellings: dict[str, _Spelling] = {}
        self._parts = 0

    def problems(self) -> tuple[Problem, ...]:
        """A warning for each spelling, then one for each place where something is not the same."""
        spelled = [_spelled(name, spelling) for name, spelling in self._spellings.items()]
        found = spelled + self._problems
        if len(found) <= MAX_PROBLEMS:
            return tuple(found)
        return (*found[:MAX_PROBLEMS], _more())

    def read_as(self, name: str, pointer: str, became: str) -> None:
        """A key with the same meaning under another name; told once for all its places."""
        first = self._spellings.get(name, _Spelling(pointer=pointer, became=became))
        self._spellings[name] = msgspec.structs.replace(first, times=first.times + 1)

    def changed(self, pointer: str, message: str, fix: str, code: ProblemCode = "changed_meaning") -> None:
        """Something that cannot be said in quite the same way; `message` says what stands in."""
        # One more than can be shown: the translation of a hostile file stays small.
        if len(self._problems) <= MAX_PROBLEMS:
            problem = Problem(code=code, message=message, pointer=pointer, fix=fix, severity="warning")
            self._problems.append(problem)

    def keep(self, pointer: str, name: str, value: Json, holder: str = "") -> None:
        """Keep a key that is not known, and say so; `holder` is the pointer of the part it belongs to."""
        place = child(pointer, name)
        self.put_aside(place, name, value, is_top=not pointer)
        message = f"The key {quoted(name)} is not known{' in ' + holder if holder else ''}."
        fix = "It is kept with the workflow and changes nothing; remove it if it is a slip."
        self.changed(place, message, fix, "unknown_key")

    def put_aside(self, place: str, name: str, value: Json, *, is_top: bool) -> None:
        """Keep a value without meaning here under `extra`."""
        if is_top and name != _KEPT_PARTS:
            self.extra[name] = value
        else:
            self.extra.setdefault(_KEPT_PARTS, {})[place] = value

    def came_from(self, native: str, original: str) -> None:
        self.pointers[native] = original

    def count_part(self) -> bool:
        """Count one more part; false when there are more than any workflow may have."""
        self._parts += 1
        return self._parts <= MAX_PARTS + 1


def _spelled(name: str, spelling: _Spelling) -> Problem:
    times = f" ({spelling.times} places)" if spelling.times > 1 else ""
    return Problem(
        code="foreign_spelling",
        message=f"{name} is a spelling from elsewhere{times}; {spelling.became}.",
        pointer=spelling.pointer,
        fix="Nothing has to be done; write it the native way to make the warning go away.",
        severity="warning",
    )


def _more() -> Problem:
    return Problem(
        code="too_many_problems",
        message=f"There are more than {MAX_PROBLEMS} warnings; the others are not listed.",
        pointer="",
        fix="Look at the listed ones first and check the file again.",
        severity="warning",
    )
