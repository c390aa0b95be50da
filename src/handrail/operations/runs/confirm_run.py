"""`run.confirm`: a person confirms the pending step, at a terminal. No agent's client offers it.

What the person sees is shown on the terminal itself, and the answer is read from there; without a terminal
nobody is asked. No token is used: the agent sends its report afterwards, and that counts as confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_HUMAN_REQUIRED, E_INTERRUPTED, INVARIANT_VIOLATION
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


class ConfirmRun(Input, frozen=True, kw_only=True):
    """Which run."""

    state_token: Annotated[str, Meta(description="The step to confirm, by its stateToken.")] | UnsetType = (
        UNSET
    )
    session: Annotated[str, Meta(description="Or a session id, for its open run.")] | UnsetType = UNSET
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


def confirm_run(rt: Runtime, request: ConfirmRun) -> ConfirmedRun:
    """Ask the person at the terminal once, and record the answer.

    Raises Fault E_HUMAN_REQUIRED when nobody can be asked, or nobody answers.
    """
    pending = find_pending_step(rt, request.state_token, request.session, project_of(rt, request.project))
    require_healthy(pending.session)
    history = pending.session.history
    said = confirmation_of(history, pending.node.node_id)
    if (
        said is not None
        and said.fact.answer == "confirmed"
        and said.fact.node_id == pending.node.node_id  # else they saw another report, or none
    ):
        return _describe(history, said, is_new=False)
    note = "" if request.note is UNSET else request.note.strip()
    workflow = load_pinned_workflow(rt.log, pending.run.workflow_hash)
    shown = rt.secrets.redact_text(show_to_person(history, workflow, pending.node))
    if note:
        shown += f"\n\nNote: {rt.secrets.redact_text(flatten_text(note))}"
    assert isinstance(pending.node.state, Running), "only a pending step is confirmed"
    leaf = leaf_at(workflow, pending.node.state)
    options = [one.id for one in leaf.options] if isinstance(leaf, Choice) and leaf.non_assumable else []
    answer, option_id = _ask(rt, shown, pending, options)
    return record_answer(rt, pending, answer, "terminal", shown, note, option_id)


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
    summary="Confirm the pending step as a person, at a terminal.",
    input=ConfirmRun,
    output=ConfirmedRun,
    perform=confirm_run,
    shape=Shape(
        levels={"minimal": ("run_id", "step_id", "answer", "is_new"), "standard": None, "full": None},
        id_field="run_id",
        select="top",
        untrusted=("note",),
    ),
    errors=(
        E_HUMAN_REQUIRED.code,
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
