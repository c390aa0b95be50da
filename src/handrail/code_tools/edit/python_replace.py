"""What a replacement in Python needs beyond others: its indentation, and callers by keyword. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.code_tools.edit.plan import Refusal
from handrail.code_tools.facts.join import Found, Project
from handrail.code_tools.facts.model import FileFacts
from handrail.code_tools.facts.spelled_names import Local
from handrail.code_tools.languages.python.indentation import indent_text, is_sound_block

_ANY_KEYWORD = re.compile(r"\*\*\s*\w")
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?(?:\n|$))*")


def list_placements(text: bytes, start: int, new_text: str) -> Iterator[str]:
    """The text as it can stand at this place: indented for it, or as it is."""
    line = text[text.rfind(b"\n", 0, start) + 1 : start].decode()
    if line.strip():
        yield new_text
        return
    indented = indent_text(new_text, line).removeprefix(line)
    yield indented
    if new_text != indented:
        yield new_text


def refuse_more_than_one(edited: Project, found: Found, start: int, replacement: str) -> Refusal | None:
    """The text must be the definition and nothing else, so that no line of it falls out of its block."""
    path, name = found.path, found.definition.name
    facts, text = edited.facts(path), edited.source.text(path)
    assert facts is not None, "the new text was read"
    assert text is not None, "the new text was read"
    end = start + len(replacement.encode())
    if not is_sound_block(text, start, end):
        return Refusal(
            code="parse_error",
            message="Python would refuse the given text: a block, a clause or a statement is out of place.",
            path=path,
        )
    for each in facts.definitions:
        if each.name == name and start <= each.extent_start and each.extent_end <= end and each.digest:
            around = (text[start : each.extent_start].decode(), text[each.extent_end : end].decode())
            if all(_COMMENTS.fullmatch(part) for part in around):
                return None
    return Refusal(
        code="not_found",
        message=f"The given text is not one definition of {name} and nothing else.",
        path=path,
        start=found.definition.start,
        end=found.definition.end,
    )


def refuse_lost_keywords(project: Project, edited: Project, found: Found, start: int) -> Refusal | None:
    """A caller that names a parameter must find it in the new text."""
    path, old = found.path, found.definition
    before, after = project.facts(path), edited.facts(path)
    assert before is not None, "the old text was read"
    assert after is not None, "the new text was read"
    new_index = next(
        (at for at, each in enumerate(after.definitions) if each.name == old.name and each.start >= start),
        None,
    )
    if new_index is None or _ANY_KEYWORD.search(after.definitions[new_index].signature):
        return None
    new_names = set(_parameters(after, new_index))
    for name, binding in _parameters(before, found.index).items():
        if name in new_names:
            continue
        for token in project.slots.python.keywords_of(Local(path=path, binding=binding)).tokens:
            if token.path != path or not old.extent_start <= token.start < old.extent_end:
                return Refusal(
                    code="changed_meaning",
                    message=f"{name}= is given in this call, and the given text takes no {name}.",
                    path=token.path,
                    start=token.start,
                    end=token.end,
                )
    return None


def _parameters(facts: FileFacts, index: int) -> dict[str, int]:
    """The bindings of the parameters that callers may name."""
    return {
        member.name: facts.uses[member.index].binding
        for member in facts.members
        if member.role == "keyword" and member.receiver == "this" and member.definition == index
    }
