"""`parallelDelegations` as the prompt of one step: who does what, when, and how to do it alone. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Json
from handrail.workflows.dialect.condition_forms import in_words, to_condition
from handrail.workflows.dialect.crossing import NOWHERE, Crossing, Object
from handrail.workflows.dialect.plain_text import as_text, as_texts
from handrail.workflows.dialect.pointers import child

_INTRODUCTION = """\
Have the following {number} delegations carried out.
Give each to a subagent of its own and start them together.
Where no subagent can be started, do them yourself, one after another in this order, and finish each \
before you begin the next.
Leave out a delegation whose condition does not hold, and write down which ones you left out.
Keep the results apart, then bring them together in your notes: what each found, and where they disagree."""

_NAMES = ("title", "name", "id", "workflowId", "routineId")
_KNOWN = (*_NAMES, "runCondition", "contextMapping", "args", "modelTier", "prompt", "mission", "description")


def delegations_prompt(crossing: Crossing, value: Json, pointer: str) -> str:
    """The prompt that lists every delegation."""
    listed = value if isinstance(value, list) else [value]
    sections = [_INTRODUCTION.format(number=len(listed))]
    for index, one in enumerate(listed):
        place = child(pointer, index)
        lines = _lines(crossing, one, place) if isinstance(one, dict) else as_texts(one)
        sections.append("\n".join([f"## Delegation {index + 1}: {_name(one)}", *lines]))
    return "\n\n".join(sections)


def _name(value: Json) -> str:
    if not isinstance(value, dict):
        return "task"
    return next((str(value[name]) for name in _NAMES if isinstance(value.get(name), str)), "task")


def _lines(crossing: Crossing, value: Object, pointer: str) -> list[str]:
    lines = [
        f"Workflow to follow: {value[name]}"
        for name in ("workflowId", "routineId")
        if isinstance(value.get(name), str)
    ]
    lines += [text for name in ("mission", "prompt", "description") for text in as_texts(value.get(name))]
    place = child(pointer, "runCondition")
    condition = to_condition(crossing, value.get("runCondition"), place, NOWHERE)
    if condition is not None:
        lines.append(f"Only when: {in_words(condition)}.")
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
