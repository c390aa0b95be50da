"""What waits for a person: blocked runs, steps that ask for a person, critical gaps. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec

from handrail.contract.ids import NodeId, RunId
from handrail.contract.wording import MOST_NAMED, end_sentence, list_names
from handrail.engine.ask import Ask, ask_about, weigh_answers
from handrail.engine.children.joins import find_join, is_set_aside, name_closed
from handrail.engine.facts import blocked_at
from handrail.engine.history import History, instance_of, kept_in_instance
from handrail.engine.judge.arrival import named_confirmer
from handrail.engine.messages import AGENT_READS_IT, explain_gap, explain_to_person
from handrail.engine.navigate import Running
from handrail.engine.progress import JOIN_OPTIONS
from handrail.engine.reasons import AskKind, wait_of
from handrail.engine.tips import open_gaps
from handrail.projections.evidence import summarize_answer
from handrail.projections.overview import Graphs, Need
from handrail.projections.run_graph import RunGraph
from handrail.workflows.compiled import CompiledWorkflow

MOST_NEEDS = 20
"""Most needs of one session; those of its latest runs come first."""


def needs_of(history: History, workflows: Mapping[str, CompiledWorkflow], graphs: Graphs) -> tuple[Need, ...]:
    """Return the needs of a session's runs; `workflows` are the pinned ones by hash."""
    found: list[Need] = []
    for graph in reversed(tuple(graphs.values())):
        if graph.status == "closed" or is_set_aside(history, history.runs[graph.run_id]):
            continue
        workflow = workflows[history.runs[graph.run_id].workflow_hash]
        waiting = _find_waiting(history, workflow, graph)
        waiting = _add_closed(history, workflow, graph, waiting)
        found += [] if waiting is None else [_name_child(history, waiting)]
        found += _list_critical(history, graph)
    return tuple(found[:MOST_NEEDS])


def _list_critical(history: History, graph: RunGraph) -> list[Need]:
    """Return the critical gaps of a run as one need; None if it has none."""
    gaps = [gap for gap in open_gaps(history, graph.preferred_tip) if gap.severity == "critical"]
    if not gaps:
        return []
    need = Need(
        kind="gap",
        run_id=graph.run_id,
        node_id=graph.preferred_tip,
        why=" ".join(end_sentence(explain_gap(gap)) for gap in gaps[:MOST_NAMED]),
        gap_ids=tuple(gap.gap_id for gap in gaps),
        count=len(gaps),
    )
    return [need]


def _name_child(history: History, need: Need) -> Need:
    """Return the need with the child's name, because children of one list have the same titles."""
    parent = history.runs[RunId(need.run_id)].parent
    return need if parent is None else msgspec.structs.replace(need, title=f"{parent.child_id}: {need.title}")


def _find_waiting(history: History, workflow: CompiledWorkflow, graph: RunGraph) -> Need | None:
    """Return what the pending step waits for, whatever was saved at the step since."""
    tip = history.nodes[graph.preferred_tip]
    if not isinstance(tip.state, Running):
        return None
    ask = ask_about(history, workflow, tip)
    word = weigh_answers(history, workflow, ask.attempt, ask.kind)
    blocked = blocked_at(history, ask.attempt)
    waits = [wait_of(blocker) for blocker in blocked.every_blocker] if blocked is not None else []
    is_asked = ask.is_waiting and (blocked is None or any(one and one.kind == ask.kind for one in waits))
    need = Need(
        kind="person",
        run_id=graph.run_id,
        node_id=tip.node_id,
        title=ask.leaf.title,
        why=_put_question(ask),
        asked=ask.kind,
        confirmed_by=named_confirmer(ask.leaf) if ask.kind == "confirm" else "",
        attempts=count_attempts(history, tip.node_id),
    )
    if word.is_declined and word.answered is not None:
        why = end_sentence(f"It was {summarize_answer(history, word.answered, with_note=True)}")
        return msgspec.structs.replace(need, why=why, fix=AGENT_READS_IT, is_answered=True, is_declined=True)
    if word.is_given and word.answered is not None:
        why = f"It was {summarize_answer(history, word.answered)}; the agent takes that up at its next call."
        return msgspec.structs.replace(need, why=why, is_answered=True)
    if blocked is None or not blocked.blockers:
        return need if is_asked else None
    first = explain_to_person(blocked.blockers[0], blocked.issues, ask.leaf.title)
    return msgspec.structs.replace(
        need,
        kind="person" if is_asked else "blocked",
        asked=ask.kind if is_asked else "",
        why=need.why
        if is_asked and ask.kind in ("choose", "give")
        else _join_sentences(first.why, *first.faults),
        fix=first.fix,
        count=len(blocked.every_blocker),
    )


