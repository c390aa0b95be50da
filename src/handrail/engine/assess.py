"""Is what an agent reports enough? Every reason why not, found in one pass. Pure.

The mode plays no part here: `reasons.consequence` decides afterwards what the reasons do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from handrail.engine.artifact_kinds import full_kind
from handrail.engine.checks import MOST_ISSUES, Check
from handrail.engine.events import Artifact, CapabilityObserved, CapabilityProvenance, DivergenceRecorded
from handrail.engine.judged import Judged, Place, judged_report, unchecked
from handrail.engine.note_rules import broken_rules
from handrail.engine.reasons import CapabilityPointer, Issue, Reason, WorkflowStep, fitting
from handrail.engine.reported import (
    CAPABILITY_OBSERVATION,
    GAP,
    VERIFICATION_REPORT,
    WORKFLOW_DIVERGENCE,
    Divergence,
    Observation,
    ReportedGap,
    ReportedShape,
    read_as,
)
from handrail.engine.requirements import INVALID, MISSING, SHOWN_ISSUES, findings_of
from handrail.workflows.compiled import Step
from handrail.workflows.conditions import Facts

_R = TypeVar("_R", bound=ReportedShape)

NOTES = "/notesMarkdown"
NO_NOTES = "This step needs notes; none came."
FACTS = frozenset({GAP, CAPABILITY_OBSERVATION, WORKFLOW_DIVERGENCE})
"""Kinds that tell something about the run itself, whichever call brings them."""
FACTS_AFTER_THE_END = FACTS | {VERIFICATION_REPORT}
"""No step is pending any more, so a verification is no unfinished work."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is worth."""

    reasons: tuple[Reason, ...] = ()
    checks: tuple[Check, ...] = ()
    issues: tuple[Issue, ...] = ()
    """Every fault, by contract and place."""
    artifacts: tuple[Artifact, ...] = ()
    """What is recorded when the run moves on: ordered by digest, each once."""
    brought: tuple[Artifact, ...] = ()
    """Of these, those that this very call brought."""
    observed: tuple[CapabilityObserved, ...] = ()
    divergences: tuple[DivergenceRecorded, ...] = ()
    gaps: tuple[ReportedGap, ...] = ()
    is_undecided: bool = False
    """The step had to decide about its loop and did not."""


def assess(
    place: Place,
    facts: Facts,
    notes: str,
    brought: Iterable[dict[str, Any]],
    kept: Iterable[dict[str, Any]] = (),
) -> Verdict:
    """Judge a report. `facts` hold with the report's own context applied.

    `kept` is what blocked attempts right before brought.
    """
    judged = judged_report(place, brought, kept)
    found = findings_of(place, facts, judged)
    told = _told(place, judged)
    note_reasons, note_checks, note_issues = _notes(place.step, notes)
    return msgspec.structs.replace(
        told,
        reasons=(*found.reasons, *note_reasons, *told.reasons),
        checks=(*found.checks, *note_checks),
        issues=(*note_issues, *told.issues),
        is_undecided=found.is_undecided,
    )


def assess_progress(place: Place, brought: Iterable[dict[str, Any]]) -> Verdict:
    """Judge what is saved before a step is done: facts count at once, the rest is only kept."""
    kinds = FACTS if place.leaf_id else FACTS_AFTER_THE_END
    facts: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for body in brought:
        (facts if full_kind(str(body["kind"])) in kinds else others).append(body)
    counted = judged_report(place, facts)
    judged = sorted([*counted, *unchecked(others)], key=lambda found: found.artifact.digest)
    unasked = msgspec.structs.replace(place, step=None)
    told = _told(place, judged)
    return msgspec.structs.replace(told, checks=findings_of(unasked, Facts(), counted).checks)


def _told(place: Place, judged: list[Judged]) -> Verdict:
    """What a report says about the run itself, whatever was asked for; only what is well made says it."""
    good = tuple(found.artifact for found in judged if found.is_good)
    observed = _observed(place.step, good)
    return Verdict(
        reasons=tuple(_capability_reasons(place, observed)),
        issues=tuple(issue for found in judged for issue in found.issues),
        artifacts=tuple(_recorded(found) for found in judged),
        brought=tuple(_recorded(found) for found in judged if found.is_brought),
        observed=observed,
        divergences=tuple(
            DivergenceRecorded(
                reason=told.reason,
                summary=fitting(told.summary),
                related_step_id=told.related_step_id or place.leaf_id,
            )
            for told in _all_of(good, WORKFLOW_DIVERGENCE, Divergence)
        ),
        gaps=tuple(_all_of(good, GAP, ReportedGap)),
    )


