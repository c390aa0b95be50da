"""`run.answer`: a person confirms the pending step, at a terminal or in the Console. No agent's tool does.

What the person reads is shown on the terminal itself, and the answer is read from there; without a terminal,
no person is asked. The Console shows the same text, and sends the answer with the digest of what it showed.
The form of a client asks about an attempt that was blocked. No token is used: the agent sends its report
afterwards, and that counts as confirmed.
"""

from __future__ import annotations

from typing import Annotated, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CONFLICT, E_HUMAN_REQUIRED, E_INTERRUPTED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.json.canonical import digest
from handrail.contract.json.strict import repeats_a_key
from handrail.contract.outcome import Answer, Fault, Json, NextCall, make_from, refuse_argument
from handrail.contract.parameters import MintedId, ProjectPath, TokenText
from handrail.contract.redaction import Secrets, redact_shapes
from handrail.contract.wording import name_person, quote
from handrail.engine.ask import UNCHECKED, Ask, ask_about, describe_unchecked, read_value, weigh_answers
from handrail.engine.events import AnswerSource, ConfirmationAnswer, ConfirmationRecorded
from handrail.engine.facts import answer_to
from handrail.engine.history import (
    Confirmation,
    History,
    Node,
    Recorded,
    confirmation_of,
    find_last_answer,
)
from handrail.engine.judge.arrival import PersonsWord, named_confirmer
from handrail.engine.judge.artifacts import check_context_change
from handrail.engine.messages import RUN_CONFIRM, confirm_line
from handrail.engine.navigate import Running, step_key
from handrail.engine.plans import plan_confirmation
from handrail.engine.reasons import Blocker, WaitKind, wait_of
from handrail.operations.finding import name_answerer
from handrail.operations.handles import find_recorded_answer, node_of, read_ack, session_of
from handrail.operations.pending_step import PendingStep, find_pending_step
from handrail.operations.report import load_kept_notes
from handrail.projections.asked_person import FORM, Shown, describe_write, show_to_person
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.refused_calls import refuse_handed_out
from handrail.runtime.runtime import ReadPorts, RehydratePorts, Runtime, WritePorts, project_of
from handrail.runtime.sessions import (
    PlanWith,
    Session,
    decide_and_commit,
    load_pinned_workflow,
    require_healthy,
)
from handrail.runtime.who_confirms import find_answerers, require_confirmer
from handrail.views.questions import OptionRow, Question
from handrail.workflows.compiled import TYPE_WORDS, CompiledWorkflow, InputSpec

LONGEST_NOTE = 500
MOST_QUESTIONS = 3
"""How often a person who answers neither yes nor no is asked."""
LONGEST_VALUE = 2_000
_ANSWERS: dict[str, ConfirmationAnswer] = {
    "y": "confirmed",
    "yes": "confirmed",
    "n": "declined",
    "no": "declined",
}


class PersonsAnswer(Input, frozen=True, kw_only=True):
    """What a person answered in the Console, and the digest of the text."""

    answer: Annotated[
        str, Meta(description="yes, no, the id of an option, or the value.", max_length=LONGEST_VALUE)
    ]
    what_digest: Annotated[MintedId, Meta(description="The what_digest that came with show.", max_length=128)]
    based_on: Maybe[
        Annotated[
            str,
            Meta(description="The answer_id that came with show; empty: nobody had answered.", max_length=64),
        ]
    ] = UNSET


