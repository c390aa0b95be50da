"""Names that lead nowhere in a document whose shape is wrong, reported together with the rest. Pure.

The compiler reports such names in a document that can be read. One that cannot be read is checked here as it
is; parts without the expected shape are skipped, because the reader has reported them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from handrail.contract.outcome import Json
from handrail.workflows.builtins.registry import all_features, all_refs
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.problem import Problem
from handrail.workflows.reading.shapes import CONDITION_ID

_BLOCKS = ("goal", "constraints", "procedure", "outputRequired", "verify")
_CONDITION_KEYS = ("when", "while", "until", "requireConfirmation")


def find_dangling_names(
    document: Json, contracts: Iterable[str], templates: Iterable[str]
) -> tuple[Problem, ...]:
    """Every condition, contract, template, function, assessment, feature and ref that does not exist."""
    if not isinstance(document, dict):
        return ()
    trail = Trail()
    known: dict[str, set[str]] = {
        "condition": _ids(document.get("conditions")),
        "assessment": _ids(document.get("assessments")),
        "function": set(_object(document.get("functions"))),
        "contract": set(contracts),
        "template": set(templates),
        "feature": {feature.id for feature in all_features()},
        "ref": {ref.id for ref in all_refs()},
    }
    for what, name, pointer in (*_features(document), *_steps(document.get("steps"), "/steps")):
        if name not in known[what]:
            trail.unknown(what, name, known[what], pointer, "")
    return tuple(trail.problems)


_Name = tuple[str, str, str]
"""What is named, its name, and where."""


def _features(document: dict[str, Any]) -> Iterator[_Name]:
    for place, feature in enumerate(_list(document.get("features"))):
        pointer = f"/features/{place}"
        if isinstance(feature, dict) and isinstance(feature.get("id"), str):
            yield "feature", feature["id"], f"{pointer}/id"
        elif isinstance(feature, str):
            yield "feature", feature, pointer


def _steps(steps: Json, pointer: str) -> Iterator[_Name]:
    for place, step in enumerate(_list(steps)):
        if isinstance(step, dict):
            here = f"{pointer}/{place}"
            yield from _conditions(step, here)
            yield from _named_by(step, here)
            yield from _refs(step, here)
            yield from _steps(step.get("body"), f"{here}/body")


def _conditions(step: dict[str, Any], pointer: str) -> Iterator[_Name]:
    for key in _CONDITION_KEYS:
        yield from _condition(step.get(key), f"{pointer}/{key}")
    for place, fragment in enumerate(_list(step.get("promptFragments"))):
        yield from _condition(_object(fragment).get("when"), f"{pointer}/promptFragments/{place}/when")


def _condition(when: Json, pointer: str) -> Iterator[_Name]:
    if isinstance(when, str):
        if re.fullmatch(CONDITION_ID.pattern, when):  # anything else is not a name and has been reported
            yield "condition", when, pointer
    elif isinstance(when, dict) and isinstance(when.get("conditionId"), str):
        yield "condition", when["conditionId"], f"{pointer}/conditionId"


def _named_by(step: dict[str, Any], pointer: str) -> Iterator[_Name]:
    contract = _object(step.get("output")).get("contractRef")
    if isinstance(contract, str):
        yield "contract", contract, f"{pointer}/output/contractRef"
    if isinstance(step.get("templateId"), str):
        yield "template", step["templateId"], f"{pointer}/templateId"
    for place, name in enumerate(_list(step.get("functionRefs"))):
        if isinstance(name, str):
            yield "function", name, f"{pointer}/functionRefs/{place}"
    for place, gate in enumerate(_list(step.get("gates"))):
        if isinstance(_object(gate).get("assessmentId"), str):
            yield "assessment", gate["assessmentId"], f"{pointer}/gates/{place}/assessmentId"


def _refs(step: dict[str, Any], pointer: str) -> Iterator[_Name]:
    blocks = _object(step.get("promptBlocks"))
    for block in _BLOCKS:
        parts = blocks.get(block)
        here = f"{pointer}/promptBlocks/{block}"
        named = [(here, parts)]
        named += [(f"{here}/{place}", part) for place, part in enumerate(_list(parts))]
        for place, part in named:
            if isinstance(part, dict) and part.get("kind") == "ref" and isinstance(part.get("refId"), str):
                yield "ref", part["refId"], f"{place}/refId"


def _ids(declared: Json) -> set[str]:
    if isinstance(declared, dict):  # told already, and each is known by its name
        return set(declared)
    return {one["id"] for one in _list(declared) if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
