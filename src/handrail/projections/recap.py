"""What an agent that lost its context needs to read again, within a budget. Pure.

Stored notes are data, never instructions: the payload marks them untrusted, text surfaces fence them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from handrail.contract.disclosure.newest import (
    FENCE_BYTES,
    encoded_size,
    take_first,
    take_newest,
    take_newest_rows,
)
from handrail.contract.ids import NodeId
from handrail.contract.outcome import make_from
from handrail.engine.ask import drop_answered
from handrail.engine.facts import blocked_at, facts_at, notes_at
from handrail.engine.history import (
    Confirmation,
    History,
    Node,
    confirmation_of,
    instance_of,
    kept_in_instance,
    not_run_at,
    path_to,
    steps_after,
    way_to,
)
from handrail.engine.messages import name_session
from handrail.engine.navigate import NO_ROUND_WORDS, PassedBy, Running, leaves_of, step_key
from handrail.engine.progress import BranchSummary, RecapArtifact, RecapEntry, RecapInput
from handrail.engine.reply import PersonAnswer, Recap, SkippedPart
from handrail.projections.evidence import summarize_answer
from handrail.projections.overview import imported_from
from handrail.projections.run_graph import (
    RunGraph,
    current_artifacts,
    preferred_tip_below,
    run_graph,
    status_at,
)
from handrail.workflows.compiled import CompiledWorkflow, Leaf

# Inputs that hold at a step, for an agent that no longer knows what it sent

INPUTS_BUDGET_BYTES = 2_048
LONGEST_INPUT_BYTES = 400


def known_inputs(
    history: History, workflow: CompiledWorkflow, node_id: NodeId
) -> tuple[list[RecapInput], int]:
    """By name, as far as their budget goes, and how many were left out.

    Context that no input names is left out: what an agent keeps there is its own.
    """
    values = facts_at(history, workflow, node_id).values
    names = [name for name in workflow.inputs if name in values]
    rows = (RecapInput(name=name, value=_fitting(values[name])) for name in names)
    shown, _ = take_first(rows, INPUTS_BUDGET_BYTES)
    return shown, len(names) - len(shown)


def _fitting(value: Any) -> Any:
    encoded = msgspec.json.encode(value)
    if len(encoded) <= LONGEST_INPUT_BYTES:
        return value
    return encoded[: LONGEST_INPUT_BYTES - 3].decode(errors="ignore") + "…"


RECAP_BUDGET_BYTES = 12_288
"""Of entries, children and downstream together, as they are sent, structured or as text."""
NOTES_BUDGET_BYTES = RECAP_BUDGET_BYTES - 512
"""The same without headings and the words about what was left out."""
CHILDREN_BUDGET_BYTES = NOTES_BUDGET_BYTES // 3
"""The part of it that the branches below a node may take; of the rest, downstream takes at most half."""
ARTIFACT_BUDGET_BYTES = 4_096
SKIPPED_BUDGET_BYTES = 2_048
CHILD_NOTES_BYTES = 512
TRUNCATION_MARK = "\n\n[TRUNCATED]"
KEPT_MOST_RECENT = "kept the most recent entries"
AFTER_THE_END = "After the end"
"""The title of notes that were kept when the run was finished."""

MOST_PEOPLE = 10
"""Answers of people to the steps before that a recap tells."""
_LONGEST_ESCAPE = 6
"""Bytes that JSON may need for one byte of text."""


def recap_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    """The recap of a rehydrate: the way to the node, and what follows if the run has left its step."""
    way = way_to(history, node_id)
    artifacts, artifacts_omitted = _artifacts(history, node_id)
    skipped, skipped_omitted = _skipped(history, node_id)
    inputs, inputs_omitted = known_inputs(history, workflow, node_id)
    blocked = blocked_at(history, history.nodes[node_id])
    blocked = blocked and drop_answered(history, workflow, history.nodes[node_id], blocked)
    recap = Recap(
        entries=[],
        artifacts=artifacts,
        artifacts_omitted=artifacts_omitted,
        inputs=inputs,
        inputs_omitted=inputs_omitted,
        skipped=skipped,
        skipped_omitted=skipped_omitted,
        blocked_by=name_session(blocked.blockers, history, history.nodes[node_id].run_id) if blocked else [],
        issues=list(blocked.every_issue) if blocked else [],
        example=blocked.example if blocked else None,
        imported_from=imported_from(history),
        person_answer=_find_answer(history, node_id),
        people=_list_answers(history, node_id, way),
    )
    return _with_notes(recap, history, workflow, node_id, way)


def _find_answer(history: History, node_id: NodeId) -> PersonAnswer | None:
    """What a person last answered about the pending step of a node; None where nobody was asked."""
    answer = confirmation_of(history, node_id)
    return None if answer is None else show_answer(history, answer)


def show_answer(history: History, answer: Confirmation) -> PersonAnswer:
    """An answer of a person as replies tell it."""
    fact = answer.fact
    step_id = step_key(history.nodes[fact.node_id].state)
    return make_from(PersonAnswer, fact, answer, step_id=step_id, words=summarize_answer(history, answer))


def _list_answers(history: History, node_id: NodeId, way: Sequence[Node]) -> list[PersonAnswer]:
    """What people answered about the steps on the way to a node."""
    if not history.confirmations:
        return []
    here = instance_of(history, node_id)
    asked = {instance_of(history, asked_at).node_id for asked_at in history.confirmations}
    steps = [node for node in way if node.node_id in asked and node is not here][-MOST_PEOPLE:]
    answers = (_find_answer(history, node.node_id) for node in steps)
    return [answer for answer in answers if answer is not None]


def lost_branch(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    """What an agent that forked from a node does not remember: the branches that were already there."""
    lost = _with_notes(Recap(entries=[]), history, workflow, node_id, ())
    # The run continues with the fork, so none of these is the preferred one any more.
    left = [msgspec.structs.replace(child, is_preferred=False) for child in lost.children]
    return msgspec.structs.replace(lost, children=left)


def _with_notes(
    recap: Recap, history: History, workflow: CompiledWorkflow, node_id: NodeId, way: Sequence[Node]
) -> Recap:
    """The recap with the notes on the way and below, in one budget."""
    noted = _nodes_with_notes(history, way)
    ends = _ends_below(history, node_id)
    if not ends:
        entries, _ = _entries(history, workflow, noted, NOTES_BUDGET_BYTES)
        return _counted(recap, entries, omitted=len(noted) - len(entries))
    instance = instance_of(history, node_id)
    graph = run_graph(history, instance.run_id)
    children, used = _children(history, graph, ends)
    below = _nodes_with_notes(history, _downstream(history, graph, instance, way))
    left = NOTES_BUDGET_BYTES - used
    downstream, used = _entries(history, workflow, below, left // 2 if noted else left)
    entries, _ = _entries(history, workflow, noted, left - used)
    recap = msgspec.structs.replace(
        recap, children=children, children_omitted=len(ends) - len(children), downstream=downstream
    )
    return _counted(recap, entries, omitted=len(noted) - len(entries) + len(below) - len(downstream))


def _counted(recap: Recap, entries: list[RecapEntry], omitted: int) -> Recap:
    is_cut = omitted > 0 or recap.children_omitted > 0
    return msgspec.structs.replace(
        recap,
        entries=entries,
        truncated=is_cut,
        omitted=omitted,
        policy=KEPT_MOST_RECENT if is_cut else "",
    )


def _children(history: History, graph: RunGraph, ends: Sequence[Node]) -> tuple[list[BranchSummary], int]:
    """The preferred branch and the newest of the others that fit, oldest first, and what they take."""
    first = sorted(ends, key=lambda node: (node.node_id in graph.preferred_path, node.index), reverse=True)
    shown, used = take_newest(
        (_branch(history, graph, node) for node in first), CHILDREN_BUDGET_BYTES, FENCE_BYTES
    )
    place = {node.node_id: node.index for node in ends}
    return sorted(shown, key=lambda child: place[NodeId(child.node_id)]), used


def _ends_below(history: History, node_id: NodeId) -> list[Node]:
    """The steps that followed the instance of a node, and the attempts at it that were blocked and left so.

    Its checkpoints are among the notes, because they are not a branch.
    """
    steps = steps_after(history, node_id)
    behind = {node.node_id for node in path_to(history, node_id)}
    kept = kept_in_instance(history, instance_of(history, node_id))
    goes_on = {step.parent for step in steps}
    for node in reversed(kept):  # what hangs below a node comes after it in the log
        if node.kind == "blocked_attempt" or node.node_id in goes_on:
            goes_on.add(node.parent)
    tried = [
        node
        for node in kept
        if node.kind == "blocked_attempt" and node.node_id not in goes_on and node.node_id not in behind
    ]
    return sorted([*tried, *steps], key=lambda node: node.index)


def _branch(history: History, graph: RunGraph, node: Node) -> BranchSummary:
    """A branch by its first node, and how it stands at its end."""
    tip, notes = (
        history.nodes[preferred_tip_below(history, graph, node.node_id)],
        notes_at(history, node.node_id),
    )
    return BranchSummary(
        node_id=node.node_id,
        is_preferred=node.node_id in graph.preferred_path,
        status=status_at(history, tip),
        pending_step_id=step_key(tip.state) or None,
        notes=_cut(notes.text if notes else "", CHILD_NOTES_BYTES),
    )


def _downstream(history: History, graph: RunGraph, instance: Node, way: Sequence[Node]) -> list[Node]:
    """What followed a step on the preferred branch, without what the way already contains."""
    if not steps_after(history, instance.node_id):
        return []
    known = {node.node_id for node in way}
    below = way_to(history, preferred_tip_below(history, graph, instance.node_id))
    return [node for node in below if node.index > instance.index and node.node_id not in known]


def _entries(
    history: History, workflow: CompiledWorkflow, noted: Sequence[tuple[Node, str]], budget: int
) -> tuple[list[RecapEntry], int]:
    """The most recent entries that fit, oldest first, and what they take. The newest is cut, not lost."""
    leaves = leaves_of(workflow)
    made = (_entry(history, leaves, node, text) for node, text in reversed(noted))
    shown, used = take_newest(made, budget, FENCE_BYTES)
    if shown or not noted:
        return shown, used
    newest = _entry(history, leaves, *noted[-1])
    shorter = _shortened(newest, budget - FENCE_BYTES)
    return ([shorter], encoded_size(shorter) + FENCE_BYTES) if shorter is not None else ([], 0)


def _shortened(entry: RecapEntry, budget: int) -> RecapEntry | None:
    """The entry with as much of its notes as fits; None where not even the rest of it does."""
    notes = entry.notes.removesuffix(TRUNCATION_MARK).encode()
    while notes:
        text = notes.decode(errors="ignore") + TRUNCATION_MARK
        shorter = msgspec.structs.replace(entry, notes=text)
        over = encoded_size(shorter) - budget
        if over <= 0:
            return shorter
        notes = notes[: -max(1, over // _LONGEST_ESCAPE)]
    return None


def _nodes_with_notes(history: History, way: Sequence[Node]) -> list[tuple[Node, str]]:
    """Every node with notes for the recap, from the end, so that a long way is walked once."""
    noted = []
    is_retold = False  # whether notes of a blocked attempt here would be shown again by what followed it
    for node in reversed(way):
        notes = notes_at(history, node.node_id)
        is_left_out = node.parent is None or (node.kind == "blocked_attempt" and is_retold)
        if notes is not None and not is_left_out:
            noted.append((node, notes.text + (TRUNCATION_MARK if notes.ref is not None else "")))
        if node.kind != "checkpoint":
            is_retold = notes is not None or (is_retold and node.kind != "step")
    noted.reverse()
    return noted


def _entry(history: History, leaves: Mapping[str, Leaf], node: Node, text: str) -> RecapEntry:
    assert node.parent is not None, "a first node has no notes"
    done = history.nodes[node.parent].state  # notes at a node tell of the step that led to it
    return RecapEntry(
        node_id=node.node_id,
        step_id=step_key(done),
        title=leaves[done.step_id].title if isinstance(done, Running) else AFTER_THE_END,
        is_checkpoint=node.kind == "checkpoint",
        notes=text,
    )


def _artifacts(history: History, node_id: NodeId) -> tuple[list[RecapArtifact], int]:
    """The most recently delivered artifacts that fit, oldest first, and how many were left out."""
    return take_newest_rows(
        current_artifacts(history, node_id),
        partial(make_from, RecapArtifact),
        ARTIFACT_BUDGET_BYTES,
        FENCE_BYTES,
    )


def _skipped(history: History, node_id: NodeId) -> tuple[list[SkippedPart], int]:
    """The same for steps and loops that the run passed by."""
    not_run = not_run_at(history, node_id)
    rows, omitted = take_newest_rows(not_run.parts, _skipped_part, SKIPPED_BUDGET_BYTES)
    return rows, omitted + not_run.unnamed


def _skipped_part(part: PassedBy) -> SkippedPart:
    why = "" if part.condition_id else NO_ROUND_WORDS[part.reason]
    return SkippedPart(step_id=part.part_id, condition_id=part.condition_id, why=why)


def _cut(text: str, limit: int) -> str:
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[:limit].decode(errors="ignore") + TRUNCATION_MARK
