"""One key of the other dialect inside a native file: what it says in native keys. Pure."""

from __future__ import annotations

from collections.abc import Collection

from handrail.contract.outcome import Json
from handrail.workflows.dialect.condition_forms import to_condition
from handrail.workflows.dialect.crossing import Crossing, Object
from handrail.workflows.dialect.translation import to_native

_STEP_KEYS = frozenset(
    {
        "runCondition",
        "outputContract",
        "validationCriteria",
        "functionReferences",
        "assessmentRefs",
        "askForFiles",
    }
)
_ROOT_KEYS = frozenset(
    {"metaGuidance", "clarificationPrompts", "functionDefinitions", "recommendedPreferences"}
)
_STEP: Object = {"id": "step", "title": "Step", "prompt": "Do it."}
_WORKFLOW: Object = {"id": "a.b", "name": "Name", "description": "Text.", "steps": [_STEP]}


def native_members(name: str, value: Json, known: Collection[str]) -> Object:
    """The native keys that say the same as this one; none where it is no such key, or not quite the same.

    The file is native, so its comparisons are, too.
    """
    if name in _STEP_KEYS and "prompt" in known:
        translated = to_native(_WORKFLOW | {"steps": [_STEP | {name: value}]})
        found = _new(translated.document["steps"][0], _STEP)
    elif name in _ROOT_KEYS and "steps" in known:
        translated = to_native(_WORKFLOW | {name: value})
        found = _new(translated.document, _WORKFLOW)
    else:
        return {}
    found.pop("inputs", None)
    is_same = all(problem.code == "foreign_spelling" for problem in translated.problems)
    return exact(found) if is_same and found.keys() <= set(known) else {}


def native_condition(value: Json) -> Object:
    """A condition of the other dialect as a native one; empty where it cannot be said the same."""
    if not isinstance(value, dict) or "kind" in value:
        return {}
    crossing = Crossing()
    condition = to_condition(crossing, value, "", "")
    return exact(condition) if condition and not crossing.problems() else {}


def exact(value: Json) -> Json:
    """The same with comparisons that look at every letter, as native ones do."""
    if isinstance(value, list):
        return [exact(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: exact(one) for name, one in value.items() if name != "lenient"}


def _new(native: Object, base: Object) -> Object:
    return {name: value for name, value in native.items() if name not in base}
