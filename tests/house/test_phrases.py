"""Texts use the words of the glossary: phrases that only this project used are gone from what people read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.contract.catalogue import KINDS
from handrail.host.workflow_library import list_bundled_files
from handrail.surfaces.cli.self_description.help_table import read_help
from handrail.surfaces.mcp.tools import tool_definitions
from tests.house.tree import ROOT, check, docstrings, nodes, python_files

RETIRED = (
    *(r"whose (word|yes)", r"agent's (own )?word", r"nobody looks", r"(in|a|of|without) doubts?", "doubts"),
    *(r"hand(s|ed|ing)? (it |them |something )?in", r"hand(s|ed|ing)? (it |them |work |something )?out"),
    *(r"(un)?told(?=[.,;:?)]|\s(?!soft|prose)\w)", r"(?<![-/])doors?"),
    *("strangers?", "anew", r"(held|holds?) against", r"weigh(s|ed)?", r"kept trees?", r"closing lines?"),
    *(r"house (rule|style)s?", "overlays?", "companions?", "sightings?", "liars?", r"(?<!minute's )worth"),
    *(
        r"settl(es|ed|ing)",
        r"(the|a|each|every|its|own|new|other) rooms?",
        r"correct what is named",
        r"go(es)? on with",
        "once more",
    ),
)
"""Names that a specification fixes are not among them."""
PATTERN = re.compile(rf"\b({'|'.join(RETIRED)})\b", re.IGNORECASE)
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|\{#[^}]*\}")
QUOTING = ("docs/glossary.md",)
"""A list of the retired words."""


def list_pages() -> Iterator[str]:
    yield from ("README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "AGENTS.md", "ARCHITECTURE.md")
    for folder in ("docs", "skills"):
        for path in sorted(Path(ROOT, folder).rglob("*.md")):
            page = path.relative_to(ROOT).as_posix()
            if page not in QUOTING:
                yield page


def find_phrases(page: str, text: str) -> Iterator[str]:
    """Every retired phrase of the prose: code is what programs say."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            for found in PATTERN.finditer(CODE.sub("", line)):
                yield f"{page}:{number}: {found[0]!r} is retired; use a word of docs/glossary.md"


def test_pages_use_no_retired_phrase() -> None:
    pages = list(list_pages())
    assert len(pages) > 50
    texts = {page: Path(ROOT, page).read_text(encoding="utf-8") for page in pages}
    check(problem for page, text in texts.items() for problem in find_phrases(page, text))


def list_texts() -> Iterator[tuple[str, str]]:
    """What the program says to people and agents, with where: prompts, help, hints, tool descriptions."""
    for file in list_bundled_files():
        yield file.source_ref, file.content.decode()
    for path, command in read_help().items():
        yield path, "\n".join(command["texts"])
    for code, kind in KINDS.items():
        yield code, kind.hint
    for tool in tool_definitions(start_session=True):
        yield tool["name"], tool["description"]


QUOTED_REPLIES = ("This work is handed out: ",)
"""What replies of earlier builds begin with: a repeat gets the same bytes."""


def list_messages() -> Iterator[tuple[str, str]]:
    """Every string of the program with a blank in it, which no docstring is."""
    for source in python_files():
        if source.path.startswith("src/"):
            notes = docstrings(source)
            texts = (node for node in nodes(source) if isinstance(node, ast.Constant) and node not in notes)
            for text in texts:
                value = text.value if isinstance(text.value, str) else ""
                if " " in value and not value.startswith(QUOTED_REPLIES):
                    yield f"{source.path}:{text.lineno}", value


def list_notes() -> Iterator[tuple[str, str]]:
    """Every docstring and every comment of the program and its tools."""
    for source in python_files():
        if source.path.startswith(("src/", "tools/", "bench/")):
            for node in docstrings(source):
                yield f"{source.path}:{node.lineno}", " ".join(str(node.value).split())
            for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
                if token.type == tokenize.COMMENT:
                    yield f"{source.path}:{token.start[0]}", token.string


def test_docstrings_and_comments_use_no_retired_phrase() -> None:
    notes = list(list_notes())
    assert len(notes) > 10_000
    check(problem for where, note in notes for problem in find_phrases(where, note))


def test_prompts_help_and_messages_use_no_retired_phrase() -> None:
    texts = [*list_texts(), *list_messages()]
    assert len(texts) > 4_000
    check(problem for where, text in texts for problem in find_phrases(where, text))


@pytest.mark.parametrize("phrase", ["An overlay says it.", "The agent is told.", "It is handed out."])
def test_retired_phrase_is_reported(phrase: str) -> None:
    assert len(list(find_phrases("page.md", f"{phrase}\n`{phrase}`\n\n```sh\n{phrase}\n```\n"))) == 1
