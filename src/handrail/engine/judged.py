"""An artifact and everything that is wrong with it: the one place where a report is checked. Pure."""

# ruff: noqa: PLC0415 - only an artifact is checked against a contract

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from handrail.contract.canonical import digest
from handrail.engine.artifact_kinds import Misnamed, contract_for, full_kind, misnamed
from handrail.engine.events import Artifact
from handrail.engine.gates import gate_of, misfits
from handrail.engine.inputs import is_no_answer
from handrail.engine.navigate import deciding_loop, open_loops
from handrail.engine.reasons import Issue, fitting
from handrail.engine.reported import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    GAP,
    LOOP_CONTROL,
    SHAPES,
    USER_INPUT,
    Judgement,
    LoopDecision,
    ReportedGap,
    contradictions,
    needed_members,
    read_as,
    trouble_with,
)
from handrail.engine.state import LoopFrame
from handrail.workflows.compiled import CompiledWorkflow, Step

ISSUE_BYTES = 300
MOST_GAPS_NAMED = 5

SUBJECTS = {LOOP_CONTROL: "loopId", CAPABILITY_OBSERVATION: "capability", ASSESSMENT: "assessmentId"}
"""The member that says what an artifact is about; two about one thing cannot differ in their verdict."""
VERDICTS = {LOOP_CONTROL: "decision", CAPABILITY_OBSERVATION: "status", ASSESSMENT: "dimensions"}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a report is judged."""

    workflow: CompiledWorkflow
    leaf_id: str = ""
    """What is pending; empty at a finished run."""
    step: Step | None = None
    """None at a choice, an action or a finished run: nothing is asked for there."""
    frames: tuple[LoopFrame, ...] = ()
    gaps: tuple[str, ...] | None = None
    """The gaps that were recorded on this branch; None where nobody knows them (a simulation)."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact, the contract it falls under, what it is about, and every fault of it."""

    artifact: Artifact
    """Its `contract_ref` is set when the whole contract was checked and nothing is wrong."""
    ref: str = ""
    about: str = ""
    issues: tuple[Issue, ...] = ()
    misnamed: Misnamed | None = None
    is_brought: bool = True
    """By this very call; otherwise an earlier, blocked attempt brought it."""

    @property
    def is_good(self) -> bool:
        return not self.issues and self.misnamed is None


def judged_report(
    place: Place, brought: Iterable[dict[str, Any]], kept: Iterable[dict[str, Any]] = ()
) -> list[Judged]:
    """The artifacts of a report, each once, by digest.

    Of what earlier attempts brought (`kept`), only what is good now is among them, and only where the
    report itself says nothing about the same thing.
    """
    own = _judge_all(place, brought)
    answered = {subject_of(place, found.artifact.body) for found in own}
    inherited = [
        msgspec.structs.replace(found, is_brought=False)
        for found in _with_contradictions(_judge_all(place, kept))
        if found.is_good and subject_of(place, found.artifact.body) not in answered
    ]
    return sorted(_with_contradictions([*own, *inherited]), key=lambda found: found.artifact.digest)


def subject_of(place: Place, body: dict[str, Any]) -> tuple[str, str]:
    """What an artifact is about: a later one about the same replaces it."""
    kind = full_kind(str(body.get("kind", "")))
    named = str(body.get(SUBJECTS[kind], "")) if kind in SUBJECTS else ""
    if kind == LOOP_CONTROL and not named and len(open_loops(place.workflow, place.frames)) == 1:
        return kind, deciding_loop(place.workflow, place.frames)
    return kind, named


def unchecked(bodies: Iterable[dict[str, Any]]) -> list[Judged]:
    """Artifacts that are only kept: progress, which nobody holds against a contract yet."""
    return [
        Judged(artifact=Artifact(kind=str(body["kind"]), digest=name, body=body))
        for name, body in _unique(bodies)
    ]


def _judge_all(place: Place, bodies: Iterable[dict[str, Any]]) -> list[Judged]:
    return [_judge(place, name, body) for name, body in _unique(bodies)]


