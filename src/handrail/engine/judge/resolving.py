"""The gap of a run that ends unverified, and the outputs, observations and evidence that resolve a gap.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from handrail.contract.json.canonical import digest
from handrail.engine.artifact_shapes import VERIFICATION_REPORT
from handrail.engine.events import Artifact, CapabilityObserved, GapRecorded
from handrail.engine.reasons import BLOCKER_CODES
from handrail.workflows.conditions import Facts

EVIDENCE = "evidence"
"""Start of the last part of a gap's id if evidence opened it, in earlier versions."""
UNVERIFIED = "verification"
"""End of the id of a gap of an unverified end, so that a later verification finds it."""
PASSED = "passed"


def unverified_gaps(facts: Facts, artifacts: Iterable[Artifact]) -> list[GapRecorded]:
    """Return the gap of a run that ends here although its last verification did not pass.

    `facts` have the whole last report applied. Each of its `artifacts` is checked: if it has several
    verifications, each must have passed.
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


def resolve_by_verification(gaps: Iterable[GapRecorded], artifacts: Iterable[Artifact]) -> list[GapRecorded]:
    """Return resolutions of gaps on the branch that a verification resolves if it passed after the end."""
    reports = [artifact for artifact in artifacts if _is_verification(artifact)]
    if not reports or not all(_is_passed(report.body) for report in reports):
        return []
    evidence = tuple(report.digest for report in reports)
    return _resolve_gaps(gaps, {UNVERIFIED: "A later verification passed."}, evidence)


def resolve_by_observation(
    gaps: Callable[[], Iterable[GapRecorded]], observed: Iterable[CapabilityObserved]
) -> list[GapRecorded]:
    """Return resolutions of the gaps on the branch that an observed capability resolves; a statement
    resolves none.
    """
    works: dict[str, str] = {
        seen.capability: f"{seen.capability} was tried and works."
        for seen in observed
        if seen.status == "available" and seen.provenance != "manual_claim"
    }
    return _resolve_gaps(gaps(), works) if works else []


def resolve_by_output(
    gaps: Callable[[], Iterable[GapRecorded]], artifacts: Iterable[Artifact]
) -> list[GapRecorded]:
    """Return resolutions of the gaps on the branch that are about missing outputs which were now sent."""
    came = {one.kind: one.digest for one in artifacts if one.contract_ref}
    unresolved = list_unresolved(gaps()) if came else []
    waits = {gap.gap_id: gap.waits_for for gap in unresolved if gap.waits_for is not None}
    due = {
        gap: held.values["artifact"]
        for gap, held in waits.items()
        if (held.kind, held.state) == ("output", "missing")
    }
    return [resolve(gap, f"{kind} came.", (came[kind],)) for gap, kind in due.items() if kind in came]


def list_unresolved(gaps: Iterable[GapRecorded]) -> list[GapRecorded]:
    """Return the gaps of a branch that no other gap among them resolves."""
    every = list(gaps)
    resolved = {gap.resolves_gap_id for gap in every}
    return [gap for gap in every if gap.gap_id not in resolved]


def resolve(gap_id: str, summary: str, evidence: tuple[str, ...]) -> GapRecorded:
    return GapRecorded(
        gap_id="",
        severity="info",
        reason="reported",
        summary=summary,
        resolves_gap_id=gap_id,
        evidence_refs=evidence,
    )


def _resolve_gaps(
    gaps: Iterable[GapRecorded], by_name: Mapping[str, str], evidence: tuple[str, ...] = ()
) -> list[GapRecorded]:
    """Return resolutions of the open gaps whose id ends in one of these names, with the summary of that
    name.
    """
    return [
        resolve(gap.gap_id, summary, evidence)
        for gap in list_unresolved(gaps)
        for name, summary in by_name.items()
        if gap.gap_id.endswith(f"_{name}")
    ]


def is_evidence_gap(gap: GapRecorded) -> bool:
    """Whether only evidence or a person resolves a gap: its reason would have blocked a run, or it is about
    the end.
    """
    is_judged = gap.reason in BLOCKER_CODES or gap.gap_id.rpartition("_")[2].startswith(EVIDENCE)
    return is_judged or is_ending_gap(gap)


def is_ending_gap(gap: GapRecorded) -> bool:
    """Whether a gap says how its run ended."""
    return gap.gap_id.endswith(f"_{UNVERIFIED}")


def _is_verification(artifact: Artifact) -> bool:
    """Whether an artifact is a valid verification report."""
    return artifact.kind == VERIFICATION_REPORT and bool(artifact.contract_ref)


def _is_passed(report: dict[str, Any]) -> bool:
    return bool(report.get("verdict") == PASSED)


def describe_resolution(gap: GapRecorded) -> str:
    """Return what an agent can do about an open gap."""
    if is_ending_gap(gap):  # only a verification resolves it
        return "a checkpoint with a verification report that passed resolves it."
    if is_evidence_gap(gap):
        by_hand = f"or a person resolves it (`handrail session resolve {gap.gap_id} --note TEXT`)."
        waits = gap.waits_for
        if waits is not None and waits.kind == "proof":
            return f"`{waits.values.get('command', 'handrail prove')}` {by_hand}"
        if waits is not None and (waits.kind, waits.state) == ("output", "missing"):
            return f"a later {waits.values['artifact']} {by_hand}"
        return f"only evidence {by_hand}"
    return (
        'once it is resolved, report {"kind":"wr.gap","severity":"info","summary":"…",'
        f'"resolvesGapId":"{gap.gap_id}"}}.'
    )
