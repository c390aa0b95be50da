"""Markdown stands where readers expect it, one sentence per line, and everything it points at exists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

import pytest

from handrail.program.doctor.examine_installation import CHECK_NAMES
from handrail.program.setup.clients import TABLE
from tests.house.markdown import anchors, code_spans, links, table_rows
from tests.house.tree import (
    ROOT,
    Source,
    check,
    markdown_files,
    page,
    python_files,
)

PATH = re.compile(r"(?:src|tests|docs|tools|bench|schemas)/[\w./-]*\w/?")
TEST = re.compile(r"(?P<path>tests/[\w/]+\.py)::(?P<name>\w+)")


def dead_links(sources: Sequence[Source], read: Callable[[str], str | None]) -> list[str]:
    problems = []
    for source in sources:
        for number, target in links(source.text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(source.path), path)) if path else source.path
            text = source.text if full == source.path else read(full)
            if text is None or (anchor and anchor not in anchors(text)):
                problems.append(f"{source.path}:{number}: {target} leads nowhere; correct the link")
    return problems


def unreachable_pages(sources: Sequence[Source], start: str) -> list[str]:
    """Pages of the docs that no chain of links leads to; a page that nobody finds is nobody's."""
    by_path = {source.path: source for source in sources}
    found, waiting = {start}, [start]
    while waiting:
        path = waiting.pop()
        for _, target in links(by_path[path].text):
            full = os.path.normpath(os.path.join(os.path.dirname(path), target.partition("#")[0]))
            if full in by_path and full not in found:
                found.add(full)
                waiting.append(full)
    return [
        f"{path}:1: no link leads here from {start}; name it in docs/index.md"
        for path in by_path
        if path.startswith("docs/") and path not in found
    ]


def missing_files(sources: Sequence[Source], exists: Callable[[str], bool]) -> list[str]:
    """A path in a code span, such as `src/handrail/ports.py`, is a promise too."""
    return [
        f"{source.path}:{number}: {span} does not exist; correct the path"
        for source in sources
        for number, span in code_spans(source.text)
        if PATH.fullmatch(span) and not exists(span)
    ]


def missing_tests(sources: Sequence[Source], tests: Sequence[Source]) -> list[str]:
    """A claim that names its test (`tests/x.py::test_y`) stands only as long as the test does."""
    text = {test.path: test.text for test in tests}
    return [
        f"{source.path}:{number}: no test {span}; name the one that shows it"
        for source in sources
        for number, span in code_spans(source.text)
        if (found := TEST.fullmatch(span))
        if not re.search(rf"^\s*(?:async )?def {found['name']}\(", text.get(found["path"], ""), re.MULTILINE)
    ]


def _read(path: str) -> str | None:
    full = os.path.join(ROOT, path)
    if os.path.isdir(full):
        return ""
    if not os.path.isfile(full):
        return None
    with open(full, encoding="utf-8") as file:
        return file.read()


def _exists(path: str) -> bool:
    return os.path.exists(os.path.join(ROOT, path))


def test_every_link_leads_somewhere() -> None:
    check(dead_links(markdown_files(), _read))


@pytest.mark.parametrize("start", ["README.md", "docs/index.md"])
def test_every_page_is_reached_by_links(start: str) -> None:
    check(unreachable_pages(markdown_files(), start))


def test_the_page_of_trouble_names_every_check_of_doctor() -> None:
    told = {cells[0].strip("`") for cells in table_rows(page("docs/how-to/find-trouble.md").text)}

    assert set(CHECK_NAMES) - told == set()


def test_the_page_of_clients_names_the_key_and_the_file_of_each() -> None:
    rows = [" ".join(cells) for cells in table_rows(page("docs/how-to/connect-an-agent.md").text)]

    untold = [
        name
        for name, client in TABLE.items()
        if not any(
            client.key in row and (_ending(client.user_file) in row or _ending(client.project_file) in row)
            for row in rows
        )
    ]

    assert untold == []


def _ending(path: str) -> str:
    """A file with the directory it stands in, whatever stands before that."""
    return "/".join(path.rsplit("/", 2)[-2:]).replace("$", "")


def test_every_path_in_a_page_exists() -> None:
    check(missing_files(markdown_files(), _exists))


def test_every_test_that_a_page_names_exists() -> None:
    check(missing_tests(markdown_files(), python_files("tests/")))
