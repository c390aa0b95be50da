"""Who set each value of a run, and who may not replace it. Pure.

The problem: a value in force looks the same whoever set it, so an agent's context could undo what an action
found, what an option set, or what a person decided.

The idea: every value has an owner, and owners are ordered. Only an owner of the same rank or a higher one
replaces a value. Deleting is replacing; sending the value that is already in force is not.

The log names the owner of each value that the agent did not set. Logs of older versions do not: there,
owners follow from the events, the option taken and the pinned workflow. `owners_at` is the only place that
decides it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, get_args

import msgspec

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.ids import NodeId
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import shorten
from handrail.engine.events import OWNED_VALUES, ValueOwner
from handrail.engine.history import History, Node, answer_about, path_to
from handrail.engine.messages import describe_answering
from handrail.engine.navigate import Running, State, find_loop, frames_of, leaf_at, leaves_of, offered_names
from handrail.engine.reasons import InputProblem, shorten_message
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    Leaf,
    Option,
    Step,
    derive_once,
    loop_variables,
)
from handrail.workflows.conditions import Facts, nest_values

_RANK: dict[ValueOwner, int] = {owner: rank for rank, owner in enumerate(get_args(ValueOwner))}

_PLAIN_NAME = r"[A-Za-z_][A-Za-z0-9_-]{0,127}"
"""A key of the context. Text that could be read as a path is not a name."""
_BETWEEN_NAMES = r"[.\[\]/]+"
_MOST_EXPECTED = 400
"""Limit in characters for the text that says what is expected of one key."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A value in force and its owner. None as the value: its owner deleted it."""

    owner: ValueOwner = "agent"
    value: Any
    step_id: str = ""
    """The action or choice step that set it."""
    option_id: str = ""


# The owner of the value in force


def owners_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> dict[str, Held]:
    """Return every value that was set on the way to a node, with the owner of the value in force."""
    taken = _find_taken(history)
    held: dict[str, Held] = {}
    for node in path_to(history, node_id):
        leaf = _leaf_before(history, workflow, node)
        option = _find_option(leaf, taken.get(node.node_id, ""))
        for key, value in history.context.get(node.node_id, {}).items():
            current, before = _describe_owner(history, node, leaf, option, key, value), held.get(key)
            is_repeat = before is not None and is_same(before.value, value)
            if before is None or not is_repeat or _RANK[current.owner] >= _RANK[before.owner]:
                held[key] = current
    return held


def options_at(history: History, workflow: CompiledWorkflow, path: Iterable[Node]) -> dict[str, Any]:
    """Return the values set by the options that led to these nodes; the last one counts for each name."""
    taken = _find_taken(history)
    chosen: dict[str, Any] = {}
    for node in path:
        option_id = taken.get(node.node_id, "")
        if option_id:
            option = _find_option(_leaf_before(history, workflow, node), option_id)
            chosen |= {} if option is None else option.sets
    return chosen


def _find_taken(history: History) -> dict[NodeId, str]:
    """Return the ids of the options that were taken, by the node to which each led."""
    answers = history.advances.values()
    return {answer.to_node_id: answer.option_id for answer in answers if answer.option_id}


def _find_option(leaf: Leaf | None, option_id: str) -> Option | None:
    options = leaf.options if isinstance(leaf, Choice) else ()
    return next((option for option in options if option.id == option_id), None)


def _describe_owner(
    history: History, node: Node, leaf: Leaf | None, option: Option | None, key: str, value: Any
) -> Held:
    """Return who set a key at a node to which a report of this leaf, with this option, led."""
    if history.runs[node.run_id].rules >= OWNED_VALUES:
        owner = history.owners.get(node.node_id, {}).get(key, "agent")
        step_id = "" if leaf is None else leaf.id
        return Held(owner=owner, value=value, step_id=step_id, option_id="" if option is None else option.id)
    if isinstance(leaf, Action) and leaf.is_own and key == leaf.save_as:
        return Held(owner="action", value=value, step_id=leaf.id)
    if leaf is None or option is None or key not in option.sets:
        return Held(value=value)
    owner = "person" if _is_persons(history, node, option) else "agent_option"
    return Held(owner=owner, value=value, step_id=leaf.id, option_id=option.id)


def is_imported(history: History, index: int) -> bool:
    """Whether another store recorded the event at this index, so that it was not observed here."""
    is_before_label = history.imported is not None and index < history.imported.index
    return is_before_label or (index >= history.listed and _is_unsigned(history, index))


def is_unproven(history: History, index: int) -> bool:
    """Whether the event was here before the store could prove what it records, and no person adopted the
    session.
    """
    return index < history.listed and not history.is_adopted and _is_unsigned(history, index)


