"""Other texts in the parts of a workflow: everything that an agent or a person reads, nothing else. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

from msgspec.structs import replace

from handrail.workflows.builtins.placeholders import in_words
from handrail.workflows.model import (
    PromptBlocks,
    PromptPart,
    SourceAction,
    SourceChoice,
    SourceLoop,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
)

Rewrite: TypeAlias = Callable[[Any], Any]
"""Of a JSON value: the same with other texts in it. A text that is read stays a text."""


def rewritten_whole(part: SourcePart, rewrite: Rewrite) -> SourcePart:
    """A part and everything inside it."""
    moved = rewritten(part, rewrite)
    if isinstance(moved, SourceLoop):
        return replace(moved, body=tuple(rewritten_whole(inner, rewrite) for inner in moved.body))
    return moved


def rewritten(part: SourcePart, rewrite: Rewrite) -> SourcePart:
    """Every text that an agent or a person reads, rewritten; ids, conditions and loop bodies stay."""

    def text(value: str) -> str:
        return in_words(rewrite(value))

    match part:
        case SourceStep():
            return replace(
                part,
                title=text(part.title),
                prompt=text(part.prompt),
                blocks=None if part.blocks is None else _blocks(part.blocks, text),
                fragments=tuple(replace(each, text=text(each.text)) for each in part.fragments),
                guidance=tuple(text(each) for each in part.guidance),
                agent_role=text(part.agent_role),
                hints=tuple(text(each) for each in part.hints),
            )
        case SourceChoice():
            options = tuple(
                replace(
                    each, label=text(each.label), description=text(each.description), sets=rewrite(each.sets)
                )
                for each in part.options
            )
            return replace(part, title=text(part.title), prompt=text(part.prompt), options=options)
        case SourceAction():
            return replace(part, title=text(part.title), params=rewrite(part.params))
        case SourceTemplateCall():
            return replace(part, title=text(part.title), args=rewrite(part.args))
        case SourceLoop():
            return replace(part, title=text(part.title))
        case never:
            assert_never(never)


def _blocks(blocks: PromptBlocks, text: Callable[[str], str]) -> PromptBlocks:
    def part(each: PromptPart) -> PromptPart:
        return text(each) if isinstance(each, str) else each

    return PromptBlocks(
        goal=tuple(part(each) for each in blocks.goal),
        constraints=tuple(part(each) for each in blocks.constraints),
        procedure=tuple(part(each) for each in blocks.procedure),
        output_required=tuple((name, part(each)) for name, each in blocks.output_required),
        verify=tuple(part(each) for each in blocks.verify),
    )


def texts_in(value: Any, rewrite: Callable[[str], Any]) -> Any:
    """A JSON value with the texts inside it rewritten."""
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, list):
        return [texts_in(each, rewrite) for each in value]
    if isinstance(value, dict):
        return {name: texts_in(each, rewrite) for name, each in value.items()}
    return value
