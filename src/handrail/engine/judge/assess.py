"""The judge: is a report enough, and what follows from it? Pure. Begin to read here.

The problem: a report is text and JSON from outside. It must not pass because it looks right, and it must not
fail without saying what would pass. For the same fault, a careful run stops, and a run that must not stop
records a gap.
The simulator has to reach the same verdict without an agent.

The idea is to keep three questions apart. What is wrong with each artifact? `judge/artifacts.py` checks it
against the contract of its kind, and whether it belongs at its place in the run. What does the step require,
and what satisfies it? One table in `judge/requirements.py`. What do the reasons do? `reasons.consequence`
decides by the mode: they block, or they become gaps. `assess` answers the first two in one pass;
`answer_report` adds the third, and `find_way` does the same for the way to the next step.

The invariants:
- `assess` does not know the mode: a report has the same verdict in every one. `answer_report` adds what
  depends on the mode and on people: their answers, and a confirmation or choice that was not requested yet.
- Every reason is found at once, so one corrected call is enough.
- Only an artifact that matches its whole contract has a `contract_ref`, and conditions read no other.
- What blocked attempts sent is judged again with the next report; it is never accepted unjudged.

What would break it: a test of the mode inside `assess`, because a reason could then vanish instead of
becoming a gap; a second place that sets `contract_ref`, because a run could then branch on an
unchecked artifact; separate rules for the simulator, because it would prove what no run does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

import msgspec

from handrail.contract.ids import Autonomy
from handrail.contract.wording import explain_unseen
from handrail.engine.artifact_shapes import (
    CAPABILITY_OBSERVATION,
    GAP,
    VERIFICATION_REPORT,
    WORKFLOW_DIVERGENCE,
    Divergence,
    Observation,
    ReportedGap,
    ReportedShape,
)
from handrail.engine.events import (
    Artifact,
    Capability,
    CapabilityObserved,
    CapabilityProvenance,
    DivergenceRecorded,
    GapRecorded,
    ReportStatement,
)
from handrail.engine.facts import NOTHING_KEPT, KeptWork, add_loop_values, apply_report, collect_kept
from handrail.engine.history import History, Node
from handrail.engine.judge.arrival import (
    GIVEN,
    PersonsWord,
    ask_of,
    assess_arrival,
    find_unasked_choice,
    find_unasked_confirmation,
    make_statement,
    refuse_declined,
    weigh_choice,
    weigh_confirmation,
)
from handrail.engine.judge.artifacts import (
    JudgedArtifact,
    KnownGaps,
    Place,
    full_kind,
    judge_report,
    keep_unchecked,
    subject_of,
)
from handrail.engine.judge.requirements import (
    INVALID,
    MISSING,
    MOST_ISSUES,
    SHOWN_ISSUES,
    ContractCheck,
    asked_kinds,
    find_reasons,
    fix_of,
    let_give,
    list_broken_rules,
)
from handrail.engine.navigate import Move, Running, deciding_loop, leaf_at, next_move
from handrail.engine.reasons import (
    Block,
    Blocker,
    CapabilityPointer,
    Issue,
    Proceed,
    Reason,
    ReasonName,
    WaitsFor,
    WorkflowStep,
    blocker_of,
    consequence,
    shorten_message,
)
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    Leaf,
    Option,
    Step,
    UserOnly,
)
from handrail.workflows.conditions import Facts
from handrail.workflows.limits import Effort

if TYPE_CHECKING:
    from handrail.engine.judge.evidence import Weighed, Witnessed

_R = TypeVar("_R", bound=ReportedShape)

NOTES = "/notesMarkdown"
NO_NOTES = "This step needs notes; none came."
FACTS = frozenset({GAP, CAPABILITY_OBSERVATION, WORKFLOW_DIVERGENCE})
"""Kinds that say something about the run itself, whichever call brings them."""
FACTS_AFTER_THE_END = FACTS | {VERIFICATION_REPORT}
"""No step is pending any more, so a verification is not unfinished work."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How each part of a report was judged."""

    reasons: tuple[Reason, ...] = ()
    checks: tuple[ContractCheck, ...] = ()
    issues: tuple[Issue, ...] = ()
    """Every fault of the report, by contract and place."""
    artifacts: tuple[Artifact, ...] = ()
    """The artifacts to record when the run moves on: ordered by digest, each once."""
    brought: tuple[Artifact, ...] = ()
    """Those of `artifacts` that this call sent."""
    observed: tuple[CapabilityObserved, ...] = ()
    divergences: tuple[DivergenceRecorded, ...] = ()
    gaps: tuple[ReportedGap, ...] = ()
    kept_gaps: tuple[ReportedGap, ...] = ()
    """Gaps that an earlier attempt sent. Its own events have them, unless the log is an old one."""
    is_undecided: bool = False
    """The step had to decide about its loop and did not."""
    statements: tuple[ReportStatement, ...] = ()
    """For each place of the report, whether it was observed or only stated."""