def has_imported_facts(history: History) -> bool:
    """Whether another store made the session, or recorded an answer, a check result or a proof in it."""
    return bool(history.unsigned) and history.unsigned[-1] >= history.listed


def drop_imported_resolutions(history: History) -> History:
    """Return the history without resolutions of gaps that another store recorded."""
    imported = [one for one in history.unsigned_resolutions if one.index >= history.listed]
    if not imported:
        return history
    attached = dict(history.attached.items())
    for one in imported:
        held = attached[one.node_id]
        gaps = tuple(gap for gap in held.gaps if gap.gap_id != one.gap_id)
        attached[one.node_id] = msgspec.structs.replace(held, gaps=gaps)
    return msgspec.structs.replace(history, attached=attached)


def _is_unsigned(history: History, index: int) -> bool:
    place = bisect_left(history.unsigned, index)
    return history.unsigned[place : place + 1] == (index,)


def _is_persons(history: History, node: Node, option: Option) -> bool:
    """Whether a person chose the option that led to a node. An answer given in another store does not count
    here.
    """
    answer = answer_about(history, node)
    if answer is None or answer.fact.option_id != option.id:
        return False
    return is_imported(history, node.index) or not is_imported(history, answer.index)


def _leaf_before(history: History, workflow: CompiledWorkflow, node: Node) -> Leaf | None:
    """Return the step, choice or action that was pending before a node."""
    state = None if node.parent is None else history.nodes[node.parent].state
    return leaf_at(workflow, state) if isinstance(state, Running) else None


def is_same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: the same RFC 8785 bytes, so true is not 1."""
    return left is right or canonical_bytes(left) == canonical_bytes(right)


# Which keys of a context are refused


def find_refused(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    context: Mapping[str, Any],
    option: Option | None,
    *,
    taken_by: ValueOwner,
    given: Mapping[str, Any],
) -> list[InputProblem]:
    """Return the keys that a report at a node may not set, each with the owner of the value in force.

    `option` is the option that the report takes, `taken_by` who chose it, and `given` the value that a
    person gave for the step.
    """
    names = {*context, *(option.sets if option is not None else ())}
    variables = _variables_at(workflow, node.state)
    inside = derive_once(workflow, _given_inside)
    is_handed = history.runs[node.run_id].parent is not None
    is_asked = is_handed or any(not is_plain_name(name) or name in inside for name in names)
    held = owners_at(history, workflow, node.node_id) if is_asked else {}
    held |= {key: Held(owner="person", value=value) for key, value in given.items()}
    found = _find_misnamed(workflow, context, held, variables)
    for key, value in context.items():
        if not is_plain_name(key):
            continue
        if key in variables:
            found.append(_refuse_variable(key, variables[key]))
        elif option is not None and key in option.sets:
            found += [] if is_same(value, option.sets[key]) else [_refuse_beside(key, option)]
        else:
            found += _refuse_weaker(workflow, key, value, held.get(key), "agent")
    if option is None:
        return found

    line = describe_answering(history, node.run_id)
    for key, value in option.sets.items():
        found += _refuse_weaker(workflow, key, value, held.get(key), taken_by, line)
    return found


def keep_stronger(
    history: History, workflow: CompiledWorkflow, node: Node, result: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the result of an action or a child, without values that an option set or a person gave."""
    if not result.keys() & derive_once(workflow, _given_by_choice):
        return dict(result)
    held = owners_at(history, workflow, node.node_id)
    return {
        key: value
        for key, value in result.items()
        if key not in held or _RANK[held[key].owner] <= _RANK["action"]
    }


def find_refused_at_start(workflow: CompiledWorkflow, context: Mapping[str, Any]) -> list[InputProblem]:
    """Return what a start may not set: invalid names, and values that only an action or a person's option
    gives.
    """
    found = _find_misnamed(workflow, context, {}, {})
    for key, value in context.items():
        found += _refuse_weaker(workflow, key, value, None, "agent") if is_plain_name(key) else []
    return found


