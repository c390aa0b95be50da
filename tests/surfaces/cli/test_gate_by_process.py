"""The write gate as a shell meets it: flags, exits, spellings, and what stays untouched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran, Tool, checked_document, strict_json


@pytest.mark.promise("cli.spelling-no-scope")
@pytest.mark.promise("cli.batch-inputs")
def test_how_ids_are_spelled_does_not_matter_to_the_token(fresh_tool: Tool) -> None:
    replies = [fresh_tool.data("run", "start", "wr.small_change", "--request-id", key) for key in "ab"]
    first, second = (reply["session"]["sessionId"] for reply in replies)
    shown = fresh_tool.data("session", "delete", f"--ids={first},{second}", "--dangerous", "--dry-run")

    done = fresh_tool.data(
        "session",
        "delete",
        "--confirm",
        shown["confirm_token"],
        "--ids",
        first,
        "--dangerous",
        "--ids",
        second,
    )

    assert done["summary"]["succeeded"] == 2


@pytest.mark.promise("cli.token-binds")
@pytest.mark.parametrize(
    "changed",
    [
        {"HANDRAIL_MAX_EFFECT": "write"},
        {"AI_NATIVE_CLI_SECRET": "another machine, another secret"},
    ],
    ids=["ceiling", "machine"],
)
def test_a_token_means_nothing_elsewhere(fresh_tool: Tool, changed: dict[str, str]) -> None:
    token = fresh_tool.data("workflow", "new", "project.x", "--dry-run")["confirm_token"]

    ran = fresh_tool.run("workflow", "new", "project.x", "--confirm", token, environment=changed)

    reason = checked_document(ran)["error"]["details"]["reason"]
    expected = "arguments_changed" if "HANDRAIL_MAX_EFFECT" in changed else "not_from_this_machine"
    assert (ran.status, reason) == (6, expected)


@pytest.mark.promise("cli.ceiling")
def test_the_environment_lowers_the_ceiling_and_never_raises_it(fresh_tool: Tool) -> None:
    os.makedirs(fresh_tool.home, exist_ok=True)
    Path(fresh_tool.home, "config.json").write_text('{"maxEffect": "read"}', encoding="utf-8")

    ran = fresh_tool.run("keys", "rotate", "--dry-run", environment={"HANDRAIL_MAX_EFFECT": "dangerous"})
    listed = fresh_tool.run("session", "list")

    assert (ran.status, checked_document(ran)["error"]["code"]) == (4, "E_FORBIDDEN")
    assert listed.status == 0


@pytest.mark.promise("cli.stream")
@pytest.mark.parametrize("flags", [["--envelope", "lafs"], ["--format", "text"]])
def test_a_stream_is_json_lines_of_one_dialect(tool: Tool, flags: list[str]) -> None:
    assert tool.run("workflow", "simulate", "wr.small_change", "--stream", *flags).status == 2


def streamed(tool: Tool, redirection: str) -> Ran:
    finished = subprocess.run(
        [
            "sh",
            "-c",
            f'"$@" {redirection}',
            "sh",
            *tool.command,
            "workflow",
            "simulate",
            "wr.code_review",
            "--stream",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tool.project,
        env=tool.environment,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return Ran(status=finished.returncode, out=finished.stdout, err=finished.stderr)


@pytest.mark.thorough
def test_reader_that_leaves_ends_a_stream_in_silence(tool: Tool) -> None:
    gone = streamed(tool, "| head -n 1")
    full = streamed(tool, ">/dev/full")

    assert (gone.out.count(b"\n"), gone.err) == (1, b"")
    assert (full.status, full.err) == (
        1,
        b"handrail: stdout could not be written: No space left on device.\n",
    )


@pytest.mark.promise("cli.stream-broken")
def test_trouble_before_the_first_line_is_an_ordinary_failure(tool: Tool) -> None:
    ran = tool.run("workflow", "simulate", "wr.nope", "--stream")

    assert checked_document(ran)["error"]["code"] == "E_NOT_FOUND"


@pytest.mark.promise("cli.audit-quiet")
def test_every_write_leaves_one_private_audit_line(fresh_tool: Tool) -> None:
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "k", "--quiet")
    fresh_tool.run("run", "checkpoint", "--checkpoint", reply["checkpointToken"], "--notes", "x", "--quiet")
    fresh_tool.run("run", "continue", "--ack", reply["ackToken"], "--notes", "x", "--quiet")
    fresh_tool.run("run", "continue", "--state", reply["stateToken"], "--quiet")
    fresh_tool.run("keys", "rotate", "--quiet")
    fresh_tool.run("session", "list", "--quiet")

    (name,) = os.listdir(os.path.join(fresh_tool.home, "audit"))
    path = Path(fresh_tool.home, "audit", name)
    lines = [strict_json(line + b"\n") for line in path.read_bytes().splitlines()]
    assert [(line["command"], line["exit"]) for line in lines] == [
        ("run start", 0),
        ("run checkpoint", 0),
        ("run continue", 0),
        ("keys rotate", 5),
    ]
    assert path.stat().st_mode & 0o777 == 0o600
