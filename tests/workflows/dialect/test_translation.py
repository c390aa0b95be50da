"""Whole documents: workflow-wide keys, implicit inputs, what is told, and that nothing makes it raise."""

from __future__ import annotations

import copy
import json
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from handrail.workflows.dialect.translation import is_foreign, to_native
from handrail.workflows.limits import MAX_INPUTS, MAX_PROBLEMS
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.dialect.foreign_documents import (
    Object,
    about,
    foreign,
    loop,
    step,
    told,
    translated,
)

EVERYTHING: Object = foreign(
    step(
        "first",
        runCondition={"or": [{"var": "size", "equals": "large"}, {"not": {"var": "risk", "gte": 2}}]},
        validationCriteria={
            "or": [{"type": "contains", "value": "x", "message": "m"}, {"not": {"type": "length", "min": 5}}]
        },
        functionReferences=["check()"],
        assessmentRefs=["quality"],
        assessmentConsequences=[
            {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "g"}}
        ],
        promptFragments=[{"id": "f", "when": {"var": "size", "in": ["a"]}, "text": "t"}],
        outputContract={"contractRef": "wr.contracts.loop_control"},
    ),
    {
        "id": "call",
        "title": "Call",
        "templateCall": {"templateId": "wr.templates.routine.x", "args": {"a": "b"}},
    },
    {
        "id": "many",
        "title": "Many",
        "type": "parallel",
        "parallelDelegations": [{"workflowId": "w", "args": {"a": 1}}],
    },
    loop(
        "again",
        ["named"],
        type="while",
        conditionSource={"kind": "artifact_contract", "loopId": "l"},
        maxIterations=3,
    ),
    step("named", promptBlocks={"goal": "g", "constraints": [["c"]], "outputRequired": {"a": "b"}}),
    loop("count", [step("counted")], type="for", count="n", maxIterations=3, iterationVar="i"),
    metaGuidance=["m"],
    clarificationPrompts=["q"],
    preconditions=["p"],
    functionDefinitions=[{"name": "check", "definition": "d"}],
    assessments=[{"id": "quality", "purpose": "p", "dimensions": [{"id": "d", "levels": ["low", "high"]}]}],
    recommendedPreferences={"recommendedAutonomy": "guided"},
    references=[{"id": "r", "title": "t", "source": "s"}],
    extensionPoints=[{"slotId": "s", "default": "d"}],
)


def test_workflow_wide_texts_have_their_native_names() -> None:
    found = translated(
        metaGuidance=["Be brief.", " ", "Be kind."],
        preconditions=["A repository."],
        clarificationPrompts=["Which branch?"],
        agentRole="A reviewer.",
        about="# About",
        examples=["Review this."],
        tags=["review"],
    )

    expected = {
        "guidance": ["Be brief.", "Be kind."],
        "preconditions": ["A repository."],
        "questions": ["Which branch?"],
        "agentRole": "A reviewer.",
        "about": "# About",
        "examples": ["Review this."],
        "tags": ["review"],
    }
    assert {name: found.document[name] for name in expected} == expected
    assert found.pointers["/guidance/0"] == "/metaGuidance/0"
    assert found.pointers["/questions/0"] == "/clarificationPrompts/0"


def test_recommended_preferences_are_taken_over() -> None:
    found = translated(
        recommendedPreferences={
            "recommendedAutonomy": "full_auto_never_stop",
            "recommendedMood": "calm",
        }
    )

    assert found.document["recommended"] == {"autonomy": "full_auto_never_stop"}
    assert told(found, "unknown_key") == ["/recommendedPreferences/recommendedMood"]


def test_references_get_native_ids() -> None:
    written = {
        "id": "API Docs",
        "title": "The interface",
        "source": "docs/api.md",
        "purpose": "Truth.",
        "authoritative": True,
        "resolveFrom": "package",
    }

    found = translated(references=[written], metricsProfile="none")

    assert found.document["references"] == [{**written, "id": "api-docs"}]


def test_extension_points_are_filled_with_their_defaults() -> None:
    found = translated(
        step(prompt="Run {{wr.bindings.review}} and {{ wr.bindings.review }} on {{target}}."),
        extensionPoints=[
            {"slotId": "review", "purpose": "p", "default": "wr.routine-review"},
        ],
    )

    assert (
        found.document["steps"][0]["prompt"] == "Run wr.routine-review and wr.routine-review on {{target}}."
    )
    assert list(found.document["inputs"]) == ["target"]


def test_a_routine_is_called_with_names_in_single_braces() -> None:
    document = foreign(step(prompt="Write `{deliverable}`, not ${x} or {{done}}, as {a b}."))
    document |= {"id": "wr.routine-review", "metricsProfile": "none"}

    found = to_native(document)

    assert found.document["kind"] == "routine"
    prompt = found.document["steps"][0]["prompt"]
    assert prompt == "Write `{{deliverable}}`, not ${x} or {{done}}, as {a b}."
    assert list(found.document["inputs"]) == ["deliverable", "done"]


def test_single_braces_of_a_workflow_stay() -> None:
    assert translated(step(prompt="TC-{N}", runCondition=None)).document["steps"][0]["prompt"] == "TC-{N}"


