"""Actions that Handrail runs itself: which ones, with which parameters, and how far a call ran on. Pure.

An action is answered under the attempt that a reply at its node would have minted. So a repeat of the call
that led there finds every action answered, and runs only those that a killed process left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from handrail.contract.ids import attempt_for_new
from handrail.engine.events import OWNED_VALUES
from handrail.engine.facts import add_loop_values, facts_at
from handrail.engine.history import History, Node, Recorded, attached_to, path_to
from handrail.engine.navigate import Running, is_own, leaf_at, offered_names, own_action_at, step_key
from handrail.engine.owners import options_at, saved_names
from handrail.workflows.compiled import Action, CompiledWorkflow, Leaf
from handrail.workflows.conditions import MISSING, PLACEHOLDER, Facts, holds_by_options, named_value
from handrail.workflows.limits import MOST_ACTIONS

PLAN = "plan"
"""The member of a saved preview that names the plan of its writes."""


def runs_unasked(history: History, workflow: CompiledWorkflow, node: Node) -> bool:
    """Whether the action that is pending at a node runs without another call."""
    action = own_action_at(workflow, node.state)
    if action is None:
        return False
    return not action.is_guarded or _is_chosen(history, workflow, node, action)


def follow_actions(
    history: History, workflow: CompiledWorkflow, recorded: Recorded, most: int = MOST_ACTIONS
) -> Iterator[Recorded]:
    """Yield the recorded answers of the actions that ran after an answered attempt, in order."""
    for _ in range(most):
        node = history.nodes[recorded.to_node_id]
        if recorded.blocked is not None or not runs_unasked(history, workflow, node):
            return
        answer = history.advances.get((node.node_id, attempt_for_new(node.node_id)))
        if answer is None:
            return
        yield answer
        recorded = answer


def describe_ran(
    history: History, workflow: CompiledWorkflow, answers: Sequence[Recorded]
) -> Iterator[tuple[str, str, str]]:
    """Yield the actions behind these answers: step, operation, and the result in one line."""
    for answer in answers:
        made = history.nodes[answer.to_node_id]
        state = None if made.parent is None else history.nodes[made.parent].state
        action = own_action_at(workflow, state) if made.kind == "step" and state is not None else None
        if action is None or not isinstance(state, Running):
            continue
        result = attached_to(history, made.node_id).action_line.partition("\n")[0]
        if history.runs[made.run_id].rules < OWNED_VALUES and made.node_id in history.notes:
            result = history.notes[made.node_id].text.partition("\n")[0]
        yield step_key(state), action.operation, result


def fill_params(action: Action, facts: Facts) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters with every `{{name}}` replaced, and the names without a value."""
    missing: list[str] = []

    def fill(value: Any) -> Any:
        match value:
            case str():
                whole = PLACEHOLDER.fullmatch(value)
                return (
                    look_up(whole[1]) if whole else PLACEHOLDER.sub(lambda one: str(look_up(one[1])), value)
                )
            case list():
                return [fill(one) for one in value]
            case dict():
                return {name: fill(one) for name, one in value.items()}
            case _:
                return value

    def look_up(name: str) -> Any:
        found = named_value(facts.values, name)
        if found is MISSING:
            missing.append(name)
            return ""
        return found

    return {name: fill(value) for name, value in action.params.items()}, missing


def find_preview(workflow: CompiledWorkflow, action: Action) -> str:
    """Return the name of the saved value whose plan an action would apply; empty if it names none."""
    token = action.params.get("continuation")
    named = PLACEHOLDER.fullmatch(token) if isinstance(token, str) else None
    head, _, member = named[1].partition(".") if named else ("", "", "")
    return head if member == PLAN and head in saved_names(workflow) else ""


def find_preview_node(history: History, workflow: CompiledWorkflow, node: Node) -> Node | None:
    """Return the node at which the preview was pending whose plan the action at a node would apply, or
    None.
    """
    action = own_action_at(workflow, node.state)
    name = find_preview(workflow, action) if action is not None else ""
    for before, after in _edges_before(history, node):
        leaf = _leaf_of(workflow, before)
        if is_own(leaf) and leaf.save_as == name and name in history.context.get(after.node_id, {}):
            return before
    return None


def _is_chosen(history: History, workflow: CompiledWorkflow, node: Node, action: Action) -> bool:
    """Whether the condition of the action holds because of options that were taken after the preview."""
    if not action.when:
        return False
    preview = find_preview(workflow, action)
    since: list[Node] = []
    for before, after in _edges_before(history, node):
        leaf = _leaf_of(workflow, before)
        if is_own(leaf) and preview and leaf.save_as == preview:
            break
        since.append(after)
    assert isinstance(node.state, Running), "only a pending action waits"
    known = add_loop_values(workflow, node.state, facts_at(history, workflow, node.node_id))
    chosen = options_at(history, workflow, reversed(since))
    unchosen, asked = (
        holds_by_options(
            workflow.conditions[action.when], replace(known, chosen=one), offered_names(workflow)
        )
        for one in ({}, chosen)
    )
    return asked and not unchosen


def _edges_before(history: History, node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield each node on the way with the node before it, newest first."""
    path = path_to(history, node.node_id)
    for at in range(len(path) - 1, 0, -1):
        yield path[at - 1], path[at]


def _leaf_of(workflow: CompiledWorkflow, node: Node) -> Leaf | None:
    return leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
