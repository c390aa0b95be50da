"""Flags and environment decide how an answer looks; a bad wish is refused by its right name."""

from __future__ import annotations

import itertools

import pytest

from handrail.contract.disclosure.fields import Budget
from handrail.contract.outcome import Fault
from handrail.surfaces.cli.reading.parse import Problem, parse
from handrail.surfaces.cli.rendering.render import (
    Output,
    ask_of,
    check_schema_version,
    clash_problems,
    fit_to_page,
    output_of,
    timeout_of,
)
from tests.cases import every_case

LIST = ["workflow", "list"]


def output(*flags: str, **environment: str) -> Output:
    found, troubles = output_of(parse([*LIST, *flags]), environment)
    assert troubles == []
    return found


def check_trouble(code: str, *flags: str, **environment: str) -> Fault:
    _, troubles = output_of(parse([*LIST, *flags]), environment)

    assert [trouble.kind.code for trouble in troubles] == [code]
    return troubles[0]


@pytest.mark.promise("cli.json-default")
def test_json_in_the_cli_dialect_is_the_default() -> None:
    assert output() == Output()


@pytest.mark.promise("cli.format-spellings")
@every_case(
    ("flags", "expected"),
    [
        (["--format", "text"], "text"),
        (["--human"], "text"),
        (["--format", "human"], "text"),
        (["--json"], "json"),
        (["--format", "raw"], "raw"),
        (["--json", "--format", "json", "--json"], "json"),
        (["--human", "--format=text", "--format=human"], "text"),
    ],
)
def test_a_format_is_asked_for_by_any_of_its_spellings(flags: list[str], expected: str) -> None:
    assert output(*flags, HANDRAIL_FORMAT="yaml").format == expected  # a flag beats a lower source


@pytest.mark.promise("cli.format-spellings")
@every_case(
    "pair",
    [
        *itertools.permutations([["--json"], ["--human"], ["--format", "raw"]], 2),
        (["--format", "json"], ["--format", "text"]),
    ],
)
def test_two_different_formats_conflict(pair: tuple[list[str], list[str]]) -> None:
    check_trouble("FORMAT_CONFLICT", *pair[0], *pair[1])


def test_the_environment_decides_where_no_flag_does() -> None:
    found = output(HANDRAIL_FORMAT="human", HANDRAIL_ENVELOPE="lafs", HANDRAIL_COMPACT="1")

    assert (found.format, found.envelope, found.is_compact) == ("text", "lafs", True)
    assert not found.is_json_asked


def test_an_empty_variable_counts_as_not_set() -> None:
    assert output(HANDRAIL_FORMAT="", HANDRAIL_ENVELOPE="", HANDRAIL_COMPACT="") == Output()


@pytest.mark.parametrize("name", ["HANDRAIL_FORMAT", "HANDRAIL_ENVELOPE", "HANDRAIL_COMPACT"])
def test_a_bad_variable_is_a_setting_to_fix(name: str) -> None:
    fault = check_trouble("E_CONFIG", **{name: "maybe"})

    assert name in str(fault.details["setting"])


def test_fields_budget_and_level_become_the_ask() -> None:
    problems: list[Problem] = []

    ask = ask_of(parse([*LIST, "--fields", "id, name,,id", "--budget", "items=2", "--mvi", "full"]), problems)

    assert problems == []
    assert (ask.fields, ask.budget, ask.mvi) == (("id", "name"), Budget(max_items=2), "full")


@every_case(
    ("flags", "param"),
    [
        (["--fields", " , "], "--fields"),
        (["--field", ""], "--field"),
        (["--budget", "tokens=0"], "--budget"),
        (["--budget", "tokens=１"], "--budget"),
        (["--budget", "pages=1"], "--budget"),
        (["--budget", ""], "--budget"),
    ],
)
def test_a_selection_that_selects_nothing_is_a_usage_problem(flags: list[str], param: str) -> None:
    problems: list[Problem] = []

    ask_of(parse([*LIST, *flags]), problems)

    assert [(problem.param, problem.is_usage) for problem in problems] == [(param, True)]


