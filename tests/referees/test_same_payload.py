"""One store behind every door: the payload bytes of MCP, both CLI dialects and the library are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

import handrail
from tests.referees.test_mcp_process import COMMAND, environment, place

pytestmark = pytest.mark.thorough

__all__ = ["place"]


def command_line(place: Path, *arguments: str) -> dict[str, Any]:
    finished = subprocess.run(
        [sys.executable, "-m", "handrail.main", *arguments],
        cwd=place,
        env=environment(place),
        capture_output=True,
        check=True,
        timeout=120,
    )
    document: dict[str, Any] = json.loads(finished.stdout)
    return document


def written(payload: Any) -> str:
    return json.dumps(payload, ensure_ascii=False)


def test_calls_give_the_same_bytes_over_every_interface(place: Path) -> None:
    library = handrail.Handrail(environment=environment(place))
    start = {"workflowId": "project.three_steps", "requestId": "one", "goal": "compare the doors"}
    first = library.call("run.start", start)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("run.start", "start_workflow", start),
        (
            "run.continue",
            "continue_workflow",
            {"ackToken": first["ackToken"], "output": {"notesMarkdown": "Grüße, \u2028 and 🎏"}},
        ),
        (
            "run.checkpoint",
            "checkpoint_workflow",
            {"checkpointToken": first["checkpointToken"], "output": {"notesMarkdown": "half way"}},
        ),
    ]
    seen: dict[str, list[str]] = {
        operation: [written(library.call(operation, params))] for operation, _, params in calls
    }

    async def over_mcp() -> None:
        server = StdioServerParameters(
            command=COMMAND[0], args=COMMAND[1:], env=environment(place), cwd=place
        )
        with anyio.fail_after(120):
            async with Client(server) as client:
                for operation, tool, params in calls:
                    result = await client.call_tool(tool, params)
                    seen[operation].append(written(result.structured_content))

    anyio.run(over_mcp)
    for operation, _, params in calls:
        words = operation.split(".")
        given = ["--input", json.dumps(params)]
        seen[operation].append(written(command_line(place, *words, *given)["data"]))
        seen[operation].append(written(command_line(place, *words, *given, "--envelope", "lafs")["result"]))

    assert {operation: len(set(payloads)) for operation, payloads in seen.items()} == {
        "run.start": 1,
        "run.continue": 1,
        "run.checkpoint": 1,
    }
    assert all(len(payloads) == 4 for payloads in seen.values())
