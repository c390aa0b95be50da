"""What a name across files is made of: slots, tokens that spell them, why some may be missing. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail_code.facts.model import Role


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
    "used_as_value",  # handed on: who calls it then cannot be told
    "accepted",  # somebody has looked at it
    "unproven_member",  # which objects have it cannot be told
]


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why something may be missing."""

    code: TroubleCode
    path: str
    start: int = 0
    end: int = 0
