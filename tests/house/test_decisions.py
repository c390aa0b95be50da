"""Every decision is in the index, under a number of its own, on half a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.house.markdown import headings, links
from tests.house.tree import Source, check, markdown_files, page, plant

FOLDER = "docs/decisions/"
PARTS = ("Context", "Choice", "Cost")
LINE_LIMIT = 60
MOST = 16
"""Fifteen carry the house; an edition may add a few until they are folded into the pages they explain."""


def unlisted(sources: Sequence[Source], index: Source) -> list[str]:
    listed = {target for _, target in links(index.text)}
    return [
        f"{source.path}:1: not in {index.path}; add a line with its title"
        for source in _decisions(sources)
        if source.path.removeprefix(FOLDER) not in listed
    ]


def misnumbered(sources: Sequence[Source]) -> list[str]:
    problems = []
    seen: dict[str, str] = {}
    for source in _decisions(sources):
        number = re.match(r"[0-9]{4}(?=-)", source.path.removeprefix(FOLDER))
        if number is None:
            problems.append(f"{source.path}:1: no four-digit number; take the next free one")
        elif number.group() in seen:
            problems.append(
                f"{source.path}:1: {seen[number.group()]} has this number; take the next free one"
            )
        else:
            seen[number.group()] = source.path
    return problems


def misshapen(sources: Sequence[Source]) -> list[str]:
    problems = []
    for source in _decisions(sources):
        titles = tuple(heading for _, heading in headings(source.text))
        if titles[1:] != PARTS:
            problems.append(f"{source.path}:1: the parts are {titles[1:]}; use Context, Choice, Cost")
        if len(source.text.splitlines()) > LINE_LIMIT:
            problems.append(f"{source.path}:1: longer than {LINE_LIMIT} lines; half a page is enough")
    return problems


def _decisions(sources: Sequence[Source]) -> list[Source]:
    return [
        source for source in sources if source.path.startswith(FOLDER) and source.path != FOLDER + "index.md"
    ]


def test_the_index_lists_every_decision() -> None:
    check(unlisted(markdown_files(), page(FOLDER + "index.md")))


def test_there_are_few_enough_to_read() -> None:
    assert len(_decisions(markdown_files())) <= MOST


def test_every_decision_has_a_number_of_its_own() -> None:
    check(misnumbered(markdown_files()))


def test_every_decision_says_context_choice_and_cost() -> None:
    check(misshapen(markdown_files()))


def test_a_decision_outside_the_index_is_reported() -> None:
    index = plant(FOLDER + "index.md", "- [Rooms](0001-rooms.md)\n")
    decisions = [
        index,
        plant(FOLDER + "0001-rooms.md", "# Rooms\n"),
        plant(FOLDER + "0002-new.md", "# New\n"),
    ]

    problems = unlisted(decisions, index)

    assert [problem.split(":")[0] for problem in problems] == [FOLDER + "0002-new.md"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["0001-rooms.md", "0002-new.md"], []),
        (["0001-rooms.md", "0001-new.md"], ["has this number"]),
        (["rooms.md"], ["no four-digit number"]),
    ],
)
def test_a_wrong_number_is_reported(names: list[str], expected: list[str]) -> None:
    problems = misnumbered([plant(FOLDER + name, "# A decision\n") for name in names])

    assert len(problems) == len(expected)
    assert all(part in problem for part, problem in zip(expected, problems, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Rooms\n## Context\n## Choice\n## Cost\n", []),
        ("# Rooms\n## Choice\n", ["use Context, Choice, Cost"]),
        ("# Rooms\n## Context\n## Choice\n## Cost\n" + "x\n" * 60, ["half a page"]),
    ],
)
def test_a_misshapen_decision_is_reported(text: str, expected: list[str]) -> None:
    problems = misshapen([plant(FOLDER + "0001-rooms.md", text)])

    assert len(problems) == len(expected)
    assert all(part in problem for part, problem in zip(expected, problems, strict=True))
