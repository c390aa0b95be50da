"""A fix is safe when a program applies it: it never turns a meaning, and what is left has no new error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.workflows.problem import EditOperation, apply_operations
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import choice, equals, give, loop, option, step
from tests.journeys.interfaces import command, tool_call

READY: dict[str, Any] = {
    "conditions": [{"id": "ready", **equals("flag", True)}],
    "inputs": {"flag": {"type": "boolean", "required": True}},
}
SEVERITY: dict[str, Any] = {"inputs": {"severity": {"type": "string", "enum": ["low", "high"]}}}
ALWAYS = {"kind": "always_true"}


def workflow(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "project.w", "name": "W", "description": "For a journey.", "steps": list(steps)} | fields


def among(value: str, *known: str) -> dict[str, Any]:
    inputs = {"state": {"type": "string", "enum": list(known), "required": True}}
    return workflow(step("a"), step("b", when=equals("state", value)), inputs=inputs)


def problems_of(runtime: Runtime, document: Any, source: str = "w.json") -> list[dict[str, Any]]:
    text = document if isinstance(document, str) else json.dumps(document)
    report = answer(
        runtime, "workflow.validate", documents=[{"source": source, "text": text}], reportOnly=True
    )
    found: list[dict[str, Any]] = report["items"][0]["problems"]
    return found


def errors_of(runtime: Runtime, document: Any, source: str = "w.json") -> list[dict[str, Any]]:
    return [one for one in problems_of(runtime, document, source) if one["severity"] == "error"]


def after_its_edits(runtime: Runtime, document: dict[str, Any], source: str = "w.json") -> dict[str, Any]:
    """The document after every edit of one answer, in the order of the answer."""
    rows = [row for one in problems_of(runtime, document, source) for row in one.get("edit", [])]
    operations = [
        EditOperation(**{("source" if key == "from" else key): value for key, value in row.items()})
        for row in rows
    ]
    made: dict[str, Any] = apply_operations(document, operations)
    return made


TURNED = {
    "a condition with a prefix": workflow(step("a"), step("b", when="unready"), **READY),
    "an operator": workflow(
        step("a", when={"kind": "compare", "input": "severity", "op": "!in", "value": ["low"]}), **SEVERITY
    ),
    "nand": workflow(step("a", when={"kind": "nand", "of": [ALWAYS]})),
    "xor": workflow(step("a", when={"kind": "xor", "of": [ALWAYS, ALWAYS]})),
    "unsafe": among("unsafe", "safe", "risky"),
    "incomplete": among("incomplete", "complete", "partial"),
    "inactive": among("inactive", "active"),
    "asynchronous": among("asynchronous", "synchronous"),
    "production": among("production", "prod", "pre-production"),
    "another number": among("phase1", "phase2", "phase3x"),
    "the other side": among("employee", "employer"),
    "a level": workflow(
        step("a", gates=[{"assessmentId": "fit", "followups": {"insecure": "Look."}}]),
        assessments=[{"id": "fit", "purpose": "Fit?", "dimensions": {"it": ["secure", "weak"]}}],
    ),
    "autonomy": workflow(step("a"), recommended={"autonomy": "never"}),
    "nonAssumable": workflow(choice("a", option("x"), option("y"), nonAssumable="reversible_action")),
    "assumable": workflow(choice("a", option("x"), option("y"), assumable="preference_tradeoff")),
    "unset": workflow(choice("a", {"id": "x", "label": "X", "unset": {"flag": True}}, option("y")), **READY),
    "minIterations": workflow(loop(count=3, minIterations=2)),
    "doWhile": workflow({**loop(), "doWhile": "ready"}, **READY),
    "two texts": workflow(step("a", validation=[{"type": "contains", "value": ["a", "b"]}])),
    "a contract whose example would not fit": {
        "id": "project.contracts.t",
        "schema": {"type": "object", "properties": {}},
        "examples": [{"kind": "project.t"}],
    },
    "a filter": workflow(
        step("a", prompt="Fix {{task|default('all')}}."), inputs={"task": {"type": "string"}}
    ),
}


@pytest.mark.parametrize("when", ["!ready", "severity == 'high'", "ready and severity == 'high'"])
def test_expression_is_refused_with_an_example_of_a_condition(runtime: Runtime, when: str) -> None:
    (found,) = errors_of(runtime, workflow(step("a"), step("b", when=when), **READY))

    assert "there are no expressions" in found["fix"]
    assert "edit" not in found


@pytest.mark.parametrize("name", sorted(TURNED))
def test_no_edit_turns_a_meaning_or_leaves_a_new_error(runtime: Runtime, name: str) -> None:
    source = "contracts/t.json" if "schema" in TURNED[name] else "w.json"

    found = errors_of(runtime, TURNED[name], source)

    assert found
    assert [one["edit"] for one in found if "edit" in one] == []


OPPOSITES = {
    "unready": (TURNED["a condition with a prefix"], "ready?"),
    "nand": (TURNED["nand"], "mean and"),
    "unsafe": (TURNED["unsafe"], "mean safe"),
    "never": (TURNED["autonomy"], "mean full_auto_never_stop"),
    "minIterations": (TURNED["minIterations"], "mean maxIterations"),
    "reversible_action": (TURNED["nonAssumable"], "mean irreversible_action"),
}


@pytest.mark.parametrize("name", sorted(OPPOSITES))
def test_nobody_is_asked_whether_the_opposite_was_meant(runtime: Runtime, name: str) -> None:
    document, opposite = OPPOSITES[name]

    fixes = " ".join(one["fix"] for one in errors_of(runtime, document))

    assert opposite not in fixes


@pytest.mark.parametrize(
    ("document", "value"),
    [
        (among("Complete", "complete", "partial"), "complete"),
        (among("complet", "complete", "partial"), "complete"),
        (among("in-progress", "in_progress", "done"), "in_progress"),
        (workflow(step("a", when={"kind": "always"})), "always_true"),
        (workflow(step("a"), step("b", when="raedy"), **READY), "ready"),
    ],
)
def test_what_is_certainly_the_same_word_is_written(
    runtime: Runtime, document: dict[str, Any], value: str
) -> None:
    [problem] = errors_of(runtime, document)

    assert [row["value"] for row in problem["edit"]] == [value]


TOGETHER = {
    "two names without inputs": workflow(step("a", prompt="{{alpha}} and {{beta}}")),
    "a truth value for a condition": workflow(step("a", when=True), step("b")),
    "the same value twice, twice": workflow(
        step("a", prompt="{{one}}"), inputs={"one": {"enum": ["x", "x", "y", "y"], "required": True}}
    ),
    "keys and words": workflow(
        {"id": "a", "title": "A", "promt": "Do."},
        step("b", When={"kind": "compare", "input": "severity", "op": "==", "value": "High"}),
        **SEVERITY,
    ),
}


@pytest.mark.parametrize("name", sorted(TOGETHER))
def test_all_edits_of_an_answer_can_be_applied_in_order(runtime: Runtime, name: str) -> None:
    document = TOGETHER[name]

    for _ in range(3):  # what would meet another edit comes with the next answer
        document = after_its_edits(runtime, document)

    assert errors_of(runtime, document) == []


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            workflow(loop(**{"while": "size > 3"}), inputs={"size": {"type": "integer", "required": True}}),
            "there are no expressions",
        ),
        (workflow(step("a", templateId="wr.templates.verification_pass")), '"type": "template_call"'),
        (workflow(step("a"), features=["web_browsing"]), '"capabilities": {"web_browsing": "preferred"}'),
        (workflow({**loop(), "doWhile": "ready"}, **READY), "until with the opposite condition"),
        (
            workflow(step("a", output={"contractRef": "project.contracts.table"})),
            "a file in .handrail/contracts",
        ),
    ],
)
def test_where_no_edit_is_certain_the_words_lead_on(
    runtime: Runtime, document: dict[str, Any], said: str
) -> None:
    found = errors_of(runtime, document)

    assert [one["fix"] for one in found if said in one["fix"]], found
    assert len({one["pointer"] for one in found}) == len(found)


ONLY_COMPILED = {
    "a contract": ([step("a", output={"contractRef": "wr.contracts.paln"})], {}),
    "a condition": ([step("a", when="nope")], {}),
    "a gate": ([step("a", gates=[{"assessmentId": "fit"}])], {}),
    "a template": ([{"type": "template_call", "id": "a", "templateId": "wr.templates.nope"}], {}),
    "a feature": ([step("a")], {"features": ["wr.features.nope"]}),
    "an operation": ([{"type": "action", "id": "a", "operation": "workflow.lst"}], {}),
    "an early artifact": ([step("a", when={"kind": "compare", "artifact": "wr.plan", "op": "exists"})], {}),
}


@pytest.mark.parametrize("name", sorted(ONLY_COMPILED))
def test_list_and_doctor_call_broken_what_start_refuses(runtime: Runtime, name: str) -> None:
    steps, fields = ONLY_COMPILED[name]
    workflow_id = give(runtime, *steps, **fields)

    report = answer(runtime, "workflow.validate", workflowIds=[workflow_id], reportOnly=True)
    rendered = tool_call(runtime, "list_workflows", query=workflow_id)
    _, listed = command(runtime, "workflow", "list", "--query", workflow_id)
    _, doctor = command(runtime, "doctor", "--checks", "workflow_library")

    validated = [one for one in report["items"][0]["problems"] if one["severity"] == "error"]
    row = listed["data"]["items"][0]
    assert row["problems"] == validated
    assert validated[0]["message"] in str(rendered)
    assert doctor["data"]["checks"][0]["details"]["broken"] == [workflow_id]
