"""`session rename`: give a session another title."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from handrail.contract.catalogue import E_HUMAN_REQUIRED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.outcome import Answer, refuse_argument
from handrail.contract.parameters import MintedId
from handrail.engine.events import AnswerSource, ObservationRecorded, PlannedEvent, Scope
from handrail.engine.facts import LONGEST_GOAL
from handrail.engine.history import History
from handrail.engine.plans import plan_event
from handrail.operations.finding import find_session, name_answerer
from handrail.projections.overview import session_title
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import WritePorts
from handrail.runtime.sessions import Session, decide_and_commit
from handrail.runtime.who_confirms import require_yes


class RenameSession(Input, frozen=True, kw_only=True):
    """The session, and its new title."""

    session: Annotated[MintedId, Meta(description="The session.")]
    title: Annotated[str, Meta(description="Its new title, one line.", min_length=1, max_length=LONGEST_GOAL)]


class RenamedSession(Answer, frozen=True, kw_only=True):
    """The recorded title; `is_new` is false if the session had it before this call."""

    session_id: str
    title: str
    before: str
    """The previous title; empty if it had no goal."""
    is_new: bool


def rename_session(rt: WritePorts, request: RenameSession) -> RenamedSession:
    """Ask the person once, and record the title. The goals stay as they are.

    Raise Fault E_HUMAN_REQUIRED if no person can be asked or the person does not agree, and VALIDATION_ERROR
    for a blank title.
    """
    session = find_session(rt, request.session)
    title = flatten_text(request.title).strip()
    if not title:
        message = "title: has no letters; nothing was changed."
        raise refuse_argument(message, "title", "is blank", f"1 to {LONGEST_GOAL} characters")
    before = session_title(session.history)
    if before == title:
        return RenamedSession(session_id=session.history.session_id, title=title, before=before, is_new=False)
    at_page: AnswerSource = "console" if rt.principal is None else "account"
    source = at_page if rt.is_at_console else _ask(rt, session, before, title)
    who = name_answerer(rt, source)
    decide_and_commit(
        rt, session, lambda now: partial(_plan_title, now.history, title, source, who), by_token=False
    )
    return RenamedSession(session_id=session.history.session_id, title=title, before=before, is_new=True)


def _ask(rt: WritePorts, session: Session, before: str, title: str) -> AnswerSource:
    """Ask a person at the terminal itself, because people find a session by its title."""
    session_id = session.history.session_id
    now = flatten_text(rt.secrets.redact_text(before)) or "it has no title"
    text = (
        f"\nThe session {session_id} is called: {now}\nIts new title: {title}\n\n"
        "The goal stays in the log.\nRename this session? [y/n] "
    )
    command = f"handrail session rename {session_id} TITLE"
    return require_yes(rt, text, command=command, resume=f"handrail session show {session_id}")


def _plan_title(history: History, title: str, source: AnswerSource, who: str, _: int) -> list[PlannedEvent]:
    """Return the event of a title; a version that knows no titles shows the goal again."""
    goal = history.observations.get("goal", "")
    fact = ObservationRecorded(key="goal", value=goal, title=title, source=source, who=who)
    return [plan_event(f"observation_recorded:{history.session_id}:title:{history.head}", Scope(), fact)]


OPERATION = Operation(
    name="session.rename",
    effect="record",
    summary="Give a session another title as a person, at a terminal or in the Console.",
    input=RenameSession,
    output=RenamedSession,
    perform=rename_session,
    shape=Shape(
        levels={"minimal": ("session_id", "title", "is_new")},
        id_field="session_id",
        untrusted=("title", "before"),
    ),
    errors=(
        E_HUMAN_REQUIRED.code,
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
