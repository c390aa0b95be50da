"""How far this very build may be trusted, computed from what CI recorded about it. Nobody types the level.

The record names the digest of the files it is about: change one byte of a packed file and it counts no more.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.payload import Answer
from handrail.ports import Installation

RECORD_NAME = "_readiness.json"

Status: TypeAlias = Literal["verified", "missing", "not_applicable", "unknown"]
Level: TypeAlias = Literal["stable", "beta", "unpublishable"]

REQUIRED_EVIDENCE = (
    "functional_contract_coverage_100",
    "mock_upstream_contract_tests",
    "recorded_live_smoke_for_stable",
)
_SETTLED = ("verified", "not_applicable")


class ReadinessRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `tools/readiness.py` wrote after the tests of a build."""

    v: Literal[1]
    digest: str
    fcc_status: Status
    mock_upstream_status: Status
    live_smoke_status: Status
    gaps: int = 0
    """How many behaviours of the public contract no test showed."""


class ReleaseReadiness(Answer, frozen=True, kw_only=True):
    """The release gate as `reference` and `doctor` show it (CLI sections 11 and 13)."""

    level: Level
    fcc_required: bool
    fcc_status: Status
    mock_upstream_required: bool
    mock_upstream_status: Status
    live_smoke_required_for_stable: bool
    live_smoke_status: Status
    reason: str
    required_evidence: list[str]


def release_readiness(installation: Installation) -> ReleaseReadiness:
    """The level of this build, from its record and its own bytes."""
    content = installation.packed(RECORD_NAME)
    if content is None:
        return _unknown("This build carries no record of its tests; only a release that CI made has one.")
    try:
        record = msgspec.json.decode(content, type=ReadinessRecord)
    except (msgspec.MsgspecError, ValueError):
        return _unknown("The record of this build's tests cannot be read; install the release again.")
    if record.digest != installation.digest():
        return _unknown("A packed file differs from the one that was tested; install the release again.")
    return judged(record)


def judged(record: ReadinessRecord) -> ReleaseReadiness:
    """The level that the evidence allows; a missing smoke run alone makes it a beta."""
    level: Level
    if record.fcc_status not in _SETTLED:
        level, reason = "unpublishable", f"{record.gaps} behaviours of the public contract have no test."
    elif record.mock_upstream_status not in _SETTLED:
        level, reason = "unpublishable", "The fakes of what Handrail depends on were not tested as a whole."
    elif record.live_smoke_status not in _SETTLED:
        level, reason = "beta", "Stable requires a recorded smoke run of the release candidate."
    else:
        level, reason = "stable", "Every required piece of evidence is recorded for exactly these files."
    return _readiness(
        level, (record.fcc_status, record.mock_upstream_status, record.live_smoke_status), reason
    )


def _unknown(reason: str) -> ReleaseReadiness:
    return _readiness("unpublishable", ("unknown", "unknown", "unknown"), reason)


def _readiness(level: Level, statuses: tuple[Status, Status, Status], reason: str) -> ReleaseReadiness:
    fcc, mock_upstream, live_smoke = statuses
    return ReleaseReadiness(
        level=level,
        fcc_required=True,
        fcc_status=fcc,
        mock_upstream_required=True,
        mock_upstream_status=mock_upstream,
        live_smoke_required_for_stable=True,
        live_smoke_status=live_smoke,
        reason=reason,
        required_evidence=list(REQUIRED_EVIDENCE),
    )
