"""Whatever stands on the command line, the answer is one document with the right exit status."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.self_description.front_page import front_page
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import CORE_CODES, Ran, Tool, checked_document, strict_json

SEED = 20_261_115
SERVERS = ("mcp", "serve", "console", "demo", "hook")
WORDS = sorted({word for path in _table.COMMANDS for word in path.split()} - set(SERVERS))
FLAGS = sorted(
    {param["flag"] for row in _table.COMMANDS.values() for param in row["params"] if param["flag"]}
    | {param["flag"] for param in _table.GLOBALS}
)
VALUES = [
    "", "-", "--", "=", "@", "@absent", "{}", "[]", '{"a":1}', '{"workflowId":"project.three_steps"}', "null",
    "project.three_steps", "wr.nope", "ses_000000000000", "ak1" + "0" * 53, "st1x", "cu1x",
    "1", "0", "-1", "1_0", "501", "json", "text", "raw", "lafs", "cli", "minimal", "items=1", "tokens=9",
    "items", "id", "a,b", "summary", "source",
    "é", "\x00", "\x1b[0m", "a\nb", "\ud800", "\udcff", "x" * 300, "١",
]  # fmt: skip


def without_front_page(ran: Ran) -> Ran:
    """A line that names no command also greets whoever reads stderr, with this page and nothing else."""
    is_greeting = ran.status == 0 and ran.err == front_page().encode()
    return msgspec.structs.replace(ran, err=b"") if is_greeting else ran


def check_answer(ran: Ran, arguments: Sequence[str]) -> None:
    assert b"Traceback" not in ran.out + ran.err
    assert ran.status in {0, *(status for status, _ in CORE_CODES.values())}
    asks_otherwise = {"--human", "--field", "--help", "--version", "text", "raw", "human", "lafs"}
    if not any(
        word.partition("=")[0] in asks_otherwise or word.partition("=")[2] in asks_otherwise
        for word in arguments
    ):
        checked_document(without_front_page(ran))
    elif ran.out and "--field" not in " ".join(arguments) and ran.status != 0:
        strict_json(ran.out)


ARGUMENT = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(FLAGS),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from(FLAGS), st.sampled_from(VALUES)),
    st.text(max_size=12),
)
LINE = st.one_of(
    st.lists(ARGUMENT, max_size=8),
    st.builds(
        lambda path, rest: [*path.split(), *rest],
        st.sampled_from([path for path in _table.COMMANDS if path not in SERVERS]),
        st.lists(ARGUMENT, max_size=6),
    ),
)


@pytest.mark.thorough
@pytest.mark.promise("cli.one-document")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=LINE)
def test_any_line_gets_one_document(runtime: Runtime, line: list[str]) -> None:
    check_answer(run_here(runtime, line), line)


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=LINE)
def test_any_line_means_the_same_twice(runtime: Runtime, line: list[str]) -> None:
    first, second = run_here(runtime, [*line, "--compact"]), run_here(runtime, [*line, "--compact"])

    assert first.status == second.status
    assert (first.out == b"") is (second.out == b"")


def random_bytes_line(chance: random.Random) -> list[bytes]:
    parts = [
        *(word.encode() for word in WORDS + FLAGS),
        b"\xff\xfe",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\x80=",
        b"ok",
    ]
    line = [chance.choice(parts) for _ in range(chance.randrange(1, 7))]
    if chance.random() < 0.5:
        line.append(bytes(chance.randrange(1, 256) for _ in range(chance.randrange(1, 9))))
    return line


@pytest.mark.parametrize("number", range(30))
def test_any_bytes_in_argv_get_an_answer(tool: Tool, number: int) -> None:
    line = random_bytes_line(random.Random(SEED + number))

    ran = tool.run(*line)

    check_answer(ran, [os.fsdecode(word) for word in line])


def test_bytes_that_are_not_utf8_are_a_wrong_value(tool: Tool) -> None:
    ran = tool.run(b"session", b"resume", b"\xff\xfe")

    assert checked_document(ran)["error"]["code"] == "E_VALIDATION"
