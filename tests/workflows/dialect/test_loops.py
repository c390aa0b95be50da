"""Loops of the other dialect: what they repeat by, what they are called, what is inside."""

from __future__ import annotations

from typing import Any

from handrail.workflows.dialect.translation import to_native
from tests.cases import every_case
from tests.workflows.dialect.foreign_documents import Object, foreign, loop, step, told, translated

ARTIFACT = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": "their_loop"}
DONE = {"var": "done", "equals": True}
NATIVE_DONE = {"kind": "compare", "input": "done", "op": "equals", "value": True, "lenient": True}


def only_loop(*steps: Any) -> Object:
    (part,) = [part for part in translated(*steps).document["steps"] if part.get("type") == "loop"]
    found: Object = part
    return found


@every_case(
    ("settings", "key", "expected"),
    [
        (
            {"type": "while", "conditionSource": ARTIFACT},
            "while",
            {"kind": "loop_control", "continueWhen": "continue"},
        ),
        (
            {"type": "until", "conditionSource": ARTIFACT},
            "until",
            {"kind": "loop_control", "continueWhen": "stop"},
        ),
        ({"type": "while", "condition": DONE}, "while", NATIVE_DONE),
        ({"type": "until", "condition": DONE}, "until", NATIVE_DONE),
        (
            {"type": "while", "conditionSource": {"kind": "context_variable", "condition": DONE}},
            "while",
            NATIVE_DONE,
        ),
        (
            {"type": "while", "conditionSource": ARTIFACT, "condition": DONE},
            "while",
            {"kind": "loop_control", "continueWhen": "continue"},
        ),
        ({"type": "for", "count": 3}, "count", 3),
        ({"type": "for", "count": 3.0, "iterationVar": "round"}, "count", 3),
        ({"type": "forEach", "items": "files"}, "forEach", {"input": "files", "as": "currentItem"}),
        (
            {"type": "forEach", "items": "plan.files", "itemVar": "file", "indexVar": "place"},
            "forEach",
            {"input": "plan.files", "as": "file", "indexAs": "place"},
        ),
    ],
)
def test_a_loop_repeats_by_the_same_thing(settings: Object, key: str, expected: Any) -> None:
    found = translated(loop(**settings, maxIterations=5))

    part = found.document["steps"][0]
    assert part[key] == expected
    assert part["maxIterations"] == 5
    assert told(found) == []


def test_a_loop_is_called_what_artifacts_call_it() -> None:
    part = only_loop(loop(type="while", conditionSource=ARTIFACT, maxIterations=2))

    assert part["loopId"] == "their_loop"
    assert part["title"] == "Loop again"


def test_a_loop_without_a_loop_id_is_called_by_its_own() -> None:
    assert only_loop(loop(type="for", count=2, maxIterations=2))["loopId"] == "again"


def test_bodies_that_double_each_other_stay_small() -> None:
    names = [f"loop-{number}" for number in range(40)]
    doubled = [
        loop(name, [following, following], type="for", count=1, maxIterations=1)
        for name, following in zip(names, [*names[1:], "end"], strict=True)
    ]

    found = to_native(
        foreign(loop("top", [names[0]], type="for", count=1, maxIterations=1), *doubled, step("end"))
    )

    assert str(found.document).count("'loopId'") <= 1001


def test_a_counter_begins_at_one() -> None:
    found = translated(
        loop(
            body=[step("try", guidance=["Attempt {{attempt}} of 3"])],
            type="for",
            count=3,
            maxIterations=5,
            iterationVar="attempt",
        )
    )

    assert found.document["steps"][0]["forEach"] == {"input": "again_numbers", "as": "attempt"}
    assert found.document["inputs"]["again_numbers"]["default"] == [1, 2, 3]


def test_loop_counted_by_a_variable_goes_up_to_it() -> None:
    found = translated(
        loop(
            body=[step("try", runCondition=DONE)],
            type="for",
            count="retries",
            maxIterations=3,
            iterationVar="attempt",
        )
    )

    part = found.document["steps"][0]
    numbers = found.document["inputs"]["again_numbers"]
    assert part["forEach"] == {"input": "again_numbers", "as": "attempt"}
    assert (numbers["countedBy"], "default" in numbers) == ("retries", False)
    assert found.document["inputs"]["retries"] == {"type": "any", "implicit": True}
    assert "retries" not in str(part["body"][0]["when"])


def test_written_list_becomes_the_default_of_an_input() -> None:
    found = translated(loop(type="forEach", items=["a", "b"], itemVar="letter", maxIterations=5))

    assert found.document["steps"][0]["forEach"] == {"input": "again_items", "as": "letter"}
    assert found.document["inputs"]["again_items"]["default"] == ["a", "b"]


def test_the_default_names_of_loop_variables_work() -> None:
    body = [step("use", prompt="Look at {{currentItem}} ({{currentIndex}}).")]

    found = translated(loop(body=body, type="forEach", items="files", maxIterations=5))

    each = found.document["steps"][0]["forEach"]
    assert each == {"input": "files", "as": "currentItem", "indexAs": "currentIndex"}
    assert list(found.document["inputs"]) == ["files"]


def test_loops_may_stand_in_loops() -> None:
    inner = loop("inner", type="while", conditionSource={**ARTIFACT, "loopId": "deep"}, maxIterations=2)

    found = translated(loop("outer", [inner, step("last")], type="forEach", items="files", maxIterations=3))

    outer = found.document["steps"][0]
    assert outer["body"][0]["loopId"] == "deep"
    assert found.pointers["/steps/0/body/0/while"] == "/steps/0/body/0/loop/conditionSource"
