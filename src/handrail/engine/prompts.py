"""What the agent reads at a step: fragments that apply, values filled in, functions, references. Pure.

A prompt is never cut. It is bounded because the author's text is (workflows/limits.py) and because a
value too long to stand inside a sentence is left as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.engine.history import History, Node, path_to
from handrail.engine.navigate import leaf_at
from handrail.engine.state import Running
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow, Leaf, Reference, Step
from handrail.workflows.conditions import MISSING, Compare, Facts, holds, value_of

Occasion: TypeAlias = Literal["reply", "rehydrate"]
"""After losing its context an agent is told again what it was told before."""

LONGEST_VALUE_BYTES = 4_096
RECAP_FUNCTIONS_BYTES = 4_096

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")


def prompt_at(
    history: History, workflow: CompiledWorkflow, node: Node, leaf: Leaf, facts: Facts, occasion: Occasion
) -> str:
    """The whole prompt of the step that is pending at a node. `facts` include the loops' values."""
    parts = [step_text(workflow, leaf, facts)]
    wanted = leaf.functions if isinstance(leaf, Step) else ()
    match occasion:
        case "reply":
            told = _functions_before(history, workflow, node) if wanted else ()
            parts += _definitions(workflow, [name for name in wanted if name not in told])
            parts += _references(workflow.references) if _is_first_step(history, node) else []
        case "rehydrate":
            told = _functions_before(history, workflow, node) if workflow.functions else ()
            parts += _definitions(workflow, wanted)
            parts += _recap_definitions(workflow, [name for name in told if name not in wanted])
            parts += _references(workflow.references)
        case never:
            assert_never(never)
    return "\n\n".join(part for part in parts if part)


def filled(text: str, facts: Facts) -> str:
    """Every `{{name}}` that the facts know, dotted members too; the others stay as written."""
    return _PLACEHOLDER.sub(lambda found: _value(found, facts), text)


def step_text(workflow: CompiledWorkflow, leaf: Leaf, facts: Facts) -> str:
    """The step's own text: its prompt, the fragments whose condition holds, values filled in."""
    match leaf:
        case Step(prompt=prompt, fragments=fragments):
            applying = [
                fragment.text
                for fragment in fragments
                if not fragment.when or holds(workflow.conditions[fragment.when], facts)
            ]
            return filled("\n\n".join([prompt, *applying]), facts)
        case Choice(prompt=prompt):
            return filled(prompt, facts)
        case Action(operation=operation, params=params, save_as=save_as):
            shown = filled(msgspec.json.encode(params).decode(), facts)
            kept = f" and send the result back as context.{save_as}" if save_as else ""
            return f"Run the operation {operation} with the parameters {shown}{kept}."
        case never:
            assert_never(never)


def _value(found: re.Match[str], facts: Facts) -> str:
    value: Any = value_of(Compare(input=found[1], op="exists"), facts)
    if value is MISSING:
        return found[0]
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text.encode()) <= LONGEST_VALUE_BYTES else found[0]


def _functions_before(history: History, workflow: CompiledWorkflow, node: Node) -> tuple[str, ...]:
    """The functions that steps before this one refer to, in their order, each once."""
    visited: dict[str, Running] = {}
    for earlier in path_to(history, node.node_id):
        if isinstance(earlier.state, Running) and earlier.state != node.state:
            visited.setdefault(earlier.state.step_id, earlier.state)
    leaves = [leaf_at(workflow, state) for state in visited.values()]
    return tuple(dict.fromkeys(name for leaf in leaves if isinstance(leaf, Step) for name in leaf.functions))


def _is_first_step(history: History, node: Node) -> bool:
    first = history.runs[node.run_id].first_node
    return first is not None and history.nodes[first].state == node.state


def _definitions(workflow: CompiledWorkflow, names: Iterable[str]) -> list[str]:
    known = [name for name in names if name in workflow.functions]
    return [f"{name}: {workflow.functions[name]}" for name in known]


def _recap_definitions(workflow: CompiledWorkflow, names: list[str]) -> list[str]:
    """Functions of earlier steps, as far as their budget goes; what is left out is counted."""
    texts = _definitions(workflow, names)
    kept, used = [], 0
    for text in texts:
        used += len(text.encode())
        if used > RECAP_FUNCTIONS_BYTES:
            break
        kept.append(text)
    left = len(texts) - len(kept)
    return [*kept, f"[TRUNCATED] {left} more functions of earlier steps."] if left else kept


def _references(references: tuple[Reference, ...]) -> list[str]:
    if not references:
        return []
    lines = [
        f"- {held.title} ({held.source}{', authoritative' if held.authoritative else ''})"
        + (f": {held.purpose}" if held.purpose else "")
        for held in references
    ]
    return ["\n".join(["References of this workflow:", *lines])]
