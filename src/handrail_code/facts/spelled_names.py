"""What a name across files is made of: slots, tokens that spell them, why some may be missing. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, Protocol, TypeAlias

import msgspec

from handrail_code.facts.model import NONE, FileFacts, Import, Role


class Local(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    path: str
    binding: int


class Exported(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`name` may be `default`, or `=` for what `module.exports` was replaced with."""

    path: str
    name: str


class Shared(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A name at the top of scripts, which see each other's."""

    name: str

    @property
    def path(self) -> str:
        """It stands in no file of its own."""
        return ""


Slot: TypeAlias = Local | Exported | Shared

Split: TypeAlias = Literal["none", "import", "export", "shorthand", "pattern"]
"""How a token that serves two slots is written as two."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """One place where the name of a slot stands."""

    path: str
    start: int
    end: int
    role: Role
    definition: int
    tie: Slot | None = None
    """The other slot that this token serves."""
    split: Split = "none"
    is_first: bool = True
    """Split apart, this slot's name comes first: `imported as local`, `local as exported`, `key: local`."""


TroubleCode: TypeAlias = Literal[
    "parse_error",
    "unreadable_file",
    "too_long_to_parse",
    "eval",
    "with",
    "dynamic_import",
    "dynamic_require",
    "computed_exports",
    "unresolved_module",
    "skipped_file",
    "unread_file",
    "global_declaration",
    "whole_module_used",
    "module_named",
    "star_import",
    "names_as_data",
    "computed_member",
    "unclear_call",
    "twin_file",
    "used_as_value",  # handed on: who calls it then is unknown
    "renamed_unproven",  # somebody wants it renamed too
    "left_unproven",  # somebody wants it left
    "too_few_arguments",  # a call that given text no longer fits
    "too_many_arguments",
    "missing_keyword",
    "unproven_member",  # which objects have it is unknown
]


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why something may be missing."""

    code: TroubleCode
    path: str
    start: int = 0
    end: int = 0


class Placed(Protocol):
    """Anything with a place in a file."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def doubt(code: TroubleCode, path: str, place: Placed) -> Trouble:
    return Trouble(code=code, path=path, start=place.start, end=place.end)


def list_leaking_uses(facts: FileFacts, found: Import, roles: Collection[Role]) -> Iterator[Placed]:
    """Yield where a whole module goes somewhere: no plain member of it is read, and nothing that is known."""
    if found.binding == NONE:
        if not found.is_followed:
            yield found.statement
        return
    received = {member.index for member in facts.members if member.receiver == "use"}
    for at in facts.bindings[found.binding].uses:
        if facts.uses[at].role in roles and at not in received:
            yield facts.uses[at]