@every_case(
    ("written", "expected"),
    [
        ("their.workflow", "their.workflow"),
        ("plain-one", "plain-one"),
        ("wr.discovery", "wr.discovery"),
        ("Their.Work Flow", "their.work-flow"),
        ("a.b.c", "a.b-c"),
        ("3d.print", "w-3d.print"),
    ],
)
def test_the_id_of_a_workflow_is_kept_where_it_can_be(written: str, expected: str) -> None:
    document = foreign(metricsProfile="none") | {"id": written}

    found = to_native(document)

    assert found.document["id"] == expected
    assert (told(found, "bad_id") == []) is (written == expected)


def test_variables_that_nothing_declares_become_implicit_inputs() -> None:
    found = translated(
        step(
            prompt="On {{branch}}, {{plan.size}} and {{ spaced }}; not {{a + b}}.",
            runCondition={"var": "mode.name", "equals": "x"},
            promptFragments=[{"id": "f", "when": {"var": "hasUi"}, "text": "{{inFragment}}"}],
        ),
        loop(
            body=[
                step("inside", prompt="{{file}} {{place}} {{other}}", requireConfirmation={"var": "careful"})
            ],
            type="forEach",
            items="files",
            itemVar="file",
            indexVar="place",
            maxIterations=3,
        ),
    )

    names = ["branch", "careful", "files", "hasUi", "inFragment", "mode", "other", "plan", "spaced"]
    assert found.document["inputs"] == {name: {"type": "any", "implicit": True} for name in names}


def test_declared_inputs_stay_and_there_are_never_too_many() -> None:
    text = " ".join(f"{{{{v{number}}}}}" for number in range(80))

    found = translated(step(prompt=text, runCondition={"var": "x"}), inputs={"v3": {"type": "number"}})

    assert found.document["inputs"]["v3"] == {"type": "number"}
    assert len(found.document["inputs"]) == MAX_INPUTS


def test_each_spelling_is_told_once_with_a_count() -> None:
    steps = [step(f"s{number}", runCondition={"var": "x", "equals": number}) for number in range(3)]

    found = translated(*steps, metaGuidance=["g"])

    assert told(found, "foreign_spelling") == ["/metaGuidance", "/steps/0/runCondition"]
    assert about(found, "/steps/0/runCondition").message == (
        "runCondition is the spelling of another tool (3 places); it is read as when."
    )
    assert {problem.severity for problem in found.problems} == {"warning"}


def test_keys_nobody_knows_are_kept_and_told() -> None:
    found = translated(mood="calm", metricsProfile="coding", validatedAgainstSpecVersion=3, modelTier="mid")

    assert found.document["extra"] == {
        "mood": "calm",
        "metricsProfile": "coding",
        "validatedAgainstSpecVersion": 3,
        "modelTier": "mid",
    }
    assert told(found, "unknown_key") == ["/mood"]


def test_warnings_are_bounded() -> None:
    strange = {f"key{number}": 1 for number in range(1000)}

    found = to_native(foreign({**step(), **strange}, metaGuidance=["g"]))

    assert len(found.problems) == MAX_PROBLEMS + 1
    assert found.problems[-1].code == "too_many_problems"


def test_translation_is_repeatable_and_changes_no_document() -> None:
    document = copy.deepcopy(EVERYTHING)

    first, second = to_native(document), to_native(document)

    assert document == EVERYTHING
    assert json.dumps(first.document) == json.dumps(second.document)
    assert first == second


def test_the_order_of_keys_changes_nothing() -> None:
    def reversed_keys(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: reversed_keys(value[name]) for name in reversed(value)}
        return [reversed_keys(item) for item in value] if isinstance(value, list) else value

    assert to_native(reversed_keys(EVERYTHING)).document == to_native(EVERYTHING).document


@every_case("steps", [None, 5, "x", {}, [None], [[]], ["x"], [7, {}]])
def test_broken_steps_are_left_for_the_reader_to_report(steps: Any) -> None:
    found = to_native(foreign(metaGuidance=["g"]) | {"steps": steps})

    reading = read_workflow(json.dumps(found.document).encode())
    assert steps == [7, {}] or found.document["steps"] == steps
    assert reading.workflow is None


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        found += [place for name in value for place in _places(value[name], (*path, name))]
    if isinstance(value, list):
        found += [place for index, item in enumerate(value) for place in _places(item, (*path, index))]
    return found


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([["named"], {"var": 3}, None]),
    st.just({"kind": "ref", "var": [], "and": {}, "or": [None], "not": 0, "type": "loop", "body": "named"}),
)


@given(st.data())
def test_no_value_anywhere_makes_a_translation_raise(data: st.DataObject) -> None:
    document = copy.deepcopy(EVERYTHING)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(_places(document)[1:]))
        holder: Any = document
        for part in place[:-1]:
            holder = holder[part]
        holder[place[-1]] = copy.deepcopy(data.draw(ODD))

    is_foreign(document)
    found = to_native(document)

    assert found == to_native(document)
    assert all(problem.severity == "warning" for problem in found.problems)
    read_workflow(json.dumps(found.document).encode())
