"""What a step requires, and what satisfies it: one table, and the only place that records checks. Pure.

| requirement | satisfied, if nothing is wrong with it, by |
|---|---|
| contract | an artifact of its full kind that is valid against this contract |
| loop decision | the same, about this loop: it names the loop, or names none if only one is open |
| probe of a capability | the same, an observation of that capability |
| assessment | the assessment with this id, if no level in it demands a follow-up |
| required value | a value of that name in the context, or the default of its input |
| user input | the declared context value, or a `wr.user_input` that the user gave |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.engine.artifact_shapes import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    LOOP_CONTROL,
    USER_INPUT,
    Judgement,
)
from handrail.engine.judge.artifacts import (
    JudgedArtifact,
    Place,
    describe_input,
    find_kind_contract,
    is_blank_answer,
)
from handrail.engine.judge.report_frame import assessment_example, find_demand, list_levels
from handrail.engine.messages import write_fix
from handrail.engine.navigate import deciding_loop
from handrail.engine.reasons import (
    BY_PERSON,
    FIX_BYTES,
    MESSAGE_BYTES,
    ContextKey,
    Issue,
    OutputContract,
    Reason,
    ReasonName,
    WaitsFor,
    WaitState,
    WorkflowStep,
    shorten_message,
)
from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    ContainsRule,
    Contract,
    Gate,
    InputSpec,
    LengthRule,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
    UserOnly,
    list_required_contracts,
    list_required_values,
)
from handrail.workflows.conditions import Facts
from handrail.workflows.limits import MAX_MATCH_WORK, Effort
from handrail.workflows.prompt_sections import USER_WORDS

MOST_ISSUES = 20
"""Limit for the issues of one check that the log keeps."""


class ContractCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One validation that was made; without a contract, it is about the rules of the step."""

    contract_ref: str = ""
    result: Literal["valid", "invalid", "missing"]
    issues: tuple[str, ...] = ()


# Rules for notes


def list_broken_rules(rules: tuple[Rule, ...], notes: str) -> list[str]:
    """Return the message of each broken rule, in the author's order.

    Raise Fault WORK_LIMIT_EXCEEDED if the patterns are too much work for notes of this length.
    """
    effort = Effort(
        MAX_MATCH_WORK,
        "The patterns that the notes of this step are compared with take too long on notes of this length.",
        "Send shorter notes, and put the rest into an artifact; nothing was stored.",
    )
    return [message for rule in rules for message in _broken_messages(rule, notes, effort)]


def describe_rule(rule: Rule) -> str:
    """Return what a rule demands, as the end of the sentence "The notes are accepted only if they"."""
    match rule:
        case AllOf(of=parts):
            return "; and ".join(describe_rule(part) for part in parts)
        case AnyOf(of=parts):
            return " or ".join(describe_rule(part) for part in parts)
        case ContainsRule(value=value, message=message):
            return _with_message(f"contain {_in_json(value)}", message)
        case PatternRule(pattern=pattern, flags=flags, message=message):
            beside = f" with the flags {flags}" if flags else ""
            return _with_message(f"match the pattern {_in_json(pattern)}{beside}", message)
        case LengthRule(minimum=minimum, maximum=maximum, message=message):
            most = "" if maximum is None else f" and at most {maximum}"
            return _with_message(f"have at least {minimum}{most} characters", message)
        case SchemaRule(schema=schema, message=message):
            return _with_message(f"are one JSON document of this schema: {_in_json(schema)}", message)
        case never:
            assert_never(never)


def _with_message(demand: str, message: str) -> str:
    return f"{demand} ({message.strip()})" if message.strip() else demand


def _in_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _broken_messages(rule: Rule, notes: str, effort: Effort) -> list[str]:
    match rule:
        case AllOf(of=parts):
            return [message for part in parts for message in _broken_messages(part, notes, effort)]
        case AnyOf(of=parts):
            broken = [_broken_messages(part, notes, effort) for part in parts]
            if not all(broken):
                return []
            return ["One of these must hold: " + " / ".join(messages[0] for messages in broken)]
        case ContainsRule(value=value, message=message):
            return [] if value.lower() in notes.lower() else [message]
        case PatternRule(pattern=pattern, flags=flags, message=message):
            return [] if _is_matched(pattern, flags, notes, effort) else [message]
        case LengthRule(minimum=minimum, maximum=maximum, message=message):
            is_long_enough = len(notes) >= minimum
            return [] if is_long_enough and (maximum is None or len(notes) <= maximum) else [message]
        case SchemaRule(schema=schema, message=message):
            return [] if _is_document_of(schema, notes) else [message]
        case never:
            assert_never(never)


