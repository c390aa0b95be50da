"""What strangers found is compared with the record: nothing passes by not being executed."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from tests.referees.equipment import HERE
from tests.referees.known import KNOWN
from tests.referees.report import Check, Report, read_record


def report(*checks: Check, version: str = "1") -> Report:
    return Report(party="suite", version=version, target="stdio", checks=checks)


def test_record_holds_no_failure_but_the_known() -> None:
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
def test_parties_for_python_are_pinned_and_name_no_host(name: str) -> None:
    text = read("requirements", name)

    requirements = text.replace("\\\n", " ").splitlines()

    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:", line) for line in requirements)
    assert "://" not in text
