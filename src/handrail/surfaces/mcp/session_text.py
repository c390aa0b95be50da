"""A session as Markdown: where it stands and what was done, stored text fenced as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.contract.fence import fenced, one_line
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Json
from handrail.projections.overview import run_at_hand
from handrail.projections.recap import recap_at
from handrail.projections.run_graph import preferred_tip
from handrail.runtime.replies import pinned_workflow
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import read_session
from handrail.surfaces.mcp.mirror import told
from handrail.surfaces.mcp.reply_text import call_text, recap_lines


def session_text(runtime: Runtime, session_id: str) -> str:
    """The recap where the run at hand stands. It holds no token. Raises Fault SESSION_NOT_FOUND."""
    shown = told(runtime, "session.show", {"sessionId": session_id})
    query: dict[str, Json] = {"query": shown["session_id"]}
    banner = shown["health"]["banner"]
    lines = [f"# Session {shown['session_id']}", "", *([banner, ""] if banner else []), *_standing(shown)]
    lines.extend(_recap(runtime, SessionId(shown["session_id"])))
    going_on = [] if banner else ["", f"Go on: {call_text('resume_session', query)}"]
    return "\n".join([*lines, *going_on, ""])


def _standing(shown: dict[str, Any]) -> Iterator[str]:
    health = shown["health"]
    reason = f" ({one_line(health['reason'])})" if health["reason"] else ""
    yield f"Status {shown['status']}, log {health['state']}{reason}, {shown['event_count']} events."
    if shown["project"]:
        yield f"Project {one_line(shown['project'])}."
    if shown["goal"]:
        yield fenced(shown["goal"], f"goal of session {shown['session_id']}")
    for run in shown["runs"]:
        pending = f", pending {run['pending_step']}" if run["pending_step"] else ""
        yield f"- run {run['id']}: {one_line(run['workflow_id'])}, {run['status']}{pending}"


def _recap(runtime: Runtime, session_id: SessionId) -> Iterator[str]:
    session = read_session(runtime.log, session_id)
    run_id = None if session is None else run_at_hand(session.history)
    if session is None or run_id is None:
        return
    history = session.history
    workflow = pinned_workflow(runtime.log, history.runs[run_id].workflow_hash)
    tip = preferred_tip(history, run_id)
    yield from recap_lines(msgspec.to_builtins(recap_at(history, workflow, tip.node_id)))
