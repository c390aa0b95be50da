"""A flag that was given beats a variable and a setting, and no refusal speaks of a flag that nobody gave."""

from __future__ import annotations

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import settings_of
from tests.journeys.conversation import start
from tests.surfaces.cli.here import run_here

LINES = (
    ("session", "events", "SESSION", "--stream"),
    ("session", "list", "--fields", "status"),
    ("session", "list", "--envelope", "cli"),
    ("session", "list", "--budget", "items=1"),
    ("session", "list", "--json"),
    ("workflow", "schema", "--field", "schema"),
    ("workflow", "schema", "--format", "raw"),
    ("workflow", "graph", "project.three_steps", "--json", "--envelope", "lafs"),
    ("session", "list", "--compact"),
)
DEFAULTS = (
    {"HANDRAIL_FORMAT": "raw"},
    {"HANDRAIL_FORMAT": "raw", "HANDRAIL_ENVELOPE": "lafs"},
    {"HANDRAIL_ENVELOPE": "lafs"},
    {"HANDRAIL_FORMAT": "text"},
    {"HANDRAIL_FORMAT": "text", "HANDRAIL_ENVELOPE": "lafs", "HANDRAIL_COMPACT": "1"},
)


def with_session(runtime: Runtime, line: tuple[str, ...]) -> list[str]:
    session_id = start(runtime)["session"]["sessionId"]
    return [session_id if word == "SESSION" else word for word in line]


@pytest.mark.parametrize("environment", DEFAULTS, ids=str)
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_variable_gives_way_to_a_flag_without_a_word(
    runtime: Runtime, line: tuple[str, ...], environment: dict[str, str]
) -> None:
    spelt = with_session(runtime, line)
    expected = run_here(runtime, spelt)

    ran = run_here(runtime, spelt, environment)

    assert (ran.status, expected.status) == (0, 0), ran
    if {"--field", "raw"} & set(line):
        assert ran.out == expected.out
    if "--stream" in line:
        assert ran.out.splitlines()[:-1] == expected.out.splitlines()[:-1]


@pytest.mark.parametrize("name", ["output_format", "output_envelope"])
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_setting_gives_way_to_a_flag_without_a_word(
    runtime: Runtime, line: tuple[str, ...], name: str
) -> None:
    spelt = with_session(runtime, line)
    value = {"output_format": "raw", "output_envelope": "lafs"}[name]
    settings_of(runtime).settings = msgspec.structs.replace(settings_of(runtime).settings, **{name: value})

    assert run_here(runtime, spelt).status == 0


def test_a_flag_that_was_given_is_still_refused_by_name(runtime: Runtime) -> None:
    refused = run_here(runtime, with_session(runtime, (*LINES[0], "--format", "text")))
    clash = run_here(runtime, ["session", "list", "--format", "raw"], {"HANDRAIL_ENVELOPE": "lafs"})
    wrong = run_here(runtime, ["session", "list", "--compact"], {"HANDRAIL_COMPACT": "maybe"})

    assert refused.status == clash.status == 2
    assert b"--envelope" not in clash.err + clash.out
    assert wrong.status == 0
