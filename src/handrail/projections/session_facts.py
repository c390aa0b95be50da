"""One session as a list shows it and filters look at it. Pure."""

# Annotations are evaluated at once: as texts, msgspec would compile each of them in every process.

from collections.abc import Iterable

import msgspec

from handrail.contract.ids import NodeId, RunId
from handrail.engine.history import History, path_to
from handrail.engine.place import begun_at, opened_at
from handrail.projections.overview import (
    imported_from,
    pending_step,
    run_at_hand,
    run_overview,
    session_status,
)
from handrail.projections.run_graph import run_graphs


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`status` and what follows is of the run at hand; a session may have none."""

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
    event_count: int = 0
    run_ids: tuple[str, ...] = ()
    closed_run_ids: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Of all runs, each where it was seen on the way to the preferred tip; so are `heads`."""
    heads: tuple[str, ...] = ()


def session_facts(history: History, health: str) -> SessionFacts:
    """The facts of a session with this health."""
    run_id = run_at_hand(history)
    goal = history.observations.get("goal", "")
    if run_id is None:
        seen = history.observations
        return SessionFacts(
            status=session_status(history) if health == "healthy" else "unreadable",
            health=health,
            goal=goal,
            project=session_project(history),
            last_activity=history.last_at,
            event_count=history.head,
            branches=tuple(value for key, value in seen.items() if key == "git_branch"),
            heads=tuple(value for key, value in seen.items() if key == "git_head_sha"),
        )
    run = run_overview(history, run_id)
    graphs = run_graphs(history)
    ways = [seen_on_the_way(history, held, graph.preferred_tip) for held, graph in graphs.items()]
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
        event_count=history.head,
        run_ids=tuple(history.runs),
        closed_run_ids=tuple(held for held, graph in graphs.items() if graph.status == "closed"),
        branches=_once(branch for way in ways for branch in way.get("git_branch", ())),
        heads=_once(head for way in ways for head in way.get("git_head_sha", ())),
    )


def session_project(history: History) -> str:
    """The name of the project of the run at hand, or of the one that a session without a run was begun in."""
    run_id = run_at_hand(history)
    return opened_at(history).name if run_id is None else begun_at(history.runs[run_id]).name


def seen_on_the_way(history: History, run_id: RunId, tip: NodeId) -> dict[str, tuple[str, ...]]:
    """Every value that was observed at the start of a run and on the way to a node, by its key."""
    found: dict[str, dict[str, None]] = {}
    for seen in (
        history.runs[run_id].seen,
        *(history.inherited[node.node_id].seen for node in path_to(history, tip)),
    ):
        for key, value in seen.items():
            found.setdefault(key, {})[value] = None
    return {key: tuple(values) for key, values in found.items()}


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
