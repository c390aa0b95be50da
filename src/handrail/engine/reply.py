"""The reply of a run operation, from recorded facts alone. Pure.

A first call and a replay end in the same function, so they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, assert_never

import msgspec
from msgspec import json

from handrail.contract.ids import SourceKind
from handrail.contract.outcome import Payload, make_from
from handrail.contract.wording import format_count, quote, shorten
from handrail.engine.events import Blocked, GapRecorded, Preferences
from handrail.engine.facts import LONGEST_GOAL
from handrail.engine.history import Closing, History, Run
from handrail.engine.judge.arrival import named_confirmer
from handrail.engine.judge.artifacts import MisnamedKind
from handrail.engine.judge.report_frame import add_observations, make_retry_frame
from handrail.engine.judge.resolving import describe_resolution, is_evidence_gap
from handrail.engine.messages import judged_words
from handrail.engine.navigate import Running, step_key
from handrail.engine.owners import has_imported_facts
from handrail.engine.progress import BranchSummary, HandedOut, Progress, RecapArtifact, RecapEntry, RecapInput
from handrail.engine.reasons import Blocker, Issue, Purpose
from handrail.engine.standing import (
    INTENTS,
    CallForm,
    NextIntent,
    ReplyKind,
    Standing,
    list_offered,
    situation_of,
)
from handrail.workflows.compiled import CONFIRMERS, Choice
from handrail.workflows.prompt_sections import drop_example

WarningCode: TypeAlias = Literal[
    "REPLAY_INPUT_MISMATCH",
    "SESSION_IMPORTED",
    "TOKEN_REPAIRED",
    "INPUT_REPAIRED",
    "NOTES_TRUNCATED",
    "WORKFLOW_ID_LEGACY",
    "MODE_ABOVE_RECOMMENDED",
    "CAPABILITY_UNAVAILABLE",
    "GAP_RECORDED",
    "DUPLICATE_START",
    "WORKFLOW_FIRST_RUN",
    "WORKFLOW_SOURCE_DIFFERS",
    "LEFT_OUT_BY_OVERLAY",
    "CHECK_NOT_DECLARED",
    "FIRST_LOOK_MISSING",
    "CHANGE_UNKNOWN",
    "EVIDENCE_NOT_WEIGHED",
    "ARTIFACT_KIND_UNKNOWN",
    "INPUT_NEARLY_DECLARED",
    "DEFAULT_USED",
    "SESSION_UNSOUND",
    "STEPS_SKIPPED",
    "LOOP_LIMIT_REACHED",
    "NOT_ASKED",
    "FILES_DIFFER",
    "PROJECT_NOT_USED",
    "OTHER_PROJECT",
    "RUN_REOPENED",
    "ROUND_WITHOUT_ARTIFACT",
    "NOBODY_WAITS",
]
SHOWN_FIRST: Final[frozenset[WarningCode]] = frozenset({"SESSION_UNSOUND", "REPLAY_INPUT_MISMATCH"})
"""A reply begins with these in every form, because the rest would be misread without them."""
MOST_WARNINGS = 10
MOST_MISNAMED_SHOWN = 3
MOST_MISNAMED_NAMED = 10
"""Limit for further names that one line lists."""
LONGEST_NAMED = 40
MOST_SKIPPED_SHOWN = 10
"""Limit for the skipped parts that one reply names; the count covers all of them."""
MOST_GAPS_SHOWN = 3
"""A step can miss many things at once; the session shows all of them."""
MOST_GAPS_NAMED = 20
"""Limit for further gaps that are named by their ids."""


class PendingChoice(Payload, frozen=True, kw_only=True):
    """One option of a choice step; its token is passed as the ackToken."""

    id: str
    label: str
    description: str = ""
    token: str = ""
    """The token of the option; empty if the session cannot continue."""


class Pending(Payload, frozen=True, kw_only=True):
    """The one step to do now."""

    step_id: str
    title: str
    prompt: str = ""
    """The prompt; left out of a blocked reply, where `judged` says how to read it again."""
    require_confirmation: bool
    confirmed_by: str = ""
    """Who has to confirm it, in words; left out if any person may."""
    choices: list[PendingChoice] = []


class OptionCall(Payload, frozen=True, kw_only=True):
    """The call that takes one option of a choice."""

    id: str
    params: dict[str, Any]


class ToolCall(Payload, frozen=True, kw_only=True):
    """The exact call to make next, by its MCP tool name. A choice has one call per option and no params."""

    tool: str
    params: dict[str, Any]
    options: list[OptionCall] = []


class ReplyWarning(Payload, frozen=True, kw_only=True):
    """Something the agent must know that is not an error."""

    code: WarningCode
    message: str
    details: dict[str, Any] = {}
    """The names and values in the message, for programs: under camelCase keys, plain JSON."""
    corrected_token: str = ""
    purpose: Purpose | None = None
    """The purpose of `next_call`."""
    next_call: ToolCall | None = None
    """The call that leads to another place, if the warning is about that place."""


class SessionRef(Payload, frozen=True, kw_only=True):
    """Which work this is, for agents that have several runs open. Only tokens decide where a call goes."""

    session_id: str
    run_id: str
    workflow_id: str
    goal: str = ""
    """The user's goal, as stated at the start; left out on an ordinary advance, like preferences."""


