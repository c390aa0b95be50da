"""A server works in its roots: no path of any operation leads out, over HTTP or MCP, links resolved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import handrail
from handrail.contract.parameters import list_fields
from handrail.runtime.operation import Operation
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import WORKFLOW_SET
from handrail.surfaces.mcp.questions import ToolCall
from handrail.wiring import build_runtime, registry
from handrail_code.mcp.instructions import TOOL_SET as CODE_SET
from handrail_serve.api import offered_operations
from tests.surfaces.http.filled_calls import Work, begin_work
from tests.surfaces.http.whole_server import WholeServer, api

PATHS: dict[str, list[tuple[str, ...]]] = {
    called.name: [field.path for field in list_fields(called.input) if field.held == "path"]
    for called in offered_operations(registry())
}


@pytest.fixture
def server(tmp_path: Path) -> WholeServer:
    return WholeServer(tmp_path)


def make_ways_out(server: WholeServer) -> list[str]:
    """Outside as an attacker names it: absolute, upwards, by a link in the project, and our own state."""
    outside = server.home.parent / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("secret = 4711\n", encoding="utf-8")
    (server.project / "link").symlink_to(outside)
    project = str(server.project)
    return [
        str(outside),
        f"{project}/../outside",
        f"{project}/link",
        f"{project}-other",
        str(server.home),
        "/",
        "~root",
    ]


def put(path: tuple[str, ...], value: str) -> dict[str, Any]:
    """The input with this value at this place."""
    inner: Any = value
    for name in reversed(path):
        inner = [inner] if name == "[]" else {name: inner}
    assert isinstance(inner, dict), "an input has members"
    return inner


def calls_of(called: Operation, work: Work, ways: list[str]) -> list[dict[str, Any]]:
    return [
        work.call(called, **put(path, way) | ({"dryRun": True} if called.effect == "gated" else {}))
        for path in PATHS[called.name]
        for way in ways
    ]


@pytest.mark.thorough
def test_every_path_over_http_stays_in_the_roots(server: WholeServer) -> None:
    work, ways = begin_work(server), make_ways_out(server)
    tried = 0
    for called in offered_operations(registry()):
        calls = calls_of(called, work, ways)
        answers = server.answers([api(called.name, params) for params in calls])
        for params, told in zip(calls, answers, strict=True):
            assert told.status == 403, (called.name, params, told.body)
            assert told.document["details"]["setting"] == "roots", told.body
            tried += 1
    assert tried >= len(ways) * 20, "paths are found by their type"


@pytest.mark.parametrize("tool_set", [WORKFLOW_SET, CODE_SET], ids=["workflow", "code"])
def test_every_path_over_mcp_stays_in_the_roots(server: WholeServer, tool_set: Any) -> None:
    work, ways = begin_work(server), make_ways_out(server)
    adapter = Adapter(server.runtime, tool_set=tool_set)
    tried = 0
    for tool in adapter.tools.values():
        called = registry().operation(tool.operation)
        offered = set(tool.definition["inputSchema"]["properties"])
        for path in (one for one in PATHS.get(called.name, ()) if one[0] in offered):
            for way in ways:
                given = {name: held for name, held in work.call(called).items() if name in offered}
                call = ToolCall(name=tool.name, arguments={**given, **put(path, way)})
                told: Any = adapter.call_tool(server.runtime, call, "never")
                assert told["isError"], (tool.name, path, way)
                assert '"roots"' in json.dumps(told["structuredContent"]), told
                tried += 1
    assert tried >= len(ways) * 5


def test_a_refusal_names_the_command_that_adds_the_root(server: WholeServer) -> None:
    way = make_ways_out(server)[0]

    told = server.answer(api("workflow.list", {"project": way}))

    assert f"handrail settings set roots '[\"{way}\"]'" in told.document["details"]["hint"]
    setting = {"key": "roots", "value": json.dumps([way])}
    preview = server.data(api("settings.set", {**setting, "dryRun": True}))
    agreed = server.answer(api("settings.set", {**setting, "confirm": preview["confirm_token"]}))
    assert agreed.document["code"] == "E_HUMAN_REQUIRED"
    assert server.answer(api("workflow.list", {"project": way})).status == 403

    (server.home / "config.json").write_text(json.dumps({"roots": [way]}), encoding="utf-8")
    assert server.answer(api("workflow.list", {"project": way})).status == 200


def test_a_command_works_outside_of_every_root(server: WholeServer) -> None:
    ways = make_ways_out(server)
    command = build_runtime({"HANDRAIL_PROJECT": str(server.project)}, home=str(server.home))

    assert command.roots is None
    assert command.workspace.project(ways[0]) == ways[0]


# What a server writes: nothing of its own state, its program or an interpreter, in whatever root


def plant_program(folder: Path) -> Path:
    """An environment with an installed package, as a project has it."""
    package = folder / ".venv/lib/python3.12/site-packages/handrail"
    package.mkdir(parents=True)
    (folder / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    (package / "main.py").write_text("def front():\n    return 1\n", encoding="utf-8")
    return package


def edit(server: WholeServer, project: Path) -> str:
    """What became of the file when an agent renamed a function in it, as far as it got."""
    told = server.answer(
        api("code.edit", {"project": str(project), "rename": "front", "to": "back", "aiMode": True})
    )
    token = told.document.get("data", {}).get("continuation_tokens", {}).get("apply")
    if token is not None:
        server.answer(api("code.edit", {"project": str(project), "continuation": token, "fix": True}))
    return (project / "main.py").read_text(encoding="utf-8")


def test_no_server_edits_an_installed_package_in_its_root(server: WholeServer) -> None:
    package = plant_program(server.project)

    assert "front" in edit(server, package)
    plain = server.project / "app"
    plain.mkdir()
    (plain / "main.py").write_text("def front():\n    return 1\n", encoding="utf-8")
    assert "back" in edit(server, plain), "the same edit works elsewhere"


@pytest.mark.parametrize(
    "place",
    [
        str(Path(handrail.__file__).parent / "main.py"),
        str(Path(json.__file__)),
        str(Path(msgspec.__file__)),
        "HOME/config.json",
        "PROJECT/.venv/bin/activate_this.py",
        "PROJECT/.venv/lib/python3.12/site-packages/x.pth",
        "PROJECT/link/main.py",
    ],
)
def test_a_server_writes_no_closed_file(server: WholeServer, place: str) -> None:
    package = plant_program(server.project)
    (server.project / "link").symlink_to(package)
    path = place.replace("HOME", str(server.home)).replace("PROJECT", str(server.project))
    roots = server.runtime.roots
    assert roots is not None

    assert roots.explain_closed(path)
    assert not roots.explain_closed(str(server.project / "src/bin/tool.py"))


def test_a_workflow_goes_into_no_closed_folder(server: WholeServer) -> None:
    package = plant_program(server.project)
    (server.project / "flows").symlink_to(package)
    for place in (str(package), "flows"):
        told = server.answer(api("workflow.new", {"workflowId": "project.new", "to": place, "dryRun": True}))
        assert told.status == 403, told.body
        assert told.document["details"]["setting"] == "roots"
