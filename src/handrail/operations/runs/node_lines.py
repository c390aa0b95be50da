"""One line about each node of a list: notes, choice, answer of a person, attempts and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from handrail.contract.ids import NodeId
from handrail.contract.outcome import make_from
from handrail.contract.wording import name_person
from handrail.engine.artifact_shapes import DECISION, LOOP_CONTROL
from handrail.engine.facts import notes_at
from handrail.engine.history import (
    Confirmation,
    History,
    Node,
    Recorded,
    answer_about,
    attached_to,
)
from handrail.engine.messages import explain_to_person
from handrail.engine.navigate import Running, leaf_at
from handrail.operations.durations import find_seconds
from handrail.projections.evidence import spell_answer
from handrail.views.nodes import NodeAnswer
from handrail.workflows.compiled import Choice, CompiledWorkflow

LONGEST_LINE = 240
"""Most characters of the first line of notes."""
_CHOSEN = ((DECISION, "chosen"), (LOOP_CONTROL, "decision"))
"""Artifacts that record a choice, and the member that has it."""


def find_answer(history: History, node: Node) -> NodeAnswer | None:
    """Return what a person answered about the report of a node."""
    answer = answer_about(history, node)
    return None if answer is None else show_answer(history, answer)


def show_answer(history: History, answer: Confirmation) -> NodeAnswer:
    """Return an answer in words, with who gave it, where and when."""
    fact = answer.fact
    return make_from(
        NodeAnswer, fact, answer, summary=spell_answer(history, answer), who=name_person(fact.who)
    )


StepsBefore: TypeAlias = Mapping[NodeId, tuple[Node | None, int]]
"""By node: the step that was done before it, and how many attempts failed on the way from there."""


def describe_node(
    history: History,
    workflow: CompiledWorkflow,
    recorded: dict[NodeId, Recorded],
    steps: StepsBefore,
    node: Node,
    title: str,
) -> dict[str, Any]:
    """Return the fields of a row that say what happened at a node; `recorded` is by the node it led to."""
    before, attempts = steps[node.node_id]
    return {
        "summary": _explain(recorded.get(node.node_id), title) or _first_line(history, node),
        "option": find_choice(history, workflow, recorded.get(node.node_id), node),
        "answer": find_answer(history, node),
        "seconds": 0 if before is None else find_seconds(before.at, node.at) or 0,
        "attempts": attempts,
    }


def find_steps_before(history: History, nodes: Iterable[Node]) -> StepsBefore:
    """Return the step before each node. `nodes` are those of a run, parents first."""
    found: dict[NodeId, tuple[Node | None, int]] = {}
    for node in nodes:
        parent = None if node.parent is None else history.nodes[node.parent]
        if parent is None or parent.kind == "step":
            found[node.node_id] = parent, 0
        else:
            before, attempts = found[parent.node_id]
            found[node.node_id] = before, attempts + (parent.kind == "blocked_attempt")
    return found


def _explain(recorded: Recorded | None, title: str) -> str:
    """Return why an attempt was not accepted, in words for people."""
    blocked = None if recorded is None else recorded.blocked
    if blocked is None:
        return ""
    return "".join(explain_to_person(one, (), title).why for one in blocked.blockers[:1])


def _first_line(history: History, node: Node) -> str:
    notes = notes_at(history, node.node_id)
    lines = () if notes is None else (line.strip(" #>*-") for line in notes.text.splitlines())
    line = next(filter(None, lines), "").replace("**", "").replace("`", "")
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def find_choice(history: History, workflow: CompiledWorkflow, recorded: Recorded | None, node: Node) -> str:
    """Return what was chosen on the way to a node: the label of an option, or what an artifact chooses."""
    option_id = "" if recorded is None else recorded.option_id
    if option_id and node.parent is not None:
        state = history.nodes[node.parent].state
        leaf = leaf_at(workflow, state) if isinstance(state, Running) else None
        options = leaf.options if isinstance(leaf, Choice) else ()
        return next((one.label or one.id for one in options if one.id == option_id), option_id)
    bodies = {held.artifact.kind: held.artifact.body for held in attached_to(history, node.node_id).artifacts}
    found = (bodies[kind].get(member) for kind, member in _CHOSEN if kind in bodies)
    return next((one for one in found if isinstance(one, str)), "")


def by_node(history: History) -> dict[NodeId, Recorded]:
    """Return the recorded answer to each report by the node that it led to."""
    return {answer.to_node_id: answer for answer in history.advances.values()}
