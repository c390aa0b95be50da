"""How a run ends that did not verify what it did: not as plain complete. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.contract.canonical import digest
from handrail.engine.events import Artifact, GapRecorded
from handrail.engine.reported import VERIFICATION_REPORT
from handrail.workflows.conditions import Facts

UNVERIFIED = "verification"
"""How the id of such a gap ends, so that a later verification finds it."""
PASSED = "passed"


def unverified_gaps(facts: Facts, artifacts: Iterable[Artifact]) -> list[GapRecorded]:
    """The gap of a run that ends here although its last verification did not pass.

    `facts` hold with the whole last report applied, whose `artifacts` are looked at one by one: where it
    brings several verifications, each must have passed.
    """
    own = [artifact.body for artifact in artifacts if _is_verification(artifact)]
    last = facts.artifacts.get(VERIFICATION_REPORT)
    reports = own or ([dict(last)] if last is not None else [])
    failing = [report for report in reports if report.get("verdict") != PASSED]
    if not failing:
        return []
    verdict = "failed" if any(report.get("verdict") == "failed" for report in failing) else "incomplete"
    return [
        GapRecorded(
            gap_id=UNVERIFIED,
            severity="critical" if verdict == "failed" else "warning",
            reason="reported",
            summary=f"The run ends although its last verification report says {verdict}.",
            evidence_refs=tuple(digest(report) for report in failing),
        )
    ]


def settling_gaps(gaps: Iterable[GapRecorded], artifacts: Iterable[Artifact]) -> list[GapRecorded]:
    """What a verification that passed after the end settles, of the gaps on its branch."""
    reports = [artifact for artifact in artifacts if _is_verification(artifact)]
    if not reports or any(report.body.get("verdict") != PASSED for report in reports):
        return []
    told = list(gaps)
    settled = {gap.resolves_gap_id for gap in told}
    return [
        GapRecorded(
            gap_id="",
            severity="info",
            reason="reported",
            summary="A later verification passed.",
            resolves_gap_id=gap.gap_id,
            evidence_refs=tuple(report.digest for report in reports),
        )
        for gap in told
        if is_of_ending(gap) and gap.gap_id not in settled
    ]


def is_of_ending(gap: GapRecorded) -> bool:
    """Whether it says how its run ended."""
    return gap.gap_id.endswith(f"_{UNVERIFIED}")


def _is_verification(artifact: Artifact) -> bool:
    """Only what was found valid counts."""
    return artifact.kind == VERIFICATION_REPORT and bool(artifact.contract_ref)
