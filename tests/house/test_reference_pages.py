"""Every error, operation and event kind is on its reference page, or the build fails."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from handrail.contract.catalogue import KINDS
from handrail.engine.events import EVENT_KINDS
from handrail.wiring import registry
from tests.house.markdown import anchors
from tests.house.tree import Source, check, check_planted, page, plant

ERRORS = "docs/reference/errors.md"
CLI = "docs/reference/cli.md"
MCP_TOOLS = "docs/reference/mcp-tools.md"
EVENTS = "docs/reference/events.md"
WITHOUT_A_COMMAND = {"session.search", "team.admit"}
"""`session list --query` looks in the same texts; the Console shows the places."""
ADVICE = "run python tools/generate.py"


def codes_without_anchor(errors: Source, codes: Sequence[str]) -> list[str]:
    """Answers point at `errors.md#CODE`, so each row needs a place to land."""
    present = {anchor.upper() for anchor in anchors(errors.text)}
    return [
        f"{errors.path}:1: no heading or anchor for {code}; {ADVICE}" for code in codes if code not in present
    ]


def words_missing(source: Source, words: Sequence[str]) -> list[str]:
    return [
        f"{source.path}:1: {word} is not described; {ADVICE}"
        for word in words
        if not re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", source.text)
    ]


def commands_missing(cli: Source, operations: Sequence[str]) -> list[str]:
    """An operation is on the page by its name (`run.start`) or by its command (`handrail run start`)."""
    return [
        f"{cli.path}:1: {name} is not described; {ADVICE}"
        for name in operations
        if words_missing(cli, [name]) and words_missing(cli, ["handrail " + name.replace(".", " ")])
    ]


def test_every_row_of_the_catalogue_has_an_anchor() -> None:
    check(codes_without_anchor(page(ERRORS), list(KINDS)))


def test_every_operation_is_described_as_a_command() -> None:
    names = [one.name for one in registry().operations() if one.name not in WITHOUT_A_COMMAND]

    check(commands_missing(page(CLI), names))


def test_every_tool_is_described() -> None:
    check(
        words_missing(
            page(MCP_TOOLS), [operation.tool for operation in registry().operations() if operation.tool]
        )
    )


def test_every_event_kind_is_described() -> None:
    check(words_missing(page(EVENTS), EVENT_KINDS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("### TOKEN_EXPIRED\n", ""),
        ('<a id="TOKEN_EXPIRED"></a>\n', ""),
        ("TOKEN_EXPIRED is mentioned only.\n", "no heading or anchor for TOKEN_EXPIRED"),
    ],
)
def test_a_code_without_an_anchor_is_reported(text: str, expected: str) -> None:
    check_planted(
        lambda sources: codes_without_anchor(sources[0], ["TOKEN_EXPIRED"]), plant(ERRORS, text), expected
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`run_started`: a run began.\n", ""),
        ("`run_started_again`: no.\n", "run_started is not described"),
        ("", "run_started is not described"),
    ],
)
def test_a_missing_word_is_reported(text: str, expected: str) -> None:
    check_planted(lambda sources: words_missing(sources[0], ["run_started"]), plant(EVENTS, text), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## handrail run start\n", ""),
        ("Operation `run.start`.\n", ""),
        ("## handrail run\n", "run.start is not described"),
    ],
)
def test_a_missing_operation_is_reported(text: str, expected: str) -> None:
    check_planted(lambda sources: commands_missing(sources[0], ["run.start"]), plant(CLI, text), expected)
