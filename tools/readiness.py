"""Turns the evidence of a test run into `packed/_readiness.json`: what was shown, for exactly these bytes.

    python tools/readiness.py EVIDENCE_DIR            say what is covered and what is missing
    python tools/readiness.py EVIDENCE_DIR --write    write the record into the package as well

Evidence is what `tests/conformance/recorder.py` appends, the reports of the same runs (`*.xml`), and
`live_smoke.json`, `{"status": "verified" | "missing" | "not_applicable"}`, which a smoke run leaves.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import ParseError

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

import msgspec  # noqa: E402 - the line above makes `tools` importable

from handrail.host.program.installation import LocalInstallation  # noqa: E402 - as above
from handrail.program.doctor.program_checks import (  # noqa: E402 - as above
    RECORD_NAME,
    ReadinessRecord,
    Status,
    judge_readiness,
)
from handrail.surfaces.cli.self_description.reference_data import cli_reference  # noqa: E402 - as above
from handrail.wiring import registry  # noqa: E402 - as above
from tools.test_report import outcomes_below, read_reports  # noqa: E402 - as above

RECORD_PATH = os.path.join(ROOT, "src", "handrail", "packed", RECORD_NAME)
LIVE_SMOKE = "live_smoke.json"
UPSTREAMS = {
    "a package index": ("tests/updates/", "tests/host/test_fetching.py"),
    "package managers": ("tests/updates/test_managers.py",),
    "files and commands of agent clients": ("tests/program/setup/",),
    "signed releases": ("tests/updates/test_verify.py", "tests/host/test_provenance.py"),
}
"""What Handrail depends on and the tests make for themselves, and where it is tried, failures included."""
BAD_ARGUMENTS = 2
CONFIRMATION_MISSING = 5
GATED = frozenset({"gated", "dangerous"})
REPLAYED = "already_used"
NEVER_REFUSES = frozenset({"hook"})
"""A hook never fails the client that called it: trouble is a line on stderr and exit 0."""
NEEDS_A_PERSON = frozenset(
    {"run answer", "session resolve", "session rename", "check approve", "login", "store adopt", "store move"}
)
"""They ask at a terminal of their own, which no recorded call has; their tests make one."""
NOT_APPLICABLE = frozenset(
    {
        ("update", "--verify"),
        ("receipt key", "--rotate"),
        ("receipt key", "--trust"),
        ("store copy", "--adopt"),
    }
)
"""The first needs a signed release and a manager: tests/updates/test_verify.py shows it with both. The others
need a person at a terminal: test_travelling_receipts.py and test_proven_history.py in tests/journeys/."""
ENDLESS = "--stream"
ENDED_FROM_OUTSIDE = frozenset({0, 8, 130})
"""How a stream ends that goes on until its time is over or a signal comes."""


def read_evidence(directory: str) -> list[dict[str, Any]]:
    """Every recorded line, sorted; a line that cannot be read is refused, because it may hide a gap."""
    found = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".json") and name != LIVE_SMOKE:
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                found += [json.loads(line) for line in file if line.strip()]
    return sorted(found, key=lambda line: json.dumps(line, sort_keys=True))


def gaps(commands: Sequence[dict[str, Any]], evidence: Iterable[dict[str, Any]]) -> list[str]:
    """Every behaviour of the public contract that no recorded call showed, and every code nobody declared."""
    seen = by_leaf([command["path"] for command in commands], evidence)
    alike: dict[str, list[dict[str, Any]]] = {}
    for command in commands:
        alike.setdefault(command.get("operation") or command["path"], []).extend(
            seen.get(command["path"], [])
        )
    found: list[str] = []
    for command in commands:
        calls, others = seen.get(command["path"], []), alike[command.get("operation") or command["path"]]
        found += [f"{command['path']}: {gap}" for gap in _command_gaps(command, calls, others)]
    return sorted(found)


def _command_gaps(
    command: dict[str, Any], calls: Sequence[dict[str, Any]], alike: Sequence[dict[str, Any]]
) -> list[str]:
    """`alike`: the calls of every command of the same operation, which has its codes and flags once."""
    if not calls:
        return ["never called"]
    if command["path"] in NEEDS_A_PERSON:
        return []
    good = [call for call in calls if call["exit"] == 0]
    missing = [] if good else ["no success"]
    is_refusing = command["path"] not in NEVER_REFUSES
    is_refused = any(call["exit"] == BAD_ARGUMENTS for call in calls)
    missing += ["no bad arguments"] if is_refusing and not is_refused else []
    if command["output"] != "document":
        return missing  # a protocol or a show: its own tests stand for the rest
    codes = {call["domain_code"] or call["code"] for call in calls}
    shown = {call["domain_code"] or call["code"] for call in alike}
    flags = taken_flags(alike)
    missing += [f"code {code} never produced" for code in command["errors"] if code not in shown]
    missing += [f"code {code} not declared" for code in sorted(codes - {""} - set(command["errors"]))]
    missing += [f"flag {flag} never taken" for flag in flags_of(command) if flag not in flags]
    missing += [] if any(call["format"] == "text" for call in good) else ["never as text"]
    missing += [] if any(call["envelope"] == "lafs" for call in good) else ["never in the LAFS dialect"]
    return missing + (_gate_gaps(calls) if command["effect"] in GATED else [])


def taken_flags(calls: Sequence[dict[str, Any]]) -> set[str]:
    """Flags of calls that did what they were asked for."""
    done = [
        call
        for call in calls
        if call["exit"] == 0 or (ENDLESS in call["flags"] and call["exit"] in ENDED_FROM_OUTSIDE)
    ]
    return {flag for call in done for flag in call["flags"]}


def flags_of(command: dict[str, Any]) -> list[str]:
    """Every flag that the command offers, its own first."""
    own = [param["flag"] for param in command["params"] if param["flag"]]
    return [
        flag for flag in (*own, *command["global_flags"]) if (command["path"], flag) not in NOT_APPLICABLE
    ]


def _gate_gaps(calls: Sequence[dict[str, Any]]) -> list[str]:
    """A write is shown bare, as a preview, confirmed, and refused when its token comes again."""
    steps = {
        "bare": any(call["exit"] == CONFIRMATION_MISSING for call in calls),
        "previewed": any(call["exit"] == 0 and "--dry-run" in call["flags"] for call in calls),
        "confirmed": any(call["exit"] == 0 and "--confirm" in call["flags"] for call in calls),
        "replayed": any(call["reason"] == REPLAYED for call in calls),
    }
    return [f"never {step}" for step, is_shown in steps.items() if not is_shown]


def by_leaf(paths: Sequence[str], evidence: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The calls of each command; the recorded words may continue with positions."""
    found: dict[str, list[dict[str, Any]]] = {}
    for call in evidence:
        words = f"{call['leaf']} "
        leaf = max((path for path in paths if words.startswith(f"{path} ")), key=len, default="")
        found.setdefault(leaf, []).append(call)
    return found


