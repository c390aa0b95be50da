"""`parallelDelegations` of the other dialect as the children of steps that hand out work. Pure."""

from __future__ import annotations

import re

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.dialect.condition_forms import to_condition
from handrail.workflows.dialect.crossing import NOWHERE, Crossing, Object, as_text, as_texts
from handrail.workflows.limits import MAX_CHILDREN, MAX_NAME_CHARACTERS, MAX_TITLE_CHARACTERS

_TOGETHER = "Bring together what the delegations found: {}. Say what each found, and where they disagree."

_NAMES = ("title", "name", "id", "workflowId", "routineId")
_KNOWN = (*_NAMES, "runCondition", "contextMapping", "args", "modelTier", "prompt", "mission", "description")


def list_children(crossing: Crossing, value: Json, pointer: str) -> list[list[Json]]:
    """The delegations, as many together as one step hands out."""
    listed = value if isinstance(value, list) else [value]
    children = [
        _child(crossing, one, join_pointer(pointer, index), index + 1) for index, one in enumerate(listed)
    ]
    return [children[first : first + MAX_CHILDREN] for first in range(0, len(children), MAX_CHILDREN)]


def collected_name(step_id: str) -> str:
    """The value that gets what a step's children found."""
    return f"found_by_{re.sub('[^A-Za-z0-9]', '_', step_id)}"[:MAX_NAME_CHARACTERS]


def add_results(part: Object, names: list[str]) -> Object:
    """The step with a sentence about what the delegations found."""
    told = _TOGETHER.format(" and ".join(f"{{{{{name}}}}}" for name in names))
    if "promptBlocks" in part:
        blocks = part["promptBlocks"]
        procedure = blocks.get("procedure", [])
        held = procedure if isinstance(procedure, list) else [procedure]
        return part | {"promptBlocks": blocks | {"procedure": [*held, told]}}
    return part | {"prompt": "\n\n".join([*as_texts(part.get("prompt")), told])}


def _child(crossing: Crossing, value: Json, pointer: str, number: int) -> Object:
    name = _name(value)[:MAX_TITLE_CHARACTERS]
    lines = _lines(value) if isinstance(value, dict) else as_texts(value)
    step: Object = {"id": "do", "title": name, "prompt": "\n".join(lines) or name}
    child: Object = {"id": f"d{number}", "title": name, "steps": [step]}
    place = join_pointer(pointer, "runCondition")
    given = value.get("runCondition") if isinstance(value, dict) else None
    condition = to_condition(crossing, given, place, NOWHERE)
    return child if condition is None else child | {"when": condition}


def _name(value: Json) -> str:
    if not isinstance(value, dict):
        return "task"
    return next((str(value[name]) for name in _NAMES if isinstance(value.get(name), str)), "task")


def _lines(value: Object) -> list[str]:
    lines = [
        f"Workflow to follow: {value[name]}"
        for name in ("workflowId", "routineId")
        if isinstance(value.get(name), str)
    ]
    lines += [text for name in ("mission", "prompt", "description") for text in as_texts(value.get(name))]
    lines += _pairs("Arguments", value.get("args"))
    lines += _mapping(value.get("contextMapping"))
    if isinstance(value.get("modelTier"), str):
        lines.append(f"Model tier: {value['modelTier']}")
    lines += [f"{name}: {as_text(value[name])}" for name in sorted(value) if name not in _KNOWN]
    return lines


def _pairs(heading: str, value: Json) -> list[str]:
    if not isinstance(value, dict):
        return [f"{heading}: {text}" for text in as_texts(value)]
    # Sorted, because the order of keys carries no meaning in JSON and must not reach the hash.
    return [f"{heading}:", *(f"- {name}: {as_text(value[name])}" for name in sorted(value))] if value else []


def _mapping(value: Json) -> list[str]:
    """Which context values the delegate gets, and what they are called there."""
    if not isinstance(value, dict):
        return [f"Context to hand over: {text}" for text in as_texts(value)]
    sources = {name: as_text(value[name]) for name in sorted(value)}
    handed = [name if name == source else f"{source} as {name}" for name, source in sources.items()]
    return [f"Context to hand over: {', '.join(handed)}"] if handed else []
