"""The Inspector's command line: one process per call, and an exit status of its own for a tool's trouble."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from tests.referees.equipment import node, node_modules
from tests.referees.judged_place import Place, journey, journey_problems
from tests.referees.parties.clients import difference
from tests.referees.report import Check, Report, judged

PARTY = "Inspector CLI"
ERAS = ("legacy", "modern")
LIMIT_SECONDS = 60
TOOL_TROUBLE = 5
"""Its exit status for a result with `isError`; every other result gives 0."""


def visit(place: Place, address: str) -> list[Report]:
    command = [*place.stdio_command, "--cwd", place.folder]
    for name, value in place.environment.items():
        command += ["-e", f"{name}={value}"]
    doors = {"stdio": command, "HTTP": ["--server-url", f"{address}/mcp", "--transport", "http"]}
    return [
        Report(
            party=PARTY,
            version=_version(),
            target=door,
            checks=judged([check for era in ERAS for check in _checks(place, flags, era)], {}),
        )
        for door, flags in doors.items()
    ]


def _checks(place: Place, flags: list[str], era: str) -> list[Check]:
    told: list[dict[str, Any]] = []
    statuses = []
    trouble = ""
    last: dict[str, Any] = {}
    for call in journey():
        name = call.get("tool") or last["nextCall"]["tool"]
        sent = call.get("arguments") or {**last["nextCall"]["params"], **call["add"]}
        done = _inspect(place, [*flags, "--protocol-era", era], name, sent)
        statuses.append(done.returncode)
        if done.returncode not in (0, TOOL_TROUBLE):
            trouble = f"exit {done.returncode} from {name}: {done.stderr.strip()[-300:]}"
            break
        result = json.loads(done.stdout)["result"]
        last = result["structuredContent"]
        is_error = result.get("isError", False)
        told.append({"structured": last, "text": result["content"][0]["text"], "isError": is_error})
    expected = [TOOL_TROUBLE if answer["isError"] else 0 for answer in told]
    findings = {
        "start, continue, blocked, retry, complete": trouble or "; ".join(journey_problems(told)),
        "exit 5 on isError, 0 otherwise": "" if statuses == expected else str(statuses),
        "the same bytes as every other client": trouble or difference(place, told),
    }
    return [
        Check(name=f"{era}: {name}", status="failed" if detail else "passed", detail=detail)
        for name, detail in findings.items()
    ]


def _inspect(
    place: Place, flags: list[str], tool: str, arguments: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    program = os.path.join(node_modules(), ".bin", "mcp-inspector")
    call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
    return subprocess.run(
        [node(), program, "--cli", *flags, "--format", "json", "--quiet", *call],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=LIMIT_SECONDS,
    )


def _version() -> str:
    path = os.path.join(node_modules(), "@modelcontextprotocol", "inspector", "package.json")
    with open(path, encoding="utf-8") as file:
        return str(json.load(file)["version"])
