"""The shapes that the grammar is made of, and the ids, names and texts that it shares. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.workflows.limits import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_ID_CHARACTERS,
    MAX_LIST_ITEMS,
    MAX_NAME_CHARACTERS,
    MAX_PROMPT_BYTES,
    MAX_TEXT_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    MAX_WORKFLOW_ID_CHARACTERS,
)

# Kinds of shapes

Registry: TypeAlias = Literal["templates", "features", "contracts", "refs"]


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text. Blank ones are rejected unless `may_be_blank`."""

    most: int
    unit: Literal["characters", "bytes"] = "characters"
    may_be_blank: bool = False
    pattern: str = ""
    """A pattern for the whole text; ASCII only, and the same in every dialect of regular expressions."""
    wanted: str = ""
    """The pattern in words: how to write it."""
    trouble: Literal["bad_id", "bad_value"] = "bad_id"
    """The name of a text that does not match."""
    names: Registry | None = None
    """The builtins that an editor may offer here; the compiler checks whether the id exists."""


class Flag(msgspec.Struct, frozen=True):
    """A boolean."""


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
    """The name of a list that is too short."""


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose keys the author chooses."""

    of: Shape
    name: Text
    most: int


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a record."""

    shape: Shape
    description: str
    """Its purpose, as editors show it."""
    is_required: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An object with these keys and no others."""

    description: str
    keys: dict[str, Key]
    one_of: tuple[str, ...] = ()
    """Keys of which exactly one is required."""
    any_of: tuple[str, ...] = ()
    """Keys of which at least one is required."""


class Tagged(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose key `tag` decides which record it is."""

    description: str
    tag: str
    records: dict[str, str]
    """Tags, each with the name of its record."""
    default: str = ""
    """The default tag; empty if the tag is required."""
    own_keys: dict[str, str] = {}
    """Keys that decide like a tag, each with the name of its record."""


class ByType(msgspec.Struct, frozen=True, kw_only=True):
    """One of several shapes, chosen by the JSON type of the value."""

    shapes: tuple[Shape, ...]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A shape of the grammar by its name, so that shapes may contain themselves."""

    name: str


Shape: TypeAlias = Text | Flag | Whole | Word | Anything | Items | Members | Record | Tagged | ByType | Named
"""All shapes; the set is closed."""


# Shared ids, names and texts

ID = Text(
    most=MAX_ID_CHARACTERS,
    pattern="[a-z0-9_-]+",
    wanted="Use lower-case letters, digits, _ and - only.",
)
CONDITION_ID = Text(
    most=MAX_ID_CHARACTERS,
    pattern="[a-z0-9_-]+",
    wanted='Write the id of one of the conditions, or a condition such as {"kind": "compare", '
    '"input": "severity", "op": "equals", "value": "high"}; there are no expressions.',
)
"""A reference to a condition. It has the form of an id; a text of another form names no condition."""
WORKFLOW_ID = Text(
    most=MAX_WORKFLOW_ID_CHARACTERS,
    pattern=r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)?",
    wanted="Write namespace.name with exactly one dot, in lower-case letters, digits, _ and -, "
    "such as project.bug_investigation.",
)
NAME = Text(
    most=MAX_NAME_CHARACTERS,
    pattern=r"(?!(__proto__|constructor|prototype)$)[A-Za-z_][A-Za-z0-9_-]*",
    wanted="Begin with a letter or _, then use letters, digits, _ and -; "
    "__proto__, constructor and prototype are refused.",
)
"""Name of a value in the context. The three reserved names are rejected in a context, too."""
PATH = Text(
    most=2 * MAX_NAME_CHARACTERS,
    pattern=r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*",
    wanted="Write a name, or a name and its members with dots between them, such as report.verdict.",
)
ARTIFACT_KIND = Text(
    most=MAX_WORKFLOW_ID_CHARACTERS,
    pattern=r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*",
    wanted="Write the kind of an artifact, such as wr.verification_report.",
)

TITLE = Text(most=MAX_TITLE_CHARACTERS)
DESCRIPTION = Text(most=MAX_DESCRIPTION_CHARACTERS)
REMARK = Text(most=MAX_DESCRIPTION_CHARACTERS, may_be_blank=True)
PROSE = Text(most=MAX_TEXT_CHARACTERS)
ONE_TEXT = Text(
    most=MAX_TEXT_CHARACTERS,
    wanted="Write one text; several are several rules, joined by a rule of the type all.",
)
"""Prose that is searched for as it is written: two lines of it are not two texts."""
PROMPT = Text(most=MAX_PROMPT_BYTES, unit="bytes")

PROSE_LIST = Items(of=PROSE, most=MAX_LIST_ITEMS)
FREE_OBJECT = Members(
    of=Anything(), name=Text(most=MAX_TITLE_CHARACTERS, may_be_blank=True), most=MAX_LIST_ITEMS
)
"""An object whose content another module defines."""


def optional_key(shape: Shape, description: str) -> Key:
    """Return a key that is optional."""
    return Key(shape=shape, description=description)


def required_key(shape: Shape, description: str) -> Key:
    """Return a key that is required."""
    return Key(shape=shape, description=description, is_required=True)


def tag_key(tag: str, what: str) -> Key:
    """Return the key that decides which of several kinds is meant."""
    return required_key(Word(values=(tag,)), f"What kind of {what} this is.")