def test_field_and_fields_conflict() -> None:
    with pytest.raises(Fault, match="FIELD_CONFLICT"):
        ask_of(parse([*LIST, "--field", "id", "--fields", "id"]), [])


@pytest.mark.promise("cli.schema-version")
@pytest.mark.parametrize("text", ["1", "1.0", "1.0.0", "1.7"])
def test_our_major_version_is_served(text: str) -> None:
    problems: list[Problem] = []

    check_schema_version(parse([*LIST, "--schema-version", text]), problems)

    assert problems == []


@pytest.mark.promise("cli.schema-version")
@every_case("text", ["2", "0", "2.0", "11", "0.1"])
def test_another_major_version_is_not(text: str) -> None:
    with pytest.raises(Fault, match="VERSION_UNSUPPORTED") as raised:
        check_schema_version(parse([*LIST, "--schema-version", text]), [])

    assert raised.value.details["requested"] == text


@every_case("text", ["", "one", "1.", "１", "1.0.0.0", "-1"])
def test_a_version_is_a_number(text: str) -> None:
    problems: list[Problem] = []

    check_schema_version(parse([*LIST, f"--schema-version={text}"]), problems)

    assert [problem.param for problem in problems] == ["--schema-version"]


@every_case(
    ("line", "params"),
    [
        (["workflow", "inspect", "x", "--part", "source"], []),
        (["workflow", "inspect", "x"], ["--format"]),
        (["workflow", "inspect", "x", "--part", "steps"], ["--format"]),
        (["workflow", "list"], ["--format"]),
        (["workflow", "inspect", "x", "--part", "source", "--envelope", "lafs"], ["--envelope"]),
        (
            ["workflow", "inspect", "x", "--part", "source", "--fields", "a", "--budget", "items=1"],
            ["--fields", "--budget"],
        ),
    ],
)
def test_raw_is_offered_where_there_are_raw_bytes(line: list[str], params: list[str]) -> None:
    parsed = parse([*line, "--format", "raw"])
    found, _ = output_of(parsed, {})

    assert [problem.param for problem in clash_problems(parsed, found)] == params


@pytest.mark.parametrize(
    ("flags", "variable", "expected"),
    [([], "", 30), ([], "3600", 3600), (["--timeout", "2"], "nonsense", 2)],
)
def test_the_deadline_comes_from_flag_environment_or_default(
    flags: list[str], variable: str, expected: int
) -> None:
    assert timeout_of(parse([*LIST, *flags]), {"HANDRAIL_TIMEOUT": variable}) == expected


@every_case("variable", ["0", "3601", "1_0", "１", "-1", "99999"])
def test_a_bad_deadline_in_the_environment_is_a_setting_to_fix(variable: str) -> None:
    with pytest.raises(Fault, match="E_CONFIG"):
        timeout_of(parse(LIST), {"HANDRAIL_TIMEOUT": variable})


@every_case(
    ("columns", "terminal", "width"),
    [
        ("", 0, 0),  # nobody says: the usual width, whatever it is
        ("", 132, 132),
        ("72", 132, 72),
        ("3", 0, 40),
        ("9999", 0, 500),
        ("wide", 90, 90),
        ("-5", 0, 0),
        ("１２０", 0, 0),
    ],
)
def test_text_is_as_wide_as_columns_or_the_terminal_says(columns: str, terminal: int, width: int) -> None:
    output = fit_to_page(Output(format="text"), ("context", "--human"), columns, lambda: terminal)

    assert (output.width, output.typed) == (width, ("context", "--human"))


@every_case(
    ("line", "params"),
    [
        (["session", "export", "x", "--out", "f"], []),
        (["session", "export", "x", "--out", "f", "--fields", "a"], ["--fields"]),
        (["session", "export", "x", "--out", "f", "--format", "raw"], ["--format raw"]),
        (["session", "events", "x", "--stream", "--field", "a"], ["--field"]),
        (["session", "events", "x", "--stream", "--human"], ["--format"]),
    ],
)
def test_what_a_file_or_a_stream_cannot_go_with_is_named(line: list[str], params: list[str]) -> None:
    parsed = parse(line)
    found, _ = output_of(parsed, {})

    assert [problem.param for problem in clash_problems(parsed, found)] == params
