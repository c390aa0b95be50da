"""`functionDefinitions`, `functionReferences` and `functionCalls` as native functions. Pure."""

from __future__ import annotations

import re
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.contract.wording import quoted
from handrail.workflows.dialect.crossing import Crossing, Object
from handrail.workflows.dialect.identifiers import native_name
from handrail.workflows.dialect.plain_text import as_json, as_texts
from handrail.workflows.dialect.pointers import child

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
            crossing.came_from(child("/functions", own), place)
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
                message = f"There is no function {quoted(name)}; the agent is told about it."
                crossing.changed(place, message, "Define it under functionDefinitions.")
            if call or name not in scope:
                advice.append(f"Apply {name}({call}).")
        return list(dict.fromkeys(names)), advice


def _definitions(value: Json, pointer: str) -> list[tuple[str, Json, str]]:
    if isinstance(value, dict):
        return [(name, value[name], child(pointer, name)) for name in sorted(value)]
    return [
        (one["name"], one, child(pointer, index))
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
    calls = step.get("functionCalls")
    for index, one in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            arguments = as_json(one["args"]) if one.get("args") else ""
            found.append((one["name"], arguments, f"{pointer}/functionCalls/{index}"))
    return found
