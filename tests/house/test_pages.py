"""Markdown stands where readers expect it, one sentence per line, and everything it points at exists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

import pytest

from handrail.program.doctor.examine_installation import CHECK_NAMES
from handrail.program.setup.clients import TABLE
from tests.cases import every_case
from tests.house.markdown import anchors, code_spans, links, prose_lines, table_rows
from tests.house.tree import (
    ROOT,
    Source,
    check,
    check_planted,
    is_generated,
    markdown_files,
    page,
    plant,
    python_files,
)

ROOT_PAGES = "README ARCHITECTURE STYLE CONTRIBUTING SECURITY CHANGELOG AGENTS CLAUDE"
ALLOWED = re.compile(
    rf"(?:{ROOT_PAGES.replace(' ', '|')})\.md"
    r"|docs/(?:glossary|index)\.md"
    r"|docs/(?:tutorial|how-to|workflows|reference|explanation|decisions)/[a-z0-9-]+\.md"
    r"|(?:tests|bench)/README\.md"
    r"|skills/.+\.md"
    r"|src/handrail/packed/.+\.md"
)
LIST_MARK = re.compile(r"^\s*(?:[-*]|[0-9]+\.)\s+")
TWO_SENTENCES = re.compile(r"[a-z0-9)`\"][.?] +[A-Z`]")
PATH = re.compile(r"(?:src|tests|docs|tools|bench|schemas)/[\w./-]*\w/?")
FORM_OF_ITS_OWN = "docs/decisions/0"
"""A decision says in its title what it is, and begins with its context."""
NAMES = re.compile(
    r"(?P<names>(?:`\w+`(?:, | and | or )?)+) of `(?P<path>(?:src|tests|tools|bench)/[\w./]+)`"
)
TEST = re.compile(r"(?P<path>tests/[\w/]+\.py)::(?P<name>\w+)")


def misplaced_pages(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:1: a page outside the documented trees; move it under docs/, or leave it out"
        for source in sources
        if source.path.endswith(".md") and not ALLOWED.fullmatch(source.path)
    ]


def crowded_lines(sources: Sequence[Source]) -> list[str]:
    """Two sentences on one line make a change look larger than it is. Tables, quotes and headings may."""
    return [
        f"{source.path}:{number}: two sentences on one line; start the second on its own line"
        for source in sources
        if not is_generated(source)
        for number, line in prose_lines(source.text)
        if not line.lstrip().startswith(("|", ">", "#")) and TWO_SENTENCES.search(LIST_MARK.sub("", line))
    ]


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


def pages_that_do_not_begin(sources: Sequence[Source]) -> list[str]:
    """Below the title stands a sentence, so that a reader knows at once whether to go on."""
    return [
        f"{source.path}:1: no sentence below the title; say what the page is for"
        for source in sources
        if source.path.startswith("docs/") and not source.path.startswith(FORM_OF_ITS_OWN)
        if not _begins_with_a_sentence(source.text)
    ]


def _begins_with_a_sentence(text: str) -> bool:
    lines = [line for _, line in prose_lines(text) if line.strip() and not line.startswith("<!--")]
    return len(lines) > 1 and lines[0].startswith("# ") and re.match(r"[A-Z`].*[.:]$", lines[1]) is not None


def missing_files(sources: Sequence[Source], exists: Callable[[str], bool]) -> list[str]:
    """A path in a code span, such as `src/handrail/ports.py`, is a promise too."""
    return [
        f"{source.path}:{number}: {span} does not exist; correct the path"
        for source in sources
        for number, span in code_spans(source.text)
        if PATH.fullmatch(span) and not exists(span)
    ]


def missing_names(sources: Sequence[Source], read: Callable[[str], str | None]) -> list[str]:
    """A name of a file, such as `PATH` of `tests/house/test_pages.py`, is in it."""
    return [
        f"{source.path}:1: {name} is not in {found['path']}; correct the name"
        for source in sources
        for found in NAMES.finditer(source.text)
        for name in re.findall(r"\w+", re.sub(r"`(?:, | and | or )`", " ", found["names"]))
        if not re.search(rf"\b{name}\b", read(found["path"]) or "")
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


def test_pages_stand_only_in_the_documented_trees() -> None:
    check(misplaced_pages(markdown_files()))


def test_every_sentence_has_its_own_line() -> None:
    check(crowded_lines(markdown_files()))


def test_every_link_leads_somewhere() -> None:
    check(dead_links(markdown_files(), _read))


@pytest.mark.parametrize("start", ["README.md", "docs/index.md"])
def test_every_page_is_reached_by_links(start: str) -> None:
    check(unreachable_pages(markdown_files(), start))


def test_every_page_begins_with_what_it_is_for() -> None:
    check(pages_that_do_not_begin(markdown_files()))


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


def test_every_name_of_a_file_that_a_page_names_is_there() -> None:
    check(missing_names(markdown_files(), _read))
    ends = tuple(f"/{source.path}" for source in python_files())
    short = [
        span for _, span in code_spans(page("ARCHITECTURE.md").text) if re.fullmatch(r"[\w/]+\.py", span)
    ]
    assert [span for span in short if not any(end.endswith(f"/{span}") for end in ends)] == []


def test_every_test_that_a_page_names_exists() -> None:
    check(missing_tests(markdown_files(), python_files("tests/")))


@every_case(
    ("path", "expected"),
    [
        ("docs/plan.md", "outside the documented trees"),
        ("NOTES.md", "outside the documented trees"),
        ("src/handrail/engine/README.md", "outside the documented trees"),
        ("docs/explanation/one-call.md", ""),
        ("docs/workflows/bug-investigation.md", ""),
        ("docs/workflows/drafts/bug-investigation.md", "outside the documented trees"),
        ("docs/glossary.md", ""),
        ("README.md", ""),
    ],
)
def test_a_misplaced_page_is_reported(path: str, expected: str) -> None:
    check_planted(misplaced_pages, plant(path, "# A page\n"), expected)


@every_case(
    ("text", "expected"),
    [
        ("One thing is true. Another follows.\n", "two sentences"),
        ("Ask `session.show`. `run.start` follows.\n", "two sentences"),
        ("One thing is true.\nAnother follows.\n", ""),
        ("| One. | Two. Three. |\n", ""),
        ("1. `main` sees a command.\n", ""),
        ("```\nOne. Two.\n```\n", ""),
        ("Python 3.11 and uv 0.8 are enough.\n", ""),
    ],
)
def test_a_crowded_line_is_reported(text: str, expected: str) -> None:
    check_planted(crowded_lines, plant("docs/glossary.md", text), expected)


@every_case(
    ("text", "expected"),
    [
        ("[there](../glossary.md#one-word)\n", ""),
        ("[there](../glossary.md#two-words)\n", "leads nowhere"),
        ("[there](missing.md)\n", "leads nowhere"),
        ("# Here it is\n[here](#here-it-is)\n", ""),
        ("[here](#elsewhere)\n", "leads nowhere"),
        ("[outside](https://example.org/x)\n", ""),
        ("`[not a link](missing.md)`\n", ""),
    ],
)
def test_a_dead_link_is_reported(text: str, expected: str) -> None:
    pages = {"docs/glossary.md": "# One word\n"}

    check_planted(lambda sources: dead_links(sources, pages.get), plant("docs/how-to/x.md", text), expected)


def test_a_page_without_a_link_is_reported() -> None:
    pages = [
        plant("README.md", "[docs](docs/index.md#top)\n"),
        plant("docs/index.md", "[one](how-to/one.md)\n"),
        plant("docs/how-to/one.md", "[back](../index.md)\n"),
        plant("docs/how-to/two.md", "[one](one.md)\n"),
    ]

    problems = unreachable_pages(pages, "README.md")

    assert [problem.split(":")[0] for problem in problems] == ["docs/how-to/two.md"]


@every_case(
    ("text", "expected"),
    [
        ("# Title\n\nWhat it is for.\n", ""),
        ("<!-- Generated. -->\n\n# Title\n\n`mcp` serves.\n", ""),
        ("# Title\n\n## Part\n", "no sentence below the title"),
        ("# Title\n\n| a | b |\n", "no sentence below the title"),
        ("A sentence.\n", "no sentence below the title"),
    ],
)
def test_a_page_that_does_not_say_what_it_is_for_is_reported(text: str, expected: str) -> None:
    check_planted(pages_that_do_not_begin, plant("docs/how-to/x.md", text), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read `src/handrail/ports.py` first.\n", ""),
        ("Read `src/handrail/gone.py` first.\n", "does not exist"),
        ("Look into `tests/engine/`.\n", "does not exist"),
        ("Write `docs/reference/*.md`.\n", ""),
    ],
)
def test_a_path_that_does_not_exist_is_reported(text: str, expected: str) -> None:
    present = {"src/handrail/ports.py"}

    check_planted(
        lambda sources: missing_files(sources, present.__contains__), plant("STYLE.md", text), expected
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`ALL` and `SOME` of `src/a.py`.\n", ""),
        ("`ALL`, `NONE` of `src/a.py`.\n", "NONE is not in"),
        ("`ALL` of `src/b.py`.\n", "ALL is not in"),
    ],
)
def test_a_name_that_its_file_lacks_is_reported(text: str, expected: str) -> None:
    held = {"src/a.py": "ALL = SOME = 1"}

    check_planted(lambda sources: missing_names(sources, held.get), plant("STYLE.md", text), expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("test_it_holds", ""), ("test_it_hold", "no test"), ("test_gone", "no test")],
)
def test_a_claim_whose_test_is_gone_is_reported(name: str, expected: str) -> None:
    tests = [
        plant("tests/engine/test_gate.py", "class TestGate:\n    def test_it_holds(self) -> None: ...\n")
    ]
    claim = plant("README.md", f"Shown by `tests/engine/test_gate.py::{name}`.\n")

    check_planted(lambda sources: missing_tests(sources, tests), claim, expected)