class WorkflowRef(Payload, frozen=True, kw_only=True):
    """In the reply to a start: the source of the workflow, and the hash to which the run is pinned."""

    source_kind: SourceKind
    source_ref: str
    workflow_hash: str


class SkippedPart(Payload, frozen=True, kw_only=True):
    """A step or loop that the run skipped, and the condition that did not hold."""

    step_id: str
    condition_id: str = ""
    why: str = ""
    """What it needs, and the values that this depends on; only in the first reply that reports it."""


class CurrentPlace(Payload, frozen=True, kw_only=True):
    """The current place of a run that has moved on from the node of a reply, and the call that goes there."""

    node_id: str
    status: str
    pending_step_id: str | None
    title: str = ""
    done_since: list[str] = []
    """Steps that were finished since then, the most recent last."""
    done_since_omitted: int = 0
    next_call: ToolCall


class ClosedPlace(Payload, frozen=True, kw_only=True):
    """Why a run was closed."""

    reason: str
    note: str = ""
    at: str


class PersonAnswer(Payload, frozen=True, kw_only=True):
    """The last answer of a person about a step."""

    step_id: str
    answer: str
    source: str
    at: str
    note: str = ""
    option_id: str = ""
    """For a choice: the option that they took."""
    words: str = ""
    """A sentence that says who answered what."""


