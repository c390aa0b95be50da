"""What only real processes show: several at once, a full disk, and lines that are run as they are printed."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.forked import ForkedTool, ForkServer
from tests.surfaces.cli.tool import DEADLINE_SECONDS, PROGRAM, Tool, strict_json

pytestmark = pytest.mark.thorough


@pytest.fixture
def tool(tmp_path: Path, fork_server: ForkServer) -> Tool:
    return ForkedTool(str(tmp_path), fork_server)


def line_of(key: str) -> list[str]:
    return ["run", "start", "wr.small_change", "--goal", "look", "--request-id", key]


def session_ids(tool: Tool) -> list[str]:
    return [str(item["id"]) for item in tool.data("session", "list")["items"]]


@pytest.mark.promise("cli.create-key")
def test_one_key_from_four_processes_at_once_makes_one_run(tool: Tool) -> None:
    children = [
        subprocess.Popen(
            [PROGRAM, *line_of("k1")], stdout=subprocess.PIPE, cwd=tool.project, env=tool.environment
        )
        for _ in range(4)
    ]

    replies = [json.loads(child.communicate(timeout=DEADLINE_SECONDS)[0])["data"] for child in children]

    assert len({reply["ackToken"] for reply in replies}) == 1
    assert len(session_ids(tool)) == 1


@pytest.mark.promise("cli.disk")
@pytest.mark.parametrize("limit", [200, 2_000])
def test_full_disk_is_reported_and_the_call_works_later(tool: Tool, limit: int) -> None:
    first = tool.data(*line_of("k1"))

    full = subprocess.run(
        [PROGRAM, *line_of("k2")],
        cwd=tool.project,
        # Python would leave compiled modules behind that are cut off at the limit.
        env=tool.environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    listed = session_ids(tool)
    roomy = tool.data(*line_of("k2"))

    error = strict_json(full.stdout)["error"]
    assert (full.returncode, error["code"], error["retryable"]) == (1, "E_IO", False)
    assert listed == [first["session"]["sessionId"]]
    assert session_ids(tool) == [roomy["session"]["sessionId"], *listed]


@pytest.mark.promise("cli.sort-declared")
def test_old_session_that_moves_comes_first_as_declared(tool: Tool) -> None:
    first, second = tool.data(*line_of("a")), tool.data(*line_of("b"))

    tool.data("run", "checkpoint", "--checkpoint", first["checkpointToken"], "--notes", "moved")

    (command,) = tool.data("reference", "--command", "session list")["commands"]
    assert command["default_sort"].startswith("last activity (newest first)")
    assert session_ids(tool) == [reply["session"]["sessionId"] for reply in (first, second)]


@pytest.mark.promise("cli.codes-stable")
@pytest.mark.parametrize("line", ["session show ses_0", "store gc", "run continue --ack ak1000"])
def test_dialects_and_text_end_with_the_same_status(tool: Tool, line: str) -> None:
    ours, lafs, text = (tool.run(*line.split(), *more) for more in ((), ("--envelope", "lafs"), ("--human",)))

    assert ours.status == lafs.status == text.status != 0
    said: list[Any] = [strict_json(ran.out)["error"]["retryable"] for ran in (ours, lafs)]
    assert said[0] == said[1]


@pytest.mark.promise("cli.doctor")
def test_every_fix_that_is_a_command_runs_as_it_is_printed(tool: Tool) -> None:
    setup = ("setup", "--clients", "cursor")
    tool.data(*setup, "--confirm", tool.data(*setup, "--dry-run")["confirm_token"])
    skill = next((Path(tool.project).parent / ".agents").rglob("SKILL.md"))
    skill.write_text(skill.read_text(encoding="utf-8") + "Changed by hand.\n", encoding="utf-8")
    checks = tool.data("doctor", "--offline")["checks"]
    fixes = [check["fix"] for check in checks if (check["fix"] or "").startswith("handrail ")]

    failed = [fix for fix in fixes if "update" not in fix and tool.run(*shlex.split(fix)[1:]).status != 0]

    assert fixes
    assert failed == []


@pytest.mark.promise("store.unsound")
def test_commands_of_a_damaged_sessions_banner_work(tool: Tool) -> None:
    reply = tool.data(*line_of("k1"))
    session = reply["session"]["sessionId"]
    for notes in ("one", "two"):
        reply = tool.data("run", "continue", "--ack", reply["ackToken"], "--notes", notes)
    log = Path(tool.home) / "data" / "sessions" / session / "events-000001.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"one"', b'"One"'))
    banner = tool.data("session", "show", session)["health"]["banner"]
    verify = banner[banner.index("handrail store verify") :].split(", and")[0]
    salvage = banner[banner.index("handrail session export") :].split(" to keep")[0].replace("FILE", "saved")

    checked = tool.run(*shlex.split(verify)[1:])
    exported = tool.run(*shlex.split(salvage)[1:])

    assert exported.status == 0, exported.out
    assert strict_json(checked.out).get("error", {}).get("code") != "E_USAGE", (verify, checked.out)
