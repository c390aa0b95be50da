"""Every message that a person can get, from the tables and the modules that make them."""

from __future__ import annotations

import ast
import glob
import os
from collections.abc import Iterator

import msgspec

from handrail.engine.messages import WHY_TO_PERSON, Parts, ShownBlocker, explain
from handrail.engine.reasons import Issue, WaitsFor
from tests.house.tree import ROOT

SOURCES = os.path.join(ROOT, "src")
PARTS = ("handrail_serve", "handrail_team")
"""Packages whose refusals people read: in the Console, and where they set up a server or sign in."""
LEFT_OUT = "…"
"""In the place of a name or a number."""


SAMPLES = {
    "artifact": "wr.changed_files",
    "assessment": "wr.risk",
    "dimension": "blastRadius",
    "level": "high",
    "command": "handrail prove",
    "name": "modules",
    "type": "list",
    "capability": "web_browsing",
    "operation": "code.rename",
    "because": "The files changed since the preview.",
}


class PersonMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a person can get, with sample names in it."""

    kind: str
    state: str
    parts: Parts


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody is told instead of an answer."""

    code: str
    message: str
    hint: str


def list_person_messages() -> list[PersonMessage]:
    """Every message about a reason that a person can get, with sample names in it."""
    fault = Issue(contract_ref="c", pointer="/files/0/why", message="It is missing.")
    found = []
    for kind, state in WHY_TO_PERSON:
        waits = msgspec.convert({"kind": kind, "state": state, "values": SAMPLES}, WaitsFor)
        told = ShownBlocker(code="", pointer={"contractRef": "c"}, message="", waits_for=waits)
        faults = [fault] if state in ("invalid", "not_asked") else []
        parts = explain(told, faults, "person", "Make the change")
        found.append(PersonMessage(kind=kind, state=state, parts=parts))
    return found


def list_refusals() -> list[Refusal]:
    """Every refusal of these packages whose words stand in the source, each once."""
    found = (one for part in PARTS for path in _files(part) for one in _refusals_in(path))
    return sorted(dict.fromkeys(found), key=lambda one: (one.code, one.message, one.hint))


def _files(part: str) -> list[str]:
    return sorted(glob.glob(os.path.join(SOURCES, part, "**", "*.py"), recursive=True))


def _refusals_in(path: str) -> Iterator[Refusal]:
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        named = {given.arg: given.value for given in call.keywords}
        match call.func.id, call.args:
            case "Fault", [code, *told]:
                pass
            case "refuse_argument", [*told]:
                code = named.get("kind", ast.Name(id="VALIDATION_ERROR"))
            case _:
                continue
        message = _text(told[0]) if told else ""
        hint = _text(named["hint"]) if "hint" in named else ""
        if isinstance(code, ast.Name) and code.id.isupper() and (message or hint):
            yield Refusal(code=code.id, message=message, hint=hint)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or LEFT_OUT for part in parts)
        case _:
            return ""