class Recap(Payload, frozen=True, kw_only=True):
    """What happened before the pending step: entries oldest first, `children` and `downstream` only if
    branches left this step before.

    The three share one budget; `omitted` counts entries of both lists that did not fit.
    """

    entries: list[RecapEntry]
    truncated: bool = False
    omitted: int = 0
    policy: str = ""
    artifacts: list[RecapArtifact] = []
    artifacts_omitted: int = 0
    inputs: list[RecapInput] = []
    """The inputs of the workflow: the values that were sent, or the defaults."""
    inputs_omitted: int = 0
    skipped: list[SkippedPart] = []
    skipped_omitted: int = 0
    blocked_by: list[Blocker] = []
    """Why the last attempt was blocked, if it was."""
    issues: list[Issue] = []
    """Every fault of the report in that attempt."""
    children: list[BranchSummary] = []
    children_omitted: int = 0
    downstream: list[RecapEntry] = []
    imported_from: str = ""
    """The session from which this one was copied in a bundle; empty if it began here."""
    closed: ClosedPlace | None = None
    """Why the run was closed, if it was. Continuing reopens it."""
    person_answer: PersonAnswer | None = None
    """A person's answer for the pending step, if there is one. After a rejection, a report counts only with
    their approval.
    """
    people: list[PersonAnswer] = []
    """The newest answers for earlier steps, oldest first."""
    read_in: str = ""
    """The project of this call, if it is not that of the run."""
    since_step: str = ""
    """What happened since the pending step began: files, checks and checkpoints."""
    example: dict[str, Any] | None = None
    """An artifact that would be accepted, if the last attempt was blocked because one was missing."""
    current: CurrentPlace | None = None
    """The current place of the run, if the step of this reply was finished before."""
    stood_at: CurrentPlace | None = None
    """For a fork: the place of the run right before it. From then on, the run continues with the fork."""


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens for one node; ack and choices are empty if nothing of the kind is pending."""

    state: str
    ack: str = ""
    checkpoint: str = ""
    choices: tuple[str, ...] = ()
    work: str = ""
    """The token for the first child that is not done."""


class RanAction(Payload, frozen=True, kw_only=True):
    """An action that Handrail ran on the way to the pending step."""

    step_id: str
    operation: str
    result: str
    """The result in one line. All of it is in the context, under the name that the action saves."""


class Reply(Payload, frozen=True, kw_only=True):
    """The answer of start, continue and checkpoint, in this key order."""

    kind: ReplyKind
    pending: Pending | None
    is_complete: bool
    next_intent: NextIntent
    next_call: ToolCall | None
    blockers: list[Blocker] = []
    issues: list[Issue] = []
    """Every fault of a blocked report: ten complete, the others by their place."""
    retryable: bool | msgspec.UnsetType = msgspec.UNSET
    judged: str = ""
    """In a blocked reply: that repeating the report changes nothing, and what does."""
    example: dict[str, Any] | None = None
    warnings: list[ReplyWarning] = []
    ran: list[RanAction] = []
    """Actions that Handrail ran on the way to this step."""
    skipped: list[SkippedPart] = []
    """The first parts that did not run on the way to this step."""
    progress: Progress | None = None
    evidence: dict[str, int] | None = None
    """At the end of a run: the number of its statements by kind of support (`projections/evidence.py`)."""
    closing: str = ""
    """At the end of a run: what to tell the user, in one line."""
    recap: Recap | None = None
    session: SessionRef | None = None  # a blocked reply moves nothing: no progress, no session
    children: list[HandedOut] = []
    """The children of a step that delegated work."""
    preferences: Preferences | None = None
    """Left out on an ordinary advance that did not change them."""
    workflow: WorkflowRef | None = None
    project: str = ""
    state_token: str
    ack_token: str = ""
    retry_ack_token: str = ""
    checkpoint_token: str = ""


def reply_at(
    standing: Standing,
    session_id: str,
    tokens: Tokens,
    *,
    workflow: WorkflowRef | None = None,
    blocked: Blocked | None = None,
    recap: Recap | None = None,
    is_healthy: bool = True,
    warnings: tuple[ReplyWarning, ...] = (),
    project: str = "",
    closing: str = "",
    evidence: dict[str, int] | None = None,
    ran: Sequence[RanAction] = (),
    children: Sequence[HandedOut] = (),
    is_arrival: bool = False,
) -> Reply:
    """Return the reply for a node; `blocked` is the recorded refusal that created the node.

    `is_arrival`: the refusal is at a step that this call has only reached, so the agent has not read its
    prompt.

    A start, a rehydrate, a checkpoint, a fork and a change include the goal and the preferences. An
    ordinary advance leaves them out, because an earlier reply had them and an agent pays for every word.
    """
    # First replies and replays are both made here, so nothing may depend on which of them is made.
    names_people = (
        recap is not None and bool(recap.people) and recap == Recap(entries=[], people=recap.people)
    )
    is_read_again = recap is not None and not names_people
    is_whole = standing.has_new_preferences or standing.node.kind == "checkpoint" or is_read_again
    tokens = tokens if is_healthy else Tokens(state=tokens.state)  # a broken log takes no further report
    row = INTENTS[situation_of(standing, blocked, is_healthy=is_healthy)]
    example = recap.example if recap is not None else blocked.example if blocked is not None else None
    refused = blocked if row.kind == "blocked" else None
    is_read = refused is not None and not is_arrival  # a repeat with other content leaves the prompt out too
    pending = _pending(standing, tokens, example, is_read=is_read)
    if blocked is not None:
        frame = make_retry_frame(standing.contracts, standing.frame, blocked)
    else:
        frame = add_observations(standing.frame, recap.blocked_by if recap is not None else [])
    return Reply(
        kind=row.kind,
        pending=pending,
        is_complete=pending is None,
        next_intent=row.intent,
        next_call=_next_call(row.call, pending, tokens, frame),
        blockers=list(refused.blockers) if refused else [],
        issues=list(refused.every_issue) if refused else [],
        retryable=refused.retryable if refused else msgspec.UNSET,
        judged=_judged_words(refused.retryable) if refused else "",
        example=refused.example if refused else None,
        warnings=_bounded([*warnings, *_standing_warnings(standing)]),
        ran=list(ran),
        skipped=[
            SkippedPart(step_id=part.step_id, why=part.why) for part in standing.skipped[:MOST_SKIPPED_SHOWN]
        ],
        progress=None if is_read else standing.progress,
        evidence=evidence,
        closing=closing,
        recap=recap,
        session=None if is_read else session_ref(session_id, standing.run, with_goal=is_whole),
        children=list(children),
        preferences=standing.preferences if is_whole else None,
        workflow=workflow,
        project=project,
        state_token=tokens.state,
        ack_token=tokens.ack if row.call == "ack" else "",
        retry_ack_token=tokens.ack if row.call == "retry" else "",
        checkpoint_token=tokens.checkpoint,
    )


def _judged_words(is_retryable: bool) -> str:

    return judged_words(is_retryable=is_retryable)


def put_warnings_first(reply: dict[str, Any], warnings: Sequence[ReplyWarning]) -> dict[str, Any]:
    """Return a reply as data, with the warnings first if one of them must come before everything else."""
    if not any(warning.code in SHOWN_FIRST for warning in warnings):
        return reply
    return {"warnings": reply["warnings"], **reply}


def session_ref(session_id: str, run: Run, *, with_goal: bool = True) -> SessionRef:
    goal = run.seen.get("goal", "") if with_goal else ""
    return SessionRef(
        session_id=session_id,
        run_id=run.run_id,
        workflow_id=run.workflow_id,
        goal=shorten(goal, LONGEST_GOAL),
    )


def show_closing(closing: Closing) -> ClosedPlace:
    return make_from(ClosedPlace, closing)


def workflow_ref(run: Run) -> WorkflowRef:
    return make_from(WorkflowRef, run)


def _pending(
    standing: Standing, tokens: Tokens, example: dict[str, Any] | None, *, is_read: bool
) -> Pending | None:
    leaf, state = standing.leaf, standing.node.state
    if leaf is None or not isinstance(state, Running):
        return None
    options = leaf.options if isinstance(leaf, Choice) else list_offered(standing)
    prompt = standing.prompt if example is None else drop_example(standing.prompt, example)
    return Pending(
        step_id=step_key(state),
        title=leaf.title,
        prompt="" if is_read else prompt,
        require_confirmation=standing.needs_confirmation,
        confirmed_by=CONFIRMERS.get(named_confirmer(leaf), "") if standing.needs_confirmation else "",
        choices=[
            make_from(PendingChoice, option, token=token)
            for option, token in zip(options, tokens.choices or [""] * len(options), strict=True)
            if standing.word.option_id in ("", option.id)
        ],
    )


def imported_warnings(history: History) -> tuple[ReplyWarning, ...]:
    """Return the warning of an imported session; it never goes away."""
    label = history.imported
    if label is None and has_imported_facts(history):
        message = (
            "This session came from another store: answers and check results that it recorded count for "
            "nothing here."
        )
        return (ReplyWarning(code="SESSION_IMPORTED", message=message),)
    if label is None:
        return ()
    message = "This session was imported from a bundle: another store recorded what happened before that."
    details = {"bundleId": label.bundle_id, "sourceSessionId": label.source_session_id}
    return (ReplyWarning(code="SESSION_IMPORTED", message=message, details=details),)


def _next_call(
    form: CallForm, pending: Pending | None, tokens: Tokens, frame: dict[str, Any]
) -> ToolCall | None:
    """Return the complete call: the token, and the frame of what has to be sent with it."""
    offered = pending.choices if pending else []
    match "per_option" if offered and form == "retry" else form:
        case "none":
            return None
        case "read":
            return ToolCall(tool="continue_workflow", params={"stateToken": tokens.state})
        case "child":
            calls = [OptionCall(id=one.id, params={"ackToken": one.token}) for one in offered]
            return ToolCall(tool="continue_workflow", params={"stateToken": tokens.work}, options=calls)
        case "ack" | "retry" if not tokens.choices:
            return ToolCall(tool="continue_workflow", params={"ackToken": tokens.ack} | frame)
        case "per_option" | "ack" | "retry":
            calls = [OptionCall(id=one.id, params={"ackToken": one.token} | frame) for one in offered]
            return ToolCall(tool="continue_workflow", params={}, options=calls)
        case never:
            assert_never(never)


def _bounded(warnings: list[ReplyWarning]) -> list[ReplyWarning]:
    """Return the most important warnings first, then the others in order. The last one counts those left
    out.
    """
    ordered = sorted(warnings, key=lambda warning: warning.code not in SHOWN_FIRST)
    if len(ordered) <= MOST_WARNINGS:
        return ordered
    left = len(ordered) - MOST_WARNINGS
    last = ordered[MOST_WARNINGS - 1]
    cut = msgspec.structs.replace(last, message=f"{last.message} {left} more warnings are left out.")
    return [*ordered[: MOST_WARNINGS - 1], cut]


def _standing_warnings(standing: Standing) -> list[ReplyWarning]:
    warnings = []
    if standing.safest is not None:
        safe = standing.safest
        message = (
            f"The author recommends less automation for this workflow. The highest combination considered "
            f"safe is autonomy {safe.autonomy} with riskPolicy {safe.risk_policy}; yours stays in force."
        )
        details: dict[str, Any] = {"autonomy": safe.autonomy, "riskPolicy": safe.risk_policy}
        warnings.append(ReplyWarning(code="MODE_ABOVE_RECOMMENDED", message=message, details=details))
    for seen in standing.unavailable:
        message = f"{seen.capability} is not available; do what the steps say without it."
        details = {"capability": seen.capability}
        warnings.append(ReplyWarning(code="CAPABILITY_UNAVAILABLE", message=message, details=details))
    warnings += [_gap_warning(gap) for gap in standing.passed_over[:MOST_GAPS_SHOWN]]
    if len(standing.passed_over) > MOST_GAPS_SHOWN:
        others = [gap.gap_id for gap in standing.passed_over[MOST_GAPS_SHOWN:]]
        named = ", ".join(others[:MOST_GAPS_NAMED]) + (", …" if len(others) > MOST_GAPS_NAMED else "")
        message = f"{len(others)} more gaps were recorded at this step: {named}. The session shows them."
        details = {"omitted": len(others), "gapIds": others[:MOST_GAPS_NAMED]}
        warnings.append(ReplyWarning(code="GAP_RECORDED", message=message, details=details))
    return [
        *warnings,
        *_skipped_warnings(standing),
        *_misnamed_warnings(standing.misnamed),
        *_nearly_declared_warnings(standing),
        *_default_warnings(standing),
    ]


def _default_warnings(standing: Standing) -> list[ReplyWarning]:
    """Return the warning for values that the reported step required and the agent did not send, so defaults
    hold.
    """
    if not standing.defaulted:
        return []
    given = standing.defaulted.items()
    values = {name: value if isinstance(value, str) else json.encode(value).decode() for name, value in given}
    shown = [f"{name} is {quote(value)}" for name, value in values.items()]
    message = f"Nobody sent what the step required, so the default holds: {', '.join(shown)}."
    details = {"context": dict(standing.defaulted)}
    return [ReplyWarning(code="DEFAULT_USED", message=message, details=details)]


def _gap_warning(gap: GapRecorded) -> ReplyWarning:
    """Return the warning for a gap, by kind: a person was not asked, a loop was ended early, or another."""
    details = {"gapId": gap.gap_id, "reason": gap.reason}
    resolve = f"Kept as {gap.gap_id}; {describe_resolution(gap)}"
    if gap.reason == "loop_limit_reached":
        return ReplyWarning(code="LOOP_LIMIT_REACHED", message=f"{gap.summary} {resolve}", details=details)
    if gap.reason.startswith("user_only_dependency:"):
        message = f"This mode asks nobody: {gap.summary} ({gap.reason}). {resolve}"
        return ReplyWarning(code="NOT_ASKED", message=message, details=details)
    if gap.reason == "reported" and not is_evidence_gap(gap):
        message = (
            f"The gap {quote(gap.summary)} is kept as {gap.gap_id}: the resolvesGapId of the wr.gap that "
            "resolves it."
        )
        return ReplyWarning(code="GAP_RECORDED", message=message, details=details)
    what = "" if gap.reason == "reported" else f"Something required is missing: {gap.reason}: "
    message = f"{what}{gap.summary} {resolve}"
    return ReplyWarning(code="GAP_RECORDED", message=message, details=details)


def _skipped_warnings(standing: Standing) -> list[ReplyWarning]:
    if not standing.skipped:
        return []
    shown = standing.skipped[:MOST_SKIPPED_SHOWN]
    named = [f"{part.step_id} ({part.times} times)" if part.times > 1 else part.step_id for part in shown]
    left = standing.not_run.total - sum(part.times for part in shown)
    more = f" and {left} more" if left else ""
    message = (
        f"Did not run: {', '.join(named)}{more}; why is in skipped. If one should "
        f"run, {_way_to_send(standing)} with the value in context."
    )
    details = {"stepIds": [part.step_id for part in shown], "count": standing.not_run.total}
    return [ReplyWarning(code="STEPS_SKIPPED", message=message, details=details)]


def _way_to_send(standing: Standing) -> str:
    """Return how to send a value for a part that the run has already skipped."""
    if standing.node.parent is None:
        return "start again"
    return "read the step before again with its stateToken and report it"


def _nearly_declared_warnings(standing: Standing) -> list[ReplyWarning]:
    is_in_time = standing.leaf is not None and not standing.skipped
    advice = "send it under that name with your next report"
    if not is_in_time:
        advice = f"{_way_to_send(standing)} with that name"
    found = [
        (
            held.key,
            held.declared,
            f"The context key {quote(held.key)} is not an input here and steers nothing; did you "
            f"mean {held.declared}? If so, {advice}.",
            {"key": shorten(held.key), "suggestion": held.declared},
        )
        for held in standing.nearly_declared
    ]
    return _warn_of_each("INPUT_NEARLY_DECLARED", "more context key", "keys", found)


def _misnamed_warnings(found: tuple[MisnamedKind, ...]) -> list[ReplyWarning]:
    rows = []
    for held in found:
        meant = f"; did you mean {held.suggestion}?" if held.suggestion else "."
        message = f"The artifact kind {quote(held.kind)} is not known here and counts for nothing{meant}"
        details = {"kind": shorten(held.kind)} | ({"suggestion": held.suggestion} if held.suggestion else {})
        rows.append((held.kind, held.suggestion, message, details))
    return _warn_of_each("ARTIFACT_KIND_UNKNOWN", "more artifact kind", "kinds", rows)


def _warn_of_each(
    code: WarningCode, noun: str, member: str, found: list[tuple[str, str, str, dict[str, str]]]
) -> list[ReplyWarning]:
    """Return a warning for each of the first names, with its probable meaning, message and details, then
    one that counts and lists the others.
    """
    first, others = found[:MOST_MISNAMED_SHOWN], found[MOST_MISNAMED_SHOWN:]
    warnings = [ReplyWarning(code=code, message=text, details={**held}) for _, _, text, held in first]
    if not others:
        return warnings
    shown = [(shorten(name, LONGEST_NAMED), meant) for name, meant, *_ in others[:MOST_MISNAMED_NAMED]]
    listed = ", ".join(f'"{name}"' + (f" ({meant}?)" if meant else "") for name, meant in shown)
    rest = ", …" if len(others) > len(shown) else ""
    message = f"{format_count(len(others), noun)} like these: {listed}{rest}."
    details = {"omitted": len(others), member: [name for name, _ in shown]}
    return [*warnings, ReplyWarning(code=code, message=message, details=details)]
