"""Files of the neighbouring family that nobody has seen: its own fields in other forms and places.

Each is usable, or refused at a line with what to do; none is a crash. `python -m
tests.workflows.dialect.test_unseen_files` varies the public files, too, and prints the tally.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from handrail.operations.workflows.examine_workflows import Examined, WorkflowText, examine_texts
from handrail.workflows.catalog import Catalog
from tests.operations.intended_files import FOREIGN

STEP_FIELDS: dict[str, list[Any]] = {
    "runCondition": [
        {"var": "depth", "in": ["a", 2, None]},
        {"and": []},
        {"not": {"var": "x"}},
        {"var": "x", "matches": "("},
        {"var": "x.y.0"},
        True,
        "x",
        {},
        None,
    ],
    "requireConfirmation": [True, "yes", {"kind": "x"}, {"or": [{"var": "a", "gt": 1}]}, 1],
    "validationCriteria": [
        [{"type": "contains", "value": "x", "message": "m"}],
        {"and": [{"type": "regex", "pattern": "(a+)+$", "flags": "gi"}]},
        {"or": []},
        [{"type": "schema", "schema": {"type": "objekt"}}],
        [{"type": "length", "min": 5, "max": 1}],
        "x",
        [None],
    ],
    "outputContract": [
        {"contractRef": "wr.contracts.unseen"},
        {"contractRef": "wr.contracts.loop_control", "required": False},
        "x",
        {},
    ],
    "promptBlocks": [
        {"goal": "g", "constraints": [["a", {"kind": "ref", "refId": "wr.refs.unseen"}]]},
        {"goal": [], "outputRequired": {"notes": 1}},
        "text",
    ],
    "promptFragments": [[{"id": "a", "when": {"var": "x"}, "text": "t"}, {"text": ""}], {}, ["x"]],
    "functionReferences": [["f"], ["f()", 3], "f"],
    "assessmentRefs": [["unseen"], "unseen", [1]],
    "assessmentConsequences": [
        [{"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "g"}}],
        [{"when": {}, "effect": {"kind": "x"}}],
        {},
    ],
    "parallelDelegations": [[{"routineId": "r", "inputs": {}}], {"delegations": []}, 7],
    "templateCall": [{"templateId": "wr.templates.unseen", "args": {"a": [1]}}, {"templateId": 3}, "x"],
    "guidance": [["a", "b"], "a", [1]],
    "agentRole": ["r", ["r"], None],
    "askForFiles": [True, "x"],
    "notesOptional": [True, "x"],
    "modelTier": ["fast", 1],
    "hasValidation": [True],
    "unseenField": [{"a": [1, {"b": None}]}],
    "title": ["", "t" * 5000, None],
    "id": ["Ein Schritt", "", "a.b", 7],
    "prompt": ["{{x.y}} {z} ${q} {{#if a}}b{{/if}}", "", ["a", "b"]],
    "type": ["loop", "unseen", None],
}
FILE_FIELDS: dict[str, list[Any]] = {
    "extensionPoints": [
        [{"slotId": "s", "purpose": "p", "default": "routine-x", "acceptedKinds": ["routine"]}],
        [{"slotId": 1}],
        "x",
    ],
    "assessments": [
        [{"id": "unseen", "purpose": "p", "dimensions": [{"id": "d", "purpose": "p", "levels": ["low"]}]}],
        [{"id": "unseen"}],
        {},
    ],
    "functionDefinitions": [
        [{"name": "f", "definition": "d", "parameters": [{"name": "p", "type": "string"}], "scope": "loop"}],
        [{"name": ""}],
        "x",
    ],
    "references": [[{"id": "r", "title": "t", "source": "./x", "purpose": "p", "authoritative": True}], [{}]],
    "recommendedPreferences": [
        {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "balanced"},
        {"recommendedAutonomy": "unseen"},
        [],
    ],
    "features": [["wr.features.unseen"], [{"id": "wr.features.capabilities", "config": {}}], {}],
    "metaGuidance": ["x", [], [1]],
    "preconditions": ["x", ["a", 3]],
    "clarificationPrompts": ["x", [None]],
    "contextVariables": [{"a": 1}, ["a"]],
    "examples": [["x"], 3],
    "metricsProfile": ["coding", 3],
    "validatedAgainstSpecVersion": [3, "3"],
    "version": [2, "x" * 500],
    "id": ["Some File", "a.b.c", 3],
    "steps": [[], {}, [None], ["step"]],
}
LOOPS: list[dict[str, Any]] = [
    {"type": "while", "condition": {"var": "x", "equals": True}, "maxIterations": 3},
    {"type": "until", "condition": {"var": "x"}, "maxIterations": 0},
    {"type": "for", "count": "rounds", "counterVar": "n"},
    {"type": "for", "count": 10_000, "maxIterations": 20_000},
    {"type": "forEach", "items": "things", "itemVar": "thing", "indexVar": "thing"},
    {"type": "forEach", "items": ["a", "b"]},
    {"type": "while", "conditionSource": {"kind": "artifact_contract", "contractRef": "wr.contracts.unseen"}},
    {"type": "while", "conditionSource": {"kind": "context_variable", "condition": {"var": "x"}}},
    {"type": "unseen"},
    {},
]


def variations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, values in FILE_FIELDS.items():
        for at, value in enumerate(values):
            yield f"{name}-{at}", {**document, name: value}
    last = len(document["steps"]) - 1
    for place in sorted({0, last}):
        for name, values in STEP_FIELDS.items():
            for at, value in enumerate(values):
                made = copy.deepcopy(document)
                made["steps"][place][name] = value
                yield f"steps-{place}-{name}-{at}", made
    for at, loop in enumerate(LOOPS):
        for body in (
            [{"id": "in", "title": "In", "prompt": "Do {{thing}}."}],
            document["steps"][0]["id"],
            [],
        ):
            made = copy.deepcopy(document)
            made["steps"].append({"id": "new", "title": "New", "type": "loop", "loop": loop, "body": body})
            yield f"loop-{at}-{type(body).__name__}-{len(body)}", made


def examined(name: str, document: dict[str, Any]) -> Examined:
    return examine_texts(
        Catalog(entries=()), [WorkflowText(source=f"{name}.json", text=json.dumps(document, indent=1))]
    )[0]


def complaint(found: Examined) -> str:
    """Why an answer does not help; empty: it does."""
    errors = [one for one in found.problems if one.severity == "error"]
    if (found.pinned is None) != bool(errors):
        return "usable with errors, or refused without one"
    return next((one.message for one in errors if not (one.line and one.column and one.fix)), "")


@pytest.mark.thorough
@pytest.mark.parametrize("field", [*FILE_FIELDS, *STEP_FIELDS, "loop"])
def test_fields_of_the_dialect_in_any_form_are_read_or_refused_at_their_place(field: str) -> None:
    tried = [(name, made) for name, made in variations(FOREIGN) if field in name.split("-")]

    assert tried
    assert {name: told for name, made in tried if (told := complaint(examined(name, made)))} == {}


def main() -> int:
    from tests.workflows.test_corpus import FILES

    tally: Counter[str] = Counter()
    for path in FILES:
        for name, made in variations(json.loads(path.read_bytes())):
            try:
                found = examined(name, made)
            except Exception as trouble:  # noqa: BLE001 - what is counted here
                print(f"{path.name} {name}: {trouble!r}")
                tally["crashed"] += 1
                continue
            told = complaint(found)
            if told:
                print(f"{path.name} {name}: {told}")
            tally["unclear" if told else "usable" if found.pinned else "refused with place"] += 1
    print(dict(tally))
    return 1 if tally["crashed"] or tally["unclear"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
