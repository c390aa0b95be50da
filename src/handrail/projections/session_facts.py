"""One session as a list shows it and filters look at it. Pure."""

from __future__ import annotations

import msgspec

from handrail.engine.history import History
from handrail.engine.place import begun_at, opened_at
from handrail.projections.overview import (
    imported_from,
    latest_run,
    pending_step,
    run_overview,
    session_status,
)


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What follows `status` is of the latest run; a session may have none."""

    status: str
    health: str
    goal: str = ""
    project: str = ""
    workflow_id: str = ""
    tags: tuple[str, ...] = ()
    run_id: str = ""
    run_count: int = 0
    pending_step: str | None = None
    last_activity: str = ""
    imported_from: str = ""


def session_facts(history: History, health: str) -> SessionFacts:
    """The facts of a session with this health."""
    run_id = latest_run(history)
    goal = history.observations.get("goal", "")
    if run_id is None:
        return SessionFacts(
            status=session_status(history) if health == "healthy" else "unreadable",
            health=health,
            goal=goal,
            project=session_project(history),
            last_activity=history.last_at,
        )
    run = run_overview(history, run_id)
    return SessionFacts(
        status=run.status,
        health=health,
        goal=goal,
        project=session_project(history),
        workflow_id=run.workflow_id,
        tags=history.runs[run_id].tags,
        run_id=run_id,
        run_count=len(history.runs),
        pending_step=pending_step(run.tip),
        last_activity=history.last_at,
        imported_from=imported_from(history),
    )


def session_project(history: History) -> str:
    """The name of the project of the latest run, or of the one that a session without a run was begun in."""
    run_id = latest_run(history)
    return opened_at(history).name if run_id is None else begun_at(history.runs[run_id]).name
