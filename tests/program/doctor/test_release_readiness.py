"""The release level is computed from a record about exactly these bytes; nobody types it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.program.doctor.program_checks import release_readiness
from tests.cases import every_case
from tests.conftest import GivenInstallation

RECORD = {
    "v": 1,
    "digest": "sha256:packed",
    "fcc_status": "verified",
    "mock_upstream_status": "verified",
    "live_smoke_status": "verified",
}


def level(record: dict[str, Any] | bytes | None) -> tuple[str, str, str, str]:
    installation = GivenInstallation()
    installation.record = json.dumps(record).encode() if isinstance(record, dict) else record
    found = release_readiness(installation)
    return found.level, found.fcc_status, found.mock_upstream_status, found.live_smoke_status


@pytest.mark.promise("cli.readiness")
@every_case(
    ("changes", "expected"),
    [
        ({}, ("stable", "verified", "verified", "verified")),
        ({"live_smoke_status": "missing"}, ("beta", "verified", "verified", "missing")),
        ({"live_smoke_status": "unknown"}, ("beta", "verified", "verified", "unknown")),
        ({"mock_upstream_status": "missing"}, ("unpublishable", "verified", "missing", "verified")),
        ({"mock_upstream_status": "not_applicable"}, ("stable", "verified", "not_applicable", "verified")),
        ({"fcc_status": "missing", "gaps": 3}, ("unpublishable", "missing", "verified", "verified")),
    ],
)
def test_the_level_is_what_the_evidence_allows(changes: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert level(RECORD | changes) == expected


@pytest.mark.promise("cli.readiness")
@every_case(
    "record",
    [
        None,
        b"",
        b"{}",
        b"\xff",
        RECORD | {"digest": "sha256:another"},
        RECORD | {"v": 2},
        RECORD | {"level": "stable"},
        RECORD | {"fcc_status": "surely"},
    ],
)
def test_without_a_record_of_these_bytes_everything_is_unknown(record: dict[str, Any] | bytes | None) -> None:
    assert level(record) == ("unpublishable", "unknown", "unknown", "unknown")


def test_the_reason_says_what_is_missing() -> None:
    installation = GivenInstallation()
    installation.record = json.dumps(RECORD | {"fcc_status": "missing", "gaps": 3}).encode()

    assert release_readiness(installation).reason == "3 behaviours of the public contract have no test."
