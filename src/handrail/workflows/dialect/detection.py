"""Tells a workflow document of the neighbouring dialect from one in the native language. Pure.

Some documents are valid in both; they are native. A document with words of both is what it has more of,
so that one slip in a native file is still reported as a slip.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.workflows.limits import MAX_PARTS

Object: TypeAlias = dict[str, Json]

_FOREIGN_KEYS = frozenset(
    {
        "metaGuidance",
        "clarificationPrompts",
        "functionDefinitions",
        "recommendedPreferences",
        "extensionPoints",
        "metricsProfile",
        "validatedAgainstSpecVersion",
    }
)
_FOREIGN_STEP_KEYS = frozenset(
    {
        "runCondition",
        "loop",
        "templateCall",
        "outputContract",
        "validationCriteria",
        "functionReferences",
        "functionDefinitions",
        "functionCalls",
        "assessmentRefs",
        "assessmentConsequences",
        "parallelDelegations",
        "askForFiles",
        "hasValidation",
    }
)
_NATIVE_KEYS = frozenset(
    {"inputs", "conditions", "recommended", "functions", "questions", "kind", "guidance"}
)
_NATIVE_STEP_KEYS = frozenset(
    {
        "when",
        "output",
        "validation",
        "gates",
        "functionRefs",
        "userOnly",
        "loopId",
        "while",
        "until",
        "forEach",
        "count",
        "templateId",
        "options",
        "operation",
    }
)
_CONDITION_KEYS = frozenset({"var", "and", "or", "not", "condition"})


def is_foreign(document: Object) -> bool:
    """Whether a document is to be translated before it is read."""
    foreign = {name for name in document if name in _FOREIGN_KEYS} | _foreign_shapes(document)
    native = {name for name in document if name in _NATIVE_KEYS}
    for step in islice(_steps(document.get("steps")), MAX_PARTS):
        foreign |= {name for name in step if name in _FOREIGN_STEP_KEYS} | _foreign_step_shapes(step)
        native |= {name for name in step if name in _NATIVE_STEP_KEYS}
    return bool(foreign) and len(foreign) >= len(native)


def _foreign_shapes(document: Object) -> set[str]:
    """Keys that both languages have, written as only the other one writes them."""
    listed = any(isinstance(one.get("dimensions"), list) for one in _objects(document.get("assessments")))
    return {"dimensions"} if listed else set()


def _foreign_step_shapes(step: Object) -> set[str]:
    found = set()
    body = step.get("body")
    if isinstance(body, str) or (isinstance(body, list) and any(isinstance(part, str) for part in body)):
        found.add("body")
    if step.get("type") == "parallel":
        found.add("parallel")
    if _is_condition(step.get("requireConfirmation")):
        found.add("requireConfirmation")
    if any(_is_condition(fragment.get("when")) for fragment in _objects(step.get("promptFragments"))):
        found.add("promptFragments")
    return found


def _is_condition(value: Json) -> bool:
    """A condition without a `kind`, or the kinds of confirmation that the other dialect has."""
    if not isinstance(value, dict):
        return False
    if "kind" in value:
        return value["kind"] in ("human_approval", "coordinator_eval")
    return any(name in _CONDITION_KEYS for name in value)


def _steps(value: Json) -> Iterator[Object]:
    waiting = [iter(_objects(value))]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
        else:
            yield step
            waiting.append(iter(_objects(step.get("body"))))


def _objects(value: Json) -> list[Object]:
    items = value if isinstance(value, list) else [value]
    return [one for one in items if isinstance(one, dict)]
