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
    description: str
    """What it is for, as editors show it."""
    is_required: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An object with these keys and no others."""

    description: str
    keys: dict[str, Key]
    one_of: tuple[str, ...] = ()
    """Exactly one of these keys is there."""
    any_of: tuple[str, ...] = ()
    """At least one of these keys is there."""


class Tagged(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose key `tag` says which record it is."""

    description: str
    tag: str
    records: dict[str, str]
    """Tag to the name of its record."""
    default: str = ""
    """The tag that holds where none is written; empty: it must be written."""
    own_keys: dict[str, str] = {}
    """A key that says as much as a tag does, to the name of its record."""


class ByType(msgspec.Struct, frozen=True, kw_only=True):
    """One of several shapes; the JSON type of the value says which."""

    shapes: tuple[Shape, ...]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A shape of the grammar by its name, so that shapes may contain themselves."""

    name: str


Shape: TypeAlias = Text | Flag | Whole | Word | Anything | Items | Members | Record | Tagged | ByType | Named
"""The closed set."""


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
"""Where a condition is named. Its form is that of an id, but a text of another form is no name of one."""
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
"""Of a value in the context. The three refused names are refused in a context, too."""
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
"""Prose that is searched for as it stands: two lines of it are not two texts."""
PROMPT = Text(most=MAX_PROMPT_BYTES, unit="bytes")

PROSE_LIST = Items(of=PROSE, most=MAX_LIST_ITEMS)
FREE_OBJECT = Members(
    of=Anything(), name=Text(most=MAX_TITLE_CHARACTERS, may_be_blank=True), most=MAX_LIST_ITEMS
)
"""An object whose meaning another part of the system knows."""


def optional_key(shape: Shape, description: str) -> Key:
    """A key that may be left out."""
    return Key(shape=shape, description=description)


def required_key(shape: Shape, description: str) -> Key:
    """A key that must be there."""
    return Key(shape=shape, description=description, is_required=True)


def tag_key(tag: str, what: str) -> Key:
    """The key that says which of several kinds is meant."""
    return required_key(Word(values=(tag,)), f"What kind of {what} this is.")
