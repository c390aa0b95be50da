"""The text of a step that delegated work: while it waits, and after its children are done. Pure."""

from __future__ import annotations

from math import inf

import msgspec

from handrail.contract.wording import format_count
from handrail.engine.children.joins import Join, drop_done_takes, find_join, list_shared, name_closed
from handrail.engine.history import History, Node, steps_after
from handrail.engine.progress import JOIN_OPTIONS, describe_handed_out
from handrail.workflows.compiled import CompiledWorkflow


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """The children of a step, and what the step says about them."""

    join: Join
    is_waiting: bool
    prompt: str


def find_wait(history: History, workflow: CompiledWorkflow, node: Node, *, is_recorded: bool) -> Wait:
    """Return the state of the children. A recorded reply was made when they were opened, so it waits for
    them.
    """
    following = steps_after(history, node.node_id) if is_recorded else ()
    until = min((held.index for held in following if held.state == node.state), default=inf)
    join = find_join(history, workflow, node, until=until)
    assert join is not None, "only a step that delegates work is joined"
    if is_recorded:
        prompt = describe_handed_out(join.step) + _render_takes(join)
        return Wait(join=join, is_waiting=bool(join.children), prompt=prompt)
    join = drop_done_takes(join)
    is_waiting = not (join.is_met or join.offered)
    prompt = _render_wait(join) + _render_takes(join) + _render_shared(history, join)
    return Wait(join=join, is_waiting=is_waiting, prompt=prompt)


def _render_takes(join: Join) -> str:
    """Return a note that results of another branch can be used, and how."""
    names = ", ".join(take.option_id for take in join.takes)
    return (
        f" The same work was done on another branch: to use it, send the token of {names} as ackToken."
        if names
        else ""
    )


def _render_shared(history: History, join: Join) -> str:
    """Return a request to check files that several children list: one may have undone another's change."""
    shared = list_shared(history, join) if join.is_met else []
    return f" Look at these files before you go on: {' '.join(shared)}" if shared else ""


def _render_wait(join: Join) -> str:
    """Return what a step with children says when it is read now."""
    if join.is_met:
        left = len(join.children) - join.done
        beside = f"; {left} more would not be waited for" if left else ""
        done = format_count(join.done, "piece")
        return f"What was delegated is done ({done} of work{beside}): nothing is left to do here, go on."
    handed = describe_handed_out(join.step)
    closed = name_closed(join)
    if not closed:
        return handed
    if join.offered:
        options = "; ".join(f"{one}: {JOIN_OPTIONS[one]}" for one in join.offered)
        return f"This step waits for {closed}. What it needs cannot be met any more. Choose: {options}."
    possible = sum(one.status != "closed" for one in join.children)
    if possible >= join.needed:
        return f"{handed} Not needed any more: {closed}; the others are enough."
    options = ", ".join(JOIN_OPTIONS)
    return f"{handed} It also waits for {closed}. Once nobody is at work, one chooses: {options}."
