"""`run.confirm`: a person confirms the pending step, at a terminal or in the Console. No agent's tool does.

What the person sees is shown on the terminal itself, and the answer is read from there; without a terminal
nobody is asked. The Console shows the same text, and sends the answer with the digest of what it showed.
No token is used: the agent sends its report afterwards, and that counts as confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_CONFLICT,
    E_HUMAN_REQUIRED,
    E_INTERRUPTED,
    INVARIANT_VIOLATION,
    VALIDATION_ERROR,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Answer, Fault
from handrail.engine.decide import decide_confirmation
from handrail.engine.events import ConfirmationAnswer, ConfirmationDoor, ConfirmationRecorded
from handrail.engine.history import Confirmation, History, confirmation_of
from handrail.engine.navigate import Running, leaf_at, step_key
from handrail.operations.pending_step import PendingStep, find_pending_step
from handrail.operations.replies import load_pinned_workflow
from handrail.projections.asked_person import show_to_person
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, project_of
from handrail.runtime.sessions import COMMIT_TRIES, Session, Witness, commit, healthy_session, require_healthy
from handrail.workflows.compiled import Choice

LONGEST_NOTE = 500
MOST_QUESTIONS = 3
"""How often somebody who answers neither yes nor no is asked."""
_ANSWERS: dict[str, ConfirmationAnswer] = {
    "y": "confirmed",
    "yes": "confirmed",
    "n": "declined",
    "no": "declined",
}
_QUESTION = "Confirm this step? [y/n] "


class PersonsAnswer(Input, frozen=True, kw_only=True):
    """What a person answered in the Console, and to what."""

    answer: Annotated[str, Meta(description="yes, no, or the id of an option.", max_length=128)]
    what_digest: Annotated[str, Meta(description="The what_digest that came with show.", max_length=128)]


class ConfirmRun(Input, frozen=True, kw_only=True):
    """Which run."""

    state_token: Annotated[str, Meta(description="The step to confirm, by its stateToken.")] | UnsetType = (
        UNSET
    )
    session: Annotated[str, Meta(description="Or a session id, for its open run.")] | UnsetType = UNSET
    run: Annotated[str, Meta(description="Of that session, this run.", max_length=128)] | UnsetType = UNSET
    show: (
        Annotated[bool, Meta(description="Show what would be asked; asks nobody and records nothing.")]
        | UnsetType
    ) = UNSET
    given: Annotated[PersonsAnswer, Meta(description="The answer, from the Console only.")] | UnsetType = (
        UNSET
    )
    note: (
        Annotated[
            str, Meta(description="What is kept with the answer, in a sentence.", max_length=LONGEST_NOTE)
        ]
        | UnsetType
    ) = UNSET
    project: Annotated[str, Meta(description="The project directory.")] | UnsetType = UNSET


class ConfirmedRun(Answer, frozen=True, kw_only=True):
    """The answer as it is recorded; `is_new` is false where the step was confirmed before this call."""

    session_id: str
    run_id: str
    step_id: str
    answer: str
    door: str
    who: str
    what_digest: str
    """Of what the person was shown."""
    note: str
    answered_at: str
    is_new: bool


class OptionRow(Answer, frozen=True, kw_only=True):
    """An option that a person can take."""

    id: str
    label: str


class PersonsQuestion(Answer, frozen=True, kw_only=True):
    """What a person is asked about the pending step; with options, they take one or none."""

    session_id: str
    run_id: str
    node_id: str
    step_id: str
    shown: str
    what_digest: str
    """Of what is shown: an answer is to this, and to nothing else."""
    options: list[OptionRow]
    answer: str | None = None
    """What a person answered to exactly this before; null where nobody did."""


def confirm_run(rt: Runtime, request: ConfirmRun) -> ConfirmedRun | PersonsQuestion:
    """Ask the person once, and record the answer; or show what would be asked.

    Raises Fault E_HUMAN_REQUIRED when nobody can be asked, or nobody answers, and E_CONFLICT when what the
    Console showed is not what would be shown now.
    """
    if request.given is not UNSET and not rt.is_at_console:
        raise _not_a_person()
    pending = find_pending_step(
        rt, request.state_token, request.session, project_of(rt, request.project), request.run
    )
    require_healthy(pending.session)
    history = pending.session.history
    said = confirmation_of(history, pending.node.node_id)
    if request.show is True:
        return _show(rt, pending, said)
    if (
        said is not None
        and said.fact.answer == "confirmed"
        and said.fact.node_id == pending.node.node_id  # else they saw another report, or none
    ):
        return _describe(history, said, is_new=False)
    shown, offered = _question(rt, pending)
    options = [one.id for one in offered]
    meant = None if request.given is UNSET else _read_given(request.given, shown, options)
    note = "" if request.note is UNSET else request.note.strip()
    if note:
        shown += f"\n\nNote: {rt.secrets.redact_text(flatten_text(note))}"
    if meant is not None:
        return record_answer(rt, pending, meant[0], "console", shown, note, meant[1])
    answer, option_id = _ask(rt, shown, pending, options)
    return record_answer(rt, pending, answer, "terminal", shown, note, option_id)


def _question(rt: Runtime, pending: PendingStep) -> tuple[str, list[OptionRow]]:
    """What a person is shown, and the options of a choice that is theirs."""
    workflow = load_pinned_workflow(rt.log, pending.run.workflow_hash)
    shown = rt.secrets.redact_text(show_to_person(pending.session.history, workflow, pending.node))
    assert isinstance(pending.node.state, Running), "only a pending step is confirmed"
    leaf = leaf_at(workflow, pending.node.state)
    if not isinstance(leaf, Choice) or leaf.non_assumable is None:
        return shown, []
    return shown, [OptionRow(id=one.id, label=rt.secrets.redact_text(one.label)) for one in leaf.options]


def _show(rt: Runtime, pending: PendingStep, said: Confirmation | None) -> PersonsQuestion:
    shown, options = _question(rt, pending)
    assert isinstance(pending.node.state, Running), "only a pending step is confirmed"
    is_answered = said is not None and said.fact.node_id == pending.node.node_id
    return PersonsQuestion(
        session_id=pending.session.history.session_id,
        run_id=pending.run.run_id,
        node_id=pending.node.node_id,
        step_id=step_key(pending.node.state),
        shown=shown,
        what_digest=digest(shown),
        options=options,
        answer=said.fact.answer if said is not None and is_answered else None,
    )


def _not_a_person() -> Fault:
    return Fault(
        E_HUMAN_REQUIRED,
        "An answer in the call counts only where a person gave it in the Console; nothing was recorded.",
        details={"action": "handrail run confirm", "resume": "handrail session resume"},
        hint="Ask the user to confirm in the Console that `handrail console` opens, or to run `handrail run "
        "confirm` in a terminal.",
    )


def _read_given(given: PersonsAnswer, shown: str, options: Sequence[str]) -> tuple[ConfirmationAnswer, str]:
    """Raises Fault E_CONFLICT and VALIDATION_ERROR."""
    if given.what_digest != digest(shown):
        raise Fault(
            E_CONFLICT,
            "The step or its report changed after it was shown; nothing was recorded.",
            details={"reason": "target_changed"},
            hint="Look at what is shown now, then answer again.",
        )
    meant = _read(given.answer.strip(), options)
    if meant is None:
        expected = ", ".join([*options, "no"]) if options else "yes, no"
        problem = {"param": "given.answer", "problem": "is not an answer", "expected": expected}
        raise Fault(
            VALIDATION_ERROR,
            f"That is not an answer to this step; answer one of: {expected}.",
            details={"problems": [problem]},
        )
    return meant


def _read(told: str, options: Sequence[str]) -> tuple[ConfirmationAnswer, str] | None:
    """What a typed line means; of a choice it is the id or the number of an option, or no."""
    if told in options:
        return "confirmed", told
    if options and told.isascii() and told.isdigit() and 1 <= int(told) <= len(options):
        return "confirmed", options[int(told) - 1]
    answer = _ANSWERS.get(told.lower())
    return None if answer is None or (options and answer == "confirmed") else (answer, "")


def _ask(
    rt: Runtime, shown: str, pending: PendingStep, options: Sequence[str]
) -> tuple[ConfirmationAnswer, str]:
    """A person takes the time that they need: only a signal ends the question."""
    question = f"Which option do you take? [{', '.join(options)}, or n for none] " if options else _QUESTION
    again = "one of the options, or n." if options else "y or n."
    text = f"\n{shown}\n\nThe answer is kept in the log of the session, with your account.\n{question}"
    terminal = rt.terminal()
    with rt.interruptions.defer():
        for _ in range(MOST_QUESTIONS):
            told = terminal.ask(text, lambda: rt.interruptions.stop_reason() == "signal")
            if rt.interruptions.stop_reason() == "signal":
                raise Fault(
                    E_INTERRUPTED,
                    "The question was interrupted; nothing was recorded.",
                    details={"committed": False},
                )
            if told is None:
                break
            meant = _read(told.strip(), options)
            if meant is not None:
                return meant
            text = f"Please answer {again} {question}"
    raise _nobody(pending)


def _nobody(pending: PendingStep) -> Fault:
    command = f"handrail run confirm --session {pending.session.history.session_id}"
    return Fault(
        E_HUMAN_REQUIRED,
        "Nobody answered at a terminal; nothing was recorded. A person must run this command themselves.",
        details={"action": command, "resume": "handrail session resume"},
        hint=f"Ask the user to run `{command}` in a terminal of their own, then send the report again.",
    )


def record_answer(
    rt: Runtime,
    pending: PendingStep,
    answer: ConfirmationAnswer,
    door: ConfirmationDoor,
    shown: str,
    note: str = "",
    option_id: str = "",
) -> ConfirmedRun:
    """Append what a person answered to the run as it stands now, at the node that they were asked about."""
    fact = ConfirmationRecorded(
        node_id=pending.node.node_id,
        door=door,
        who=rt.workspace.account(),
        what_digest=digest(shown),
        answer=answer,
        note=note,
        option_id=option_id,
    )
    session = pending.session
    for _ in range(COMMIT_TRIES):
        with healthy_session(rt, session, by_token=pending.by_token) as (session, witness):
            committed = _commit(rt, witness, session, fact)
        if committed is not None:
            said = committed.history.confirmations[fact.node_id]
            return _describe(committed.history, said, is_new=True)
    raise Fault(
        INVARIANT_VIOLATION,
        "The log kept changing during this call.",
        details={"session_id": session.history.session_id},
    )


def _commit(rt: Runtime, witness: Witness, session: Session, fact: ConfirmationRecorded) -> Session | None:
    plan = decide_confirmation(session.history, fact)
    return commit(rt, witness, session, lambda _: plan)


def _describe(history: History, said: Confirmation, *, is_new: bool) -> ConfirmedRun:
    node = history.nodes[said.fact.node_id]
    assert isinstance(node.state, Running), "a confirmation belongs to a pending step"
    return ConfirmedRun(
        session_id=history.session_id,
        run_id=node.run_id,
        step_id=step_key(node.state),
        answer=said.fact.answer,
        door=said.fact.door,
        who=said.fact.who,
        what_digest=said.fact.what_digest,
        note=said.fact.note,
        answered_at=said.at,
        is_new=is_new,
    )


OPERATION = Operation(
    name="run.confirm",
    effect="record",
    summary="Confirm the pending step as a person, at a terminal or in the Console.",
    input=ConfirmRun,
    output=ConfirmedRun,
    variants=(PersonsQuestion,),
    reads_with=("show",),
    perform=confirm_run,
    shape=Shape(
        levels={"minimal": ("run_id", "step_id", "answer", "is_new"), "standard": None, "full": None},
        id_field="run_id",
        select="top",
        untrusted=("note", "shown", "options"),
    ),
    errors=(
        E_HUMAN_REQUIRED.code,
        E_CONFLICT.code,
        "CONTEXT_MISSING",
        "VALIDATION_ERROR",
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "TOKEN_INVALID_FORMAT",
        "TOKEN_UNSUPPORTED_VERSION",
        "TOKEN_BAD_SIGNATURE",
        "TOKEN_SCOPE_MISMATCH",
        "TOKEN_UNKNOWN_NODE",
        "TOKEN_SESSION_LOCKED",
        "STORE_HISTORY_LOST",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