def _unique(bodies: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Artifacts in the one order they are recorded in, each once, under the full name of their kind."""
    named = [body | {"kind": full_kind(str(body["kind"]))} for body in bodies]
    return sorted({digest(body): body for body in named}.items())


def _judge(place: Place, name: str, body: dict[str, Any]) -> Judged:
    kind = str(body["kind"])
    asked = place.step.contract if place.step is not None else ""
    held = contract_for(place.workflow, kind, asked)
    if held is None:
        artifact = Artifact(kind=kind, digest=name, body=body)
        return Judged(artifact=artifact, misnamed=misnamed(place.workflow, kind))
    issues = _violations(held.ref, held.contract.schema, body)
    is_whole = not issues
    if issues and kind in SHAPES and held.ref != asked:
        # Nobody asked for it here, so a fact that can be understood is taken; it counts for no contract.
        schema = held.contract.schema | {"required": list(needed_members(kind))}
        issues = _violations(held.ref, schema, body)
    issues = issues or _unfitting(place, held.ref, kind, body)
    accepted = held.ref if is_whole and not issues else ""
    return Judged(
        artifact=Artifact(kind=kind, digest=name, body=body, contract_ref=accepted),
        ref=held.ref,
        about=subject_of(place, body)[1],
        issues=tuple(issues),
    )


def _violations(ref: str, schema: dict[str, Any], body: dict[str, Any]) -> list[Issue]:
    from handrail.workflows.contract_check import violations

    return [
        Issue(contract_ref=ref, pointer=found.pointer or "/", message=fitting(found.message, ISSUE_BYTES))
        for found in violations(schema, body)
    ]


def _unfitting(place: Place, ref: str, kind: str, body: dict[str, Any]) -> list[Issue]:
    """What no schema can say: whether an artifact of the right form fits the place where it came."""
    trouble = trouble_with(kind, body)
    if trouble:
        return [Issue(contract_ref=ref, pointer="/", message=fitting(trouble, ISSUE_BYTES))]
    found: list[tuple[str, str]] = []
    if kind == LOOP_CONTROL:
        found = _wrong_loop(place, body)
    elif kind == GAP:
        found = _unknown_gap(place, body)
    elif kind == ASSESSMENT:
        judgement = read_as(Judgement, body)
        gate = gate_of(place.step, judgement.assessment_id) if judgement is not None else None
        found = misfits(gate, judgement) if gate is not None and judgement is not None else []
    elif kind == USER_INPUT:
        found = [("/answer", "is empty")] if is_no_answer(body.get("answer")) else []
    else:
        found = contradictions(kind, body)
    return [
        Issue(contract_ref=ref, pointer=pointer, message=fitting(message, ISSUE_BYTES))
        for pointer, message in found
    ]


def _wrong_loop(place: Place, body: dict[str, Any]) -> list[tuple[str, str]]:
    decided = read_as(LoopDecision, body)
    around = [frame.loop_id for frame in place.frames]
    if decided is None or decided.loop_id in around:
        return []
    known = ", ".join(around) or "no loop"
    if decided.loop_id:
        named = fitting(decided.loop_id, 64)
        return [("/loopId", f"{named} is not a loop around this step; around it: {known}")]
    if len(open_loops(place.workflow, place.frames)) > 1:
        return [("/loopId", f"several loops are open, so the decision must name its own: {known}")]
    return []


def _unknown_gap(place: Place, body: dict[str, Any]) -> list[tuple[str, str]]:
    told = read_as(ReportedGap, body)
    if told is None or not told.resolves_gap_id or place.gaps is None or told.resolves_gap_id in place.gaps:
        return []
    known = ", ".join(place.gaps[-MOST_GAPS_NAMED:]) or "none"
    return [("/resolvesGapId", f"no such gap was recorded on this branch; recorded here: {known}")]


def _with_contradictions(found: list[Judged]) -> list[Judged]:
    """The same, where good ones about one thing that differ in their verdict are all at fault."""
    told: dict[tuple[str, str], list[Any]] = {}
    for held in found:
        if held.is_good and held.artifact.kind in VERDICTS:
            verdict = held.artifact.body.get(VERDICTS[held.artifact.kind])
            told.setdefault((held.artifact.kind, held.about), []).append(verdict)
    torn = {subject for subject, verdicts in told.items() if any(one != verdicts[0] for one in verdicts)}
    return [_contradicted(held) if (held.artifact.kind, held.about) in torn else held for held in found]


def _contradicted(held: Judged) -> Judged:
    if not held.is_good:
        return held
    member = VERDICTS[held.artifact.kind]
    said = f"the report says this twice, and differently{f', of {held.about}' if held.about else ''}"
    issue = Issue(contract_ref=held.ref, pointer=f"/{member}", message=fitting(said, ISSUE_BYTES))
    artifact = msgspec.structs.replace(held.artifact, contract_ref="")
    return msgspec.structs.replace(held, artifact=artifact, issues=(issue,))
