"""What a loop or a delegating step lacks: a list, a shorter list, an artifact of the round. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec

from handrail.engine.events import Artifact
from handrail.engine.history import History, Node, attached_to, path_to
from handrail.engine.navigate import (
    Carried,
    EnteredLoop,
    ExitedLoop,
    Move,
    Running,
    State,
    find_loop,
    frames_of,
    leaf_at,
    loop_values,
    step_key,
)
from handrail.engine.owners import counter_of, describe_giver
from handrail.engine.reasons import ContextKey, Reason, WaitsFor, shorten_message
from handrail.workflows.compiled import CompiledWorkflow, Delegate, ForEach, Until, While
from handrail.workflows.conditions import Facts, comparisons, named_value, nest_values
from handrail.workflows.limits import MAX_CHILDREN

GO_BACK = "Read an earlier step again and go on from there, or close the run."
"""The fix if no report can supply what is missing."""


def judge_handouts(workflow: CompiledWorkflow, move: Move, facts: Facts) -> tuple[Reason, ...]:
    """Return the reason why a step cannot delegate: it has no list, or more items than its limit."""
    state = move.state
    leaf = leaf_at(workflow, state) if isinstance(state, Running) else None
    if not isinstance(leaf, Delegate) or not isinstance(state, Running) or not leaf.for_each:
        return ()
    items = named_value(loop_values(workflow, state.loops, facts.values), leaf.for_each)
    if not isinstance(items, list):
        return (_miss_list(workflow, leaf.id, leaf.for_each),)
    if len(items) <= MAX_CHILDREN:
        return ()
    waits = WaitsFor(kind="context", state="invalid", values={"name": leaf.for_each, "type": "list"})
    beyond = ", ".join(msgspec.json.encode(item).decode() for item in items[MAX_CHILDREN:][:MAX_CHILDREN])
    message = (
        f"“{leaf.title}” delegates one piece of work for each item of {leaf.for_each}: {len(items)} items, "
        f"and {MAX_CHILDREN} at most; beyond that: {beyond}."
    )
    return (
        Reason(
            name="contract_violation:invalid_required_output",
            pointer=ContextKey(key=leaf.for_each),
            waits_for=waits,
            message=shorten_message(message),
            fix=f"Send a list of at most {MAX_CHILDREN} items in the context: put several into one.",
        ),
    )


def find_missing_lists(workflow: CompiledWorkflow, move: Move) -> tuple[Reason, ...]:
    """Return a reason for each list that a loop needs and that was not sent: without it, the loop would be
    skipped silently.
    """
    exits = (entry for entry in move.trace if isinstance(entry, ExitedLoop))
    names: dict[str, str] = {}
    for loop_id in dict.fromkeys(entry.loop_id for entry in exits if entry.reason == "items_missing"):
        repeat = find_loop(workflow, loop_id).repeat
        assert isinstance(repeat, ForEach), "only a loop over items misses them"
        names.setdefault(repeat.input, loop_id)
    return tuple(_miss_list(workflow, loop_id, name) for name, loop_id in names.items())


def _miss_list(workflow: CompiledWorkflow, loop_id: str, listed: str) -> Reason:
    """Return the reason of a loop without its list or its number of rounds, with who can give it."""
    name = counter_of(workflow, listed)
    if name:
        message = f"The loop {loop_id} runs as often as {name} says, and no number of that name was sent."
        sent = f"Send the number in the context: {_show_nested(name, 0)} if the loop is not needed."
    else:
        name = listed
        message = f"The loop {loop_id} goes through {name}, and no list of that name was sent."
        sent = (
            f"Send the list in the context: {_show_nested(name, [])} if there is nothing to go through. "
            "Ask the user for it unless you know it from the work so far."
        )
    giver = describe_giver(workflow, name)
    kind = "list" if name == listed else "number"
    return Reason(
        name="user_only_dependency:needs_user_artifact",
        pointer=ContextKey(key=name),
        waits_for=WaitsFor(kind="context", values={"name": name, "type": kind, "loop": loop_id}),
        message=shorten_message(message),
        fix=shorten_message(f"Here {giver}. {GO_BACK}" if giver else sent),
        is_retryable=not giver,
    )


def _show_nested(name: str, value: Any) -> str:
    return msgspec.json.encode(nest_values({name: value})).decode()


def name_carried(
    history: History, workflow: CompiledWorkflow, node: Node, artifacts: Iterable[Artifact], move: Move
) -> Move:
    """Return the move with the earlier artifacts that decided about another round, if the round that ended
    delivered none.
    """
    frames = {frame.loop_id: (frame, depth) for depth, frame in enumerate(frames_of(node.state), 1)}
    brought = {one.kind for one in artifacts if one.contract_ref}
    trace = list(move.trace)
    for at, entry in enumerate(trace):
        if not isinstance(entry, EnteredLoop | ExitedLoop) or entry.loop_id not in frames:
            continue
        frame, depth = frames[entry.loop_id]
        repeat = find_loop(workflow, entry.loop_id).repeat
        ended = entry.iteration if isinstance(entry, EnteredLoop) else entry.iterations
        is_unasked = isinstance(entry, ExitedLoop) and entry.reason == "decision_missing"
        if ended == frame.iteration + 1 and isinstance(repeat, While | Until) and not is_unasked:
            read = {one.artifact for one in comparisons(workflow.conditions[repeat.condition])}
            carried = _list_carried(history, node, read - brought - {""}, depth)
            trace[at] = msgspec.structs.replace(entry, carried=carried)
    return msgspec.structs.replace(move, trace=tuple(trace))


def _list_carried(history: History, node: Node, kinds: set[str], depth: int) -> tuple[Carried, ...]:
    """Return which of these kinds come from an earlier round of the loop at this depth, and from which
    step.
    """
    if not kinds:
        return ()
    newest: dict[str, State] = {}
    for before, after in pairwise(path_to(history, node.node_id)):
        kept = (held.artifact for held in attached_to(history, after.node_id).artifacts)
        newest |= {one.kind: before.state for one in kept if one.contract_ref and one.kind in kinds}
    here = frames_of(node.state)[:depth]
    return tuple(
        Carried(artifact=kind, step_id=step_key(state))
        for kind, state in newest.items()
        if isinstance(state, Running)
        and state.loops[:depth] != here
        and here[-1].loop_id in {frame.loop_id for frame in state.loops}
    )