class AnswerRun(Input, frozen=True, kw_only=True):
    """The run to answer."""

    state_token: Maybe[Annotated[TokenText, Meta(description="The step to confirm, by its stateToken.")]] = (
        UNSET
    )
    session: Maybe[Annotated[MintedId, Meta(description="Or a session id, for its open run.")]] = UNSET
    run: Maybe[Annotated[MintedId, Meta(description="Of that session, this run.", max_length=128)]] = UNSET
    show: Maybe[
        Annotated[bool, Meta(description="Show what would be asked; asks nobody and records nothing.")]
    ] = UNSET
    given: Maybe[Annotated[PersonsAnswer, Meta(description="The answer, from the Console only.")]] = UNSET
    note: Maybe[
        Annotated[
            str, Meta(description="What is kept with the answer, in a sentence.", max_length=LONGEST_NOTE)
        ]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


class AnsweredRun(Answer, frozen=True, kw_only=True):
    """The recorded answer; `is_new` is false if the step was confirmed before this call."""

    session_id: str
    run_id: str
    step_id: str
    answer: str
    source: str
    who: str
    what_digest: str
    """Digest of what the person was shown."""
    note: str
    answered_at: str
    is_new: bool
    asked: str = ""
    """`confirm`, `choose`, `give` or `allow_write`; empty in logs of older versions."""
    value: str = ""
    """The value that the person gave."""
    answer_id: str = ""
    based_on: str = ""
    """The answer_id of the latest answer that the person had read; empty if there was none."""
    next: str = ""
    """What happens next, as a sentence."""


def answer_run(rt: WritePorts, request: AnswerRun) -> AnsweredRun | Question:
    """Ask the person once, and record the answer; or return what would be asked.

    Raise Fault E_HUMAN_REQUIRED if no person can be asked or answers, and E_CONFLICT if the Console showed
    something other than would be shown now.
    """
    if request.given is not UNSET and not rt.is_at_console:
        raise _not_a_person(request.session)
    project = project_of(rt, request.project)
    pending = find_pending_step(rt, request.state_token, request.session, project, request.run, is_asked=True)
    if pending.by_token:
        refuse_handed_out(pending.run)
    require_healthy(pending.session)
    history = pending.session.history
    workflow = load_pinned_workflow(rt.log, pending.run.workflow_hash)
    ask = ask_about(history, workflow, pending.node)
    word = weigh_answers(history, workflow, ask.attempt, ask.kind)
    based_on = _name_last_answer(history, pending.node, ask)
    if request.given is not UNSET and request.given.based_on is not UNSET:
        based_on = request.given.based_on
    notes = load_kept_notes(rt.log, history, ask.attempt)
    whole = show_to_person(history, workflow, ask.attempt, rt.secrets.redact_text, notes=notes)
    shown, closed = whole.text, explain_closed(whole, ask)
    if request.show is True:
        return _show(rt, pending, ask, word, shown, workflow, closed)
    if not ask.is_open:
        raise _nothing_asked(pending, ask)
    meant = None if request.given is UNSET else _read_given(request.given, shown, ask, workflow)
    if meant is not None and meant.answer == "confirmed" and closed:
        raise refuse_argument(closed, "given.answer", "approves a text with a secret", "no", hint=_DECLINE)
    if word.is_given and word.answered is not None and (meant is None or _is_same(meant, word.answered)):
        return _describe(history, word.answered, is_new=False)
    note = "" if request.note is UNSET else request.note.strip()
    if note:
        shown += f"\n\nNote: {rt.secrets.redact_text(flatten_text(note))}"
    source: AnswerSource = "console" if rt.principal is None else "account"
    if meant is None:
        meant, source = _ask(rt, shown, pending, ask, workflow, closed), "terminal"
    if closed and not note and meant.answer == "declined":
        note = f"{closed} Send it again without the secret."
    return record_answer(rt, pending, ask, meant, source, shown, based_on=based_on, note=note)


_DECLINE = "Decline it; the agent then sends it again without the secret."


def explain_closed(shown: Shown, ask: Ask) -> str:
    """Return why no person can approve what is shown; empty if a person can.

    A person may always give what only a person can give.
    """
    if not shown.secrets_in or ask.kind == "give":
        return ""
    return f"A secret was found in {' and in '.join(shown.secrets_in)}, so this cannot be approved."


def _name_last_answer(history: History, node: Node, ask: Ask) -> str:
    last = find_last_answer(history, node.node_id, ask.kind)
    return "" if last is None else last.answer_id


def _nothing_asked(pending: PendingStep, ask: Ask) -> Fault:
    session_id = pending.session.history.session_id
    return refuse_argument(
        f"Nothing waits for a person here: the step {quote(ask.leaf.id)} asks nobody, so no answer to it "
        "counts. Nothing was recorded.",
        "session",
        "asks nobody",
        "a step that waits for a person",
        hint=f"To change what the agent does, tell it in its chat; `handrail session show {session_id}` "
        "shows the run.",
        next_call=NextCall(operation="session.inbox", params={}),
    )


def question_of(ask: Ask, workflow: CompiledWorkflow) -> str:
    """Return what a person is asked, in one line without the way to answer."""
    match ask.kind:
        case "choose":
            return "Which option do you take?"
        case "confirm":
            return "Confirm this step?" if ask.subject else "There is no report yet. Confirm this step?"
        case "allow_write":
            return "Allow this write?"
        case "give":
            if not ask.takes_value:
                return "Is it done? Never type a secret here."
            needed, spec = ask.needed, _spec_of(ask, workflow)
            named = f"“{needed.input}”" if needed is not None and needed.input else "your answer"
            return f"What is {named}? {_describe_answers(ask, workflow)}" if spec else f"What is {named}?"
        case never:
            assert_never(never)


def _name_confirmer(ask: Ask) -> str:
    """Return who must confirm the step according to its author; empty for any person,
    or another kind of question.
    """
    return named_confirmer(ask.leaf) if ask.kind == "confirm" else ""


def _show(
    rt: ReadPorts,
    pending: PendingStep,
    ask: Ask,
    word: PersonsWord,
    shown: str,
    workflow: CompiledWorkflow,
    closed: str,
) -> Question:
    assert isinstance(pending.node.state, Running), "only a pending step is confirmed"
    redact = rt.secrets.redact_text
    writes, diff = map(redact, describe_write(pending.session.history, workflow, ask.attempt))
    diff = redact_shapes(diff)
    answer = None if word.seen else word.answered  # else it was about another report, or about none
    return Question(
        session_id=pending.session.history.session_id,
        run_id=pending.run.run_id,
        node_id=pending.node.node_id,
        step_id=step_key(pending.node.state),
        shown=shown,
        what_digest=digest(shown),
        options=[
            OptionRow(
                id=one.id,
                label=redact(one.label),
                description=redact(one.description),
                irreversible=one.irreversible,
                recommended=one.recommended,
            )
            for one in ask.options
        ],
        answer=None if answer is None else answer.fact.answer,
        answer_id=_name_last_answer(pending.session.history, pending.node, ask),
        asked=ask.kind,
        is_asked=ask.is_open,
        takes_value=ask.takes_value,
        question=redact(question_of(ask, workflow)),
        others=find_answerers(rt, pending.session.history, pending.node, _name_confirmer(ask)),
        writes=writes,
        diff=diff,
        closed=closed,
    )


def _not_a_person(session: str | UnsetType) -> Fault:
    command = RUN_CONFIRM if session is UNSET else f"{RUN_CONFIRM} --session {session}"
    return Fault(
        E_HUMAN_REQUIRED,
        "An answer in the call counts only where a person gave it in the Console; nothing was recorded.",
        details={"action": command, "resume": "handrail session resume"},
        hint=f"Ask the user to confirm in the Console that `handrail console` opens, or to run `{command}` "
        "in a terminal.",
    )


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """What a person answered: yes or no, and with a yes an option or a value."""

    answer: ConfirmationAnswer
    option_id: str = ""
    value: str = ""


def _is_same(meant: Meant, before: Confirmation) -> bool:
    """Whether a person repeats their earlier answer."""
    fact = before.fact
    is_same_value = bool(meant.option_id) or meant.value == fact.value  # an option's value is its label
    return (meant.answer, meant.option_id) == (fact.answer, fact.option_id) and is_same_value


def _read_given(given: PersonsAnswer, shown: str, ask: Ask, workflow: CompiledWorkflow) -> Meant:
    """Return the answer from the Console. Raise Fault E_CONFLICT and VALIDATION_ERROR."""
    if given.what_digest != digest(shown):
        raise Fault(
            E_CONFLICT,
            "The step or its report changed after it was shown; nothing was recorded.",
            details={"reason": "target_changed"},
            hint="Look at what is shown now, then answer again.",
        )
    meant = _read(given.answer.strip(), ask, workflow)
    if meant is None:
        expected = _describe_answers(ask, workflow)
        message = f"That is not an answer here, and nothing was recorded. {expected}"
        raise refuse_argument(message, "given.answer", "is not an answer", expected, hint="Answer again.")
    return meant


def _read(line: str, ask: Ask, workflow: CompiledWorkflow) -> Meant | None:
    """Return what a typed line means: the id or the number of an option, a value, yes or no."""
    options = [one.id for one in ask.options]
    if line in options:
        return Meant(answer="confirmed", option_id=line)
    if options and line.isascii() and line.isdigit() and 1 <= int(line) <= len(options):
        return Meant(answer="confirmed", option_id=options[int(line) - 1])
    if ask.takes_value:
        return read_gift(line, ask, workflow)
    answer = _ANSWERS.get(line.lower())
    return None if answer is None or (options and answer == "confirmed") else Meant(answer=answer)


def read_gift(value: str, ask: Ask, workflow: CompiledWorkflow) -> Meant | None:
    """Return a value that fits the input; None for an empty line, or a key that occurs twice."""
    needed = ask.needed
    if not value:
        return None
    if needed is not None and needed.input:
        spec = workflow.inputs.get(needed.input)
        read = read_value(spec, value)
        if check_context_change(workflow.inputs, {needed.input: read}):
            return None
        if isinstance(read, dict | list) and repeats_a_key(value):
            return None
    return Meant(answer="confirmed", value=value)


def _describe_answers(ask: Ask, workflow: CompiledWorkflow) -> str:
    """Return the possible answers, in words for a person."""
    if ask.options:
        return f"Answer with one of: {', '.join(one.id for one in ask.options)}, no."
    spec = _spec_of(ask, workflow)
    if not ask.takes_value or spec is None:
        return "Give a value." if ask.takes_value else "Answer yes or no."
    about = flatten_text(spec.description).rstrip(".")
    values = ", ".join(map(_spell_value, spec.enum)) or TYPE_WORDS[spec.type]
    return f"{about}. Allowed: {values}." if about else f"Allowed: {values}."


def _spec_of(ask: Ask, workflow: CompiledWorkflow) -> InputSpec | None:
    """Return the declared input that a value is for."""
    spec = None if ask.needed is None else workflow.inputs.get(ask.needed.input)
    return None if spec is None or spec.implicit else spec


def _spell_value(value: Json) -> str:
    return flatten_text(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _ask(
    rt: WritePorts, shown: str, pending: PendingStep, ask: Ask, workflow: CompiledWorkflow, closed: str
) -> Meant:
    """Ask at the terminal. The person has as much time as they need: only a signal ends the question."""
    ways = "[y/n]"
    if ask.options:
        ways = f"[{', '.join(one.id for one in ask.options)}, or n for none]"
    elif ask.takes_value:
        ways = "[an empty line gives no answer; never a secret]"
    question = rt.secrets.redact_text(f"{question_of(ask, workflow)} {ways} ")
    question = f"{closed} {_DECLINE} [n] " if closed else question
    again = f"That is not an answer here. {_describe_answers(ask, workflow)} {question}"
    if ask.takes_value:
        again = f"That is not an answer here. {question}"
    text = f"\n{shown}\n\nThe answer is kept in the log of the session, with your account.\n{question}"
    terminal = rt.terminal()
    with rt.interruptions.defer():
        for _ in range(MOST_QUESTIONS):
            line = terminal.ask(text, lambda: rt.interruptions.stop_reason() == "signal")
            if rt.interruptions.stop_reason() == "signal":
                raise Fault(
                    E_INTERRUPTED,
                    "The question was interrupted; nothing was recorded.",
                    details={"committed": False},
                )
            if line is None or (ask.takes_value and not line.strip()):
                break
            meant = _read(line.strip(), ask, workflow)
            if meant is not None and not (closed and meant.answer == "confirmed"):
                return meant
            text = again
    raise _nobody(pending)


def _nobody(pending: PendingStep) -> Fault:
    command = confirm_line(pending.session.history, pending.run.run_id)
    return Fault(
        E_HUMAN_REQUIRED,
        "No answer was given at a terminal; nothing was recorded. A person must run this command themselves.",
        details={"action": command, "resume": "handrail session resume"},
        hint=f"Ask the user to run `{command}` in a terminal of their own or to answer in the Console, then "
        "make the blocked reply's next call.",
    )


def record_answer(
    rt: WritePorts,
    pending: PendingStep,
    ask: Ask,
    meant: Meant,
    source: AnswerSource,
    shown: str,
    *,
    based_on: str,
    note: str = "",
) -> AnsweredRun:
    """Append a person's answer to the present state of the run, at the node that they were asked about.

    Raise Fault E_FORBIDDEN if the step names who must answer and it is not this person, and E_CONFLICT if
    somebody answered after the answer that this one is based on.
    """
    fact = ConfirmationRecorded(
        node_id=pending.node.node_id,
        source=source,
        who=name_answerer(rt, source),
        what_digest=digest(shown),
        answer=meant.answer,
        note=note,
        option_id=meant.option_id,
        asked=ask.kind,
        subject=ask.subject,
        value=next((one.label for one in ask.options if one.id == meant.option_id), meant.value),
        based_on=based_on,
    )

    def decide(now: Session) -> PlanWith:
        # Checked again: since the question, a person may have answered, or their agent worked on the step.
        last = find_last_answer(now.history, pending.node.node_id, ask.kind)
        if last is not None and last.answer_id != based_on:
            raise _answered_meanwhile(last)
        by = require_confirmer(rt, now.history, pending.node, _name_confirmer(ask))
        plan = plan_confirmation(now.history, msgspec.structs.replace(fact, by=by))
        return lambda _: plan

    committed, _ = decide_and_commit(rt, pending.session, decide, by_token=pending.by_token)
    return _describe(committed.history, committed.history.confirmations[fact.node_id][-1], is_new=True)


_DID: dict[ConfirmationAnswer, str] = {"confirmed": "said yes", "declined": "said no"}


def _answered_meanwhile(last: Confirmation) -> Fault:
    who, did = name_person(last.fact.who), _DID[last.fact.answer]
    if last.fact.value:
        did = f"answered {quote(last.fact.value)}"
    return Fault(
        E_CONFLICT,
        f"{who} {did} at {last.at}, after this question was shown; your answer was not recorded.",
        details={
            "reason": "answered_meanwhile",
            "who": who,
            "answer": last.fact.answer,
            "answered_at": last.at,
            "answer_id": last.answer_id,
        },
        hint="Look at the answer. To change it, show the question again and answer.",
    )


def _describe(history: History, held: Confirmation, *, is_new: bool) -> AnsweredRun:
    node = history.nodes[held.fact.node_id]
    assert isinstance(node.state, Running), "a confirmation belongs to a pending step"
    return make_from(
        AnsweredRun,
        held.fact,
        session_id=history.session_id,
        run_id=node.run_id,
        step_id=step_key(node.state),
        who=name_person(held.fact.who),
        answered_at=held.at,
        is_new=is_new,
        asked=held.fact.asked or "",
        answer_id=held.answer_id,
        next=_name_next(held.fact) + (f" It counts; {UNCHECKED}." if describe_unchecked(held.fact) else ""),
    )


def _name_next(fact: ConfirmationRecorded) -> str:
    """Return what an answer does, and what it does not."""
    if fact.answer == "declined":
        match fact.asked:
            case "choose" | "give":
                return "The run stands until you answer; the agent reads this at its next call."
            case _:
                return (
                    "What you were shown does not pass; the agent reads this at its next call. If it changes "
                    "that and reports again, you are asked again."
                )
    match fact.asked:
        case "confirm" if not fact.subject:
            return "There is no report yet, so this confirms nothing: you are asked again about the report."
        case "confirm":
            return "This report passes when the agent sends it again; another one is asked about again."
        case "choose":
            return f"The run takes “{fact.value or fact.option_id}” when the agent makes its call."
        case "give":
            return "The agent reads your answer at its next call, which takes it up."
        case "allow_write":
            return "The write is made when the agent makes its next call."
        case None:
            return ""
        case never:
            assert_never(never)


OPERATION = Operation(
    name="run.answer",
    effect="record",
    summary="Confirm the pending step as a person, at a terminal or in the Console.",
    input=AnswerRun,
    output=AnsweredRun,
    variants=(Question,),
    reads_with=("show",),
    perform=answer_run,
    is_persons=True,
    shape=Shape(
        levels={"minimal": ("run_id", "step_id", "answer", "is_new")},
        id_field="run_id",
        untrusted=("note", "shown", "options", "value", "question", "writes", "diff"),
    ),
    errors=(
        E_HUMAN_REQUIRED.code,
        E_CONFLICT.code,
        "CONTEXT_MISSING",
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "TOKEN_SCOPE_MISMATCH",
    ),
)


# The form of the agent's client: what a person could answer so that a blocked attempt continues


_ONE_VALUE = ("string", "number", "integer", "boolean")


class NeededAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the form of a client can show to a person."""

    ask: Ask
    shown: str
    workflow: CompiledWorkflow
    given: Json | UnsetType = UNSET
    """What a person answered in a form to this attempt: yes or no, an option (None for none), or a value."""
    based_on: str = ""
    """The newest answer to the question when the form was made."""

    @property
    def spec(self) -> InputSpec | None:
        """Return the input that a value is for."""
        return None if self.ask.needed is None else self.workflow.inputs.get(self.ask.needed.input)


def find_needed_answer(ports: RehydratePorts, secrets: Secrets, retry_ack: str) -> NeededAnswer | None:
    """Return what would let this attempt continue; None if only the agent, a secret or a document would.

    `retry_ack` is the ack of the blocked reply, or the token of any of its options. An answer in a form
    belongs to this very attempt, so a repeat of its call continues with it; an answer given elsewhere is for
    the next attempt. No person is asked about an attempt that continued without an answer, or about what
    they declined. Raise Fault for a token that does not verify.
    """
    claims = read_ack(ports.keys, retry_ack, UNSET).claims
    session = session_of(ports.log, claims)
    history = session.history
    node = node_of(history, claims)
    attempt = answer_to(history, node.node_id)
    if attempt is None or attempt.blocked is None or not isinstance(node.state, Running):
        return None
    workflow = load_pinned_workflow(ports.log, history.runs[node.run_id].workflow_hash)
    ask = ask_about(history, workflow, node)
    if {_asked_for(blocker) for blocker in attempt.blocked.every_blocker} != {ask.kind}:
        return None
    notes = load_kept_notes(ports.log, history, node)
    form = show_to_person(history, workflow, node, secrets.redact_text, FORM, notes)
    if ask.kind != "give" and (form.secrets_in or not form.is_whole):
        return None  # a form shows a part, and an approval is about all of it
    shown = form.text
    based_on = _name_last_answer(history, node, ask)
    needed = NeededAnswer(ask=ask, shown=shown, workflow=workflow, based_on=based_on)
    if ask.kind == "give" and (not ask.takes_value or not _takes_one_value(needed.spec)):
        return None
    facts = (held.fact for held in history.confirmations.get(node.node_id, ()))
    answers = [fact for fact in facts if fact.asked in (None, ask.kind)]
    if answers:
        is_form = answers[-1].source == "elicitation"
        return msgspec.structs.replace(needed, given=_make_answer(ask, answers[-1])) if is_form else None
    is_answered = find_recorded_answer(session, claims, "advance") is not None
    return None if is_answered or _is_declined_before(history, node, attempt, digest(shown)) else needed


def _takes_one_value(spec: InputSpec | None) -> bool:
    return spec is not None and not spec.implicit and spec.type in _ONE_VALUE


def _make_answer(ask: Ask, fact: ConfirmationRecorded) -> Json:
    match ask.kind:
        case "choose":
            return fact.option_id or None
        case "give":
            return fact.value
        case "confirm" | "allow_write":
            return fact.answer == "confirmed"
        case never:
            assert_never(never)


def _asked_for(blocker: Blocker) -> WaitKind | None:
    """Return what a person is asked for; None if they have chosen another option already."""
    wait = wait_of(blocker)
    return None if wait is None or wait.state == "invalid" else wait.kind


def record_persons_answer(rt: Runtime, retry_ack: str, needed: NeededAnswer, meant: Meant) -> None:
    """Record what a person answered in a form of their client, at the attempt that they were asked about.

    Raise Fault as a report at this attempt would.
    """
    own = rt.for_one_call(None)
    claims = read_ack(own.keys, retry_ack, UNSET).claims
    session = session_of(own.log, claims)
    node = node_of(session.history, claims)
    run = session.history.runs[node.run_id]
    pending = PendingStep(session=session, run=run, node=node, by_token=True)
    record_answer(own, pending, needed.ask, meant, "elicitation", needed.shown, based_on=needed.based_on)


def _is_declined_before(history: History, node: Node, asked: Recorded, shown_digest: str) -> bool:
    """Whether a person declined the same report, or read the same text then."""
    answer = confirmation_of(history, node.node_id)
    if answer is None or answer.fact.answer != "declined":
        return False
    declined = answer_to(history, answer.fact.node_id)
    if declined is not None and declined.blocked and declined.input_digest == asked.input_digest:
        return True
    return answer.fact.what_digest == shown_digest
