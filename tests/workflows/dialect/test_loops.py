"""Loops of the other dialect: what they repeat by, what they are called, what is inside."""

from __future__ import annotations

from typing import Any

import pytest

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


def test_a_step_gives_way_when_a_loop_has_its_id() -> None:
    found = translated(step("their_loop"), loop(type="while", conditionSource=ARTIFACT, maxIterations=2))

    before, part = found.document["steps"]
    assert part["loopId"] == "their_loop"
    assert before["id"] == "their_loop-2"
    assert told(found, "bad_id") == ["/steps/0/id"]


def test_two_loops_with_one_loop_id_get_two_ids() -> None:
    one = loop("one", type="while", conditionSource=ARTIFACT, maxIterations=2)
    two = loop("two", [step("other")], type="while", conditionSource=ARTIFACT, maxIterations=2)

    found = translated(one, two)

    assert [part["loopId"] for part in found.document["steps"]] == ["their_loop", "their_loop-2"]
    assert told(found, "bad_id") == ["/steps/1/loop/conditionSource/loopId"]


@pytest.mark.parametrize("body", ["work", ["work"], [step("first"), "work"]])
def test_steps_named_by_a_body_move_into_it(body: Any) -> None:
    found = translated(loop(body=body, type="for", count=2, maxIterations=2), step("work"), step("after"))

    part, after = found.document["steps"]
    assert part["body"][-1]["id"] == "work"
    assert after["id"] == "after"
    place = f"/steps/0/body/{len(part['body']) - 1}"
    assert found.pointers[place] == "/steps/1"
    assert found.pointers["/steps/1"] == "/steps/2"


def test_a_step_that_two_loops_name_is_in_both() -> None:
    found = translated(
        loop("one", "work", type="for", count=2, maxIterations=2),
        loop("two", "work", type="for", count=2, maxIterations=2),
        step("work"),
    )

    assert [part["body"][0]["id"] for part in found.document["steps"]] == ["work", "work-2"]


def test_a_body_that_names_nothing_is_told_and_the_loop_still_runs() -> None:
    found = translated(loop(body="lost", type="for", count=2, maxIterations=2))

    (inside,) = found.document["steps"][0]["body"]
    assert inside["prompt"] == "Loop again"
    assert told(found, "unknown_id") == ["/steps/0/body"]


def test_loops_that_name_each_other_are_told_and_not_lost() -> None:
    found = translated(
        step("start"),
        loop("one", ["two"], type="for", count=1, maxIterations=1),
        loop("two", ["one"], type="for", count=1, maxIterations=1),
    )

    start, one = found.document["steps"]
    assert (start["id"], one["loopId"], one["body"][0]["loopId"]) == ("start", "one", "two")
    assert told(found, "unknown_id") == ["/steps/2/body/0"]


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


def test_a_loop_counted_by_a_variable_goes_through_the_numbers_up_to_it() -> None:
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


def test_a_list_that_is_written_out_becomes_the_default_of_an_input() -> None:
    found = translated(loop(type="forEach", items=["a", "b"], itemVar="letter", maxIterations=5))

    assert found.document["steps"][0]["forEach"] == {"input": "again_items", "as": "letter"}
    assert found.document["inputs"]["again_items"]["default"] == ["a", "b"]


def test_the_default_names_of_loop_variables_work() -> None:
    body = [step("use", prompt="Look at {{currentItem}} ({{currentIndex}}).")]

    found = translated(loop(body=body, type="forEach", items="files", maxIterations=5))

    each = found.document["steps"][0]["forEach"]
    assert each == {"input": "files", "as": "currentItem", "indexAs": "currentIndex"}
    assert list(found.document["inputs"]) == ["files"]


@every_case(
    ("settings", "place"),
    [
        ({"type": "while", "maxIterations": 2}, "/steps/0/loop"),
        ({"type": "sideways", "condition": DONE, "maxIterations": 2}, "/steps/0/loop/type"),
        ({"type": "while", "condition": DONE}, "/steps/0/loop/maxIterations"),
        ({"type": "while", "condition": DONE, "maxIterations": 5000}, "/steps/0/loop/maxIterations"),
        ({"type": "while", "condition": DONE, "maxIterations": 0}, "/steps/0/loop/maxIterations"),
        ({"type": "for", "count": 0, "maxIterations": 2}, "/steps/0/loop/count"),
        ({"type": "for", "count": None, "maxIterations": 2}, "/steps/0/loop/count"),
        ({"type": "forEach", "maxIterations": 2}, "/steps/0/loop"),
        (
            {"type": "while", "conditionSource": {**ARTIFACT, "contractRef": "x.y"}, "maxIterations": 2},
            "/steps/0/loop/conditionSource/contractRef",
        ),
    ],
)
def test_what_a_loop_leaves_open_is_filled_in_and_told(settings: Object, place: str) -> None:
    assert told(translated(loop(**settings))) == [place]


def test_a_loop_that_runs_no_times_is_skipped() -> None:
    assert only_loop(loop(type="for", count=0, maxIterations=2))["when"] == {"kind": "always_false"}


def test_what_a_loop_says_is_shown_with_its_first_step() -> None:
    written = {
        **loop(type="for", count=2, maxIterations=2),
        "prompt": "About the whole loop.",
        "guidance": ["Keep going."],
        "agentRole": "A patient reviewer.",
        "requireConfirmation": True,
        "runCondition": DONE,
    }

    found = translated(written)

    part = found.document["steps"][0]
    (first,) = part["body"]
    assert part["when"] == NATIVE_DONE
    assert first["promptFragments"] == [{"text": "About the whole loop."}]
    assert first["guidance"] == ["Keep going."]
    assert first["agentRole"] == "A patient reviewer."
    assert first["requireConfirmation"] is True
    assert told(found) == ["/steps/0/requireConfirmation", "/steps/0"]


def test_loops_may_stand_in_loops() -> None:
    inner = loop("inner", type="while", conditionSource={**ARTIFACT, "loopId": "deep"}, maxIterations=2)

    found = translated(loop("outer", [inner, step("last")], type="forEach", items="files", maxIterations=3))

    outer = found.document["steps"][0]
    assert outer["body"][0]["loopId"] == "deep"
    assert found.pointers["/steps/0/body/0/while"] == "/steps/0/body/0/loop/conditionSource"
