"""What strangers found is compared with the record: nothing passes by not being executed."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from tests.cases import every_case
from tests.referees.equipment import HERE
from tests.referees.known import KNOWN
from tests.referees.report import Check, Report, Status, as_record, differences, judged, read_record, table


def checked(name: str, status: Status, detail: str = "") -> Check:
    return Check(name=name, status=status, detail=detail)


def report(*checks: Check, version: str = "1") -> Report:
    return Report(party="suite", version=version, target="stdio", checks=checks)


JUDGED: list[tuple[str, list[Check], dict[str, str], dict[str, Status]]] = [
    ("a pass", [checked("a", "passed")], {}, {"a": "passed"}),
    ("a failure", [checked("a", "failed")], {}, {"a": "failed"}),
    ("the worst of two", [checked("a", "passed"), checked("a", "failed")], {}, {"a": "failed"}),
    ("one that applied once", [checked("a", "skipped"), checked("a", "passed")], {}, {"a": "passed"}),
    ("a known failure", [checked("a", "failed")], {"a": "why"}, {"a": "known"}),
    ("a known failure that passes", [checked("a", "passed")], {"a": "why"}, {"a": "failed"}),
    ("a known failure that was skipped", [checked("a", "skipped")], {"a": "why"}, {"a": "failed"}),
    ("a known failure that never ran", [], {"a": "why"}, {"a": "failed"}),
]


@every_case(("checks", "known", "expected"), [case[1:] for case in JUDGED])
def test_known_failures_are_known_and_stale_ones_fail(
    checks: list[Check], known: dict[str, str], expected: dict[str, Status]
) -> None:
    assert {check.name: check.status for check in judged(checks, known)} == expected


DIFFERENCES: list[tuple[str, Report, list[str]]] = [
    ("the same", report(checked("a", "passed"), checked("b", "known")), []),
    ("one missing", report(checked("a", "passed")), ["suite, stdio: b was not executed"]),
    ("none at all", report(), ["suite, stdio: a was not executed", "suite, stdio: b was not executed"]),
    (
        "one more",
        report(checked("a", "passed"), checked("b", "known"), checked("c", "passed")),
        ["suite, stdio: c is new"],
    ),
    (
        "another verdict",
        report(checked("a", "skipped"), checked("b", "known")),
        ["suite, stdio: a is skipped, the record has passed"],
    ),
    (
        "another version",
        report(checked("a", "passed"), checked("b", "known"), version="2"),
        ["suite, stdio: version 2, the record has 1"],
    ),
]


@every_case(("now", "expected"), [case[1:] for case in DIFFERENCES])
def test_every_difference_from_the_record_is_told(now: Report, expected: list[str]) -> None:
    record = as_record([report(checked("a", "passed"), checked("b", "known"))])

    assert differences([now], record) == expected


def test_a_report_that_was_never_recorded_is_told() -> None:
    assert differences([report()], {}) == ["suite, stdio: not in the record"]


def test_the_table_counts_and_names_who_is_absent() -> None:
    lines = table([report(checked("a", "passed"), checked("b", "skipped"))], [])

    assert [line.split() for line in lines] == [
        ["party", "version", "target", "executed", "passed", "known", "skipped", "failed"],
        ["suite", "1", "stdio", "2", "1", "0", "1", "0"],
    ]


def test_the_record_holds_no_failure_and_every_known_one_as_known() -> None:
    record = read_record()
    statuses = {status for entry in record.values() for status in entry["checks"].values()}
    recorded = {
        entry["target"]: {name for name, status in entry["checks"].items() if status == "known"}
        for entry in record.values()
        if entry["party"] == "official suite"
    }

    assert statuses == {"passed", "known", "skipped"}
    assert {target: names for target, names in recorded.items() if names} == {
        target: set(reasons) for target, reasons in KNOWN.items()
    }


def test_every_party_is_in_the_record_on_every_door() -> None:
    seen: dict[str, set[str]] = {}
    for entry in read_record().values():
        seen.setdefault(entry["party"], set()).add(entry["target"])
    suite = seen.pop("official suite")

    assert suite == {
        f"{target}, {revision}"
        for target in ("product", "fixtures")
        for revision in ("2025-11-25", "2026-07-28")
    }
    assert set(seen) == {
        "Inspector CLI",
        "Python client 1.x",
        "Python client 2.x",
        "TypeScript client 1.x",
        "TypeScript client 2.x",
        "fuzzer",
        "two clients at once",
    }
    assert all(doors == {"stdio", "HTTP"} for doors in seen.values())


def read(*path: str) -> str:
    with open(os.path.join(HERE, *path), encoding="utf-8") as file:
        return file.read()


def test_parties_from_npm_are_pinned_by_digest_and_name_no_host() -> None:
    packages: dict[str, Any] = json.loads(read("package-lock.json"))["packages"]
    wanted = json.loads(read("package.json"))["dependencies"]

    unpinned = [name for name, entry in packages.items() if name and "integrity" not in entry]

    assert unpinned == []
    assert not any("resolved" in entry for entry in packages.values())
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


@pytest.mark.parametrize("name", ["fuzzer.txt", "mcp-1.txt", "node.txt"])
def test_parties_for_python_are_pinned_by_digest_and_name_no_host(name: str) -> None:
    text = read("requirements", name)

    requirements = text.replace("\\\n", " ").splitlines()

    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:", line) for line in requirements)
    assert "://" not in text
