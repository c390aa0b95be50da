"""The kinds of shape a value of a workflow file can have; the grammar is made of them. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Registry: TypeAlias = Literal["templates", "features", "contracts", "refs"]


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text. Blank ones are refused unless `may_be_blank`."""

    most: int
    unit: Literal["characters", "bytes"] = "characters"
    may_be_blank: bool = False
    pattern: str = ""
    """What the whole text must match; ASCII only, and the same in every dialect of regular expressions."""
    wanted: str = ""
    """The pattern in words: how to write it."""
    trouble: Literal["bad_id", "bad_value"] = "bad_id"
    """What a text that does not match is called."""
    names: Registry | None = None
    """The builtins an editor may offer here; whether the id exists is the compiler's question."""


class Flag(msgspec.Struct, frozen=True):
    """true or false."""


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A whole number."""

    least: int
    most: int


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """One word of a closed set."""

    values: tuple[str, ...]


class Anything(msgspec.Struct, frozen=True, kw_only=True):
    """Any JSON value."""

    is_hashed: bool = True
    """Whether it becomes part of the compiled workflow, so that it must have a canonical form."""


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """A list."""

    of: Shape
    least: int = 0
    most: int
    trouble: Literal["bad_value", "no_steps"] = "bad_value"
    """What a list that is too short is called."""


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose keys the author chooses."""

    of: Shape
    name: Text
    most: int


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a record."""

    shape: Shape
    says: str
    """What it is for, as editors show it."""
    is_required: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An object with these keys and no others."""

    says: str
    keys: dict[str, Key]
    one_of: tuple[str, ...] = ()
    """Exactly one of these keys is there."""
    any_of: tuple[str, ...] = ()
    """At least one of these keys is there."""


class Tagged(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose key `tag` says which record it is."""

    says: str
    tag: str
    records: dict[str, str]
    """Tag to the name of its record."""
    default: str = ""
    """The tag that holds where none is written; empty: it must be written."""


class ByType(msgspec.Struct, frozen=True, kw_only=True):
    """One of several shapes, told apart by the JSON type of the value."""

    shapes: tuple[Shape, ...]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A shape of the grammar by its name, so that shapes may contain themselves."""

    name: str


Shape: TypeAlias = Text | Flag | Whole | Word | Anything | Items | Members | Record | Tagged | ByType | Named
"""The closed set."""
