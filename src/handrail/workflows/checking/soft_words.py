"""Words that let an agent off the hook, where no sentence around them sets a floor. Pure."""

from __future__ import annotations

import re

from handrail.contract.wording import quoted
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.model import (
    PromptBlocks,
    PromptPart,
    SourceChoice,
    SourceLoop,
    SourcePart,
    SourceStep,
)

_SOFT = re.compile(
    r"\b(?:if|where|when|whenever|wherever) (?:at all )?(?:possible|feasible|practical|convenient)\b"
    r"|\bif time permits\b"
    r"|\b(?:as|if|where|when) (?:you )?(?:see fit|feel|deem|appropriate)\b"
    r"|\btry to\b|\battempt to\b|\bbest effort\b|\bideally\b|\bfeel free\b"
    r"|\bas much as (?:you can|possible)\b|\byou (?:may|might|could) want to\b|\bmore or less\b",
    re.IGNORECASE,
)
_FLOOR = re.compile(
    r"\bat least\b|\bno (?:fewer|less) than\b|\bminimum\b|\bmust\b|\botherwise\b|\belse\b|\bif not\b"
    r"|\bif (?:it|that|this) fails\b|\bnever\b|\bexactly\b|\d",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
"""What is quoted is spoken about, not asked for."""


def soft_phrase(text: str) -> str:
    """The first soft phrase whose sentence has no floor; empty when there is none."""
    for sentence in _SENTENCE.finditer(_QUOTED.sub(" ", text)):
        found = _SOFT.search(sentence[0])
        if found is not None and _FLOOR.search(sentence[0]) is None:
            return found[0]
    return ""


def check_soft_words(parts: tuple[SourcePart, ...], trail: Trail) -> None:
    """One warning per step, for what its author wrote; builtin texts have their own tests."""
    for part in parts:
        match part:
            case SourceLoop():
                check_soft_words(part.body, trail)
            case SourceStep() | SourceChoice():
                phrase = next((found for text in _texts(part) if (found := soft_phrase(text))), "")
                if phrase:
                    message = f"{part.id} says {quoted(phrase)} without saying what is enough."
                    fix = "Say the least that must be done, or what to do otherwise; or remove the words."
                    trail.report("soft_words", part.pointer, message, fix, "warning")
            case _:
                pass


def _texts(part: SourceStep | SourceChoice) -> list[str]:
    if isinstance(part, SourceChoice):
        return [part.prompt]
    fragments = [fragment.text for fragment in part.fragments]
    return [part.prompt, *_block_texts(part.blocks), *fragments, *part.guidance]


def _block_texts(blocks: PromptBlocks | None) -> list[str]:
    if blocks is None:
        return []
    parts: list[PromptPart] = [*blocks.goal, *blocks.constraints, *blocks.procedure]
    parts += [*(part for _, part in blocks.output_required), *blocks.verify]
    return [part for part in parts if isinstance(part, str)]
