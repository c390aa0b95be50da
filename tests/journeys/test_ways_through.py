"""Ways through a workflow: inputs, conditions, choices, loops, preferences, and prompts that fit the case."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import (
    advance,
    answer,
    commits_of,
    refusal,
    rehydrate,
    save,
    start,
)
from tests.journeys.given_workflows import (
    A_DECISION,
    WITH_DECISION,
    begin,
    choice,
    declared,
    equals,
    give,
    option,
    rounds,
    step,
)

NO_FIELDS: dict[str, Any] = {}
SIZES = {
    "inputs": {
        "size": {"type": "string", "enum": ["Small", "Large"], "required": True, "description": "How much."},
        "files": {"type": "array", "required": True},
        "depth": {"type": "integer", "default": 2},
    }
}


def shown(runtime: Runtime, reply: dict[str, Any]) -> Any:
    return answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])["runs"][0]


def choose(runtime: Runtime, reply: dict[str, Any], option_id: str, **params: Any) -> dict[str, Any]:
    tokens = {held["id"]: held["token"] for held in reply["pending"]["choices"]}
    return answer(runtime, "run.continue", ackToken=tokens[option_id], **params)


def decide(runtime: Runtime, reply: dict[str, Any], decision: str, **fields: Any) -> dict[str, Any]:
    artifact = {"kind": "wr.loop_control", "decision": decision} | fields
    return answer(runtime, "run.continue", ackToken=reply["ackToken"], output={"artifacts": [artifact]})


def test_start_names_every_problem_of_its_inputs(runtime: Runtime) -> None:
    workflow_id = give(runtime, step("do"), **SIZES)
    context = {"size": "large", "depth": "three", "anything": "goes"}

    failure = refusal(runtime, "run.start", workflowId=workflow_id, context=context)
    assert failure.next_call is not None
    offered = failure.next_call
    literal = refusal(runtime, offered.operation, **offered.params)
    given = offered.params | {"context": offered.params["context"] | {"files": []}}
    reply = answer(runtime, offered.operation, **given)

    assert failure.kind.code == "VALIDATION_ERROR"
    assert {problem["param"]: problem["problem"] for problem in failure.details["problems"]} == {
        "context.files": "missing",
        "context.size": "not an allowed value",
        "context.depth": "not of type integer",
    }
    assert [problem.get("got") for problem in failure.details["problems"]] == [None, "three", "large"]
    assert "How much." in str(failure.details)
    assert failure.next_call.params["context"] == {
        "size": "Large",
        "depth": 2,
        "anything": "goes",
        "files": ["…"],
    }
    assert literal.details["problems"][0]["param"] == "context.files[0]"
    assert reply["pending"]["stepId"] == "do"


def test_later_change_of_an_input_is_checked(runtime: Runtime) -> None:
    first = start(
        runtime, workflowId=give(runtime, step("do"), **SIZES), context={"size": "Small", "files": []}
    )
    before = commits_of(runtime)

    failure = refusal(
        runtime, "run.continue", ackToken=first["ackToken"], context={"size": None, "depth": 1.5}
    )

    assert {problem["param"] for problem in failure.details["problems"]} == {"context.size", "context.depth"}
    assert commits_of(runtime) == before


def test_workflow_goes_different_ways_and_says_so(runtime: Runtime) -> None:
    steps = (step("plan", when=equals("size", "Large")), step("do"))
    fields = {"inputs": {"size": {"enum": ["Small", "Large"], "default": "Small"}}}

    small = begin(runtime, *steps, fields=fields)
    large = begin(runtime, *steps, fields=fields, context={"size": "Large"})

    assert (small["pending"]["stepId"], large["pending"]["stepId"]) == ("do", "plan")
    assert [row["step_id"] for row in shown(runtime, small)["skipped"]] == ["plan"]
    assert [part["stepId"] for part in rehydrate(runtime, small)["recap"]["skipped"]] == ["plan"]
    assert shown(runtime, large)["skipped"] == []


def test_a_validated_artifact_decides_the_way(runtime: Runtime) -> None:
    chosen = {"kind": "compare", "artifact": "wr.decision", "field": "chosen", "op": "equals", "value": "lru"}
    steps = (step("decide", **WITH_DECISION), step("build", when=chosen), step("end"))

    def after(artifact: dict[str, Any]) -> str:
        first = begin(runtime, *steps, fields=NO_FIELDS)
        reply = answer(runtime, "run.continue", ackToken=first["ackToken"], output={"artifacts": [artifact]})
        return str(reply["pending"]["stepId"])

    assert after(A_DECISION) == "build"
    assert after(A_DECISION | {"chosen": "none"}) == "end"


def test_choice_offers_a_token_per_option(runtime: Runtime) -> None:
    steps = (
        choice("way", option("fast", speed="fast"), option("sound", speed="sound")),
        step("test", when=equals("speed", "sound")),
        step("ship"),
    )
    first = begin(runtime, *steps, fields=NO_FIELDS)

    fast = choose(runtime, first, "fast")
    sound = choose(runtime, rehydrate(runtime, first), "sound")

    assert "ackToken" not in first
    assert [held["id"] for held in first["pending"]["choices"]] == ["fast", "sound"]
    assert [call["params"]["ackToken"] for call in first["nextCall"]["options"]] == [
        held["token"] for held in first["pending"]["choices"]
    ]
    assert (fast["pending"]["stepId"], sound["pending"]["stepId"]) == ("ship", "test")


def test_only_the_first_choice_counts_and_its_reply_is_replayed(runtime: Runtime) -> None:
    steps = (choice("way", option("left", way="left"), option("right", way="right")), step("end"))
    first = begin(runtime, *steps, fields=NO_FIELDS)

    left = choose(runtime, first, "left")
    again = choose(runtime, first, "left")
    other = choose(runtime, first, "right")

    assert again == left
    assert [warning["code"] for warning in other["warnings"]] == ["REPLAY_INPUT_MISMATCH"]
    assert other["stateToken"] == left["stateToken"]


def test_choice_needs_an_option_and_can_be_saved_at(runtime: Runtime) -> None:
    first = begin(runtime, choice("way", option("left"), option("right")), fields=NO_FIELDS)

    saved = save(runtime, first, "thinking")
    refused = refusal(
        runtime, "run.continue", stateToken=saved["stateToken"], output={"notesMarkdown": "left, I think"}
    )

    assert [held["id"] for held in saved["pending"]["choices"]] == ["left", "right"]
    assert refused.next_call is None
    assert "token of an option" in refused.hint
    assert choose(runtime, saved, "left")["isComplete"]


@pytest.mark.promise("loops.decided")
def test_a_loop_goes_on_until_its_last_step_says_stop(runtime: Runtime) -> None:
    loop = rounds("fix", {"while": {"kind": "loop_control"}}, step("try"), step("look"))
    first = begin(runtime, loop, step("end"), fields=NO_FIELDS)

    undecided = advance(runtime, advance(runtime, first))
    second = decide(runtime, {"ackToken": undecided["retryAckToken"]}, "continue", loopId="fix")
    look = advance(runtime, second)
    end = decide(runtime, look, "stop")

    assert first["pending"]["stepId"] == "fix@0::try"
    assert undecided["blockers"][0]["pointer"]["contractRef"] == "wr.contracts.loop_control"
    assert undecided["example"]["loopId"] == "fix"
    assert second["pending"]["stepId"] == "fix@1::try"
    assert end["pending"]["stepId"] == "end"
    assert shown(runtime, first)["loops"] == [
        {"loop_id": "fix", "iterations": 2, "reason": "condition_false"}
    ]


@pytest.mark.promise("loops.decided")
def test_a_decision_about_another_loop_is_refused(runtime: Runtime) -> None:
    loop = rounds("fix", {"while": {"kind": "loop_control"}}, step("try"))
    first = begin(runtime, loop, fields=NO_FIELDS)

    blocked = decide(runtime, first, "continue", loopId="other")

    assert blocked["blockers"][0]["code"] == "INVALID_REQUIRED_OUTPUT"
    assert "other is not a loop around this step" in blocked["blockers"][0]["message"]


def test_prompts_hold_the_values_of_case_and_iteration(runtime: Runtime) -> None:
    loop = rounds(
        "each",
        {"forEach": {"input": "files", "as": "file", "indexAs": "at"}},
        step(
            "read",
            prompt="Read {{file.name}} ({{at}}) for {{who}} and {{nobody}}.",
            promptFragments=[{"when": equals("at", 1), "text": "This is the second one."}],
        ),
        most=5,
    )
    context = {"files": [{"name": "a.py"}, {"name": "b.py"}], "who": "Ada"}

    first = begin(runtime, loop, fields=declared("files", "who", "nobody"), context=context)
    second = advance(runtime, first)

    place, text = first["pending"]["prompt"].split("\n\n")
    assert (place, text) == (
        "Item 1 of 2 in files (loop each).",
        "Read a.py (0) for Ada and (not given: nobody).",
    )
    assert second["pending"]["prompt"].split("\n\n") == [
        "Item 2 of 2 in files (loop each).",
        "Read b.py (1) for Ada and (not given: nobody).",
        "This is the second one.",
    ]


def test_functions_and_references_come_again_after_a_loss(runtime: Runtime) -> None:
    fields = {
        "functions": {"prove": "Show the command and its output."},
        "references": [{"id": "api", "title": "The API", "source": "docs/api.md", "authoritative": True}],
    }
    steps = (step("one", functionRefs=["prove"]), step("two", functionRefs=["prove"]))

    first = begin(runtime, *steps, fields=fields)
    second = advance(runtime, first)
    back = rehydrate(runtime, second)

    assert "prove: Show the command and its output." in first["pending"]["prompt"]
    assert "docs/api.md, authoritative" in first["pending"]["prompt"]
    assert second["pending"]["prompt"] == "Do two."
    assert "prove: Show the command and its output." in back["pending"]["prompt"]
    assert "docs/api.md" in back["pending"]["prompt"]


@pytest.mark.promise("preferences.node")
def test_the_mode_of_a_start_holds_for_the_run_and_is_told(runtime: Runtime) -> None:
    fields = {"recommended": {"autonomy": "guided"}}
    asked = {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "balanced"}
    first = begin(
        runtime, step("one", requireConfirmation=True), step("two"), fields=fields, preferences=asked
    )

    second = advance(runtime, first)

    assert first["preferences"] == rehydrate(runtime, second)["preferences"] == asked
    assert "preferences" not in second
    told = {warning["code"]: warning["message"] for warning in first["warnings"]}
    assert set(told) == {"WORKFLOW_FIRST_RUN", "MODE_ABOVE_RECOMMENDED"}
    assert "guided with riskPolicy balanced" in told["MODE_ABOVE_RECOMMENDED"]
    assert "warnings" not in second
    assert first["nextIntent"] == "perform_pending_then_continue"
    assert shown(runtime, first)["preferences"] == {
        "autonomy": "full_auto_stop_on_user_deps",
        "risk_policy": "balanced",
    }


@pytest.mark.promise("preferences.node")
def test_a_confirmation_may_depend_on_the_case(runtime: Runtime) -> None:
    steps = (step("drop", requireConfirmation=equals("live", True)),)

    live = begin(runtime, *steps, fields=declared("live"), context={"live": True})
    copy = begin(runtime, *steps, fields=declared("live"), context={"live": False})

    assert (live["nextIntent"], live["pending"]["requireConfirmation"]) == ("await_user_confirmation", True)
    assert (copy["nextIntent"], copy["pending"]["requireConfirmation"]) == (
        "perform_pending_then_continue",
        False,
    )


def test_inspect_shows_inputs_loops_and_choices(runtime: Runtime) -> None:
    loop = {"type": "loop", "loopId": "each", "count": 2, "maxIterations": 2, "body": [step("read")]}
    workflow_id = give(runtime, loop, choice("way", option("left"), option("right")), **SIZES)

    summary = answer(runtime, "workflow.inspect", workflowId=workflow_id)["workflow"]
    steps = answer(runtime, "workflow.inspect", workflowId=workflow_id, part="steps")["workflow"]["steps"]

    assert [(held["name"], held.get("required", False)) for held in summary["inputs"]] == [
        ("depth", False),
        ("files", True),
        ("size", True),
    ]
    assert [(row["id"], row.get("type", "step"), row.get("loop", "")) for row in steps] == [
        ("each", "loop", ""),
        ("read", "step", "each"),
        ("way", "choice", ""),
    ]
    assert steps[2]["options"] == ["left", "right"]


@pytest.mark.parametrize(
    ("items", "left"), [(["a"], "b, c"), (["a", "b"], "c"), (["a", "c", "d"], "b"), (["x", "c", "b"], "")]
)
def test_items_lost_during_a_loop_are_a_gap(runtime: Runtime, items: list[str], left: str) -> None:
    each = rounds("each", {"forEach": {"input": "items", "as": "item"}}, step("do"), most=5)
    fields = {"inputs": {"items": {"type": "array", "default": []}}}
    first = begin(runtime, each, fields=fields, context={"items": ["a", "b", "c"]})

    answer(
        runtime,
        "run.continue",
        ackToken=first["ackToken"],
        output={"notesMarkdown": "n"},
        context={"items": items},
    )

    gaps = [gap["summary"] for gap in shown(runtime, first)["gaps"]]
    assert [gap.rpartition(": ")[2].replace('"', "") for gap in gaps] == ([f"{left}."] if left else [])
