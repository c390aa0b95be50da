"""What a party checked, what is known to fail and why, and how both are compared with the record."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "executed.json")
Status: TypeAlias = Literal["passed", "failed", "known", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a party looked at. `detail` is for the reader of a failure and is never recorded."""

    name: str
    status: Status
    detail: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one party did to one target."""

    party: str
    version: str
    target: str
    checks: tuple[Check, ...]

    @property
    def title(self) -> str:
        return f"{self.party}, {self.target}"


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """A party that could not come."""

    party: str
    reason: str


def judged(checks: Sequence[Check], known: dict[str, str]) -> tuple[Check, ...]:
    """Checks by name, each once, the worst status of a repeated name; known failures as such.

    A known failure that passes is a failure: its entry is stale. So is one that was not executed.
    """
    order = ("failed", "passed", "skipped")
    worst: dict[str, Check] = {}
    for check in checks:
        held = worst.get(check.name)
        if held is None or order.index(check.status) < order.index(held.status):
            worst[check.name] = check
    for name, reason in known.items():
        found = worst.get(name)
        if found is not None and found.status == "failed":
            worst[name] = Check(name=name, status="known", detail=reason)
        else:
            stale = "listed as known to fail, but it does not; remove it from tests/referees/known.py"
            worst[name] = Check(name=name, status="failed", detail=stale)
    return tuple(worst[name] for name in sorted(worst))


def count(report: Report, status: Status) -> int:
    return sum(check.status == status for check in report.checks)


def as_record(reports: Sequence[Report]) -> dict[str, Any]:
    """What is kept in the repository: versions, and every executed check with its status."""
    return {
        report.title: {
            "party": report.party,
            "target": report.target,
            "version": report.version,
            "checks": {check.name: check.status for check in report.checks},
        }
        for report in sorted(reports, key=lambda each: each.title)
    }


def read_record() -> dict[str, Any]:
    with open(RECORD, encoding="utf-8") as file:
        record: dict[str, Any] = json.load(file)
    return record


def write_record(record: dict[str, Any]) -> None:
    with open(RECORD, "w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(record, indent=1, sort_keys=True) + "\n")


def differences(reports: Sequence[Report], record: dict[str, Any]) -> list[str]:
    """An exit status of 0 proves nothing when nothing was executed, so the lists are compared."""
    problems = []
    for title, entry in as_record(reports).items():
        held = record.get(title)
        if held is None:
            problems.append(f"{title}: not in the record")
            continue
        if held["version"] != entry["version"]:
            problems.append(f"{title}: version {entry['version']}, the record has {held['version']}")
        now, before = entry["checks"], held["checks"]
        problems += [f"{title}: {name} was not executed" for name in before if name not in now]
        problems += [f"{title}: {name} is new" for name in now if name not in before]
        problems += [
            f"{title}: {name} is {now[name]}, the record has {before[name]}"
            for name in before
            if name in now and now[name] != before[name]
        ]
    return problems


def table(reports: Sequence[Report], absent: Sequence[Absent]) -> list[str]:
    """One line per report, for a terminal."""
    rows: list[tuple[str, ...]] = [
        ("party", "version", "target", "executed", "passed", "known", "skipped", "failed")
    ]
    rows += [
        (
            report.party,
            report.version,
            report.target,
            str(len(report.checks)),
            *(str(count(report, status)) for status in ("passed", "known", "skipped", "failed")),
        )
        for report in reports
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [line.rstrip() for line in lines] + [f"absent: {each.party}: {each.reason}" for each in absent]