def assess(
    place: Place,
    facts: Facts,
    notes: str,
    brought: Iterable[dict[str, Any]],
    kept: Iterable[dict[str, Any]] = (),
    known: Witnessed | None = None,
) -> Verdict:
    """Return the verdict on a report. `facts` have the report's own context applied.

    `kept` is what the blocked attempts right before it sent. `known` is what was observed and what ran;
    without it, no evidence is judged (a simulation).
    """
    if known is not None:
        place = msgspec.structs.replace(place, computed=known.computed)
    judged = judge_report(place, brought, kept)
    weighed = _weigh(judged, known)
    judged = judged if weighed is None else weighed.judged
    found = find_reasons(place, facts, judged)
    verdict = _read_facts(place, judged)
    note_reasons, note_checks, note_issues = _judge_notes(place.step, notes)
    return msgspec.structs.replace(
        verdict,
        reasons=(*found.reasons, *(weighed.reasons if weighed else ()), *note_reasons, *verdict.reasons),
        checks=(*found.checks, *note_checks),
        issues=(*note_issues, *verdict.issues),
        is_undecided=found.is_undecided,
        statements=weighed.statements if weighed else (),
    )


def _weigh(judged: list[JudgedArtifact], known: Witnessed | None) -> Weighed | None:
    """Return how the evidence supports the artifacts, or None if no evidence was gathered or no artifact
    was sent.
    """
    if known is None or not judged:
        return None
    from handrail.engine.judge.evidence import weigh  # noqa: PLC0415 - notes alone need none of it

    return weigh(judged, known)


def assess_progress(
    place: Place, brought: Iterable[dict[str, Any]], known: Witnessed | None = None
) -> Verdict:
    """Return the verdict on work that is saved before a step is done: facts count at once, the rest is only
    kept.
    """
    kinds = FACTS if place.leaf_id else FACTS_AFTER_THE_END
    facts: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for body in brought:
        (facts if full_kind(str(body["kind"])) in kinds else others).append(body)
    if known is not None:
        place = msgspec.structs.replace(place, computed=known.computed)
    unasked = msgspec.structs.replace(place, step=None)
    counted = judge_report(place, facts)
    weighed = _weigh(counted, known)
    counted = counted if weighed is None else weighed.judged
    judged = sorted([*counted, *keep_unchecked(others)], key=lambda found: found.artifact.digest)
    verdict = _read_facts(place, judged)
    checks = find_reasons(unasked, Facts(), counted).checks
    return msgspec.structs.replace(
        verdict,
        checks=checks,
        statements=weighed.statements if weighed else (),
        reasons=(*verdict.reasons, *(weighed.reasons if weighed else ())),
    )


