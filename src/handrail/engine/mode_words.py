"""A prompt as it reads in the mode in force: nobody is told to ask where nobody will be asked. Pure.

Compiled prompts are the same in every mode, so that one hash stands for one workflow. What differs by mode
stands in parts that can be recognised: the sections that the compiler writes, and list items that begin
with the name of a mode.
"""

from __future__ import annotations

import re

from handrail.contract.vocabulary import Autonomy
from handrail.workflows.compiled import Choice, Leaf, Step
from handrail.workflows.prompt_sections import (
    ASK_FOR_FILES,
    ONCE_FOR_ALL,
    QUESTIONS,
    heading_of,
    user_only_section,
)

_MODE_ITEM = re.compile(
    r"^([ \t]*)- (guided|full_auto_stop_on_user_deps|full_auto_never_stop):[^\n]*(?:\n\1[ \t]+[^\n]*)*\n?",
    re.MULTILINE,
)
_QUESTIONS_ELSEWHERE: dict[Autonomy, str] = {
    "guided": QUESTIONS,
    "full_auto_stop_on_user_deps": (
        "Before you begin, settle these questions; ask the user only what nobody else can answer"
    ),
    "full_auto_never_stop": "Before you begin, settle these questions yourself; nobody is asked in this mode",
}
_NOBODY_ANSWERS = """\
## The user would give this
Nobody is asked in this mode ({reason}). Find out what you can, take the way that is easiest to undo, and \
write into the notes what you assumed. It is recorded as a gap."""
_NOBODY_CHOOSES = """\
Nobody is asked in this mode. Choose in the user's place, by what is easiest to undo, and keep the reason in \
the notes; the choice is recorded as a gap. What the user would read:"""
_FIND_FILES = "Find the files that this step needs; nobody is asked in this mode."


def in_mode(text: str, leaf: Leaf, autonomy: Autonomy) -> str:
    """The prompt of a step as it reads in a mode."""
    text = _MODE_ITEM.sub(lambda item: item[0] if item[2] == autonomy else "", text)
    text = text.replace(f"## {QUESTIONS}\n", f"## {_QUESTIONS_ELSEWHERE[autonomy]}\n")
    if autonomy != "full_auto_never_stop":
        return text
    if isinstance(leaf, Step) and leaf.user_only is not None:
        alone = _NOBODY_ANSWERS.format(reason=leaf.user_only.reason)
        text = text.replace(user_only_section(leaf.user_only), alone)
    if isinstance(leaf, Choice) and leaf.non_assumable is not None:
        text = f"{_NOBODY_CHOOSES}\n\n{text}"
    return text.replace(ASK_FOR_FILES, _FIND_FILES)


def asks_user_first(prompt: str) -> bool:
    """Whether a prompt opens with questions to the user."""
    return f"## {QUESTIONS}\n" in prompt


def told_once(prompt: str) -> dict[str, str]:
    """The sections of a first prompt that hold for every step after it, by their headings."""
    sections = (part for part in prompt.split("\n\n") if part.startswith("## "))
    return {heading: section for section in sections if (heading := heading_of(section)) in ONCE_FOR_ALL}
