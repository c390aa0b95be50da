"""The official suite, both revisions, against the product and against its fixtures on our adapter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from typing import Any

from tests.referees.equipment import node, node_modules
from tests.referees.judged_place import Place
from tests.referees.known import KNOWN
from tests.referees.report import Check, Report, Status, judged

PARTY = "official suite"
PACKAGE = "@modelcontextprotocol/conformance"
REVISIONS = ("2025-11-25", "2026-07-28")
LIMIT_SECONDS = 120
STATUSES: dict[str, Status] = {
    "SUCCESS": "passed",
    "FAILURE": "failed",
    "WARNING": "failed",
    "INFO": "skipped",
    "SKIPPED": "skipped",
}
"""A warning is a broken SHOULD, and counts; an INFO says that something does not apply."""
PRODUCT = frozenset(
    {
        "server-initialize",
        "server-session-lifecycle",
        "server-stateless",
        "ping",
        "tools-list",
        "prompts-list",
        "resources-list",
        "completion-complete",
        "sep-2164-resource-not-found",
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    }
)
"""The scenarios that need none of the suite's own tools, prompts and resources."""
EXTENSION = "tasks-"
"""An optional extension that is not offered: a run is not a task."""
WIRE_NOISE = frozenset({"outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"})
"""Transcript entries that the suite writes as checks."""


def visit(place: Place, address: str) -> list[Report]:
    targets = {"product": "/mcp", "fixtures": "/fixture"}
    return [
        _report(place, f"{target}, {revision}", address + path, revision)
        for target, path in targets.items()
        for revision in REVISIONS
    ]


def _report(place: Place, target: str, url: str, revision: str) -> Report:
    with tempfile.TemporaryDirectory(dir=place.folder) as folder:
        checks = _run(place, url, revision, folder)
    if target.startswith("product"):
        checks = [check for check in checks if check.name.split(": ")[0] in PRODUCT]
    return Report(
        party=PARTY, version=_version(), target=target, checks=judged(checks, KNOWN.get(target, {}))
    )


def _run(place: Place, url: str, revision: str, folder: str) -> list[Check]:
    program = os.path.join(node_modules(), PACKAGE, "dist", "index.js")
    command = [node(), program, "server", "--url", url, "--requirements", revision, "--output-dir", folder]
    subprocess.run(
        command,
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        check=False,  # its exit status says nothing about what was executed; the files do
        timeout=LIMIT_SECONDS,
    )
    return [check for name in sorted(os.listdir(folder)) for check in _read(folder, name)]


def _read(folder: str, name: str) -> list[Check]:
    found = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", name)
    assert found, f"the suite names its results differently now: {name}"
    scenario = found[1]
    with open(os.path.join(folder, name, "checks.json"), encoding="utf-8") as file:
        entries: list[dict[str, Any]] = json.load(file)
    return [_check(scenario, entry) for entry in entries if entry["id"] not in WIRE_NOISE]


def _check(scenario: str, entry: dict[str, Any]) -> Check:
    status = "skipped" if scenario.startswith(EXTENSION) else STATUSES[entry["status"]]
    detail = str(entry.get("errorMessage") or "")[:300]
    return Check(name=f"{scenario}: {entry['id']}", status=status, detail=detail)


def _version() -> str:
    with open(os.path.join(node_modules(), PACKAGE, "package.json"), encoding="utf-8") as file:
        return str(json.load(file)["version"])
