"""Pages that people write have short sentences: 18 words on average, and none above 30 outside tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.house.markdown import CODE_SPAN, LINK, prose_lines
from tests.house.tree import check, is_generated, markdown_files

MEAN, MOST = 18, 30
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")
STEPS = re.compile(r"^#+ Steps\n.*?(?=^#)", re.MULTILINE | re.DOTALL)
"""What pages of workflows have from their files."""
END = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(*_]*[A-Z0-9`])")
PAGES = [
    source
    for source in markdown_files()
    if source.path.startswith("docs/") or "/" not in source.path
    if not is_generated(source)
]


def list_sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and list items; headings, tables and code have none."""
    for paragraph in _list_paragraphs(STEPS.sub("", text)):
        yield from END.split(LINK.sub(_only_text, paragraph))


def _list_paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for _, line in [*prose_lines(text), (0, "")]:
        item = ITEM.match(line)
        if item or not line.strip() or line.lstrip().startswith(("#", "|", "<!--", "![")):
            yield from [" ".join(lines)] if lines else []
            lines = []
        if line.strip() and not line.lstrip().startswith(("#", "|", "<!--", "![")):
            lines.append(line[item.end() :] if item else line.strip())


def _only_text(link: re.Match[str]) -> str:
    return link[0].partition("](")[0][1:]


def count_words(sentence: str) -> int:
    """Words with a letter or digit; a code span is one."""
    return sum(any(map(str.isalnum, word)) for word in CODE_SPAN.sub("code", sentence).split())


def test_no_sentence_of_a_page_is_longer_than_thirty_words() -> None:
    check(
        f"{source.path}:1: {count_words(sentence)} words; say it in two sentences: {sentence}"
        for source in PAGES
        for sentence in list_sentences(source.text)
        if count_words(sentence) > MOST
    )


def test_sentences_of_pages_have_eighteen_words_on_average() -> None:
    counted = [count_words(one) for source in PAGES for one in list_sentences(source.text)]

    assert len(counted) > 1_000
    assert sum(counted) / len(counted) <= MEAN


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("One two. Three four five.\n", [2, 3]),
        ("One two\nthree. Is it `a b c`? [Yes, it](x.md) is.\n", [3, 3, 3]),
        ("# Not counted\n\n| not | counted |\n|---|---|\n\n- One two\n- three.\n", [2, 1]),
        ("Version 0.1.0 has 1.5 words, e.g. this.\n", [7]),
        ("```sh\nnot counted\n```\n\nOne.\n", [1]),
    ],
)
def test_a_sentence_ends_where_a_reader_ends_it(text: str, counts: list[int]) -> None:
    assert [count_words(one) for one in list_sentences(text)] == counts
