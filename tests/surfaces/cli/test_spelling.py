"""A next call is spelt as a command line that a shell runs as it stands."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.outcome import Json, NextCall
from handrail.contract.wording import quote_for_shell
from handrail.surfaces.cli.reading.parse import parse
from handrail.surfaces.cli.reading.spelling import command_line
from tests.cases import every_case


def check_spelt(operation: str, params: dict[str, Json], expected: str | None) -> None:
    assert command_line(NextCall(operation=operation, params=params)) == expected


@every_case(
    ("operation", "params", "expected"),
    [
        ("session.list", {}, "handrail session list --compact"),
        ("session.resume", {"query": "ses_1"}, "handrail session resume ses_1 --compact"),
        ("session.resume", {"query": "fix it"}, "handrail session resume 'fix it' --compact"),
        (
            "run.continue",
            {"ackToken": "ak1x", "output": {"notesMarkdown": "it's done"}},
            "handrail run continue --ack ak1x --notes 'it'\"'\"'s done' --compact",
        ),
        (
            "run.start",
            {"workflowId": "wr.x", "context": {"a": 1}, "requestId": "k", "project": "p q"},
            "handrail run start wr.x --context '{\"a\":1}' --request-id k --project 'p q' --compact",
        ),
        (
            "workflow.list",
            {"query": "-x", "limit": 5},
            "handrail workflow list --query=-x --limit 5 --compact",
        ),
        ("cli.help", {"command": "run start"}, "handrail help run start"),
        ("cli.help", {"command": ""}, "handrail help"),
        ("nothing.known", {}, None),
    ],
)
def test_flags_are_used_where_they_exist(
    operation: str, params: dict[str, Json], expected: str | None
) -> None:
    check_spelt(operation, params, expected)


@pytest.mark.parametrize(
    ("operation", "params", "expected"),
    [
        (
            "run.continue",
            {"ackToken": "ak1x", "output": {"notesMarkdown": "x", "unknown": [1]}},
            "handrail run continue --input "
            """'{"ackToken":"ak1x","output":{"notesMarkdown":"x","unknown":[1]}}' --compact""",
        ),
        (
            "session.show",
            {"sessionId": "-x"},
            """handrail session show --input '{"sessionId":"-x"}' --compact""",
        ),
        ("session.list", {"odd": None}, """handrail session list --input '{"odd":null}' --compact"""),
        ("workflow.list", {"query": ""}, """handrail workflow list --input '{"query":""}' --compact"""),
    ],
)
def test_what_no_flag_carries_goes_through_input(
    operation: str, params: dict[str, Json], expected: str
) -> None:
    check_spelt(operation, params, expected)


def test_spelling_leaves_the_params_as_they_were() -> None:
    params: dict[str, Json] = {"ackToken": "ak1x", "output": {"notesMarkdown": "a"}}

    command_line(NextCall(operation="run.continue", params=params))

    assert params == {"ackToken": "ak1x", "output": {"notesMarkdown": "a"}}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_a_shell_reads_a_quoted_text_back(text: str) -> None:
    assert shlex.split(quote_for_shell(text)) == [text]


PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@pytest.mark.thorough
@given(
    notes=PRINTABLE, query=PRINTABLE, key=st.sampled_from(["run.continue", "workflow.list", "session.resume"])
)
def test_what_is_spelt_is_parsed_back(notes: str, query: str, key: str) -> None:
    params: dict[str, Json] = (
        {"output": {"notesMarkdown": notes}} if key == "run.continue" else {"query": query}
    )

    line = command_line(NextCall(operation=key, params=params))

    assert line is not None
    parsed = parse(shlex.split(line)[1:])
    assert parsed.problems == ()
    given_whole = parsed.options.get("input")
    value = next(iter(parsed.values))[1] if parsed.values else given_whole
    assert value in (notes if key == "run.continue" else query, params)
