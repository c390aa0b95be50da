"""The recap for an agent that lost its context, within a size limit. Pure.

Stored notes are data, never instructions: the payload marks them untrusted, and text output fences them.
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
    """Return the known inputs by name, as far as their budget goes, and how many were left out.

    Context that no input names is left out, because it is the agent's own.
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
"""Bytes for entries, children and downstream together, as they are sent, structured or as text."""
NOTES_BUDGET_BYTES = RECAP_BUDGET_BYTES - 512
"""The same without headings and the words about what was left out."""
CHILDREN_BUDGET_BYTES = NOTES_BUDGET_BYTES // 3
"""The part of it for branches below a node; of the rest, downstream takes at most half."""
ARTIFACT_BUDGET_BYTES = 4_096
SKIPPED_BUDGET_BYTES = 2_048
CHILD_NOTES_BYTES = 512
TRUNCATION_MARK = "\n\n[TRUNCATED]"
KEPT_MOST_RECENT = "kept the most recent entries"
AFTER_THE_END = "After the end"
"""Title of notes that were saved when the run was already finished."""

MOST_PEOPLE = 10
"""Most answers of people to earlier steps in a recap."""
_LONGEST_ESCAPE = 6
"""Most bytes that JSON needs for one byte of text."""


def recap_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    """Return the recap of a rehydrate: the path to the node, and what follows if the run left its step."""
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
    """Return the newest answer of a person about the pending step of a node; None if there is none."""
    answer = confirmation_of(history, node_id)
    return None if answer is None else show_answer(history, answer)


def show_answer(history: History, answer: Confirmation) -> PersonAnswer:
    """Return a person's answer in the form that replies use."""
    fact = answer.fact
    step_id = step_key(history.nodes[fact.node_id].state)
    return make_from(PersonAnswer, fact, answer, step_id=step_id, words=summarize_answer(history, answer))


def _list_answers(history: History, node_id: NodeId, way: Sequence[Node]) -> list[PersonAnswer]:
    """Return the answers of people about the steps on the way to a node."""
    if not history.confirmations:
        return []
    here = instance_of(history, node_id)
    asked = {instance_of(history, asked_at).node_id for asked_at in history.confirmations}
    steps = [node for node in way if node.node_id in asked and node is not here][-MOST_PEOPLE:]
    answers = (_find_answer(history, node.node_id) for node in steps)
    return [answer for answer in answers if answer is not None]


def lost_branch(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    """Return what an agent that forked from a node does not remember: the branches that already existed."""
    lost = _with_notes(Recap(entries=[]), history, workflow, node_id, ())
    # The run continues with the fork, so none of these is the preferred branch any more.
    left = [msgspec.structs.replace(child, is_preferred=False) for child in lost.children]
    return msgspec.structs.replace(lost, children=left)


def _with_notes(
    recap: Recap, history: History, workflow: CompiledWorkflow, node_id: NodeId, way: Sequence[Node]
) -> Recap:
    """Return the recap with the notes on the way and below, in one budget."""
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
    """Return the preferred branch and the newest others that fit, oldest first, and the bytes that they
    take.
    """
    first = sorted(ends, key=lambda node: (node.node_id in graph.preferred_path, node.index), reverse=True)
    shown, used = take_newest(
        (_branch(history, graph, node) for node in first), CHILDREN_BUDGET_BYTES, FENCE_BYTES
    )
    place = {node.node_id: node.index for node in ends}
    return sorted(shown, key=lambda child: place[NodeId(child.node_id)]), used


def _ends_below(history: History, node_id: NodeId) -> list[Node]:
    """Return the steps that followed the instance of a node, and its blocked attempts that were abandoned.

    Its checkpoints are among the notes, because they are not a branch.
    """
    steps = steps_after(history, node_id)
    behind = {node.node_id for node in path_to(history, node_id)}
    kept = kept_in_instance(history, instance_of(history, node_id))
    goes_on = {step.parent for step in steps}
    for node in reversed(kept):  # nodes below a node come after it in the log
        if node.kind == "blocked_attempt" or node.node_id in goes_on:
            goes_on.add(node.parent)
    tried = [
        node
        for node in kept
        if node.kind == "blocked_attempt" and node.node_id not in goes_on and node.node_id not in behind
    ]
    return sorted([*tried, *steps], key=lambda node: node.index)


def _branch(history: History, graph: RunGraph, node: Node) -> BranchSummary:
    """Return a branch by its first node, with the status at its end."""
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
    """Return the nodes after a step on the preferred branch, without those that the path already contains."""
    if not steps_after(history, instance.node_id):
        return []
    known = {node.node_id for node in way}
    below = way_to(history, preferred_tip_below(history, graph, instance.node_id))
    return [node for node in below if node.index > instance.index and node.node_id not in known]


def _entries(
    history: History, workflow: CompiledWorkflow, noted: Sequence[tuple[Node, str]], budget: int
) -> tuple[list[RecapEntry], int]:
    """Return the newest entries that fit, oldest first, and the bytes that they take.

    If even the newest is too long, its notes are cut.
    """
    leaves = leaves_of(workflow)
    made = (_entry(history, leaves, node, text) for node, text in reversed(noted))
    shown, used = take_newest(made, budget, FENCE_BYTES)
    if shown or not noted:
        return shown, used
    newest = _entry(history, leaves, *noted[-1])
    shorter = _shortened(newest, budget - FENCE_BYTES)
    return ([shorter], encoded_size(shorter) + FENCE_BYTES) if shorter is not None else ([], 0)


def _shortened(entry: RecapEntry, budget: int) -> RecapEntry | None:
    """Return the entry with as much of its notes as fits; None if it does not fit even without them."""
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
    """Return every node with notes for the recap; it walks from the end, so that a long path is walked
    once.
    """
    noted = []
    is_retold = False  # whether what followed a blocked attempt here repeats its notes
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
    done = history.nodes[node.parent].state  # notes at a node are about the step that led to it
    return RecapEntry(
        node_id=node.node_id,
        step_id=step_key(done),
        title=leaves[done.step_id].title if isinstance(done, Running) else AFTER_THE_END,
        is_checkpoint=node.kind == "checkpoint",
        notes=text,
    )


def _artifacts(history: History, node_id: NodeId) -> tuple[list[RecapArtifact], int]:
    """Return the newest artifacts that fit, oldest first, and how many were left out."""
    return take_newest_rows(
        current_artifacts(history, node_id),
        partial(make_from, RecapArtifact),
        ARTIFACT_BUDGET_BYTES,
        FENCE_BYTES,
    )


def _skipped(history: History, node_id: NodeId) -> tuple[list[SkippedPart], int]:
    """Return the newest skipped steps and loops that fit, oldest first, and how many were left out."""
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
