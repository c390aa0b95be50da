"""What a look at the index found rides beside answers: cheap as a stat, and never in the way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.surfaces.cli.test_cold_start import loaded
from tests.surfaces.cli.tool import Ran, Tool, checked_document, strict_json
from tests.surfaces.mcp.conversations import lines, opening, request

NEWER = "99.1.0"
NOTICE = {
    "type": "update_available",
    "severity": "info",
    "severity_basis": "changelog",
    "current_version": "0.1.0",
    "latest_version": NEWER,
    "install_method": "uv-tool",
    "recommended_command": "handrail update",
    "release_url": None,
    "checked_at": "2027-01-01T00:00:00.000Z",
    "next_steps": ["handrail update"],
}
WARNING = {**NOTICE, "severity": "warning"}
TOLD_ALL = [
    ["context"],
    ["doctor", "--offline"],
    ["reference", "--command", "context"],
    ["run", "start", "wr.small_change", "--request-id", "told"],
    ["session", "resume"],
]
"""The operations of the design that carry every notice."""
TOLD_WARNINGS = [
    ["workflow", "list"],
    ["session", "list"],
    ["changelog"],
    ["workflow", "builtins"],
    ["settings", "show", "--preferences"],
]
Keep = Callable[..., None]


def cache(tool: Tool) -> str:
    return os.path.join(tool.home, "data", "cache", "notices.json")


@pytest.fixture
def keep(tool: Tool, started: Any) -> Iterator[Keep]:
    """Remember these notices for one test."""

    def write(*notices: Any, content: bytes | None = None) -> None:
        os.makedirs(os.path.dirname(cache(tool)), exist_ok=True)
        with open(cache(tool), "wb") as file:
            file.write(json.dumps(notices).encode() if content is None else content)

    yield write
    if os.path.exists(cache(tool)):
        os.unlink(cache(tool))


def told(ran: Ran) -> list[str]:
    found = strict_json(ran.out)["meta"].get("notices", [])
    return [one["severity"] for one in found if one["type"] == "update_available"]


@pytest.mark.promise("cli.notice-rides")
@pytest.mark.parametrize("line", TOLD_ALL, ids=" ".join)
def test_what_begins_or_describes_carries_every_notice(tool: Tool, keep: Keep, line: list[str]) -> None:
    keep(NOTICE)

    notices = checked_document(tool.run(*line))["meta"]["notices"]
    (notice,) = [one for one in notices if one["type"] != "next_command"]

    assert {name: notice[name] for name in NOTICE if NOTICE[name] is not None} == {
        name: value for name, value in NOTICE.items() if value is not None
    }
    assert NEWER in notice["message"]
    assert notice["message"].endswith("run handrail update.")


@pytest.mark.promise("cli.notice-rides")
@pytest.mark.parametrize("line", TOLD_WARNINGS, ids=" ".join)
def test_everything_else_carries_warnings_only(tool: Tool, keep: Keep, line: list[str]) -> None:
    keep(NOTICE)
    plain = tool.run(*line)
    keep(WARNING, NOTICE)
    warned = tool.run(*line)

    assert (told(plain), told(warned)) == ([], ["warning"])
    assert strict_json(plain.out)["data"] == strict_json(warned.out)["data"]


def test_an_advance_its_replay_and_a_refusal_carry_a_warning(tool: Tool, keep: Keep) -> None:
    ack = tool.data("run", "start", "wr.small_change", "--request-id", "warned")["ackToken"]
    call = ("run", "continue", "--ack", ack, "--notes", "x")
    keep(WARNING)

    first, again = tool.run(*call), tool.run(*call)
    refused = tool.run("session", "show", "ses_000000000000")

    assert (told(first), told(again), told(refused)) == (["warning"], ["warning"], ["warning"])
    assert strict_json(first.out)["data"] == strict_json(again.out)["data"]
    assert checked_document(refused)["error"]["code"] == "E_NOT_FOUND"


def test_a_stream_tells_it_in_its_summary_only(tool: Tool, keep: Keep, started: Any) -> None:
    session = tool.data("session", "list")["items"][0]["id"]
    keep(WARNING)

    lines = [json.loads(line) for line in tool.run("session", "events", session, "--stream").out.splitlines()]

    assert [line["meta"]["notices"][0]["type"] for line in lines if "meta" in line] == ["update_available"]


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "0.1.0rc1", "not a version", ""])
def test_it_is_silent_once_the_latest_runs(tool: Tool, keep: Keep, version: str) -> None:
    keep({**WARNING, "latest_version": version})

    document = checked_document(tool.run("context"))

    assert "notices" not in document["meta"]
    assert document["data"]["notices"] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[",
        b"[1]",
        b"null",
        b'[{"latest_version": {}}]',
        b"\xff\xfe",
        b"[" * 60_000,
        b" " * 200_000,
    ],
    ids=["empty", "an object", "cut", "a number", "null", "another shape", "no text", "too deep", "too long"],
)
def test_a_cache_that_makes_no_sense_is_no_news_and_no_trouble(
    tool: Tool, keep: Keep, content: bytes
) -> None:
    keep(content=content)

    ran = tool.run("workflow", "list", "--limit", "1")

    assert (ran.status, told(ran)) == (0, [])


def test_a_cache_that_cannot_be_opened_is_no_trouble(fresh_tool: Tool) -> None:
    os.makedirs(cache(fresh_tool))

    assert told(fresh_tool.run("context")) == []


def test_a_line_that_is_refused_and_a_budget_are_spared(tool: Tool, keep: Keep) -> None:
    keep(WARNING)

    refused = tool.run("session", "list", "--limit", "x")
    budgeted = tool.run("workflow", "list", "--budget", "bytes=4000")

    assert (told(refused), told(budgeted)) == ([], [])


def test_people_read_it_beside_the_text(tool: Tool, keep: Keep) -> None:
    keep(WARNING)

    shown = tool.run("settings", "show", "--preferences", "--human")
    failed = tool.run("session", "show", "ses_000000000000", "--human")
    quiet = tool.run("settings", "show", "--preferences", "--human", "--quiet")
    bare = tool.run("context", "--field", "version")

    assert NEWER in shown.err.decode()
    assert NEWER not in shown.out.decode()
    assert failed.err.decode().count(NEWER) == 1
    assert (quiet.err, bare.err) == (b"", b"")


@pytest.mark.parametrize(
    "line", [["context"], ["session", "show", "ses_000000000000"]], ids=["success", "failure"]
)
def test_the_lafs_dialect_carries_it_and_still_conforms(tool: Tool, keep: Keep, line: list[str]) -> None:
    keep(WARNING)

    ran = tool.run(*line, "--envelope", "lafs")
    report = tool.run("lafs", "check", "-", "--tier", "complete", stdin=ran.out)

    assert [one["code"] for one in strict_json(ran.out)["_meta"]["warnings"]] == ["W_UPDATE_AVAILABLE"]
    assert report.status == 0, report.out


@pytest.mark.thorough
def test_an_advance_without_news_loads_nothing_for_it(tool: Tool, started: Any, keep: Keep) -> None:
    ack = tool.data("run", "start", "wr.small_change", "--request-id", "cold-news")["ackToken"]
    call = ("run", "continue", "--ack", ack, "--notes", "x")

    without = loaded(tool, *call)
    keep(WARNING)
    with_it = loaded(tool, *call)

    assert "handrail.program.update.package_index" not in without
    assert {name for name in with_it - without if name.startswith("handrail")} == {
        "handrail.program",
        "handrail.program.update",
        "handrail.program.update.package_index",
    }


@pytest.mark.thorough
def test_the_server_for_agents_is_not_touched_by_it(tool: Tool, keep: Keep) -> None:
    keep(WARNING)

    ran = tool.run("mcp", stdin=lines(*opening(), request(2, "tools/call", {"name": "list_workflows"})))

    assert b'"id":2' in ran.out
    assert NEWER.encode() not in ran.out