def _read_facts(place: Place, judged: list[JudgedArtifact]) -> Verdict:
    """Return what a report says about the run itself, whatever the step requires. Only valid artifacts
    count.
    """
    good = tuple(found.artifact for found in judged if found.is_good)
    own = tuple(found.artifact for found in judged if found.is_good and found.is_brought)
    kept = tuple(found.artifact for found in judged if found.is_good and not found.is_brought)
    observed = _read_observations(place.step, good)
    return Verdict(
        reasons=tuple(_capability_reasons(place, observed)),
        issues=tuple(issue for found in judged for issue in found.issues),
        artifacts=tuple(_to_recorded(found) for found in judged),
        brought=tuple(_to_recorded(found) for found in judged if found.is_brought),
        observed=observed,
        divergences=tuple(
            DivergenceRecorded(
                reason=divergence.reason,
                summary=shorten_message(divergence.summary),
                related_step_id=divergence.related_step_id or place.leaf_id,
            )
            for divergence in _read_all(good, WORKFLOW_DIVERGENCE, Divergence)
        ),
        gaps=tuple(_read_all(own, GAP, ReportedGap)),
        kept_gaps=tuple(_read_all(kept, GAP, ReportedGap)),
    )


def _to_recorded(found: JudgedArtifact) -> Artifact:
    """Return the artifact as the log keeps it: an invalid one is marked as refused."""
    return msgspec.structs.replace(found.artifact, is_refused=True) if found.issues else found.artifact


def _judge_notes(step: Step | None, notes: str) -> tuple[list[Reason], list[ContractCheck], list[Issue]]:
    """Return how the notes match the rules of the step."""
    if step is None or not (step.rules or step.notes_required):
        return [], [], []
    # Punctuation and invisible characters are no notes; some invisible characters count as letters.
    is_empty = not any(one.isalnum() and not explain_unseen(one) for one in notes)
    lacking = [NO_NOTES] if step.notes_required and is_empty else []
    faults = lacking + list_broken_rules(step.rules, notes)
    if not faults:
        return [], [ContractCheck(result="valid")], []
    waits = WaitsFor(kind="notes", state="invalid" if notes else "missing")
    reason = Reason(
        name=INVALID if notes else MISSING,
        pointer=WorkflowStep(step_id=step.id),
        waits_for=waits,
        message=shorten_message("The notes are not enough yet: " + "; ".join(faults[:SHOWN_ISSUES])),
        fix=fix_of(waits),
    )
    check = ContractCheck(result="invalid" if notes else "missing", issues=tuple(faults[:MOST_ISSUES]))
    return [reason], [check], [Issue(pointer=NOTES, message=shorten_message(message)) for message in faults]


def _read_observations(step: Step | None, artifacts: tuple[Artifact, ...]) -> tuple[CapabilityObserved, ...]:
    """Return what the agent found out about its capabilities. Only a probe step makes an observation
    strong.
    """
    return tuple(
        CapabilityObserved(
            capability=seen.capability,
            status=seen.status,
            provenance=_provenance(step, seen),
            summary=shorten_message(seen.summary),
        )
        for seen in _read_all(artifacts, CAPABILITY_OBSERVATION, Observation)
    )


def _provenance(step: Step | None, seen: Observation) -> CapabilityProvenance:
    is_tried = seen.provenance != "manual_claim"
    is_probe = step is not None and seen.capability == step.capability
    return "probe_step" if is_tried and is_probe else seen.provenance


def _capability_reasons(place: Place, observed: tuple[CapabilityObserved, ...]) -> list[Reason]:
    """Return a reason for each required capability that is missing, at any step. A statement proves
    nothing.

    The probe of a required capability must end in `available`, and the agent must have tried it.
    """
    reasons = []
    for seen in observed:
        if place.workflow.capabilities.get(seen.capability) != "required":
            continue
        is_probe = place.step is not None and place.step.capability == seen.capability
        is_stated = seen.provenance == "manual_claim"
        if seen.status == "unavailable" and not is_stated:
            reasons.append(_missing_capability(seen.capability, "unavailable"))
        elif seen.status == "unavailable" or (is_probe and (seen.status == "unknown" or is_stated)):
            reasons.append(_missing_capability(seen.capability, "unknown"))
    return list({reason.pointer: reason for reason in reasons}.values())


