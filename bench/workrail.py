"""WorkRail over MCP on stdio, for the bench of other stores.

WorkRail is in no registry that the bench can count on: build it in a clone (`npm ci --ignore-scripts`, then
`npx tsc -p tsconfig.build.json`) and name the clone with `--workrail DIR`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

STEPS = 400
WORKFLOW = "bench.steps"
_TOKEN = re.compile(r"\bct_[A-Za-z0-9_-]+")


class WorkRail:
    """One session of a workflow of many steps, in a server of its own."""

    def __init__(self, clone: str, directory: str) -> None:
        root = Path(directory, "workrail")
        workflows = root / "workflows"
        workflows.mkdir(parents=True)
        (workflows / "steps.json").write_text(json.dumps(make_workflow()), encoding="utf-8")
        settings = {
            "WORKFLOW_STORAGE_PATH": str(workflows),
            "WORKRAIL_DATA_DIR": str(root / "data"),
            "WORKRAIL_ENABLE_V2_TOOLS": "true",
            "HOME": str(root),
        }
        self._server = subprocess.Popen(
            ["node", f"{clone}/dist/mcp-server.js"],
            cwd=root,
            env={**os.environ, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._id = 0
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        started = self._call(
            "start_workflow", {"workflowId": WORKFLOW, "workspacePath": str(root), "goal": "Measure steps"}
        )
        self._token = find_token(started)

    def advance(self) -> None:
        """Report one step with notes."""
        output = {"notesMarkdown": "x" * 500}
        told = self._call("continue_workflow", {"continueToken": self._token, "output": output})
        self._token = find_token(told)

    def close(self) -> None:
        self._server.kill()
        self._server.wait()

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in answer["content"])
        if answer.get("isError"):
            raise RuntimeError(text[:500])
        return text

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            found = json.loads(line)
            if found.get("id") == self._id and "method" not in found:
                result: dict[str, Any] = found["result"]
                return result
        raise RuntimeError("WorkRail ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()


def make_workflow() -> dict[str, Any]:
    """A workflow of plain steps."""
    steps = [
        {"id": f"step-{number}", "title": f"Step {number}", "prompt": "Do the step and say what you did."}
        for number in range(STEPS)
    ]
    return {
        "id": WORKFLOW,
        "name": "Steps",
        "version": "0.1.0",
        "description": "Plain steps.",
        "steps": steps,
    }


def find_token(text: str) -> str:
    """Return the token for the next step."""
    found: list[str] = _TOKEN.findall(text)
    if not found:
        raise RuntimeError(f"no token in: {text[:500]}")
    return found[-1]
