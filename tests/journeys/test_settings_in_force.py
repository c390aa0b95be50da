"""`settings show`: what the files ask for, what is in force, from where, and who must start again."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import msgspec
import pytest

from handrail import __version__
from handrail.host.settings import LocalSettings
from handrail.ports.process import McpProcess
from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import GivenProcesses, settings_of
from tests.journeys.conversation import answer
from tests.journeys.interfaces import command
from tests.surfaces.cli.tool import PROGRAM

SERVER = McpProcess(
    pid=4711,
    version=__version__,
    transport="stdio",
    project="/project",
    tools=("list_workflows", "start_workflow"),
    started_at="2026-11-15T09:30:00.123Z",
)


def given(runtime: Runtime, tmp_path: Path, user: Any, project: Any = None, **environment: str) -> Runtime:
    """The runtime with these files and variables."""
    home, place = tmp_path / "home", tmp_path / "project"
    (place / ".handrail").mkdir(parents=True)
    home.mkdir()
    (home / "config.json").write_text(user if isinstance(user, str) else json.dumps(user), encoding="utf-8")
    if project is not None:
        (place / ".handrail" / "config.json").write_text(json.dumps(project), encoding="utf-8")
    return msgspec.structs.replace(runtime, settings=LocalSettings(str(home), environment))


def rows(runtime: Runtime, project: Path) -> dict[str, dict[str, Any]]:
    _, document = command(runtime, "settings", "show", "--project", str(project))
    return {row["name"]: row for row in document["data"]["settings"]}


def test_each_setting_shows_request_value_and_source(runtime: Runtime, tmp_path: Path) -> None:
    here = given(
        runtime,
        tmp_path,
        {"maxEffect": "write", "retentionDays": 30, "confirmations": "claimed", "output": {"compact": True}},
        {"confirmations": "person", "checks": {"tests": {"command": ["true"]}}},
        HANDRAIL_MAX_EFFECT="read",
    )

    shown = rows(here, tmp_path / "project")

    told = {name: (row["desired"], row["applied"], row["source"]) for name, row in shown.items()}
    assert told["maxEffect"] == ("write", "read", "environment")
    assert told["retentionDays"] == (30, 30, "user")
    assert told["confirmations"] == ("person", "person", "project")
    assert told["output.compact"] == (True, True, "user")
    assert told["output.format"] == (None, "json", "default")
    assert told["preferences.autonomy"] == (None, "guided", "default")
    assert told["checks"] == ({"tests": {"command": ["true"]}}, ["tests"], "project")
    assert all(row["text"] and row["takes"] for row in shown.values())


def test_unusable_settings_are_shown_with_what_is_wrong(runtime: Runtime, tmp_path: Path) -> None:
    here = given(runtime, tmp_path, {"maxEffect": "everything"})

    status, document = command(here, "settings", "show", "--project", str(tmp_path / "project"))

    assert status == 0
    assert [one["place"] for one in document["data"]["problems"]] == ["config.json"]
    told = {row["name"]: (row["desired"], row["applied"]) for row in document["data"]["settings"]}
    assert told["maxEffect"] == ("everything", None)


def test_a_login_in_an_address_is_not_shown(runtime: Runtime, tmp_path: Path) -> None:
    here = given(runtime, tmp_path, {"update": {"index": "https://me:hunter2secret@index.example/simple"}})

    told = json.dumps(rows(here, tmp_path / "project")["update.index"])

    assert "index.example" in told
    assert "hunter2secret" not in told


@pytest.mark.parametrize(("is_on", "is_needed"), [(False, False), (True, True)])
def test_a_server_with_another_tool_set_must_start_again(
    runtime: Runtime, is_on: bool, is_needed: bool
) -> None:
    settings_of(runtime).settings = Settings(start_session=is_on)
    processes = runtime.mcp_processes()
    assert isinstance(processes, GivenProcesses)
    processes.announce(SERVER)

    shown = answer(runtime, "self.settings")

    (server,) = shown["servers"]
    assert (server["pid"], server["tools"]) == (4711, ["list_workflows", "start_workflow"])
    assert server["restart_needed"] is is_needed
    needed = {row["name"] for row in shown["settings"] if row["restart_needed"]}
    assert needed == ({"startSession"} if is_needed else set())


@pytest.mark.thorough
def test_running_server_is_listed_until_it_dies(tmp_path: Path) -> None:
    environment = os.environ | {"HANDRAIL_HOME": str(tmp_path), "HANDRAIL_PROJECT": str(tmp_path)}
    looking = build_runtime(environment)
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":%s}}\n' % _META
    with Popen([PROGRAM, "mcp"], stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment) as server:
        try:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(asked)
            server.stdin.flush()
            told = json.loads(server.stdout.readline())

            (listed,) = looking.mcp_processes().running()

            assert (listed.pid, listed.version) == (server.pid, __version__)
            assert list(listed.tools) == [tool["name"] for tool in told["result"]["tools"]]
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait(60)
    left = list((tmp_path / "run").iterdir())
    assert looking.mcp_processes().running() == ()
    assert [one.stat().st_mode & 0o077 for one in left] == [0]


_META = (
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
