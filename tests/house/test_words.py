"""One word for one idea: the synonyms that docs/glossary.md rules out appear in no public name or heading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.cases import every_case
from tests.house.markdown import headings, table_rows
from tests.house.tree import Source, check, check_planted, markdown_files, nodes, page, plant, python_files

WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def ruled_out(glossary: str) -> dict[str, str]:
    """Banned word -> the word to use, from the table whose third column is `not`.

    A word with a scope in brackets, such as `view (HTML only)`, has a meaning of its own somewhere;
    people watch over those.
    """
    banned = {}
    is_table = False
    for cells in table_rows(glossary):
        if len(cells) == 3 and cells[2] == "not":
            is_table = True
        elif is_table and len(cells) == 3:
            for synonym in re.split(r",\s*", cells[2]):
                if re.fullmatch(r"[a-z]+", synonym):
                    banned[synonym] = cells[1]
    return banned


def synonyms_in_names(sources: Sequence[Source], banned: Mapping[str, str]) -> list[str]:
    """Classes and functions that other files can see."""
    return [
        f"{source.path}:{line}: {name} says '{word}'; the word is {banned[word]} (docs/glossary.md)"
        for source in sources
        for line, name in _public_names(source)
        for word in _words(name)
        if word in banned
    ]


def synonyms_in_headings(sources: Sequence[Source], banned: Mapping[str, str]) -> list[str]:
    return [
        f"{source.path}:{line}: a heading says '{word}'; the word is {banned[word]} (docs/glossary.md)"
        for source in sources
        for line, heading in headings(source.text)
        for word in _words(re.sub(r"`[^`]*`", "", heading))
        if word in banned
    ]


def _public_names(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("_"):
                    yield node.lineno, name
            case _:
                pass


def _words(text: str) -> Iterator[str]:
    """Whole words in lower case, the plural as its singular."""
    for word in WORD.findall(text):
        lowered = word.lower()
        yield lowered.removesuffix("s") if len(lowered) > 3 else lowered


SPEAKING = frozenset({"told", "said", "spoken", "tell", "tells", "say", "says"})
"""Of what these name, a reader wants to know what it is: a message, a text, a reason."""


def speaking_names(sources: Sequence[Source]) -> list[str]:
    """Functions, parameters and values; fields are not looked at, because answers and events have some."""
    return [
        f"{source.path}:{line}: {name} does not say what it holds; call it message, text or what it is"
        for source in sources
        for line, name in _own_names(source)
        if not SPEAKING.isdisjoint(name.lower().strip("_").split("_")) and not name.startswith("test_")
    ]


def _own_names(source: Source) -> Iterator[tuple[int, str]]:
    fields = {
        one.target
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
        for one in node.body
        if isinstance(one, ast.AnnAssign)
    }
    for node in nodes(source):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if node not in fields:
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case _:
                pass


def test_no_name_says_only_that_something_is_told() -> None:
    check(speaking_names(python_files("src/")))


@every_case(
    ("text", "expected"),
    [
        ("told = [1]\n", "told does not say what it holds"),
        ("def _say_more() -> None: ...\n", "_say_more does not say"),
        ("def make(said: str) -> None: ...\n", "said does not say"),
        ("class Row:\n    told: str\n", ""),
        ("message = 'told'\n", ""),
        ("untold = 1\n", ""),
    ],
)
def test_a_name_that_says_only_that_something_is_told_is_reported(text: str, expected: str) -> None:
    check_planted(speaking_names, plant("src/handrail/engine/gate.py", text), expected)


def test_public_names_use_the_words_of_the_glossary() -> None:
    check(synonyms_in_names(python_files("src/"), ruled_out(page("docs/glossary.md").text)))


def test_headings_use_the_words_of_the_glossary() -> None:
    check(synonyms_in_headings(markdown_files(), ruled_out(page("docs/glossary.md").text)))


def test_the_glossary_rules_something_out_for_every_kind_of_idea() -> None:
    """An edit that breaks the table would otherwise switch the rule off in silence."""
    banned = ruled_out(page("docs/glossary.md").text)

    assert {"conversation", "job", "frontend"} <= set(banned)


PLANTED = """
| idea | word | not |
|---|---|---|
| one workstream | session | conversation, workspace (where the caller works) |
| one execution | run | job |

| another | table |
|---|---|
| a | b |
"""


def test_words_with_a_scope_are_left_to_people() -> None:
    assert ruled_out(PLANTED) == {"conversation": "session", "job": "run"}


@every_case(
    ("text", "expected"),
    [
        ("class ConversationStore: ...\n", "the word is session"),
        ("def list_jobs(): ...\n", "the word is run"),
        ("def _list_jobs(): ...\n", ""),
        ("def jobless(): ...\n", ""),
        ("class Workspace: ...\n", ""),
    ],
)
def test_a_synonym_in_a_public_name_is_reported(text: str, expected: str) -> None:
    check_planted(
        lambda sources: synonyms_in_names(sources, ruled_out(PLANTED)),
        plant("src/handrail/engine/gate.py", text),
        expected,
    )


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("## How a conversation ends", "the word is session"),
        ("## Jobs", "the word is run"),
        ("## What `job` means elsewhere", ""),
        ("A conversation is mentioned in prose.", ""),
    ],
)
def test_a_synonym_in_a_heading_is_reported(heading: str, expected: str) -> None:
    check_planted(
        lambda sources: synonyms_in_headings(sources, ruled_out(PLANTED)),
        plant("docs/how-to/x.md", heading + "\n"),
        expected,
    )
