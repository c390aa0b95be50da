"""argv is understood exactly, and everything that is wrong with it is told at once."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from handrail.contract.outcome import Fault
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.reading.other_words import OTHER_WORDS
from handrail.surfaces.cli.reading.parse import (
    Parsed,
    Reference,
    Value,
    array_of,
    label_of,
    object_of,
    parse,
)
from handrail.surfaces.cli.reading.repair import repair_line
from handrail.surfaces.cli.reading.spelling import refusal
from tests.cases import every_case


def own(parsed: Parsed) -> dict[str, Value]:
    return {label_of(param): value for param, value in parsed.values}


def check_read(
    line: Sequence[str], values: dict[str, Value], options: dict[str, Value] | None = None
) -> None:
    """The line has no problem and means these values and global flags."""
    parsed = parse(line)

    assert parsed.problems == ()
    assert own(parsed) == values
    assert parsed.options == (options or {})


def check_refused(line: Sequence[str], *problems: tuple[str, str], is_usage: bool) -> None:
    """Exactly these problems, by parameter and by words of the problem, and of this class together."""
    found = parse(line).problems

    assert [problem.param for problem in found] == [param for param, _ in problems]
    for problem, (_, words) in zip(found, problems, strict=True):
        assert words in problem.problem
    assert any(problem.is_usage for problem in found) is is_usage


@every_case(
    ("line", "path"),
    [
        (["workflow", "list"], "workflow list"),
        (["workflow", "inspect", "wr.x"], "workflow inspect"),
        (["run", "start", "wr.x"], "run start"),
        (["run", "continue"], "run continue"),
        (["session", "list"], "session list"),
        (["session", "show", "ses_1"], "session show"),
        (["session", "resume"], "session resume"),
        (["lafs", "check", "-"], "lafs check"),
        (["mcp"], "mcp"),
        (["demo"], "demo"),
    ],
)
def test_words_walk_to_the_command(line: list[str], path: str) -> None:
    parsed = parse(line)

    assert parsed.problems == ()
    assert parsed.words == path
    assert parsed.command is not None
    assert parsed.command["path"] == path


@every_case(
    ("line", "values"),
    [
        (["workflow", "list", "--query", "code review"], {"--query": "code review"}),
        (["workflow", "list", "--query=code review"], {"--query": "code review"}),
        (["workflow", "list", "--query="], {"--query": ""}),
        (["workflow", "list", "--query", "-x"], {"--query": "-x"}),
        (["workflow", "list", "--query", "-"], {"--query": "-"}),
        (["workflow", "list", "--query", "--kinds"], {"--query": "--kinds"}),
        (["workflow", "list", "--query=--kind"], {"--query": "--kind"}),
        (["workflow", "list", "--query", "a=b"], {"--query": "a=b"}),
        (["workflow", "list", "--query=a=b"], {"--query": "a=b"}),
        (["workflow", "list", "--limit", "1"], {"--limit": 1}),
        (["workflow", "list", "--limit", "500"], {"--limit": 500}),
        (["workflow", "list", "--limit", "007"], {"--limit": 7}),
        (["workflow", "list", "--kind", "routine"], {"--kind": "routine"}),
        (["doctor", "--checks", "store,audit"], {"--checks": ("store", "audit")}),
        (["store", "verify", "--ids", "a,b", "--ids=c"], {"--ids": ("a", "b", "c")}),
        (["run", "continue", "--artifacts", '[{"kind": "x"}]'], {"--artifacts": [{"kind": "x"}]}),
        (["run", "start", "wr.x", "--context", '{"a": [1]}'], {"ID": "wr.x", "--context": {"a": [1]}}),
        (
            ["run", "start", "wr.x", "--context", "@f.json"],
            {"ID": "wr.x", "--context": Reference(path="f.json")},
        ),
        (["run", "start", "--goal", "go\non\tnow", "wr.x"], {"ID": "wr.x", "--goal": "go\non\tnow"}),
        (["run", "start", "--", "--odd-id"], {"ID": "--odd-id"}),
        (["run", "continue", "--notes-file", "-"], {"--notes-file": Reference(path="-")}),
        (["run", "continue", "--notes", "é…"], {"--notes": "é…"}),
        (["session", "resume", "fix the login"], {"QUERY": "fix the login"}),
        (["lafs", "check", "-", "--ndjson"], {"FILE": (Reference(path="-"),), "--ndjson": True}),
        (["lafs", "check", "a", "b"], {"FILE": (Reference(path="a"), Reference(path="b"))}),
        (["lafs", "check", "a", "--", "-b"], {"FILE": (Reference(path="a"), Reference(path="-b"))}),
    ],
)
def test_a_value_is_read_as_it_stands(line: list[str], values: dict[str, Value]) -> None:
    check_read(line, values)


@pytest.mark.parametrize(
    "line",
    [
        ["--compact", "workflow", "list", "--timeout", "5"],
        ["workflow", "--compact", "--timeout=5", "list"],
        ["workflow", "list", "--timeout", "5", "--compact"],
        ["workflow", "list", "--timeout", "5", "--timeout=5", "--compact", "--compact"],
    ],
)
def test_global_flags_stand_anywhere_and_equal_repeats_pass(line: list[str]) -> None:
    check_read(line, {}, {"compact": True, "timeout": 5})


@every_case("text", ["1_0", "１", " 1", "1 ", "+1", "0", "501", "-1", "", "1.0", "1e2", "٣", "9" * 40])
def test_an_integer_is_ascii_digits_within_its_range(text: str) -> None:
    check_refused(["session", "list", f"--limit={text}"], ("--limit", "wrong value"), is_usage=False)


@pytest.mark.parametrize("text", ["0", "3601", "1_0", "soon"])
def test_a_timeout_is_seconds_up_to_an_hour(text: str) -> None:
    check_refused(["session", "list", "--timeout", text], ("--timeout", "wrong value"), is_usage=False)


@every_case(
    ("line", "param", "words"),
    [
        (["workflow"], "command", "is missing"),
        (["nope"], "command", "is unknown"),
        (["workflow", "lst"], "command", "is unknown"),
        (["Workflow", "list"], "command", "is unknown"),
        (["work", "list"], "command", "is unknown"),
        (["workflow", "list", "--bogus"], "--bogus", "not a flag"),
        (["workflow", "list", "--bogus=1"], "--bogus", "not a flag"),
        (["workflow", "list", "--bogus", "1"], "--bogus", "not a flag"),
        (["workflow", "list", "--lim", "1"], "--lim", "not a flag"),
        (["workflow", "list", "--LIMIT", "1"], "--LIMIT", "not a flag"),
        (["workflow", "list", "-x"], "-x", "not a flag"),
        (["session", "show", "s", "--graph", "--timeline"], "--timeline", "does not go with --graph"),
        (["session", "show", "s", "n", "--graph"], "--node", "does not go with --graph"),
        (["workflow", "list", "--dry-run"], "--dry-run", "does not apply"),
        (["--limit", "1", "workflow", "list"], "--limit", "before its command"),
        (["--ndjson", "lafs", "check", "-"], "--ndjson", "before its command"),
        (["workflow", "list", "--limit"], "--limit", "needs a value"),
        (["workflow", "list", "--query", "--compact"], "--query", "needs a value"),
        (["workflow", "list", "--query", "--kind=routine"], "--query", "needs a value"),
        (["run", "continue", "--notes", "--"], "--notes", "needs a value"),
        (["workflow", "list", "--compact=1"], "--compact", "takes no value"),
        (["workflow", "list", "--query", "a", "--query", "b"], "--query", "more than once"),
        (["workflow", "list", "--project", ".", "--project", "/"], "--project", "more than once"),
        (["workflow", "list", "extra"], "argument", "one too many"),
        (["session", "resume", "fix", "login"], "argument", "one too many"),
        (["session", "resume", "fix", "the", "login"], "2 arguments", "are too many"),
        (["session", "show"], "ID", "is missing"),
        (["run", "checkpoint"], "--checkpoint", "is missing"),
        (["run", "start", "x", "--budget", "items=1"], "--budget", "does not apply"),
        (["mcp", "--fields", "a"], "--fields", "does not apply"),
        (["demo", "--dry-run"], "--dry-run", "does not apply"),
        (["workflow", "list", "--format", "yaml"], "--format", "wrong value"),
        (["workflow", "list", "--mvi", "custom"], "--mvi", "wrong value"),
        (["workflow", "list", "--envelope", "LAFS"], "--envelope", "wrong value"),
    ],
)
def test_an_unknown_name_or_shape_is_a_usage_problem(line: list[str], param: str, words: str) -> None:
    check_refused(line, (param, words), is_usage=True)


@every_case(
    ("line", "param", "words"),
    [
        (["session", "list", "--status", "odd"], "--status", "wrong value"),
        (["doctor", "--checks", "store,odd"], "--checks", "wrong value"),
        (["doctor", "--checks", ""], "--checks", "wrong value"),
        (["store", "verify", "--ids", "a,,b"], "--ids", "wrong value"),
        (["store", "verify", "--ids", f"a,{'x' * 129}"], "--ids", "wrong value"),
        (["run", "continue", "--artifacts", "{}"], "--artifacts", "refused"),
        (["session", "show", "é"], "ID", "wrong value"),
        (["session", "show", ""], "ID", "wrong value"),
        (["session", "show", "x" * 129], "ID", "wrong value"),
        (["session", "show", "a\nb"], "ID", "wrong value"),
        (["run", "continue", "--notes", "a\x1b[31m"], "--notes", "wrong value"),
        (["run", "continue", "--notes", "a\x00"], "--notes", "wrong value"),
        (["run", "continue", "--notes", "a\x85"], "--notes", "wrong value"),
        (["run", "continue", "--notes", "a\r\nb"], "--notes", "wrong value"),
        (["lafs", "check", "a\nb"], "FILE", "wrong value"),
        (["lafs", "check", ""], "FILE", "wrong value"),
        (["run", "continue", "--context", "{"], "--context", "refused"),
        (["run", "continue", "--context", "[1]"], "--context", "refused"),
        (["run", "continue", "--context", '{"a":1,"a":2}'], "--context", "refused"),
        (["run", "continue", "--context", '{"a":NaN}'], "--context", "refused"),
        (["run", "continue", "--context", "@"], "--context", "refused"),
        (["run", "continue", "--context", "-"], "--context", "refused"),
        (["run", "continue", "--input", "nonsense"], "--input", "refused"),
        (["run", "continue", "--input", '{"a":' * 70 + "1" + "}" * 70], "--input", "refused"),
    ],
)
def test_a_wrong_value_of_a_known_name_is_a_validation_problem(
    line: list[str], param: str, words: str
) -> None:
    check_refused(line, (param, words), is_usage=False)


@every_case(
    ("line", "expected"),
    [
        (["workflow", "list", "--kind", "odd"], "one of routine, workflow"),
        (["session", "list", "--limit", "0"], "an integer from 1 to 500"),
        (
            ["store", "verify", "--ids", ","],
            "ids of 1 to 128 printable ASCII characters, with commas between",
        ),
        (["session", "show", ""], "1 to 128 printable ASCII characters"),
        (["run", "continue", "--context", "[]"], "a JSON object or @FILE"),
        (["run", "continue", "--artifacts", "{}"], "a JSON array or @FILE"),
        (["run", "continue", "--notes", "a", "--notes", "b"], "one value"),
        (["run", "close", "run_1"], "one of abandoned, done_elsewhere, superseded"),
    ],
)
def test_a_problem_says_what_would_be_right(line: list[str], expected: str) -> None:
    (problem,) = parse(line).problems

    assert problem.expected == expected


@every_case(
    ("text", "got"),
    [
        ("null", "null"),
        ("true", "a boolean"),
        ("1", "a number"),
        ("1.5", "a number"),
        ('"x"', "a string"),
        ("[]", "an array"),
        ("{}", "an object"),
    ],
)
def test_json_of_another_kind_is_named(text: str, got: str) -> None:
    read = array_of if got == "an object" else object_of

    with pytest.raises(Fault) as raised:
        read(text, "--x")

    assert raised.value.details["got"] == got


def test_values_that_differ_are_shown_three_at_most() -> None:
    (problem,) = parse(["run", "continue", *(f"--notes={letter}" for letter in "abcde")]).problems

    assert problem.got == "a, b, c"


@every_case(
    ("line", "near"),
    [
        (["workflow", "lst"], "workflow list"),
        (["sesion", "list"], "session list"),
        (["workflow", "list", "--limt", "1"], "--limit"),
        (["workflow", "list", "--qery", "1"], "--query"),
        (["workflow", "list", "-v"], "--version"),
        (["workflow", "list", "--kind", "routin"], "routine"),
    ],
)
def test_the_nearest_name_is_told_and_not_executed(line: list[str], near: str) -> None:
    parsed = parse(line)

    assert near in parsed.problems[0].near
    assert parsed.options == {}


@every_case(("typed", "meant"), OTHER_WORDS.items())
def test_command_of_other_tools_leads_to_ours(typed: str, meant: str) -> None:
    assert typed not in COMMANDS
    assert parse(typed.split()).problems[0].near == (meant,)
    if meant in COMMANDS and not any(param["required"] for param in COMMANDS[meant]["params"]):
        assert repair_line(typed.split()) == meant.split()


def test_a_lost_command_line_reports_the_command_alone() -> None:
    check_refused(["nope", "--query", "x", "more", "--bogus"], ("command", "is unknown"), is_usage=True)


def test_lost_command_line_still_says_how_its_refusal_looks() -> None:
    parsed = parse(["nope", "--human", "--envelope", "lafs"])

    assert parsed.formats == ("human",)
    assert parsed.options["envelope"] == "lafs"


def test_every_format_asked_for_is_kept_to_show_a_conflict() -> None:
    parsed = parse(["workflow", "list", "--format", "json", "--human", "--format", "raw", "--json"])

    assert parsed.problems == ()
    assert sorted(parsed.formats) == ["human", "json", "json", "raw"]


def test_a_refusal_lists_a_bounded_number_of_problems() -> None:
    fault = refusal(parse(["workflow", "list", *(f"--odd{number}" for number in range(200))]).problems, "")

    assert len(fault.details["problems"]) == 50
    assert "199 more" in fault.message


def test_a_token_is_never_echoed() -> None:
    parsed = parse(["run", "continue", "--ack", "ak1secret", "--ack", "ak1other"])

    assert [problem.param for problem in parsed.problems] == ["--ack"]
    assert "secret" not in repr(parsed.problems)


def test_input_may_bring_what_a_position_would() -> None:
    check_read(["session", "show", "--input", '{"sessionId":"s"}'], {}, {"input": {"sessionId": "s"}})


@pytest.mark.parametrize("text", ["-", "@file.json"])
def test_input_may_stand_in_a_file_or_on_stdin(text: str) -> None:
    check_read(["session", "list", "--input", text], {}, {"input": Reference(path=text.removeprefix("@"))})


def test_bytes_that_are_not_utf8_are_refused_with_their_place() -> None:
    check_refused(
        ["workflow", "list", "--query", os.fsdecode(b"\xff\xfe")], ("--query", "wrong value"), is_usage=False
    )


def test_a_lone_surrogate_is_refused() -> None:
    check_refused(["session", "resume", "\ud800"], ("QUERY", "wrong value"), is_usage=False)


@pytest.mark.parametrize(
    "line", [["--help"], ["workflow", "--help"], ["--version"], ["session", "--version"]]
)
def test_help_and_version_need_no_command(line: list[str]) -> None:
    assert parse(line).problems == ()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["code"], "one of its commands"),
        (["run"], "one of start, continue, checkpoint, answer, close, file"),
    ],
)
def test_a_long_list_of_commands_is_told_once(line: list[str], expected: str) -> None:
    told = refusal(parse(line).problems, " ".join(line))

    assert told.message == f"The command is missing; expected {expected}."
    assert told.details["problems"] == [
        {"param": "command", "problem": "is missing", "got": None, "expected": expected}
    ]


@pytest.mark.parametrize("line", ["run continue --ack", "run close ses_1 --reason", "code search x --scope"])
def test_a_flag_without_its_value_is_completed_by_nobody_else(line: str) -> None:
    assert repair_line(line.split()) is None
