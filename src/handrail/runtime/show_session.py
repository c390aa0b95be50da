"""`session.show`: one session as a bounded summary, with the graph of each run."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from handrail.contract.catalogue import SESSION_NOT_FOUND
from handrail.contract.ids import RunId, SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.contract.suggest import nearest
from handrail.contract.wording import quoted
from handrail.engine.history import History, Node
from handrail.engine.state import Running
from handrail.projections.graph_drawing import draw_run
from handrail.projections.overview import RunOverview, pending_step, run_overview, session_status
from handrail.runtime.operation import Input, Operation
from handrail.runtime.replies import pinned_workflow
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import Session, read_session
from handrail.workflows.compiled import CompiledWorkflow

MOST_NODES = 200
"""Nodes of one run that a summary lists; the newest ones are kept."""


class ShowSession(Input, frozen=True, kw_only=True):
    """Which session."""

    session_id: Annotated[str, Meta(description="Session id.", min_length=1, max_length=128)]


class NodeRow(Answer, frozen=True, kw_only=True):
    """One node of the graph."""

    id: str
    parent: str | None
    kind: str
    pending_step: str | None
    is_tip: bool = False
    is_preferred: bool = False
    is_fork: bool = False


class RunRow(Answer, frozen=True, kw_only=True):
    """One run; `graph` is the drawing, `nodes` the same as data."""

    id: str
    workflow_id: str
    workflow_name: str
    workflow_hash: str
    status: str
    pending_step: str | None
    ledger_version: int
    node_count: int
    fork_count: int
    tips: list[str]
    preferred_tip: str
    nodes: list[NodeRow]
    nodes_omitted: int = 0
    graph: list[str]


class HealthRow(Answer, frozen=True, kw_only=True):
    """What the log can prove."""

    state: str
    reason: str = ""


class SessionSummary(Answer, frozen=True, kw_only=True):
    """One session."""

    session_id: str
    status: str
    health: HealthRow
    goal: str = ""
    branch: str = ""
    event_count: int
    last_activity: str
    runs: list[RunRow]


def show_session(rt: Runtime, request: ShowSession) -> SessionSummary:
    """The summary of one session, readable also when it cannot be continued."""
    session = _find(rt, request.session_id)
    history = session.history
    return SessionSummary(
        session_id=history.session_id,
        status=session_status(history),
        health=HealthRow(state=session.health.state, reason=session.health.reason),
        goal=history.observations.get("goal", ""),
        branch=history.observations.get("git_branch", ""),
        event_count=history.head,
        last_activity=history.last_at,
        runs=[_run_row(rt, history, run_id) for run_id in history.runs],
    )


def _find(rt: Runtime, asked: str) -> Session:
    session = read_session(rt.log, SessionId(asked)) if is_session_id(asked) else None
    if session is not None:
        return session
    known = [stamp.session_id for stamp in rt.log.list_sessions()]
    raise Fault(
        SESSION_NOT_FOUND,
        f"There is no session {quoted(asked)} in this store.",
        details={"session_id": asked[:128], "did_you_mean": nearest(asked, known[:1000])},
        next_call=NextCall(operation="session.list", params={}),
    )


def _run_row(rt: Runtime, history: History, run_id: RunId) -> RunRow:
    run = run_overview(history, run_id)
    workflow = pinned_workflow(rt.log, history.runs[run_id].workflow_hash)
    shown = run.graph.nodes[-MOST_NODES:]
    return RunRow(
        id=run_id,
        workflow_id=run.workflow_id,
        workflow_name=workflow.name,
        workflow_hash=run.workflow_hash,
        status=run.status,
        pending_step=pending_step(run.tip),
        ledger_version=run.ledger_version,
        node_count=len(run.graph.nodes),
        fork_count=run.fork_count,
        tips=list(run.graph.tips),
        preferred_tip=run.graph.preferred_tip,
        nodes=[_node_row(history, run, node) for node in shown],
        nodes_omitted=len(run.graph.nodes) - len(shown),
        graph=draw_run(run.graph, lambda node: _label(node, workflow))[:MOST_NODES],
    )


def _node_row(history: History, run: RunOverview, node: Node) -> NodeRow:
    return NodeRow(
        id=node.node_id,
        parent=node.parent,
        kind=node.kind,
        pending_step=pending_step(node),
        is_tip=node.node_id in run.graph.tips,
        is_preferred=node.node_id == run.graph.preferred_tip,
        is_fork=history.causes.get(node.node_id) == "non_tip_advance",
    )


def _label(node: Node, workflow: CompiledWorkflow) -> str:
    """What stands at a node: the title of the step that is pending there."""
    what = "checkpoint, " if node.kind == "checkpoint" else ""
    if not isinstance(node.state, Running):
        return f"{what}done"
    step_id = node.state.step_id
    title = next(step.title for step in workflow.steps if step.id == step_id)
    return f"{what}{title}"


OPERATION = Operation(
    name="session.show",
    effect="read",
    summary="Show one session: status, health and the graph of each run.",
    input=ShowSession,
    output=SessionSummary,
    perform=show_session,
    shape=Shape(
        levels={"minimal": ("session_id", "status", "health"), "standard": None, "full": None},
        id_field="session_id",
        select="top",
        drop_order=("runs", "branch", "goal"),
        windows=("runs",),
        untrusted=("goal", "branch"),
    ),
    errors=("VALIDATION_ERROR", "SESSION_NOT_FOUND"),
)
