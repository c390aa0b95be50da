"""Small projects in memory, and facts in a form that a table can state."""

from __future__ import annotations

import re
from collections.abc import Mapping

from handrail_code.facts.join import Found, Project, Symbol
from handrail_code.facts.model import NONE, FileFacts
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.symbols import symbol_at

MARK = "^"


def facts_of(text: str, path: str = "a.ts") -> FileFacts:
    facts = read_facts(path, text.encode())
    assert isinstance(facts, FileFacts), facts
    return facts


def meanings(text: str, name: str, path: str = "a.ts") -> str:
    """One letter for each identifier of this name, in order: the same letter for the same binding.

    `-` is a global, `.` a member, and nothing stands for a name in a string or a comment.
    """
    facts = facts_of(text, path)
    assert facts.troubles == (), facts.troubles
    found: dict[int, str] = {}
    letters: dict[int, str] = {}
    for member in facts.members:
        if member.name == name:
            found[member.start] = "."
    for use in facts.uses:
        if use.name == name:
            is_bound = use.binding != NONE
            letter = letters.setdefault(use.binding, chr(ord("a") + len(letters))) if is_bound else "-"
            found[use.start] = letter
    return "".join(found[start] for start in sorted(found))


def project_of(files: Mapping[str, str]) -> Project:
    texts = {path: text.encode() for path, text in files.items()}
    return Project(MemorySource(texts, read_facts, lambda path: language_of(path) is not None))


def project_with_mark(files: Mapping[str, str]) -> tuple[Project, Symbol, dict[str, str]]:
    """A project without its mark, the symbol after the mark, and the plain texts."""
    plain = {path: re.sub(r"\^(?=[\w$#])", "", text, count=1) for path, text in files.items()}
    (path, at), *rest = [(path, text.index(MARK)) for path, text in files.items() if text != plain[path]]
    assert not rest, "one mark in all files"
    project = project_of(plain)
    symbol = symbol_at(project, path, len(files[path][:at].encode()))
    assert symbol is not None, "the mark stands before a name"
    return project, symbol, plain


def found_with_mark(files: Mapping[str, str]) -> tuple[Project, Found, dict[str, str]]:
    """The same with the definition whose name is marked, which may be a member."""
    (path, at), *_ = [(path, text.index(MARK)) for path, text in files.items() if MARK in text]
    plain = {name: text.replace(MARK, "", 1) for name, text in files.items()}
    project = project_of(plain)
    start = len(files[path][:at].encode())
    return (
        project,
        next(one for one in list_found(project) if (one.path, one.definition.start) == (path, start)),
        plain,
    )


def list_found(project: Project) -> list[Found]:
    """Every definition of every file."""
    return [
        Found(path=path, index=index, definition=definition)
        for path in project.source.files()
        if (facts := project.facts(path)) is not None
        for index, definition in enumerate(facts.definitions)
    ]