_LACKS: dict[Literal["unknown", "unavailable"], tuple[ReasonName, str]] = {
    "unknown": (
        "capability_missing:required_capability_unknown",
        "Whether {} works is still unknown, and this workflow needs it.",
    ),
    "unavailable": (
        "capability_missing:required_capability_unavailable",
        "This workflow needs {}, and it is not available here.",
    ),
}


def _missing_capability(capability: Capability, state: Literal["unknown", "unavailable"]) -> Reason:
    waits = WaitsFor(kind="capability", state=state, values={"capability": capability})
    name, sentence = _LACKS[state]
    return Reason(
        name=name,
        pointer=CapabilityPointer(capability=capability),
        waits_for=waits,
        message=sentence.format(capability),
        fix=fix_of(waits),
        is_retryable=state == "unknown",
        capability=capability,
    )


def _read_all(artifacts: tuple[Artifact, ...], kind: str, shape: type[_R]) -> list[_R]:
    """Return the artifacts of a kind in its shape, which they are known to have."""
    return [msgspec.convert(artifact.body, shape) for artifact in artifacts if artifact.kind == kind]


# From a verdict to an answer


class ShownState(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent knew when it did a step: the facts, and why earlier attempts were blocked."""

    facts: Facts
    blockers: tuple[Blocker, ...] = ()
    word: PersonsWord = PersonsWord()
    """A person's answer about the step itself."""
    given: PersonsWord = PersonsWord()
    """A person's answer about what only the user can give."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a report, before anything is written."""

    verdict: Verdict
    outcome: Proceed | Block
    option: Option | None = None
    """The option that an accepted report takes."""
    context: dict[str, Any] = {}
    """The change of context, including what a chosen option sets."""


def answer_report(
    workflow: CompiledWorkflow,
    state: Running,
    leaf: Leaf,
    autonomy: Autonomy,
    facts: Facts,
    *,
    notes: str,
    artifacts: Sequence[dict[str, Any]],
    context: dict[str, Any],
    option: int | None,
    kept: KeptWork = NOTHING_KEPT,
    gaps: KnownGaps | None = None,
    shown: ShownState | None = None,
    known: Witnessed | None = None,
    troubles: tuple[Reason, ...] = (),
) -> Answer:
    """Return the answer to a report. `facts` have the report's own context applied.

    `kept` is what was already sent for the step, and `gaps` are the ids of gaps recorded on the branch.
    `shown` is what the agent was given; without it, every confirmation counts as given (a simulation).
    `troubles` are reasons to block that do not come from the report itself.
    """
    # The work is judged before the person's answer, which needs the verdict: no person is asked about a
    # report that is refused anyway. If a person still has to give a value, the reason that says how to ask
    # replaces the one of the assessment, which says only that the value is missing.
    place = place_of(workflow, state, leaf, gaps)
    if shown is not None and shown.given.is_given:
        place = msgspec.structs.replace(place, is_given=True)
    verdict = assess(place, facts, notes or kept.notes, artifacts, kept.artifacts, known)
    reasons = (*verdict.reasons, *troubles)
    if shown is not None:
        word = judge_word(workflow, state, leaf, autonomy, shown, facts, verdict, option)
        is_given_later = any(reason.waits_for.kind == "give" for reason in word.due)
        asked = [held for held in reasons if not (is_given_later and held.waits_for.kind == "give")]
        reasons = (*asked, *(reason for reason in word.due if reason not in troubles))
        verdict = msgspec.structs.replace(verdict, statements=(*verdict.statements, *word.statements))
    outcome = consequence(reasons, autonomy, leaf.title)
    match leaf:
        case Step() | Action() | Delegate():
            return Answer(verdict=verdict, outcome=outcome, context=context)
        case Choice():
            assert option is not None, "a choice step is answered with the token of an option"
            # A blocked choice sets nothing: another option may be taken next.
            if isinstance(outcome, Block):
                return Answer(verdict=verdict, outcome=outcome, context=context)
            chosen = leaf.options[option]
            is_unasked = autonomy == "full_auto_never_stop" and not (shown and shown.word.option_id)
            unasked = choice_gaps(leaf) if is_unasked else ()
            return Answer(
                verdict=verdict,
                outcome=Proceed(gaps=(*outcome.gaps, *unasked)),
                option=chosen,
                context=context | chosen.sets,
            )
        case never:
            assert_never(never)


class PersonsSay(msgspec.Struct, frozen=True, kw_only=True):
    """What people answered about a step: statements, reasons that stay until they answer, and reasons that
    block once.
    """

    statements: tuple[ReportStatement, ...] = ()
    due: tuple[Reason, ...] = ()
    once: tuple[Reason, ...] = ()


def judge_word(
    workflow: CompiledWorkflow,
    state: Running,
    leaf: Leaf,
    autonomy: Autonomy,
    shown: ShownState,
    facts: Facts,
    verdict: Verdict,
    option: int | None,
) -> PersonsSay:
    """Return what people answered about the step, and what blocks the report because of it.

    If only a person's answer is missing, it is requested once, and about a report that is otherwise
    sufficient.
    """
    if shown.word.is_declined or shown.given.is_declined:
        is_gift = not shown.word.is_declined
        answer = shown.given if is_gift else shown.word
        statement, reason = refuse_declined(leaf, "give" if is_gift else ask_of(leaf), answer)
        return PersonsSay(statements=(statement,), due=(reason,))
    parts: list[PersonsSay] = []
    match leaf:
        case Step():
            if leaf.user_only is not None:
                parts.append(_judge_gift(leaf.user_only, leaf.id, autonomy, shown.given, verdict))
            if leaf.require_confirmation is not False:
                after = apply_report(workflow, facts, state, {}, verdict.artifacts)
                parts.append(_judge_confirmation(workflow, state, leaf, autonomy, shown, after))
        case Choice() if option is not None:
            parts.append(_judge_choice(leaf, leaf.options[option].id, autonomy, shown.word))
        case Action() if leaf.is_guarded:
            write_statement, due_write = weigh_confirmation(
                workflow, leaf, autonomy, facts, facts, shown.word
            )
            parts.append(PersonsSay(statements=_some(write_statement), due=_some(due_write)))
        case Choice() | Action() | Delegate():
            pass
        case never:
            assert_never(never)
    # A form is shown only for a report that is otherwise right: a person who approved one that is then
    # refused for its evidence would be asked again about the next.
    due = tuple(reason for part in parts for reason in part.due)
    once = tuple(reason for part in parts for reason in part.once)
    if shown.word.can_be_asked and (verdict.reasons or due):
        once = ()
    return PersonsSay(
        statements=tuple(statement for part in parts for statement in part.statements),
        due=(*due, *(reason for reason in once if blocker_of(reason) not in shown.blockers)),
    )


_T = TypeVar("_T")


def _some(value: _T | None) -> tuple[_T, ...]:
    return () if value is None else (value,)


def _judge_gift(
    needed: UserOnly, step_id: str, autonomy: Autonomy, word: PersonsWord, verdict: Verdict
) -> PersonsSay:
    """Judge what only the user can give: a person gave it, or the agent states what they said.

    If nothing was sent at all, the requirement of the step is already the reason. A mode that asks no
    person discloses this whatever the agent states.
    """
    is_missing = any(reason.waits_for.kind == "give" for reason in verdict.reasons)
    is_due = word.is_due or (autonomy == "full_auto_never_stop" and not is_missing)
    if not word.is_given and is_due:
        statement = make_statement(GIVEN, word, is_agents=not word.is_due)
        return PersonsSay(statements=(statement,), due=(let_give(needed, step_id),))
    return (
        PersonsSay() if is_missing else PersonsSay(statements=(make_statement(GIVEN, word, is_agents=True),))
    )


def _judge_choice(choice: Choice, option_id: str, autonomy: Autonomy, word: PersonsWord) -> PersonsSay:
    """Judge whether a person chose this option."""
    statement, reason = weigh_choice(choice, option_id, autonomy, word)
    is_users = choice.non_assumable is not None and autonomy != "full_auto_never_stop"
    is_unasked = is_users and word.can_be_asked and not word.option_id and reason is None
    return PersonsSay(
        statements=_some(statement),
        due=_some(reason),
        once=(find_unasked_choice(choice),) if is_unasked else (),
    )


def _judge_confirmation(
    workflow: CompiledWorkflow,
    state: Running,
    leaf: Leaf,
    autonomy: Autonomy,
    shown: ShownState,
    after: Facts,
) -> PersonsSay:
    """Judge whether the user confirmed the step. Unless a person has to answer, Handrail accepts the
    statement of an agent that had to ask.
    """
    before, after = (add_loop_values(workflow, state, facts) for facts in (shown.facts, after))
    statement, reason = weigh_confirmation(workflow, leaf, autonomy, before, after, shown.word)
    if statement is None or reason is not None or shown.word.is_given or autonomy != "guided":
        return PersonsSay(statements=_some(statement), due=_some(reason))
    once = find_unasked_confirmation(workflow, leaf, before, shown.word)
    return PersonsSay(statements=_some(statement), once=tuple(once))


def place_of(workflow: CompiledWorkflow, state: Running, leaf: Leaf, gaps: KnownGaps | None = None) -> Place:
    """Return the place at which a report about this leaf is judged; only a step requires something."""
    step = leaf if isinstance(leaf, Step) else None
    return Place(workflow=workflow, leaf_id=leaf.id, step=step, frames=state.loops, gaps=gaps)


def collect_brought(history: History, node: Node, place: Place, notes: str = "") -> KeptWork:
    """Return what attempts and checkpoints sent for the step of a place; `notes` are the complete ones."""
    needed = frozenset(name for name, how in place.workflow.capabilities.items() if how == "required")
    return collect_kept(history, node, partial(subject_of, place), notes, asked_kinds(place), needed)


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The move that follows an accepted report, and what it meets."""

    move: Move
    outcome: Proceed | Block
    gaps: tuple[GapRecorded, ...] = ()
    """Gaps of the move itself, disclosed in every mode."""


def find_way(
    workflow: CompiledWorkflow,
    state: Running,
    verdict: Verdict,
    autonomy: Autonomy,
    facts: Facts,
    effort: Effort | None = None,
) -> Way:
    """Return where an accepted report leads. `facts` have the whole report applied.

    Raise Fault WORK_LIMIT_EXCEEDED if the next step is too far away.
    """
    loop_id = deciding_loop(workflow, state.loops)
    undecided = loop_id if verdict.is_undecided else ""
    move = next_move(workflow, state, facts, undecided, effort)
    met = assess_arrival(workflow, move, facts)
    title = leaf_at(workflow, state).title
    return Way(move=move, outcome=consequence(met.reasons, autonomy, title), gaps=met.gaps)


def choice_gaps(choice: Choice) -> tuple[Reason, ...]:
    """Return the reason that discloses a choice which the agent made for the user, as it does in never-stop
    mode.

    In the other modes, the token of an option is the user's answer.
    """
    if choice.non_assumable is None:
        return ()
    reason = Reason(
        name="user_only_dependency:needs_user_choice",
        pointer=WorkflowStep(step_id=choice.id),
        waits_for=WaitsFor(kind="choose", values={"step": choice.id, "title": choice.title}),
        message=f"The choice {choice.id} ({choice.non_assumable}) was made without the user.",
    )
    return (reason,)
