"""Other people's clients walk one journey through both doors, and must all hear the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import msgspec

from handrail.surfaces.mcp.tools import OFFERED, offered_tools
from tests.referees.equipment import HERE, node, node_modules, python_party
from tests.referees.judged_place import Place, journey, journey_problems
from tests.referees.report import Check, Report, judged

LIMIT_SECONDS = 90
OLDER, MODERN = "2025-11-25", "2026-07-28"


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """One client in one era, and the protocol that it must end up with."""

    party: str
    script: str
    protocol: str
    era: str = ""

    @property
    def label(self) -> str:
        return f"{self.era or 'default'}"


PYTHON_1 = Client(party="Python client 1.x", script="python_1.py", protocol=OLDER)
PYTHON_2 = [
    Client(party="Python client 2.x", script="python_2.py", era="legacy", protocol=OLDER),
    Client(party="Python client 2.x", script="python_2.py", era="auto", protocol=MODERN),
]
TYPESCRIPT_1 = Client(party="TypeScript client 1.x", script="typescript_1.mjs", protocol=OLDER)
TYPESCRIPT_2 = [
    Client(party="TypeScript client 2.x", script="typescript_2.mjs", era="legacy", protocol=OLDER),
    Client(party="TypeScript client 2.x", script="typescript_2.mjs", era="auto", protocol=MODERN),
]


def visit(clients: list[Client], place: Place, address: str) -> list[Report]:
    """The first visit of all makes the run, every later one repeats it: replays, so no byte may differ."""
    doors: dict[str, dict[str, Any]] = {
        "stdio": {"command": place.stdio_command, "env": place.environment, "cwd": place.folder},
        "HTTP": {"url": f"{address}/mcp"},
    }
    reports = []
    for door, target in doors.items():
        checks = [check for client in clients for check in _checks(client, place, target)]
        party, version = clients[0].party, version_of(clients[0])
        reports.append(Report(party=party, version=version, target=door, checks=judged(checks, {})))
    return reports


def _checks(client: Client, place: Place, target: dict[str, Any]) -> list[Check]:
    heard, trouble = _walk(client, place, target)
    if heard is None:
        return [Check(name=f"{client.label}: comes to the end", status="failed", detail=trouble)]
    problems = journey_problems(heard["told"])
    names = [tool.name for tool in offered_tools().values()]
    assert len(names) == len(OFFERED), "every offered operation is one tool"
    findings = {
        "speaks " + client.protocol: "" if heard["protocol"] == client.protocol else heard["protocol"],
        "lists the tools in order": "" if heard["tools"] == names else str(heard["tools"]),
        "start, continue, blocked, retry, complete": "; ".join(problems),
        "the same bytes as every other client": difference(place, heard["told"]),
    }
    return [
        Check(name=f"{client.label}: {name}", status="failed" if detail else "passed", detail=detail)
        for name, detail in findings.items()
    ]


def _walk(client: Client, place: Place, target: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    asked: dict[str, Any] = {"target": target, "calls": journey(), "era": client.era}
    if client.script.endswith(".mjs"):
        asked["modules"] = os.path.dirname(node_modules())
    script = os.path.join(HERE, "clients", client.script)
    try:
        done = subprocess.run(
            [_interpreter(client), script, json.dumps(asked)],
            cwd=place.folder,
            env={key: value for key, value in place.environment.items() if key != "PYTHONPATH"},
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None, f"no end after {LIMIT_SECONDS} s"
    if done.returncode != 0:
        return None, done.stderr.strip()[-600:]
    heard: dict[str, Any] = json.loads(done.stdout)
    return heard, ""


def _interpreter(client: Client) -> str:
    if client.script.endswith(".mjs"):
        return node()
    return python_party("mcp-1") if client is PYTHON_1 else sys.executable


def difference(place: Place, told: list[dict[str, Any]]) -> str:
    """Member order included: an agent reads bytes. The first client leaves its answers for the others."""
    written = [json.dumps(answer, ensure_ascii=False) for answer in told]
    path = os.path.join(place.folder, "first-told.json")
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(written, file)
        return ""
    with open(path, encoding="utf-8") as file:
        first = json.load(file)
    return "; ".join(
        f"answer {number} differs"
        for number, pair in enumerate(zip(first, written, strict=False))
        if pair[0] != pair[1]
    )


def version_of(client: Client) -> str:
    if client.script.endswith(".mjs"):
        package = "sdk" if client is TYPESCRIPT_1 else "client"
        path = os.path.join(node_modules(), "@modelcontextprotocol", package, "package.json")
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)["version"])
    script = "import importlib.metadata; print(importlib.metadata.version('mcp'))"
    shown = subprocess.run(
        [_interpreter(client), "-c", script], capture_output=True, check=True, encoding="utf-8"
    )
    return shown.stdout.strip()