def _recorded(found: Judged) -> Artifact:
    """As the log keeps it: what does not fit is no output, and says so."""
    return msgspec.structs.replace(found.artifact, is_refused=True) if found.issues else found.artifact


def _notes(step: Step | None, notes: str) -> tuple[list[Reason], list[Check], list[Issue]]:
    """The notes against the rules of the step."""
    if step is None or not (step.rules or step.notes_required):
        return [], [], []
    lacking = [NO_NOTES] if step.notes_required and not notes.strip() else []
    said = lacking + broken_rules(step.rules, notes)
    if not said:
        return [], [Check(result="valid")], []
    reason = Reason(
        name=INVALID if notes else MISSING,
        pointer=WorkflowStep(step_id=step.id),
        message=fitting("The notes are not enough yet: " + "; ".join(said[:SHOWN_ISSUES])),
        fix="Write output.notesMarkdown so that every rule holds and make the call in nextCall again.",
    )
    check = Check(result="invalid" if notes else "missing", issues=tuple(said[:MOST_ISSUES]))
    return [reason], [check], [Issue(pointer=NOTES, message=fitting(message)) for message in said]


def _observed(step: Step | None, artifacts: tuple[Artifact, ...]) -> tuple[CapabilityObserved, ...]:
    """What the agent saw of its own abilities; trying it in a probe step is strong, a claim stays a claim."""
    return tuple(
        CapabilityObserved(
            capability=seen.capability,
            status=seen.status,
            provenance=_provenance(step, seen),
            summary=fitting(seen.summary),
        )
        for seen in _all_of(artifacts, CAPABILITY_OBSERVATION, Observation)
    )


def _provenance(step: Step | None, seen: Observation) -> CapabilityProvenance:
    is_tried = seen.provenance != "manual_claim"
    is_probe = step is not None and seen.capability == step.capability
    return "probe_step" if is_tried and is_probe else seen.provenance


def _capability_reasons(place: Place, observed: tuple[CapabilityObserved, ...]) -> list[Reason]:
    """A required capability must not be found missing, at whichever step; a claim proves neither way.

    Its probe must end in `available`, and by trying it.
    """
    reasons = []
    for seen in observed:
        if place.workflow.capabilities.get(seen.capability) != "required":
            continue
        is_probe = place.step is not None and place.step.capability == seen.capability
        is_claim = seen.provenance == "manual_claim"
        if seen.status == "unavailable" and not is_claim:
            reasons.append(_unavailable(seen))
        elif seen.status == "unavailable" or (is_probe and (seen.status == "unknown" or is_claim)):
            reasons.append(_unknown(seen))
    return list({reason.pointer: reason for reason in reasons}.values())


def _unknown(seen: CapabilityObserved) -> Reason:
    return Reason(
        name="capability_missing:required_capability_unknown",
        pointer=CapabilityPointer(capability=seen.capability),
        message=f"Whether {seen.capability} works is still unknown, and this workflow needs it.",
        fix="Try it once and report available or unavailable, with provenance probe_step.",
        capability=seen.capability,
    )


def _unavailable(seen: CapabilityObserved) -> Reason:
    return Reason(
        name="capability_missing:required_capability_unavailable",
        pointer=CapabilityPointer(capability=seen.capability),
        message=f"This workflow needs {seen.capability}, and it is not available here.",
        fix="Ask the user to enable it. Then make the call in nextCall, try it, and send what you see in the "
        "observation that its reply frames.",
        is_retryable=False,
        capability=seen.capability,
    )


def _all_of(artifacts: tuple[Artifact, ...], kind: str, shape: type[_R]) -> list[_R]:
    """The artifacts of a kind in its shape."""
    read = (read_as(shape, artifact.body) for artifact in artifacts if artifact.kind == kind)
    return [told for told in read if told is not None]
