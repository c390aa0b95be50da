"""Functions and assessments of the other dialect as native ones. Pure."""

from __future__ import annotations

import re
from typing import TypeAlias

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.workflows.dialect.crossing import (
    Crossing,
    Object,
    as_json,
    as_text,
    as_texts,
    native_id,
    native_name,
)
from handrail.workflows.limits import MAX_DESCRIPTION_CHARACTERS, MAX_TITLE_CHARACTERS

# Functions: `functionDefinitions` and `functionReferences`

Scope: TypeAlias = dict[str, str]
"""The functions that a part may name: the author's name to the native one."""

_REFERENCE = re.compile(r"\s*([^\s(]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)


class Functions:
    """Every function of a workflow. Native functions belong to the whole of it."""

    def __init__(self) -> None:
        self.native: dict[str, str] = {}

    def define(self, crossing: Crossing, value: Json, pointer: str, around: Scope) -> Scope:
        """The scope of a part that defines these functions."""
        scope = dict(around)
        for name, definition, place in _definitions(value, pointer):
            text = _text(definition)
            if not text:
                crossing.changed(
                    place, "The function has no definition; it is left out.", 'Add "definition".'
                )
                continue
            own = native_name(name)
            number = 2
            while self.native.get(own, text) != text:  # the same name with another meaning elsewhere
                own = f"{native_name(name)}_{number}"
                number += 1
            self.native[own] = text
            crossing.came_from(join_pointer("/functions", own), place)
            scope[name] = own
        return scope

    def refer(
        self, crossing: Crossing, step: Object, pointer: str, scope: Scope
    ) -> tuple[list[str], list[str]]:
        """The functions that a step names, and how to call them where that is written."""
        names: list[str] = []
        advice: list[str] = []
        for name, call, place in _references(step, pointer):
            if name in scope:
                names.append(scope[name])
            else:
                message = f"There is no function {quote(name)}; the agent is told about it."
                crossing.changed(place, message, "Define it under functionDefinitions.")
            if call or name not in scope:
                advice.append(f"Apply {name}({call}).")
        return list(dict.fromkeys(names)), advice


def _definitions(value: Json, pointer: str) -> list[tuple[str, Json, str]]:
    if isinstance(value, dict):
        return [(name, value[name], join_pointer(pointer, name)) for name in sorted(value)]
    return [
        (one["name"], one, f"{pointer}/{index}")
        for index, one in enumerate(value if isinstance(value, list) else [])
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    ]


def _text(value: Json) -> str:
    if not isinstance(value, dict):
        return "\n".join(as_texts(value))
    text = "\n".join(as_texts(value.get("definition", value.get("description"))))
    parameters = value.get("parameters")
    if text and isinstance(parameters, list) and parameters:
        text += "\nParameters:\n" + "\n".join(f"- {_parameter(one)}" for one in parameters)
    return text


def _parameter(value: Json) -> str:
    if not isinstance(value, dict):
        return "\n".join(as_texts(value))
    facts = [str(value["type"])] if isinstance(value.get("type"), str) else []
    facts += ["required"] if value.get("required") is True else []
    facts += [f"one of {as_json(value['enum'])}"] if "enum" in value else []
    facts += [f"default {as_json(value['default'])}"] if "default" in value else []
    about = f": {value['description']}" if isinstance(value.get("description"), str) else ""
    return f"{value.get('name', 'parameter')}{' (' + ', '.join(facts) + ')' if facts else ''}{about}"


def _references(step: Object, pointer: str) -> list[tuple[str, str, str]]:
    """Name, arguments as written, and place of every function that a step names."""
    found = []
    for index, one in enumerate(as_texts(step.get("functionReferences", []))):
        match = _REFERENCE.fullmatch(one)
        name, arguments = (match[1], match[2] or "") if match else (one.strip(), "")
        found.append((name, arguments.strip(), f"{pointer}/functionReferences/{index}"))
    return found


# Assessments, and the follow-ups that steps demand

_LEVELS = ["low", "medium", "high"]
"""Where an author names none."""


class Assessments:
    """The assessments of a workflow, by the id their author gave them."""

    def __init__(self, crossing: Crossing, value: Json) -> None:
        self.native: list[Object] = []
        self._ids: dict[str, Object] = {}
        self._advice: dict[str, list[str]] = {}
        taken: set[str] = set()
        for index, one in enumerate(value if isinstance(value, list) else []):
            if not isinstance(one, dict) or not isinstance(one.get("id"), str):
                crossing.changed(
                    f"/assessments/{index}", "An assessment needs an id; it is left out.", 'Add "id".'
                )
            elif native_id(one["id"]) in taken:
                message = f"There is an assessment {quote(one['id'])} already; this one is left out."
                crossing.changed(f"/assessments/{index}", message, "Give each its own id.", "duplicate_id")
            else:
                taken.add(native_id(one["id"]))
                self._add(crossing, one, index)

    def _add(self, crossing: Crossing, value: Object, index: int) -> None:
        pointer = f"/assessments/{index}"
        crossing.came_from(f"/assessments/{len(self.native)}", pointer)
        dimensions, purposes = _dimensions(crossing, value.get("dimensions"), pointer)
        purpose = "\n".join(as_texts(value.get("purpose", value.get("description")))) or value["id"]
        whole = "\n".join([purpose, *(f"- {name}: {text}" for name, text in purposes.items())])
        fits = len(whole) <= MAX_DESCRIPTION_CHARACTERS
        self._advice[value["id"]] = [] if fits else [f"{name}: {text}" for name, text in purposes.items()]
        native = {
            "id": native_id(value["id"]),
            "purpose": whole if fits else purpose,
            "dimensions": dimensions,
        }
        self._ids[value["id"]] = native
        self.native.append(native)
        known = ("id", "purpose", "description", "dimensions")
        crossing.keep_others(pointer, value, known, "an assessment")

    def gates(
        self, crossing: Crossing, step: Object, pointer: str, native: str
    ) -> tuple[list[Object], list[str]]:
        """The gates of a step, and what can only be said to its agent."""
        advice: list[str] = []
        refs: list[str] = []
        for index, name in enumerate(as_texts(step.get("assessmentRefs", []))):
            if name not in self._ids:
                message = f"There is no assessment {quote(name)}; the agent is told about it."
                crossing.changed(f"{pointer}/assessmentRefs", message, "Declare it under assessments.")
                advice.append(f"Judge {name} and say how you judged it.")
            elif name not in refs:
                crossing.came_from(f"{native}/gates/{len(refs)}", f"{pointer}/assessmentRefs/{index}")
                refs.append(name)
                advice += self._advice[name]
        followups: dict[str, Object] = {name: {} for name in refs}
        written = step.get("assessmentConsequences")
        for index, one in enumerate(written if isinstance(written, list) else []):
            place = f"{pointer}/assessmentConsequences/{index}"
            advice += self._consequence(crossing, one, followups, place)
        gates: list[Object] = [{"assessmentId": self._ids[name]["id"]} for name in refs]
        for gate, name in zip(gates, refs, strict=True):
            if followups[name]:
                gate["followups"] = followups[name]
        return gates, advice

    def _consequence(
        self, crossing: Crossing, value: Json, followups: dict[str, Object], pointer: str
    ) -> list[str]:
        """Add one consequence to the assessments it belongs to; advice where it belongs to none."""
        when, effect = _object_in(value, "when"), _object_in(value, "effect")
        level = when.get("anyEqualsLevel", when.get("equalsLevel", when.get("level")))
        text = "\n".join(as_texts(effect.get("guidance"))) or "Do what is missing, then judge again."
        names = [name for name in followups if self._is_meant(name, when, level)]
        if effect.get("kind", "require_followup") != "require_followup" or not names:
            message = "This consequence has no counterpart; the agent is told about it."
            crossing.changed(pointer, message, "Use require_followup and a level of a referenced assessment.")
            return [f"When a judgement is {as_text(level)}: {text}"]
        dimension = when.get("dimensionId", when.get("dimension"))
        for name in names:
            advice = self._for_dimension(crossing, name, dimension, str(level), text, pointer)
            before = followups[name].get(str(level))
            followups[name][str(level)] = advice if before is None else f"{before}\n{advice}"
        return []

    def _is_meant(self, name: str, when: Object, level: Json) -> bool:
        dimensions = self._ids[name]["dimensions"]
        wanted = when.get("dimensionId", when.get("dimension"))
        if when.get("forAssessment", name) != name:
            return False
        if wanted is not None and (not isinstance(wanted, str) or wanted not in dimensions):
            return False
        considered = dimensions.values() if wanted is None else [dimensions[wanted]]
        return isinstance(level, str) and any(level in levels for levels in considered)

    def _for_dimension(
        self, crossing: Crossing, name: str, dimension: Json, level: str, text: str, pointer: str
    ) -> str:
        """Follow-ups belong to a level, whichever dimension has it; the text says which was meant."""
        if not isinstance(dimension, str):
            return text
        others = [
            other
            for other, levels in self._ids[name]["dimensions"].items()
            if other != dimension and level in levels
        ]
        if others:
            message = f"A follow-up is asked for by the level {quote(level)} of every dimension of {name}."
            crossing.changed(pointer, message, f"Give {quote(dimension)} level names of its own.")
        return f"When {dimension} is {level}: {text}"


def _dimensions(crossing: Crossing, value: Json, pointer: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Dimension to its levels, and dimension to what is judged."""
    dimensions: dict[str, list[str]] = {}
    purposes: dict[str, str] = {}
    for name, one in _named(value):
        levels = one.get("levels") if isinstance(one, dict) else one
        listed = list(levels) if isinstance(levels, list | dict) else []
        dimensions[name] = list(dict.fromkeys(text for level in listed for text in _level(level))) or _LEVELS
        purpose = one.get("purpose", one.get("description")) if isinstance(one, dict) else None
        if as_texts(purpose):
            purposes[name] = "\n".join(as_texts(purpose))
    if not dimensions:
        message = "The assessment has no dimensions; one with the levels low, medium and high stands in."
        crossing.changed(pointer, message, 'Add "dimensions".')
        return {"overall": list(_LEVELS)}, purposes
    return dimensions, purposes


def _object_in(value: Json, name: str) -> Object:
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def _named(value: Json) -> list[tuple[str, Json]]:
    if isinstance(value, dict):
        return [(name[:MAX_TITLE_CHARACTERS], value[name]) for name in sorted(value) if name.strip()]
    named = []
    for number, one in enumerate(value if isinstance(value, list) else [], 1):
        name = one.get("id", one.get("name")) if isinstance(one, dict) else one
        named.append((name if isinstance(name, str) and name.strip() else f"dimension {number}", one))
    return named


def _level(value: Json) -> list[str]:
    if isinstance(value, dict):
        value = value.get("id", value.get("name", value.get("level")))
    return as_texts(value)
