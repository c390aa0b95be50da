"""`{{name}}` and `{{name.member}}` in prompts: which context values a text asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.workflows.builtins.placeholders import PLACEHOLDER


def names_in(text: str) -> Iterator[str]:
    """The values a text asks for, without their members, in order and with repeats."""
    for match in PLACEHOLDER.finditer(text):
        yield match[1].partition(".")[0]