def record_of(directory: str, missing: Sequence[str], digest: str) -> ReadinessRecord:
    return ReadinessRecord(
        v=1,
        digest=digest,
        fcc_status="missing" if missing else "verified",
        mock_upstream_status=_mock_upstream(directory),
        live_smoke_status=_live_smoke(directory),
        gaps=len(missing),
    )


def _mock_upstream(directory: str) -> Status:
    """Verified when each of them was tried, and no try failed."""
    reports = [name for name in os.listdir(directory) if name.endswith(".xml")]
    try:
        results = read_reports(os.path.join(directory, name) for name in reports)
    except (OSError, ParseError):
        return "missing"
    tried = [outcomes_below(results, place) for places in UPSTREAMS.values() for place in places]
    is_shown = all("passed" in outcomes and "failed" not in outcomes for outcomes in tried)
    return "verified" if is_shown else "missing"


def _live_smoke(directory: str) -> Status:
    try:
        with open(os.path.join(directory, LIVE_SMOKE), encoding="utf-8") as file:
            status: Status = msgspec.convert(json.load(file)["status"], Status)
            return status
    except FileNotFoundError:
        return "missing"


def main(arguments: Sequence[str]) -> int:
    """The exit status: 2 for a wrong call. Gaps are no failure here: they lower the level."""
    given = [one for one in arguments if one != "--write"]
    if len(given) != 1 or not os.path.isdir(given[0]):
        print("Usage: python tools/readiness.py EVIDENCE_DIR [--write]", file=sys.stderr)
        return 2
    commands = cli_reference(registry())["commands"]
    evidence = read_evidence(given[0])
    missing = gaps(commands, evidence)
    record = record_of(given[0], missing, LocalInstallation("", {}).digest())
    for gap in missing:
        print(gap)
    readiness = judge_readiness(record)
    print(f"{len(evidence)} calls, {len(commands)} commands, {len(missing)} gaps: {readiness.level}.")
    if "--write" in arguments:
        with open(RECORD_PATH, "wb") as out:
            out.write(msgspec.json.encode(record) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