def _is_matched(pattern: str, flags: str, notes: str, effort: Effort) -> bool:
    # Few rules hold a pattern.
    from handrail.workflows.contracts.patterns import estimate_work, is_match  # noqa: PLC0415

    effort.spend(estimate_work(pattern, flags, len(notes)))
    return is_match(pattern, flags, notes)


def _is_document_of(schema: dict[str, object], notes: str) -> bool:
    try:
        document = msgspec.json.decode(notes.encode())
    except msgspec.DecodeError:
        return False
    from handrail.workflows.contracts.check import find_violations  # noqa: PLC0415 - few rules hold a schema

    return not find_violations(schema, document)


# What a step requires

SHOWN_ISSUES = 3
MISSING: ReasonName = "contract_violation:missing_required_output"
INVALID: ReasonName = "contract_violation:invalid_required_output"

USER_REASONS: dict[str, ReasonName] = {
    "needs_user_secret_or_token": "user_only_dependency:needs_user_secret_or_token",
    "needs_user_account_access": "user_only_dependency:needs_user_account_access",
    "needs_user_artifact": "user_only_dependency:needs_user_artifact",
    "needs_user_choice": "user_only_dependency:needs_user_choice",
    "needs_user_approval": "user_only_dependency:needs_user_approval",
    "needs_user_environment_action": "user_only_dependency:needs_user_environment_action",
}


class ContractDue(msgspec.Struct, frozen=True, kw_only=True):
    """A required artifact of a contract of the step."""

    ref: str
    contract: Contract
    about: tuple[str, ...] = ()
    """What it must be about: names of the current loop (empty outside of loops), or a capability."""

    @property
    def is_decision(self) -> bool:
        return self.contract.artifact_kind == LOOP_CONTROL


class AssessmentDue(msgspec.Struct, frozen=True, kw_only=True):
    """A required assessment of a gate."""

    ref: str
    gate: Gate


class UserInputDue(msgspec.Struct, frozen=True, kw_only=True):
    """Required input that only the user can give."""

    needed: UserOnly
    step_id: str


