"""A server opens nothing outside its roots, also if a record of an earlier run names the project.

What is opened is seen by the interpreter's own audit events, so no port and no field is listed here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import WORKFLOW_SET
from handrail.surfaces.mcp.questions import ToolCall
from handrail.wiring import build_runtime, registry
from handrail_code.mcp.instructions import TOOL_SET as CODE_SET
from handrail_serve.api import offered_operations
from tests.conftest import THREE_STEPS
from tests.hostile.repository.checkout import run_git
from tests.surfaces.http.filled_calls import Work, begin_work, fill_work
from tests.surfaces.http.whole_server import WholeServer, api, fetch

_OPENING = ("open", "os.listdir", "os.scandir", "subprocess.Popen", "os.rename", "os.remove", "os.mkdir")


class Opened:
    """What the process opens below one folder while it is watched."""

    def __init__(self) -> None:
        self.folder = ""
        self.found: list[tuple[str, str]] = []
        sys.addaudithook(self._hear)  # for good: no hook is ever taken away

    def during(self, folder: Path, call: Callable[[], object]) -> list[tuple[str, str]]:
        """What the call opens below the folder."""
        self.folder, self.found = str(folder), []
        try:
            call()
        finally:
            self.folder = ""
        return self.found

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.folder or event not in _OPENING:
            return
        folder = self.folder
        for one in args[:3]:
            path = os.path.realpath(os.fsdecode(one)) if isinstance(one, str | bytes) and one else ""
            if path == folder or path.startswith(folder + os.sep):
                self.found.append((event, os.fsdecode(one)))


OPENED = Opened()
WORKFLOWS = ".handrail/workflows"
PLACES_OF_LINKS = {
    WORKFLOWS: WORKFLOWS,
    ".handrail/workflows/more.json": ".handrail/workflows/three_steps.json",
    ".handrail/workflows/more": WORKFLOWS,
    ".handrail/contracts": ".handrail/contracts",
    ".handrail/config.json": ".handrail/workflows/three_steps.json",
    "linked": "",
    "linked.py": "a.py",
    "deep/linked": "",
    "package.json": "a.py",
    "AGENTS.md": "a.py",
    ".gitignore": "a.py",
}
"""Links in a checkout, and where outside of the roots they lead."""


@pytest.fixture
def opened() -> Opened:
    return OPENED


@pytest.fixture
def server(tmp_path: Path) -> WholeServer:
    return WholeServer(tmp_path)


def make_project(folder: Path) -> Path:
    """A repository with a workflow, a file and a link out of every folder that the server may know."""
    (folder / ".handrail/workflows").mkdir(parents=True)
    (folder / ".handrail/workflows/three_steps.json").write_bytes(THREE_STEPS)
    (folder / "a.py").write_text("def greet():\n    return 4711\n", encoding="utf-8")
    run_git(folder, "init", "-q", ".")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    return folder


def ask(runtime: Runtime, operation: str, **params: Any) -> Any:
    told = perform(runtime, operation, params)
    assert isinstance(told, Success), told
    return told.data


def begin(runtime: Runtime) -> dict[str, Any]:
    """A run in the project of this command line, with one answered step that names a file of it."""
    first = ask(runtime, "run.start", workflowId="project.three_steps", goal="Look.", requestId="begun")
    output = {"notesMarkdown": "Looked at `a.py`."}
    reply: dict[str, Any] = ask(runtime, "run.continue", ackToken=first["ackToken"], output=output)
    return {**reply, "session": first["session"]}


def remember(server: WholeServer, outside: Path) -> Work:
    """The work of a run that was begun outside of the roots, in the store of the server."""
    command = build_runtime({"HANDRAIL_PROJECT": str(outside)}, home=str(server.home))
    reply = begin(command)
    ids = reply["session"]
    nodes = ask(command, "run.graph", sessionId=ids["sessionId"])["nodes"]
    return fill_work(reply, ids["sessionId"], ids["runId"], nodes)


def call_everything(server: WholeServer, work: Work) -> int:
    """Call every operation over HTTP and every tool of both sets about this run."""
    calls = [(one, work.whole_call(one)) for one in offered_operations(registry())]
    server.answers([api(called.name, params) for called, params in calls])
    tried = len(calls)
    for tool_set in (WORKFLOW_SET, CODE_SET):
        adapter = Adapter(server.runtime, tool_set=tool_set)
        for tool in adapter.tools.values():
            shown = set(tool.definition["inputSchema"]["properties"])
            given = work.whole_call(registry().operation(tool.operation))
            fitting = {name: held for name, held in given.items() if name in shown}
            adapter.call_tool(server.runtime, ToolCall(name=tool.name, arguments=fitting), "never")
            tried += 1
    return tried


@pytest.mark.thorough
def test_a_remembered_project_outside_the_roots_stays_closed(
    server: WholeServer, opened: Opened, tmp_path: Path
) -> None:
    outside = make_project(tmp_path / "outside")
    work = remember(server, outside)

    assert opened.during(outside, lambda: call_everything(server, work)) == []


def test_a_remembered_project_inside_the_roots_is_opened(
    server: WholeServer, opened: Opened, tmp_path: Path
) -> None:
    """The same calls do open it once its user added the root, so the test above sees what it would."""
    outside = make_project(tmp_path / "outside")
    work = remember(server, outside)
    (server.home / "config.json").write_text(f'{{"roots": ["{outside}"]}}', encoding="utf-8")

    def call() -> None:
        for name in ("code.diff", "run.continue"):
            server.answer(api(name, work.whole_call(registry().operation(name))))

    assert opened.during(outside, call) != []


@pytest.mark.thorough
def test_a_bundle_opens_no_project_that_it_names(server: WholeServer, opened: Opened, tmp_path: Path) -> None:
    """The bundle names the folder of a project that the store remembers; both come from the same machine."""
    outside = make_project(tmp_path / "outside")
    remember(server, outside)
    other = build_runtime({"HANDRAIL_PROJECT": str(outside)}, home=str(tmp_path / "their_home"))
    exported = ask(other, "session.export", sessionId=begin(other)["session"]["sessionId"])
    bundle = {"source": "b.json", "text": json.dumps(exported["content"])}

    def call() -> None:
        given = {"bundle": bundle}
        shown = server.data(api("session.import", {**given, "dryRun": True}))
        done = server.data(api("session.import", {**given, "confirm": shown["confirm_token"]}))
        graph = server.data(fetch(f"/api/run.graph?sessionId={done['session_id']}"))
        found = server.data(api("session.resume", {"query": done["session_id"]}))
        token = re.findall(r'"stateToken": ?"([^"]+)"', json.dumps(found))[0]
        again = server.data(api("run.continue", {"stateToken": token}))
        work = fill_work(again, done["session_id"], graph["run_id"], graph["nodes"])
        call_everything(server, work)

    assert opened.during(outside, call) == []


@pytest.mark.thorough
@pytest.mark.parametrize("place", PLACES_OF_LINKS)
def test_no_link_of_a_checkout_leads_a_server_out(
    server: WholeServer, opened: Opened, tmp_path: Path, place: str
) -> None:
    outside = make_project(tmp_path / "outside")
    shutil.copytree(outside / ".handrail/workflows", outside / ".handrail/contracts")
    link = server.project / place
    if link.is_dir():
        shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    run_git(server.project, "init", "-q", ".")
    link.symlink_to(outside / PLACES_OF_LINKS[place])
    work = (
        begin_work(server, notes=f"Looked at `{place}` and `{place}/a.py`.") if place != WORKFLOWS else None
    )

    def call() -> None:
        if work is not None:
            call_everything(server, work)
        server.answer(api("workflow.list", {}))
        server.answer(api("workflow.validate", {"paths": [place]}))
        server.answer(api("code.scan", {"search": "greet", "paths": [place]}))

    assert opened.during(outside, call) == []
