"""Every command and every tool, called in this process on a copy of the home with work in it.

The lines come from the table of commands and the registry of tools, so a new one is tried without being named
here. What changes something is previewed. A call that waits for ever is ended, and fails its test.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from handrail.host.program import updates
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading import command_table
from handrail.surfaces.mcp.results import Rendered, answer_call
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import build_runtime
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import Seeded, spelt
from tests.conftest import KeptIncidents
from tests.surfaces.cli.here import run_troubled
from tests.surfaces.cli.tool import Ran

PROCESSES = ("hook", "mcp", "serve", "console", "demo", "store selftest")
"""They start processes or serve: the hostile checkout has them as processes."""
COMMANDS = tuple(path for path in command_table.COMMANDS if path not in PROCESSES)
TOOLS = offered_tools(start_session=True)
REFUSING = "http://127.0.0.1:9/simple"
"""An index where nobody listens."""
SETTLE = ("session", "resolve", "GAP_ID", "--note", "Looked at it.")
RENAME = ("session", "rename", "SESSION_ID", "Another title")
LINES = {
    "doctor": ("doctor", "--offline"),
    "session resolve": SETTLE,
    "session rename": RENAME,
    "update": ("update", "--check"),
    "check approve": ("check", "approve", "--withdraw"),
}
"""Where the line of the leaf asks an index or would do more than look, or a person is asked and none is."""
A_MINUTE = 60
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "inspect_workflow": {"workflowId": "project.three_steps"},
    "start_workflow": {"workflowId": "project.three_steps", "goal": "Look."},
    "continue_workflow": {"ackToken": "ACK_TOKEN", "output": {"notesMarkdown": "Looked."}},
    "checkpoint_workflow": {"checkpointToken": "CHECKPOINT_TOKEN", "output": {"notesMarkdown": "Saved."}},
    "resume_session": {"query": "small"},
}


class Doors:
    """One home, its project, and every way to call the program on them."""

    def __init__(
        self, seeded: Seeded, folder: Path, monkeypatch: pytest.MonkeyPatch, index: str = REFUSING
    ) -> None:
        tool = seeded.copy(folder)
        self.home, self.project = Path(tool.home), Path(tool.project)
        self.names = {**seeded.names, "HOME": tool.home}
        settings = {"startSession": True, "update": {"index": index}}
        (self.home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        self._environment = {
            "HANDRAIL_HOME": tool.home,
            "HANDRAIL_PROJECT": tool.project,
            "HOME": str(folder),
            "PATH": os.defpath,
        }
        monkeypatch.chdir(self.project)
        monkeypatch.setattr(updates, "RETRY_MS", 1)

    def answers(self) -> Iterator[tuple[str, bytes]]:
        """Call everything once: the name of each, and what it told."""
        for path in COMMANDS:
            ran = self.command(path)
            yield path, ran.out + ran.err
        for tool in TOOLS:
            told = self.tool(tool)
            yield tool, msgspec.json.encode([told.text, told.structured])

    def command(self, path: str) -> Ran:
        """What a command prints: a document of ours, and never an error that nobody foresaw."""
        with in_time(path):
            ran = run_troubled(self.runtime(), self.line(path), self._environment)
        told = json.loads(ran.out)
        assert told["ok"] or told["error"]["code"] != "E_UNKNOWN", (path, ran.out)
        return ran

    def tool(self, name: str) -> Rendered:
        """What a tool answers; never an error that nobody foresaw."""
        runtime = self.runtime()
        with in_time(name):
            params = arguments_of(name, str(self.project), self.names)
            told = answer_call(runtime, TOOLS, TOOLS[name], params, "standard")
        assert isinstance(runtime.incidents, KeptIncidents)
        assert runtime.incidents.tracebacks == [], name
        return told

    def line(self, path: str) -> list[str]:
        leaf = LEAVES.get(path)
        line = LINES.get(path) or (leaf.line if leaf is not None else tuple(path.split()))
        more = () if leaf is None else (*leaf.key, *leaf.dangerous)
        is_gated = (
            command_table.COMMANDS[path]["effect"] in ("gated", "dangerous") and "--dry-run" not in line
        )
        return spelt((*line, *more, *(("--dry-run",) if is_gated else ())), self.names)

    def runtime(self) -> Runtime:
        """As a new process has it."""
        made = build_runtime(self._environment, home=str(self.home))
        return msgspec.structs.replace(made, incidents=KeptIncidents())


def arguments_of(tool: str, project: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Arguments with which a tool does its work on the home."""
    known = TOOLS[tool].definition["inputSchema"]["properties"]
    given = _ARGUMENTS.get(tool, {}) | ({"project": project} if "project" in known else {})
    (text,) = spelt([json.dumps(given)], names)
    found: dict[str, Any] = json.loads(text)
    return found


@contextmanager
def in_time(name: str) -> Iterator[None]:
    """End what waits for ever, such as a read from a pipe that nobody writes to."""

    def end(_: int, __: FrameType | None) -> None:
        raise AssertionError(f"{name} waits for ever")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(A_MINUTE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
