"""Ids, names and texts that shapes of the grammar share. Pure."""

from __future__ import annotations

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
from handrail.workflows.reading.shapes import Anything, Items, Key, Members, Shape, Text

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
    wanted="Begin with a letter or _, go on with letters, digits, _ and -; "
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


def key(shape: Shape, says: str) -> Key:
    """A key that may be left out."""
    return Key(shape=shape, says=says)


def needed(shape: Shape, says: str) -> Key:
    """A key that must be there."""
    return Key(shape=shape, says=says, is_required=True)