def correct_names(workflow: CompiledWorkflow, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context with an object for each key that is a path, without values that no caller may
    send.
    """
    plain = {key: value for key, value in context.items() if is_plain_name(key)}
    paths = {_read_path(key): value for key, value in context.items() if key not in plain}
    nested = nest_values(plain | {path: value for path, value in paths.items() if path})
    closed = saved_names(workflow).keys() | decided_names(workflow).keys()
    return {key: value for key, value in nested.items() if key not in closed}


def refuse_context(problems: Sequence[InputProblem]) -> Fault:
    """Return the error for a context that is not accepted: one row for each key."""
    first, more = problems[0], len(problems) - 1
    others = f" ({more} more)" if more else ""
    rows: list[Json] = [input_row(problem) for problem in problems]
    message = f"context.{first.key}: {first.problem}{others}; nothing was stored."
    return Fault(VALIDATION_ERROR, shorten_message(message), details={"problems": rows})


def input_row(problem: InputProblem) -> dict[str, Json]:
    got: dict[str, Json] = {"got": problem.got} if problem.got else {}
    expected = problem.expected[:_MOST_EXPECTED]
    return {"param": f"context.{problem.key}", "problem": problem.problem, **got, "expected": expected}


def _refuse_weaker(
    workflow: CompiledWorkflow, key: str, value: Any, held: Held | None, by: ValueOwner, line: str = ""
) -> list[InputProblem]:
    """Return the refusal of a value whose owner is weaker than that of the value in force, or that only an
    action gives.

    `line` says how a person takes another option.
    """
    if held is not None and _RANK[by] < _RANK[held.owner] and not is_same(value, held.value):
        return [_refuse_for(key, held, by, line)]
    if by != "agent" or (held is not None and held.owner != "agent"):
        return []
    if key in saved_names(workflow):
        return [_refuse_for(key, Held(owner="action", value=None, step_id=saved_names(workflow)[key]), by)]
    choice_id = decided_names(workflow).get(key, "")
    return [_refuse_undecided(key, choice_id)] if choice_id else []


def _refuse_undecided(key: str, choice_id: str) -> InputProblem:
    return InputProblem(
        key=key,
        problem=f"is what the options of {choice_id} set, and only a person decides there",
        expected="no value: where that step is left out or comes later, nobody has decided",
    )


def _refuse_for(key: str, held: Held, by: ValueOwner, line: str = "") -> InputProblem:
    shown = shorten(msgspec.json.encode(held.value).decode())
    if held.owner == "action":
        problem = f"is what the action {held.step_id} saves"
        expected = "no value: Handrail sets it when it runs the action"
    elif held.owner == "agent_option":
        problem = f"was set to {shown} by the option {held.option_id} of {held.step_id}"
        expected = f"no value: to change it, read the step {held.step_id} again and take another option"
    elif held.owner == "person" and not held.option_id:
        problem = f"was set to {shown} by a person"
        expected = "no value: only a person changes what a person decided"
    elif held.owner != "person":
        problem, expected = f"was set to {shown} by the {held.owner}", "no value"
    else:
        problem = f"was set to {shown} when a person took the option {held.option_id} of {held.step_id}"
        expected = "no value: only a person changes what a person decided"
        if by == "agent_option":
            expected = (
                f"an option that keeps it; or ask the user to {line}, and then make the call "
                "of the option that they take there"
            )
    return InputProblem(key=key, problem=shorten_message(problem), expected=expected)


def _refuse_beside(key: str, option: Option) -> InputProblem:
    return InputProblem(
        key=key,
        problem=f"the option {option.id} sets it, to another value",
        expected="nothing here, or the token of the option that sets it so",
    )


def _refuse_variable(key: str, loop_id: str) -> InputProblem:
    return InputProblem(
        key=key,
        problem=f"{key.partition('.')[0]} is a variable of the loop {loop_id}",
        expected="no value: it is the item that this round works on",
    )


def _find_misnamed(
    workflow: CompiledWorkflow,
    context: Mapping[str, Any],
    held: Mapping[str, Held],
    variables: Mapping[str, str],
) -> list[InputProblem]:
    """Return the keys that are not plain names, each with what was probably meant."""
    return [
        _refuse_name(workflow, key, context, held, variables) for key in context if not is_plain_name(key)
    ]


def _refuse_name(
    workflow: CompiledWorkflow,
    key: str,
    context: Mapping[str, Any],
    held: Mapping[str, Held],
    variables: Mapping[str, str],
) -> InputProblem:
    path = _read_path(key)
    head = path.partition(".")[0]
    owned = held.get(head)
    if head in variables:
        return _refuse_variable(key, variables[head])
    if head in saved_names(workflow) and (owned is None or owned.owner == "agent"):
        owned = Held(owner="action", value=None, step_id=saved_names(workflow)[head])
    problem, expected = "is no plain name", "a letter or _, then letters, digits, _ and -; 128 at most"
    if owned is not None and owned.owner != "agent":
        refusal = _refuse_for(head, owned, "agent")
        problem, expected = f"is no plain name, and {head} {refusal.problem}", refusal.expected
    elif path:
        before = {head: owned.value} if owned is not None and isinstance(owned.value, dict) else {}
        meant = {head: correct_names(workflow, {**before, **context})[head]}
        expected = f"the object itself: {msgspec.json.encode(meant).decode()}"
    return InputProblem(key=key, problem=shorten_message(problem), expected=expected)


def _read_path(key: str) -> str:
    """Return the dotted name that a key was probably meant as; empty if it cannot be one."""
    parts = [part for part in re.split(_BETWEEN_NAMES, key) if part]
    return ".".join(parts) if len(parts) > 1 and all(map(is_plain_name, parts)) else ""


def _variables_at(workflow: CompiledWorkflow, state: State) -> dict[str, str]:
    """Return the variables of the loops around a position, with the loop that each belongs to."""
    loops = [find_loop(workflow, frame.loop_id) for frame in frames_of(state)]
    return {name: loop.id for loop in loops for name in loop_variables(loop)}


# Who gives a value that is not in force yet


def fill_from_goal(workflow: CompiledWorkflow, context: Mapping[str, Any], goal: str) -> dict[str, Any]:
    """Return the inputs that the goal of a start fills, because nothing else gives them."""
    inputs = workflow.inputs.items() if goal else ()
    return {name: goal for name, spec in inputs if spec.from_goal and name not in context}


def describe_giver(workflow: CompiledWorkflow, name: str) -> str:
    """Return text on who alone can give a value; empty if an agent may send it."""
    head = name.partition(".")[0]
    declared = workflow.inputs.get(head)
    if head in saved_names(workflow):
        return f"only the action {saved_names(workflow)[head]} gives {name}"
    if head in offered_names(workflow) and (declared is None or declared.implicit):
        return f"only an option that somebody takes gives {name}"
    return ""


def counter_of(workflow: CompiledWorkflow, name: str) -> str:
    """Return the name of the value that sets the length of a list of numbers; empty for any other list."""
    spec = workflow.inputs.get(name)
    return spec.counted_by if spec is not None else ""


def is_known(workflow: CompiledWorkflow, name: str, facts: Facts, *, is_list: bool) -> bool:
    """Whether a value is known. An empty list that was not sent does not count: a loop over it would
    silently do nothing.
    """
    value = facts.values.get(name)
    return value is not None and not (is_list and value == [] and is_unsent(workflow, name, facts))


def is_unsent(workflow: CompiledWorkflow, name: str, facts: Facts) -> bool:
    """Whether a value was not sent so far: there is none, or only its default."""
    value, spec = facts.values.get(name), workflow.inputs.get(name)
    return value is None or (spec is not None and value == spec.default)


def _given_inside(workflow: CompiledWorkflow) -> Set[str]:
    """Return the values that may come from a source other than the agent's context."""
    return derive_once(workflow, _given_by_choice) | saved_names(workflow).keys()


def _given_by_choice(workflow: CompiledWorkflow) -> Set[str]:
    """Return the values that an option sets or a person gives."""
    users = (leaf.user_only for leaf in leaves_of(workflow).values() if isinstance(leaf, Step))
    return offered_names(workflow) | {one.input for one in users if one is not None and one.input}


def decided_names(workflow: CompiledWorkflow) -> dict[str, str]:
    """Return the values that only options reserved for the user set, each with its choice. Declared inputs
    are open to everyone.
    """
    return derive_once(workflow, _list_decided)


def _list_decided(workflow: CompiledWorkflow) -> dict[str, str]:
    declared = {name for name, spec in workflow.inputs.items() if not spec.implicit}
    choices = [leaf for leaf in leaves_of(workflow).values() if isinstance(leaf, Choice)]
    free = {
        name for leaf in choices if leaf.non_assumable is None for one in leaf.options for name in one.sets
    }
    return {
        name: leaf.id
        for leaf in choices
        for option in leaf.options
        for name in option.sets
        if name not in declared | free
    }


def saved_names(workflow: CompiledWorkflow) -> dict[str, str]:
    """Return the values that actions of Handrail save and children deliver, each with its step."""
    return derive_once(workflow, _list_saved)


def _list_saved(workflow: CompiledWorkflow) -> dict[str, str]:
    leaves = leaves_of(workflow).values()
    saved = {leaf.save_as: leaf.id for leaf in leaves if isinstance(leaf, Action) and leaf.is_own}
    saved |= {leaf.collect: leaf.id for leaf in leaves if isinstance(leaf, Delegate)}
    return {name: leaf_id for name, leaf_id in saved.items() if name}


def is_plain_name(name: str) -> bool:
    """Whether a value can be stored under this name."""
    return re.fullmatch(_PLAIN_NAME, name, re.ASCII) is not None
