"""How a run ends that did not verify what it did, and what settles a gap without a word about it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from handrail.contract.canonical import digest
from handrail.engine.events import Artifact, CapabilityObserved, GapRecorded
from handrail.engine.reported import VERIFICATION_REPORT, contradictions
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
    failing = [report for report in reports if not _is_passed(report)]
    if not failing:
        return []
    verdict = "incomplete" if all(report.get("verdict") == "incomplete" for report in failing) else "failed"
    return [
        GapRecorded(
            gap_id=UNVERIFIED,
            severity="critical" if verdict == "failed" else "warning",
            reason="reported",
            summary=f"The run ends although its last verification report says {verdict}.",
            evidence_refs=tuple(digest(report) for report in failing),
        )
    ]


def settled_by_verification(gaps: Iterable[GapRecorded], artifacts: Iterable[Artifact]) -> list[GapRecorded]:
    """What a verification that passed after the end settles, of the gaps on its branch."""
    reports = [artifact for artifact in artifacts if _is_verification(artifact)]
    if not reports or not all(_is_passed(report.body) for report in reports):
        return []
    evidence = tuple(report.digest for report in reports)
    return _settling(gaps, {UNVERIFIED: "A later verification passed."}, evidence)


def settled_by_observation(
    gaps: Callable[[], Iterable[GapRecorded]], observed: Iterable[CapabilityObserved]
) -> list[GapRecorded]:
    """What seeing that a capability works settles, of the gaps on its branch; a claim settles none."""
    works: dict[str, str] = {
        seen.capability: f"{seen.capability} was tried and works."
        for seen in observed
        if seen.status == "available" and seen.provenance != "manual_claim"
    }
    return _settling(gaps(), works) if works else []


def _settling(
    gaps: Iterable[GapRecorded], by_name: Mapping[str, str], evidence: tuple[str, ...] = ()
) -> list[GapRecorded]:
    """Open gaps whose id ends in one of these names, each settled by link with the words beside it."""
    told = list(gaps)
    settled = {gap.resolves_gap_id for gap in told}
    return [
        GapRecorded(
            gap_id="",
            severity="info",
            reason="reported",
            summary=summary,
            resolves_gap_id=gap.gap_id,
            evidence_refs=evidence,
        )
        for gap in told
        for name, summary in by_name.items()
        if gap.gap_id.endswith(f"_{name}") and gap.gap_id not in settled
    ]


def is_of_ending(gap: GapRecorded) -> bool:
    """Whether it says how its run ended."""
    return gap.gap_id.endswith(f"_{UNVERIFIED}")


def _is_verification(artifact: Artifact) -> bool:
    """Only what was found valid counts."""
    return artifact.kind == VERIFICATION_REPORT and bool(artifact.contract_ref)


def _is_passed(report: dict[str, Any]) -> bool:
    """Whether a report says so and nothing in it says otherwise; an older log may hold one that does."""
    return report.get("verdict") == PASSED and not contradictions(VERIFICATION_REPORT, report)