def count_attempts(history: History, node_id: NodeId) -> int:
    """Count the reports of the pending step that were not accepted."""
    kept = kept_in_instance(history, instance_of(history, node_id))
    return sum(node.kind == "blocked_attempt" for node in kept)


def _add_closed(
    history: History, workflow: CompiledWorkflow, graph: RunGraph, waiting: Need | None
) -> Need | None:
    """Return the need of a run whose child run was closed, joined with its other need if it has one."""
    tip = history.nodes[graph.preferred_tip]
    join = find_join(history, workflow, tip)
    closed = "" if join is None else name_closed(join)
    if join is None or not closed:
        return waiting
    why = f"{join.step.title} waits for {closed}."
    if waiting is not None:
        return msgspec.structs.replace(waiting, why=f"{why} {waiting.why}")
    fix = f"Tell the agent what to do: {', '.join(join.offered or JOIN_OPTIONS)}."
    need = Need(kind="blocked", run_id=graph.run_id, node_id=tip.node_id, title=join.step.title, why=why)
    return msgspec.structs.replace(need, fix=fix)


def _join_sentences(*parts: str) -> str:
    return " ".join(map(end_sentence, parts))


def _put_question(ask: Ask) -> str:
    """Return the need with the question for a person, and the name or the options that it is about."""
    if ask.kind == "give" and ask.needed is not None and ask.needed.input:
        return f"What is “{ask.needed.input}”? {ASKED['give']}"
    if ask.kind == "choose" and ask.options:
        return f"Which one: {', '.join(one.label for one in ask.options)}? {ASKED['choose']}"
    return ASKED[ask.kind]


ASKED: dict[AskKind, str] = {
    "confirm": "The step asks a person to confirm it.",
    "choose": "The choice belongs to the user.",
    "give": "Only the user can give what this step needs.",
    "allow_write": "The step writes files and asks a person first.",
}


# A person pastes this into the agent's chat. It names the session by its id and contains no token.


_HOW_TO_RESUME = 'Call resume_session with query "{0}", or run `handrail session resume {0}`'


def resume_prompt(session_id: str, title: str = "") -> str:
    """Return the text that makes an agent continue a session."""
    where = f" It stands at: {end_sentence(title)}" if title else ""
    return (
        f"Continue the Handrail session {session_id}.{where} "
        f"{_HOW_TO_RESUME.format(session_id)}, then do what the reply says."
    )


def reply_to_need(session_id: str, need: Need) -> str:
    """Return the text about a need that a person pastes for the agent."""
    opening = f"Continue the Handrail session {session_id}. {_HOW_TO_RESUME.format(session_id)}."
    match need.kind:
        case "blocked":
            return f'{opening} The step "{need.title}" is blocked: {need.why} Resolve that and report again.'
        case "person" if need.is_declined:
            return f'{opening} I have said no to the step "{need.title}": {need.why} Change that and report.'
        case "person" if need.is_answered:
            return f'{opening} I have answered the step "{need.title}": read it again and go on.'
        case "person":
            return f'{opening} The step "{need.title}" waits for my answer: show me what it is about.'
        case "gap":
            many = need.count > 1
            head = f"{need.count} critical gaps are open" if many else "A critical gap is open"
            resolve = f"Resolve {'them' if many else 'it'}, and record how."
            return f"{opening} {head} ({list_names(need.gap_ids)}): {need.why} {resolve}"
        case "damaged" | "newer":
            return ""
        case never:
            assert_never(never)
