"""A stranger's fuzzer on both doors, with a fixed seed; what it sent and heard is judged again by us.

It exits 0 with findings, and calls plain valid input "accepted malformed", so its own verdict is not used:
the traffic is recorded, and every exchange is held against the published schemas.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from handrail.surfaces.mcp.tools import tool_definitions
from tests.referees.equipment import python_party
from tests.referees.judged_place import Place, served_over_http
from tests.referees.report import Check, Report, judged
from tests.referees.traffic import (
    Exchange,
    crashes,
    read_http,
    read_stdio,
    reflections,
    unanswered,
    wrongly_accepted,
)

PARTY = "fuzzer"
SEED = 20260728
RUNS = 6
LIMIT_SECONDS = 120
REVISION = "2025-11-25"
"""The revision that the fuzzer speaks."""


def visit(place: Place, seed: int = SEED) -> list[Report]:
    return [_over_stdio(place, seed), _over_http(place, seed)]


def _over_stdio(place: Place, seed: int) -> Report:
    tap = os.path.join(place.folder, "stdio.tap")
    server = shlex.join([sys.executable, "-m", "tests.referees.stdio_tap", tap])
    ended = _fuzz(place, seed, ["--protocol", "stdio", "--endpoint", server])
    return _report("stdio", ended, *read_stdio(_lines(tap)))


def _over_http(place: Place, seed: int) -> Report:
    tap = os.path.join(place.folder, "http.tap")
    with served_over_http(place, tap=tap) as address:
        ended = _fuzz(place, seed, ["--protocol", "streamablehttp", "--endpoint", f"{address}/mcp"])
    return _report("HTTP", ended, *read_http(_lines(tap)))


def _fuzz(place: Place, seed: int, door: Sequence[str]) -> int:
    breadth = ["--mode", "all", "--phase", "both", "--protocol-phase", "aggressive"]
    amount = ["--runs", str(RUNS), "--runs-per-type", "3", "--seed", str(seed), "--timeout", "10"]
    quiet = ["--no-network", "--no-corpus", "--log-level", "ERROR", "--output-dir", "fuzzed"]
    program = os.path.join(os.path.dirname(python_party("fuzzer")), "mcp-fuzzer")
    done = subprocess.run(
        [program, *breadth, *amount, *quiet, *door],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    return done.returncode


def _report(door: str, ended: int, exchanges: list[Exchange], odd: list[str]) -> Report:
    schemas = {each["name"]: each["inputSchema"] for each in tool_definitions()}
    called = {(each.request.get("params") or {}).get("name") for each in exchanges}
    methods = {each.request.get("method") for each in exchanges}
    findings: dict[str, list[str]] = {
        "ran to its end": [] if ended in (0, 1) else [f"exit {ended}"],
        "no transport anomaly": odd,
        "every request is answered": unanswered(exchanges),
        "no crash": crashes(exchanges),
        "no reflected input": reflections(exchanges),
        "no accepted input that a schema rejects": wrongly_accepted(exchanges, schemas, _protocol_schema()),
        **{f"fuzzed {name}": [] if name in called else ["never called"] for name in schemas},
        **{f"fuzzed {name}": [] if name in methods else ["never sent"] for name in ("initialize", "ping")},
    }
    checks = [
        Check(name=name, status="failed" if found else "passed", detail="; ".join(found[:5]))
        for name, found in findings.items()
    ]
    return Report(party=PARTY, version=_version(), target=door, checks=judged(checks, {}))


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.readlines()


def _protocol_schema() -> dict[str, Any]:
    script = "import mcp_fuzzer, os; print(os.path.dirname(mcp_fuzzer.__file__))"
    shown = _from_party(script)
    path = os.path.join(shown, "schemas", "mcp-spec", "schema", REVISION, "schema.json")
    with open(path, encoding="utf-8") as file:
        schema: dict[str, Any] = json.load(file)
    return schema


def _version() -> str:
    return _from_party("import importlib.metadata; print(importlib.metadata.version('mcp-fuzzer'))")


def _from_party(script: str) -> str:
    command = [python_party("fuzzer"), "-c", script]
    shown = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    return shown.stdout.strip()