Due: TypeAlias = ContractDue | AssessmentDue | UserInputDue


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing a report with the requirements of a place."""

    reasons: tuple[Reason, ...] = ()
    checks: tuple[ContractCheck, ...] = ()
    is_undecided: bool = False
    """A required decision about a loop was not sent."""


def list_due(place: Place) -> tuple[Due, ...]:
    """Return every requirement of the step of a place."""
    step = place.step
    if step is None:
        return ()
    gates: list[Due] = []
    for gate in step.gates:
        gates.append(AssessmentDue(ref=find_kind_contract(place.workflow, ASSESSMENT)[0], gate=gate))
    refs = [step.contract] if step.contract else []
    asked = [_contract_due(place, step, ref) for ref in (*refs, *list_required_contracts(step))]
    users = [UserInputDue(needed=step.user_only, step_id=step.id)] if step.user_only is not None else []
    return (*gates, *asked, *users)


def asked_kinds(place: Place) -> frozenset[str]:
    """Return the kinds of artifacts that can satisfy the step of a place."""
    return frozenset(map(_kind_for, list_due(place)))


def _kind_for(due: Due) -> str:
    match due:
        case ContractDue(contract=held):
            return held.artifact_kind
        case AssessmentDue():
            return ASSESSMENT
        case UserInputDue():
            return USER_INPUT
        case never:
            assert_never(never)


def _contract_due(place: Place, step: Step, ref: str) -> Due:
    due = ContractDue(ref=ref, contract=place.workflow.contracts[ref])
    about: tuple[str, ...] = ()
    if due.is_decision:
        # A deciding step is directly in the body of its loop, so its loop is the innermost around it.
        innermost = place.frames[-1].loop_id if place.frames else ""
        about = (deciding_loop(place.workflow, place.frames), innermost)
    elif due.contract.artifact_kind == CAPABILITY_OBSERVATION and step.capability:
        about = (step.capability,)
    return msgspec.structs.replace(due, about=about)


def is_answered_by(due: Due, found: JudgedArtifact) -> bool:
    """Whether an artifact satisfies a requirement, by the table above."""
    if not found.is_good:
        return False
    match due:
        case ContractDue(ref=ref, about=about):
            return found.artifact.contract_ref == ref and (not about or found.about in about)
        case AssessmentDue(gate=gate):
            return _is_for(gate, found) and _demand(gate, found) is None
        case UserInputDue():
            return found.artifact.kind == USER_INPUT
        case never:
            assert_never(never)


def find_reasons(place: Place, facts: Facts, judged: list[JudgedArtifact]) -> Findings:
    """Return the result of every requirement, then of the other artifacts; each is checked and recorded
    once.
    """
    reasons: list[Reason] = []
    checks: list[ContractCheck] = []
    seen: set[str] = set()
    is_undecided = False
    for due in list_due(place):
        aimed = [found for found in judged if _is_aimed(due, found) and found.artifact.digest not in seen]
        seen |= {found.artifact.digest for found in aimed}
        # One artifact may satisfy two requirements, and is recorded with the first that it is meant for.
        is_answered = any(is_answered_by(due, found) for found in judged)
        reason, check = _judge_due(place, facts, due, aimed, judged, is_answered)
        reasons += [] if reason is None else [reason]
        checks += [] if check is None else [check]
        is_undecided |= isinstance(due, ContractDue) and due.is_decision and not is_answered
    # An artifact that was not required is also checked against its own contract: a later condition would read
    # a wrong fact that is accepted here.
    beside: dict[str, list[JudgedArtifact]] = {}
    for found in judged:
        if found.ref and found.artifact.digest not in seen:
            beside.setdefault(found.ref, []).append(found)
    for ref, group in sorted(beside.items()):
        issues = _issues(group)
        if issues:
            reasons.append(_invalid_reason(place, group[0], group[0].contract, issues))
        if issues or all(found.artifact.contract_ref for found in group):
            checks.append(_check(ref, "invalid" if issues else "valid", issues))
    reasons += _find_missing_values(place, facts)
    return Findings(reasons=tuple(reasons), checks=tuple(checks), is_undecided=is_undecided)


def _find_missing_values(place: Place, facts: Facts) -> Iterator[Reason]:
    """Yield a reason for each required value that was not sent and has no default."""
    for name in () if place.step is None else list_required_values(place.step):
        value = facts.values.get(name)
        if value is not None and value != "":
            continue
        spec = place.workflow.inputs.get(name, InputSpec())
        message = f"This step must set context.{name}, and it is not set. Expected: {describe_input(spec)}."
        sent = _in_json({name: spec.enum[0] if spec.enum else "…"})
        yield Reason(
            name=MISSING,
            pointer=ContextKey(key=name),
            waits_for=WaitsFor(kind="context", values={"name": name, "type": "value"}),
            message=shorten_message(message),
            fix=shorten_message(f"Send it in the context, such as {sent}.", FIX_BYTES),
        )


def _judge_due(
    place: Place,
    facts: Facts,
    due: Due,
    aimed: list[JudgedArtifact],
    judged: list[JudgedArtifact],
    is_answered: bool,
) -> tuple[Reason | None, ContractCheck | None]:
    issues = _issues(aimed)
    match due:
        case ContractDue(ref=ref, contract=contract):
            if issues:
                return _invalid_reason(place, aimed[0], contract, issues), _check(ref, "invalid", issues)
            if is_answered:
                return None, _check(ref, "valid")
            return _missing_reason(place, due, judged), _check(ref, "missing")
        case AssessmentDue(ref=ref, gate=gate):
            return _judge_gate(ref, gate, aimed, issues, _describe_stray(ASSESSMENT, judged))
        case UserInputDue(needed=needed):
            is_given = (
                is_answered
                or place.is_given
                or (bool(needed.input) and not is_blank_answer(facts.values.get(needed.input)))
            )
            check = None if not aimed else _check(aimed[0].ref, "invalid" if issues else "valid", issues)
            if not is_given:
                return _user_reason(due, issues), check
            wrong = _invalid_reason(place, aimed[0], None, issues) if issues else None
            return wrong, check
        case never:
            assert_never(never)


def _is_aimed(due: Due, found: JudgedArtifact) -> bool:
    """Whether an artifact is meant for a requirement, valid or not."""
    match due:
        case ContractDue(ref=ref):
            return found.ref == ref
        case AssessmentDue(gate=gate):
            return _is_for(gate, found)
        case UserInputDue():
            return found.artifact.kind == USER_INPUT
        case never:
            assert_never(never)


def _is_for(gate: Gate, found: JudgedArtifact) -> bool:
    return found.artifact.kind == ASSESSMENT and found.about == gate.assessment_id


def _demand(gate: Gate, found: JudgedArtifact) -> tuple[str, str] | None:
    """Return the dimension and level of a valid assessment that require a follow-up, or None."""
    return find_demand(gate, msgspec.convert(found.artifact.body, Judgement))


def _issues(group: Iterable[JudgedArtifact]) -> tuple[Issue, ...]:
    return tuple(issue for found in group for issue in found.issues)


def _check(ref: str, result: Any, issues: Iterable[Issue] = ()) -> ContractCheck:
    texts = tuple(f"{issue.pointer}: {issue.message}" for issue in issues)
    return ContractCheck(contract_ref=ref, result=result, issues=texts[:MOST_ISSUES])


def _missing_reason(place: Place, due: ContractDue, judged: list[JudgedArtifact]) -> Reason:
    kind = due.contract.artifact_kind
    named = next(iter(due.about), "")
    about = f" about {'the loop ' if due.is_decision else ''}{named}" if named else ""
    what = f"This step must deliver {kind}{about}; none came."
    waits = WaitsFor(kind="output", values={"artifact": kind})
    return Reason(
        name=MISSING,
        pointer=OutputContract(contract_ref=due.ref),
        waits_for=waits,
        message=shorten_message(what + _describe_stray(kind, judged)),
        fix=fix_of(waits),
        example=fit_example(place, due.contract),
        capability="" if due.is_decision else named,
    )


def _describe_stray(kind: str, judged: list[JudgedArtifact]) -> str:
    """Return a note on an artifact that was probably meant for the requirement and does not count for it."""
    for found in judged:
        if found.misnamed is not None and found.misnamed.suggestion == kind:
            return (
                f" An artifact of kind {shorten_message(found.misnamed.kind, 60)} did: did you mean {kind}?"
            )
    others = sorted({found.about for found in judged if found.artifact.kind == kind and found.about})
    return f" What came is about {shorten_message(', '.join(others), 120)}." if others else ""


def _invalid_reason(
    place: Place, came: JudgedArtifact, contract: Contract | None, issues: tuple[Issue, ...]
) -> Reason:
    """Return one reason for all invalid artifacts of a contract; `came` is one of them."""
    ref = came.ref
    before = f"The artifact {shorten_message(came.artifact.kind, 60)} was rejected: "
    is_due = place.step is not None and ref in (place.step.contract, *place.step.requires)
    waits = WaitsFor(
        kind="output",
        state="invalid" if is_due else "not_asked",
        values={"artifact": shorten_message(came.artifact.kind, 60)},
    )
    return Reason(
        name=INVALID,
        pointer=OutputContract(contract_ref=ref),
        waits_for=waits,
        message=before + _join_faults([f"{issue.pointer}: {issue.message}" for issue in issues], before),
        fix=fix_of(waits),
        example=None if contract is None else fit_example(place, contract),
    )


def _join_faults(faults: list[str], before: str) -> str:
    """Return the first faults as text, each as complete as their shared limit allows, and the number of the
    others.
    """
    more = f" ({len(faults) - SHOWN_ISSUES} more in issues)" if len(faults) > SHOWN_ISSUES else ""
    shown = sorted(faults[:SHOWN_ISSUES], key=len)
    left = MESSAGE_BYTES - len((before + more).encode()) - 2 * len(shown)
    cut: dict[str, str] = {}
    for place, fault in enumerate(shown):  # longer faults get the space that short ones leave
        cut[fault] = shorten_message(fault, left // (len(shown) - place))
        left -= len(cut[fault].encode())
    return "; ".join(cut[fault] for fault in faults[:SHOWN_ISSUES]) + more


def fit_example(place: Place, contract: Contract) -> dict[str, Any] | None:
    """Return an artifact that the contract accepts, about the current loop or capability, or None if none
    is known.
    """
    from handrail.workflows.contracts.check import fitting_example  # noqa: PLC0415 - only a refusal shows one

    example = fitting_example(contract)
    if not example:
        return None
    example = {"kind": contract.artifact_kind} | example
    loop_id = deciding_loop(place.workflow, place.frames)
    if contract.artifact_kind == LOOP_CONTROL and loop_id:
        return example | {"loopId": loop_id}
    if contract.artifact_kind == CAPABILITY_OBSERVATION and place.step is not None and place.step.capability:
        from handrail.workflows.builtins.prompt_texts import make_observation  # noqa: PLC0415 - the same

        return make_observation(example, place.step.capability)
    return example


def _judge_gate(
    ref: str, gate: Gate, aimed: list[JudgedArtifact], issues: tuple[Issue, ...], instead: str
) -> tuple[Reason | None, ContractCheck]:
    named = gate.assessment_id
    if not aimed:
        message = f"This step must deliver the assessment {named} as an artifact; none came.{instead}"
        return _gate_reason(ref, gate, "missing", message), _check(ref, "missing")
    if issues:
        before = f"The assessment {shorten_message(named, 60)} was rejected: "
        message = before + _join_faults([issue.message for issue in issues], before)
        return _gate_reason(ref, gate, "invalid", message), _check(ref, "invalid", issues)
    demands = [found for held in aimed if (found := _demand(gate, held)) is not None]
    if demands:
        name, level = demands[0]
        message = f"{name} is {level} in the assessment {named}: that needs a follow-up first."
        more = {"dimension": name, "level": level, "followup": gate.followups[level]}
        issue = Issue(contract_ref=ref, pointer=f"/dimensions/{name}", message=shorten_message(message))
        return _gate_reason(ref, gate, "follow_up", message, more), _check(ref, "invalid", (issue,))
    return None, _check(ref, "valid")


def _gate_reason(
    ref: str, gate: Gate, state: WaitState, message: str, more: Mapping[str, str] | None = None
) -> Reason:
    values = {"assessment": gate.assessment_id} | dict(more or {"levels": list_levels(gate)})
    waits = WaitsFor(kind="assessment", state=state, values=values)
    return Reason(
        name=MISSING if state == "missing" else INVALID,
        pointer=OutputContract(contract_ref=ref),
        waits_for=waits,
        message=shorten_message(message),
        fix=shorten_message(fix_of(waits), FIX_BYTES),
        example=assessment_example(gate),
    )


def let_give(needed: UserOnly, step_id: str) -> Reason:
    """Return the reason of a step whose value a person must give themselves."""
    return Reason(
        name=USER_REASONS[needed.reason],
        pointer=ContextKey(key=needed.input) if needed.input else WorkflowStep(step_id=step_id),
        waits_for=WaitsFor(kind="give", values=_name_gift(needed, step_id) | BY_PERSON),
        message="A person must give what this step needs, and an agent's statement does not count.",
    )


def _name_gift(needed: UserOnly, step_id: str) -> dict[str, str]:
    return {"step": step_id, "reason": needed.reason} | ({"input": needed.input} if needed.input else {})


def _user_reason(due: UserInputDue, issues: tuple[Issue, ...]) -> Reason:
    needed = due.needed
    wrong = "; ".join(f"{issue.pointer}: {issue.message}" for issue in issues[:SHOWN_ISSUES])
    what = "Only the user can give what this step needs."
    in_context = f"context.{needed.input}, or as " if needed.input else ""
    return Reason(
        name=USER_REASONS[needed.reason],
        pointer=ContextKey(key=needed.input) if needed.input else WorkflowStep(step_id=due.step_id),
        waits_for=WaitsFor(
            kind="give",
            state="invalid" if wrong else "missing",
            values=_name_gift(needed, due.step_id),
        ),
        message=shorten_message(f"{what} What came does not fit: {wrong}" if wrong else what),
        fix=f"Ask the user, then send the answer as {in_context}an artifact like the example.",
        example={"kind": USER_INPUT, "answer": USER_WORDS, "givenBy": "user"},
    )


def fix_of(waits: WaitsFor) -> str:
    """Return what a caller does about a reason."""

    return write_fix(waits)
