"""Putting the parts of a template where it is called: names filled in, ids, titles, confirmation. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, assert_never

from msgspec.structs import replace

from handrail.contract.json.canonical import canonical_bytes
from handrail.workflows.builtins.specs import TemplateContext
from handrail.workflows.limits import MAX_ID_CHARACTERS, MAX_TITLE_CHARACTERS
from handrail.workflows.model import (
    PromptPart,
    RefPart,
    SourceAction,
    SourceChoice,
    SourceDelegate,
    SourceLoop,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
    When,
    map_blocks,
)

# `{{name}}` in texts

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\s*\}\}")
"""`{{name}}` or `{{name.member}}`; the first group is the dotted name."""


def parse_placeholder(value: Any) -> str:
    """The dotted name when a value is one `{{name}}` and nothing else; empty otherwise."""
    whole = PLACEHOLDER.fullmatch(value.strip()) if isinstance(value, str) else None
    return whole[1] if whole else ""


def fill_names(text: str, values: Mapping[str, Any]) -> str:
    """The text with each known name replaced once; unknown names stay for the run to fill in."""
    return PLACEHOLDER.sub(lambda match: _filled(match, values), text)


def _filled(match: re.Match[str], values: Mapping[str, Any]) -> str:
    head, _, rest = match[1].partition(".")
    if head not in values:
        return match[0]
    value = values[head]
    renamed = parse_placeholder(value)
    if renamed:
        return "{{" + (f"{renamed}.{rest}" if rest else renamed) + "}}"
    for name in rest.split(".") if rest else ():
        if not isinstance(value, Mapping) or name not in value:
            return match[0]
        value = value[name]
    return phrase_value(value)


def phrase_value(value: Any) -> str:
    """A value inside a sentence: texts as they are, lists with commas, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(phrase_value(each) for each in value)
    return canonical_bytes(value).decode()


# Parts


def place_parts(parts: tuple[SourcePart, ...], context: TemplateContext) -> tuple[SourcePart, ...]:
    """The parts of a template as parts of the calling workflow.

    A single part takes the id and the title of the call; the ids and titles of several begin with it.
    """
    names = _Names(context, alone=len(parts) == 1)
    moved = tuple(_placed(part, names, context.pointer, is_top=True) for part in parts)
    return moved if context.require_confirmation is False else _confirmed(moved, context.require_confirmation)


def join_ids(prefix: str, name: str) -> str:
    """One id of two; a digest stands for the end of one that would be too long."""
    whole = f"{prefix}-{name}"
    if len(whole) <= MAX_ID_CHARACTERS:
        return whole
    return whole[: MAX_ID_CHARACTERS - 9] + "-" + sha256(whole.encode()).hexdigest()[:8]


def default_prefix(template_id: str) -> str:
    """What a call without an id is called; the compiler numbers a second one."""
    return template_id.rpartition(".")[2]


class _Names:
    """Ids and titles of expanded parts."""

    def __init__(self, context: TemplateContext, *, alone: bool) -> None:
        self._context = context
        self._alone = alone

    def top(self, name: str) -> str:
        return self._context.prefix if self._alone else self.inner(name)

    def inner(self, name: str) -> str:
        return join_ids(self._context.prefix, name)

    def title(self, title: str) -> str:
        given = self._context.title
        if not given or self._alone:
            return given or title
        return f"{given}: {title}"[:MAX_TITLE_CHARACTERS]


def _placed(part: SourcePart, names: _Names, pointer: str, *, is_top: bool = False) -> SourcePart:
    """A part as it stands in the caller; one inside a loop keeps its title: the loop has that of the call."""
    own = names.top if is_top else names.inner
    title = names.title(part.title) if is_top and part.title else part.title
    match part:
        case SourceLoop():
            body = tuple(_placed(inner, names, pointer) for inner in part.body)
            return replace(part, loop_id=own(part.loop_id), title=title, body=body, pointer=pointer)
        case SourceTemplateCall():
            name = part.id or default_prefix(part.template_id)
            return replace(part, id=own(name), title=title, pointer=pointer)
        case SourceStep():
            return replace(_at(part, pointer), id=own(part.id), title=title, pointer=pointer)
        case SourceChoice() | SourceAction() | SourceDelegate():
            return replace(part, id=own(part.id), title=title, pointer=pointer)
        case never:
            assert_never(never)


def _at(step: SourceStep, pointer: str) -> SourceStep:
    """A step whose inner places are that of the call: the author's file has no others."""

    def move(part: PromptPart) -> PromptPart:
        return replace(part, pointer=pointer) if isinstance(part, RefPart) else part

    blocks = None if step.blocks is None else map_blocks(step.blocks, move)
    return replace(step, blocks=blocks, gates=tuple(replace(gate, pointer=pointer) for gate in step.gates))


def _confirmed(parts: tuple[SourcePart, ...], confirmation: bool | When) -> tuple[SourcePart, ...]:
    """Ask at the last step, looking into loops from the end."""
    for index in range(len(parts) - 1, -1, -1):
        changed = _asking(parts[index], confirmation)
        if changed is not None:
            return (*parts[:index], changed, *parts[index + 1 :])
    return parts


def _asking(part: SourcePart, confirmation: bool | When) -> SourcePart | None:
    """The part with the confirmation; None when it has no place for one."""
    match part:
        case SourceStep() | SourceTemplateCall():
            asked = True if part.require_confirmation is True else confirmation
            return replace(part, require_confirmation=asked)
        case SourceLoop(body=body):
            changed = _confirmed(body, confirmation)
            return None if changed is body else replace(part, body=changed)
        case SourceChoice() | SourceAction() | SourceDelegate():
            return None
        case never:
            assert_never(never)
