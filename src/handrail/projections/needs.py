"""What waits for a person: blocked runs, steps that ask for one, critical gaps. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from handrail.engine.events import Blocked
from handrail.engine.history import Confirmation, History, confirmation_of
from handrail.engine.navigate import leaves_of
from handrail.engine.standing import INTENTS, situation_of, standing_at
from handrail.projections.overview import Graphs, Need
from handrail.projections.run_graph import RunGraph, open_gaps
from handrail.workflows.compiled import CompiledWorkflow

MOST_NEEDS = 20
"""Of one session; its latest runs come first."""


def needs_of(history: History, workflows: Mapping[str, CompiledWorkflow], graphs: Graphs) -> tuple[Need, ...]:
    """What the runs of a session wait for; `workflows` are the pinned ones by hash."""
    found: list[Need] = []
    refused = {
        answer.to_node_id: answer.blocked
        for answer in history.advances.values()
        if answer.blocked is not None
    }
    for graph in reversed(tuple(graphs.values())):
        if graph.status == "closed":
            continue
        workflow = workflows[history.runs[graph.run_id].workflow_hash]
        waiting = _find_waiting(history, workflow, graph, refused.get(graph.preferred_tip))
        found += [] if waiting is None else [waiting]
        critical = [gap for gap in open_gaps(history, graph.preferred_tip) if gap.severity == "critical"]
        if critical:
            found.append(
                Need(
                    kind="gap",
                    run_id=graph.run_id,
                    node_id=graph.preferred_tip,
                    why=critical[0].summary,
                    gap_id=critical[0].gap_id,
                    count=len(critical),
                )
            )
    return tuple(found[:MOST_NEEDS])


def _find_waiting(
    history: History, workflow: CompiledWorkflow, graph: RunGraph, blocked: Blocked | None
) -> Need | None:
    if graph.status not in ("in_progress", "blocked"):
        return None
    tip = history.nodes[graph.preferred_tip]
    standing = standing_at(history, workflow, tip, "reply")
    row = INTENTS[situation_of(standing, blocked, is_healthy=True)]
    said = confirmation_of(history, tip.node_id)
    is_answered = said is not None and said.fact.answer == "confirmed"
    is_declined = said is not None and said.fact.answer == "declined" and said.fact.node_id == tip.node_id
    if said is not None and is_declined:
        return _declined(graph, leaves_of(workflow)[standing.leaf.id].title if standing.leaf else "", said)
    is_asked = row.intent == "await_user_confirmation" and not is_answered
    if row.kind != "blocked" and not is_asked:
        return None
    title = "" if standing.leaf is None else leaves_of(workflow)[standing.leaf.id].title
    first = blocked.blockers[0] if blocked is not None and blocked.blockers else None
    return Need(
        kind="person" if is_asked else "blocked",
        run_id=graph.run_id,
        node_id=tip.node_id,
        title=title,
        why="The step asks a person to confirm it." if first is None else first.message,
        fix="" if first is None else first.suggested_fix,
        count=1 if blocked is None else len(blocked.every_blocker),
    )


def _declined(graph: RunGraph, title: str, said: Confirmation) -> Need:
    """The person has answered: now the agent changes it, and needs their words for that."""
    note = f": {said.fact.note}" if said.fact.note else ""
    return Need(
        kind="blocked",
        run_id=graph.run_id,
        node_id=graph.preferred_tip,
        title=title,
        why=f"A person declined it{note}.",
        fix="Tell your agent what to change; it changes that and reports again.",
    )


# What a person pastes into the chat of their agent. The session is named by its id: no token is in it.


def resume_prompt(session_id: str, title: str = "") -> str:
    """The words that make an agent go on with a session."""
    where = f" It stands at: {title}." if title else ""
    return (
        f"Continue the Handrail session {session_id}.{where} "
        f'Call resume_session with query "{session_id}", then do what the reply says.'
    )


def reply_to_need(session_id: str, need: Need) -> str:
    """The words for a need: what an agent is told about it."""
    opening = f'Continue the Handrail session {session_id}: call resume_session with query "{session_id}".'
    match need.kind:
        case "blocked":
            return f'{opening} The step "{need.title}" is blocked: {need.why} Settle that and report again.'
        case "person":
            return f'{opening} I have looked at the step "{need.title}"; report it again.'
        case "gap":
            settle = "Settle it, and record what settles it."
            return f"{opening} A critical gap is open ({need.gap_id}): {need.why} {settle}"
        case "damaged":
            return ""
        case never:
            assert_never(never)
