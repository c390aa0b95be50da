"""What is answered about a session itself, where no run is meant: its tokens, its notes, its runs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from handrail.contract.disclosure.newest import FENCE_BYTES, take_newest_rows
from handrail.contract.ids import AttemptId, attempt_for_new, attempt_of
from handrail.contract.outcome import Payload, Success
from handrail.contract.tokens.workflow import WORKFLOW, CheckpointClaims, StateClaims, mint
from handrail.contract.wording import shorten
from handrail.engine.facts import LONGEST_GOAL
from handrail.engine.history import History, SessionNotes
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.engine.reply import ReplyWarning, ToolCall, put_warnings_first
from handrail.operations.handles import mint_state_token
from handrail.ports.process import Keys, Randomness
from handrail.projections.recap import KEPT_MOST_RECENT, NOTES_BUDGET_BYTES, TRUNCATION_MARK
from handrail.projections.run_graph import run_graph
from handrail.runtime.sessions import Session

MOST_RUNS = 5


class SessionAlone(Payload, frozen=True, kw_only=True):
    """Which session this is."""

    session_id: str
    goal: str = ""


class SessionEntry(Payload, frozen=True, kw_only=True):
    """Notes of the session itself."""

    output_id: str
    notes: str


class SessionRecap(Payload, frozen=True, kw_only=True):
    """Entries oldest first."""

    entries: list[SessionEntry]
    truncated: bool = False
    omitted: int = 0
    policy: str = ""


class RunPlace(Payload, frozen=True, kw_only=True):
    """A run of the session, and the call that goes on with it."""

    run_id: str
    workflow_id: str
    status: str
    next_call: ToolCall


class SessionReply(Payload, frozen=True, kw_only=True):
    """What `session.start` answers, and checkpoint and continue where a token names the session itself."""

    kind: Literal["ok"]
    session_token: str
    checkpoint_token: str = ""
    """Empty where the session is damaged and nothing can be kept in it."""
    session: SessionAlone
    next_call: ToolCall | None
    warnings: list[ReplyWarning] = []
    recap: SessionRecap | None = None
    runs: list[RunPlace] = []
    project: str = ""


def reply_to_opening(
    keys: Keys, session: Session, warnings: tuple[ReplyWarning, ...], project: str
) -> Success:
    """The reply to the start of a session, from recorded facts: the same for every replay."""
    opening = session.history.opening
    assert opening is not None, "the session was begun"
    attempt = attempt_for_new(session.history.session_id)
    return _reply(keys, session, opening.tag, attempt, opening.goal, warnings, project=project)


def reply_to_notes(
    keys: Keys, session: Session, noted: SessionNotes, warnings: tuple[ReplyWarning, ...]
) -> Success:
    """The reply to notes of the session: the next ones get a token of their own."""
    opening = session.history.opening
    assert opening is not None, "the session was begun"
    attempt = attempt_for_new(noted.output_id)
    return _reply(keys, session, noted.tag, attempt, opening.goal, warnings)


def reply_to_reread(
    keys: Keys, randomness: Randomness, session: Session, tag: str, warnings: tuple[ReplyWarning, ...]
) -> Success:
    """The session as it is now, for an agent that lost its context: notes, runs, and a fresh token."""
    history = session.history
    attempt = attempt_of(randomness.bytes(8))
    goal = history.observations.get("goal", "")
    recap, runs = _recap(history), _runs(keys, history)
    return _reply(keys, session, tag, attempt, goal, warnings, recap=recap, runs=runs)


def _reply(
    keys: Keys,
    session: Session,
    tag: str,
    attempt: AttemptId,
    goal: str,
    warnings: tuple[ReplyWarning, ...],
    **more: Any,
) -> Success:
    key = keys.signing_key(WORKFLOW)
    session_id = session.history.session_id
    saving = mint(key, CheckpointClaims(session_id=session_id, node_tag=tag, attempt_id=attempt))
    keeping = ToolCall(
        tool="checkpoint_workflow",
        params={"checkpointToken": saving, "output": {"notesMarkdown": TO_FILL_IN}},
    )
    reply = SessionReply(
        kind="ok",
        session_token=mint(key, StateClaims(session_id=session_id, node_tag=tag)),
        checkpoint_token=saving if session.is_sound else "",
        session=SessionAlone(session_id=session_id, goal=shorten(goal, LONGEST_GOAL)),
        next_call=keeping if session.is_sound else None,
        warnings=[*session.warnings, *warnings],
        **more,
    )
    return Success(data=put_warnings_first(msgspec.to_builtins(reply), reply.warnings))


def _recap(history: History) -> SessionRecap:
    kept, omitted = take_newest_rows(
        tuple(history.session_notes.values()), _entry, NOTES_BUDGET_BYTES, FENCE_BYTES
    )
    return SessionRecap(
        entries=kept,
        truncated=omitted > 0,
        omitted=omitted,
        policy=KEPT_MOST_RECENT if omitted else "",
    )


def _entry(noted: SessionNotes) -> SessionEntry:
    text = noted.notes.text + (TRUNCATION_MARK if noted.notes.ref is not None else "")
    return SessionEntry(output_id=noted.output_id, notes=text)


def _runs(keys: Keys, history: History) -> list[RunPlace]:
    newest = sorted(history.runs.values(), key=lambda run: run.index)[-MOST_RUNS:]
    places = []
    for run in newest:
        graph = run_graph(history, run.run_id)
        token = mint_state_token(keys, history.session_id, history.nodes[graph.preferred_tip])
        places.append(
            RunPlace(
                run_id=run.run_id,
                workflow_id=run.workflow_id,
                status=graph.status,
                next_call=ToolCall(tool="continue_workflow", params={"stateToken": token}),
            )
        )
    return places
