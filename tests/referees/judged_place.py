"""A project with the workflow that every client walks through, and the two ways to reach a server on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import msgspec

from tests.filled_in import make_named_files
from tests.referees.equipment import ROOT

WORKFLOW: dict[str, Any] = {
    "id": "project.refereed",
    "name": "Refereed",
    "description": "Two steps, the second with a contract.",
    "steps": [
        {"id": "look", "title": "Look", "prompt": "Look at it, Größe and 🎏 included."},
        {
            "id": "change",
            "title": "Change",
            "prompt": "Change it.",
            "output": {"contractRef": "wr.contracts.changed_files"},
        },
    ],
}
ARTIFACT: dict[str, Any] = {
    "kind": "wr.changed_files",
    "files": [{"path": "src/a.py", "change": "modified", "why": "Größe, \u2028 and 🎏"}],
    "checks": [{"command": "check", "exitCode": 0, "summary": "7 passed"}],
}
START_SECONDS = 60


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A scratch folder: `home` of the parties, `project` with the workflow, `state` of Handrail."""

    folder: str

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the caller's but the path and where the source lies."""
        return {
            "HOME": os.path.join(self.folder, "home"),
            "HANDRAIL_HOME": os.path.join(self.folder, "state"),
            "HANDRAIL_PROJECT": os.path.join(self.folder, "project"),
            "PATH": os.environ["PATH"],
            "USER": "referee",
            "PYTHONPATH": ROOT,
        }

    @property
    def stdio_command(self) -> list[str]:
        return [sys.executable, "-m", "handrail.main", "mcp"]


def make_place(folder: str) -> Place:
    workflows = os.path.join(folder, "project", ".handrail", "workflows")
    make_named_files(os.path.join(folder, "project"))
    for each in (workflows, os.path.join(folder, "home")):
        os.makedirs(each)
    with open(os.path.join(workflows, "refereed.json"), "w", encoding="utf-8") as file:
        json.dump(WORKFLOW, file)
    return Place(folder=folder)


@contextmanager
def served_over_http(place: Place, *, tap: str = "") -> Iterator[str]:
    """The address of a running server, without a path; with `tap`, requests and answers are kept there."""
    environment = place.environment | ({"HANDRAIL_REFEREE_TAP": tap} if tap else {})
    with subprocess.Popen(
        [sys.executable, "-m", "tests.referees.http_server"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        watchdog = threading.Timer(START_SECONDS, server.kill)
        watchdog.start()
        try:
            port = _port(server.stdout)
            watchdog.cancel()
            yield f"http://127.0.0.1:{port}"
        finally:
            watchdog.cancel()
            server.stdin.close()
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()


def _port(stdout: IO[bytes]) -> int:
    line = stdout.readline()
    assert line, "the HTTP server ended before it listened; its stderr says why"
    return int(line)


def journey() -> list[dict[str, Any]]:
    """One run with a block and its retry, then trouble. Without `tool` it is the last reply's next call."""
    return [
        {"tool": "inspect_workflow", "arguments": {"workflowId": WORKFLOW["id"], "part": "steps"}},
        {
            "tool": "start_workflow",
            "arguments": {"workflowId": WORKFLOW["id"], "goal": "be refereed", "requestId": "referee-1"},
        },
        {"add": {"output": {"notesMarkdown": "Looked: Grüße, \u2028 and 🎏."}}},
        {"add": {"output": {"notesMarkdown": "Changed nothing yet."}}},
        {"add": {"output": {"notesMarkdown": "Changed it.", "artifacts": [ARTIFACT]}}},
        {"tool": "continue_workflow", "arguments": {"ackToken": "ak1" + "0" * 53}},
        {"tool": "list_workflows", "arguments": {"query": "refereed"}},
    ]


def journey_problems(told: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the answers of a client to `journey`; each is `{structured, text, isError}`."""
    if len(told) != len(journey()):
        return [f"{len(told)} answers to {len(journey())} calls"]
    _, started, second, blocked, done, refused, listed = (answer["structured"] for answer in told)
    seen = {
        "started": (started["kind"], started["pending"]["stepId"], started["isComplete"]),
        "continued": (second["kind"], second["pending"]["stepId"], second["isComplete"]),
        "blocked": (blocked["kind"], blocked["blockers"][0]["code"]),
        "completed": (done["kind"], done["isComplete"], done["nextIntent"], done["nextCall"]),
        "refused": refused["code"],
        "listed": [item["id"] for item in listed["items"]],
        "errors": [answer["isError"] for answer in told],
        "texts": all(answer["text"] for answer in told),
    }
    expected = {
        "started": ("ok", "look", False),
        "continued": ("ok", "change", False),
        "blocked": ("blocked", "MISSING_REQUIRED_OUTPUT"),
        "completed": ("ok", True, "complete", None),
        "refused": "TOKEN_BAD_SIGNATURE",
        "listed": [WORKFLOW["id"]],
        "errors": [False] * 5 + [True, False],
        "texts": True,
    }
    return [
        f"{key}: {seen[key]!r} instead of {value!r}" for key, value in expected.items() if seen[key] != value
    ]
