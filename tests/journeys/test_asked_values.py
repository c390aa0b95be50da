"""What a step asks for, and what a reply tells of the way: nothing that steers or passes in silence."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, refusal, rehydrate
from tests.journeys.given_workflows import (
    NEVER_STOP,
    STOP_ON_USER,
    WITH_DECISION,
    begin,
    choice,
    equals,
    give,
    option,
    step,
)
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_blocked import report, shown

NO_FIELDS: dict[str, Any] = {}
LOOP_DECISION = {"output": {"contractRef": "wr.contracts.loop_control"}}
INPUTS = {
    "inputs": {
        "severity": {"type": "string", "enum": ["low", "high"], "description": "How bad."},
        "size": {"type": "string"},
        "more": {"type": "boolean"},
        "files": {"type": "array"},
    }
}
KEEP = {"conditions": [{"id": "keep", "kind": "loop_control", "continueWhen": "continue"}]}
SEVERE = (step("look"), step("deep", when=equals("severity", "high")), step("end"))


def each(*body: dict[str, Any], most: int = 5) -> dict[str, Any]:
    """A loop over the items of `files`."""
    loop = {"type": "loop", "loopId": "each", "forEach": {"input": "files", "as": "file"}}
    return loop | {"maxIterations": most, "body": list(body)}


def rounds(most: int = 2) -> dict[str, Any]:
    """A loop whose body decides about another round."""
    decide = {"kind": "condition_ref", "conditionId": "keep"}
    body = [step("work"), step("decide", **LOOP_DECISION)]
    return {"type": "loop", "loopId": "fix", "while": decide, "maxIterations": most, "body": body}


def codes(reply: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in reply.get("warnings", [])]


def told(reply: dict[str, Any], code: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = [warning for warning in reply["warnings"] if warning["code"] == code]
    (warning,) = found
    return warning


def test_a_step_asks_for_what_a_condition_after_it_reads(runtime: Runtime) -> None:
    first = begin(runtime, *SEVERE, fields=INPUTS)

    assert "- severity (low | high): How bad." in first["pending"]["prompt"].splitlines()
    assert first["nextCall"]["params"]["context"] == {"severity": "…"}
    sent = advance(runtime, first, context={"severity": "high"})
    assert sent["pending"]["stepId"] == "deep"
    assert "severity" not in sent["pending"]["prompt"], "what is known is not asked for again"


FOREIGN: list[dict[str, Any]] = [
    {"id": "look", "title": "Look", "prompt": "Look."},
    {"id": "deep", "title": "Deep", "prompt": "Dig.", "runCondition": {"var": "severity", "equals": "high"}},
]


def test_foreign_file_asks_for_values_it_never_declared(runtime: Runtime) -> None:
    workflow_id = give(runtime, *FOREIGN, version="1.0.0")

    first = tool_call(runtime, "start_workflow", workflowId=workflow_id)
    looked = tool_call(runtime, "inspect_workflow", workflowId=workflow_id, part="inputs")

    assert "- severity (high | …)" in first.structured["pending"]["prompt"].splitlines()
    (held,) = looked.structured["workflow"]["inputs"]
    assert (held["name"], held["allowed"], held["askedAt"]) == ("severity", "high | …", ["look"])


def test_what_a_choice_sets_is_asked_of_nobody(runtime: Runtime) -> None:
    pick = choice("way", option("left", side="left"), option("right", side="right"))

    first = begin(runtime, step("look"), pick, step("left", when=equals("side", "left")), fields=NO_FIELDS)

    assert "context" not in first["nextCall"]["params"]
    assert first["pending"]["prompt"] == "Do look."


def test_value_that_decides_a_round_is_asked_every_round(runtime: Runtime) -> None:
    again = {
        "conditions": [{"id": "again", "kind": "compare", "input": "more", "op": "equals", "value": True}]
    }
    until = {"kind": "condition_ref", "conditionId": "again"}
    loop = {"type": "loop", "loopId": "l", "while": until, "maxIterations": 3, "body": [step("work")]}

    first = begin(runtime, step("look"), loop, fields=again | INPUTS)
    second = advance(runtime, first, context={"more": True})
    third = advance(runtime, second, context={"more": True})

    for reply in (first, second, third):
        assert "- more (true | false)" in reply["pending"]["prompt"].splitlines()


def test_inspect_shows_what_steers_the_run_and_who_asks_for_it(runtime: Runtime) -> None:
    workflow_id = give(runtime, *SEVERE, inputs={"severity": INPUTS["inputs"]["severity"]})

    looked = tool_call(runtime, "inspect_workflow", workflowId=workflow_id, part="inputs")
    status, document = command(runtime, "workflow", "inspect", workflow_id, "--part", "inputs")

    (held,) = looked.structured["workflow"]["inputs"]
    assert (held["name"], held["enum"], held["askedAt"]) == ("severity", ["low", "high"], ["look"])
    assert "severity (string, one of low, high, asked for by look): How bad." in looked.text
    assert status == 0
    assert document["data"]["workflow"]["inputs"] == [held]


def test_a_reply_names_what_it_passed_by_and_why(runtime: Runtime) -> None:
    first = begin(runtime, *SEVERE, fields=INPUTS)

    unsent = advance(runtime, first)
    other = advance(runtime, rehydrate(runtime, first), context={"severity": "low"})

    assert unsent["skipped"] == [{"stepId": "deep", "why": 'needs severity = "high"; severity was not sent'}]
    assert "skipped" not in other  # a given value made it superfluous
    assert told(unsent, "STEPS_SKIPPED")["details"] == {"stepIds": ["deep"], "count": 1}
    assert list(unsent).index("skipped") > list(unsent).index("warnings")


def test_early_end_lists_what_did_not_run_in_both_channels(runtime: Runtime) -> None:
    names = [f"part{number}" for number in range(12)]
    parts = [step(name, when=equals("size", "large")) for name in names]
    workflow_id = give(runtime, step("look"), *parts, **INPUTS)
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id).structured

    end = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"])

    assert end.structured["isComplete"] is True
    assert [part["stepId"] for part in end.structured["skipped"]] == names[:10]
    assert told(end.structured, "STEPS_SKIPPED")["details"]["count"] == 12
    assert "part0 did not run: needs size" in end.text
    assert end.text.count("did not run: ") == 10


@pytest.mark.parametrize("preferences", [{}, STOP_ON_USER])
def test_a_loop_without_its_list_blocks_until_the_list_comes(
    runtime: Runtime, preferences: dict[str, Any]
) -> None:
    parts = (step("look"), each(step("read")), step("end"))
    first = begin(runtime, *parts, fields=INPUTS, preferences=preferences)

    blocked = advance(runtime, first)
    after = advance(runtime, {"ackToken": blocked["retryAckToken"]}, context={"files": ["a.py"]})

    assert "- files (a list; [] if there is nothing)" in first["pending"]["prompt"].splitlines()
    (blocker,) = blocked["blockers"]
    assert (blocker["code"], blocker["pointer"]) == (
        "USER_ONLY_DEPENDENCY",
        {"kind": "context_key", "key": "files"},
    )
    assert blocked["nextCall"]["params"] == {
        "ackToken": blocked["retryAckToken"],
        "context": {"files": ["…"]},
    }
    assert after["pending"]["stepId"] == "each@0::read"


def test_never_stop_goes_on_without_the_list_and_says_so(runtime: Runtime) -> None:
    parts = (step("look"), each(step("read")), step("end"))
    first = begin(runtime, *parts, fields=INPUTS, preferences=NEVER_STOP)

    after = advance(runtime, first)

    assert after["pending"]["stepId"] == "end"
    assert after["skipped"] == [{"stepId": "each", "why": "files was not sent"}]
    assert {"NOT_ASKED", "STEPS_SKIPPED"} <= set(codes(after))
    assert [gap["reason"] for gap in shown(runtime, first)["gaps"]] == [
        "user_only_dependency:needs_user_artifact"
    ]
    assert shown(runtime, first)["loops"] == [{"loop_id": "each", "iterations": 0, "reason": "items_missing"}]


def test_list_read_before_the_first_step_comes_with_the_start(runtime: Runtime) -> None:
    workflow_id = give(runtime, each(step("read")), step("end"), **INPUTS)

    refused = tool_call(runtime, "start_workflow", workflowId=workflow_id)
    alone = tool_call(runtime, "start_workflow", workflowId=workflow_id, preferences=NEVER_STOP)

    assert refused.is_error
    assert refused.structured["details"]["problems"][0]["param"] == "context.files"
    assert alone.structured["pending"]["stepId"] == "end"
    assert {"NOT_ASKED", "STEPS_SKIPPED"} <= set(codes(alone.structured))


def test_a_choice_that_leads_into_such_a_loop_can_be_made_again(runtime: Runtime) -> None:
    pick = choice("way", option("left"), option("right"))
    first = begin(runtime, pick, each(step("read")), fields=INPUTS)

    token = first["pending"]["choices"][0]["token"]
    blocked = tool_call(runtime, "continue_workflow", ackToken=token).structured
    call = blocked["nextCall"]["options"][1]["params"]
    after = tool_call(runtime, "continue_workflow", **call | {"context": {"files": ["a"]}}).structured

    assert blocked["kind"] == "blocked"
    assert call["context"] == {"files": ["…"]}
    assert after["pending"]["stepId"] == "each@0::read"


def test_a_step_in_a_loop_says_which_round_it_is(runtime: Runtime) -> None:
    stay = {"kind": "wr.loop_control", "decision": "continue"}
    first = begin(runtime, rounds(), step("end"), fields=KEEP)

    decide = advance(runtime, first)
    again = report(runtime, decide["ackToken"], stay)

    assert first["pending"]["prompt"].startswith("Round 1 of at most 2 (loop fix).\n\n")
    assert again["pending"]["prompt"].startswith(
        "Round 2 of at most 2 (loop fix). It is the last one, whatever is decided.\n\n"
    )


def test_a_decision_to_go_on_at_the_last_round_is_told_and_a_gap(runtime: Runtime) -> None:
    stay = {"kind": "wr.loop_control", "decision": "continue"}
    first = begin(runtime, rounds(most=1), step("end"), fields=KEEP)

    end = report(runtime, advance(runtime, first)["ackToken"], stay)

    summary = "The loop fix ended at its limit of 1 rounds: another round was wanted."
    warning = told(end, "LOOP_LIMIT_REACHED")
    assert warning["message"].startswith(summary)
    (gap,) = shown(runtime, first)["gaps"]
    assert (gap["reason"], gap["summary"], gap["severity"]) == ("loop_limit_reached", summary, "warning")
    assert warning["details"]["gapId"] == gap["id"]


def test_items_beyond_the_limit_are_counted(runtime: Runtime) -> None:
    first = begin(runtime, each(step("read"), most=2), fields=INPUTS, context={"files": list("abcde")})

    end = advance(runtime, advance(runtime, first))

    assert first["pending"]["prompt"].startswith(
        "Item 1 of 5 in files, of which 2 at most are taken (loop each)."
    )
    assert "3 items of files were not worked on" in told(end, "LOOP_LIMIT_REACHED")["message"]
    assert shown(runtime, first)["status"] == "complete_with_gaps"


def test_a_decision_that_nobody_made_is_recorded_as_missing(runtime: Runtime) -> None:
    first = begin(runtime, rounds(), step("end"), fields=KEEP, preferences=NEVER_STOP)

    end = advance(runtime, advance(runtime, first))

    assert end["pending"]["stepId"] == "end"
    trace = [
        entry
        for event in of_kind(events_of(runtime, first), "decision_trace_appended")
        for entry in event["data"]["entries"]
    ]
    assert {"kind": "exited_loop", "loopId": "fix", "iterations": 1, "reason": "decision_missing"} in trace
    assert not any(entry.get("holds") is False for entry in trace)


ASKING = {"questions": ["Which customer?"]}


@pytest.mark.parametrize("preferences", [{}, STOP_ON_USER])
def test_a_mode_that_asks_discloses_nothing_of_the_kind(
    runtime: Runtime, preferences: dict[str, Any]
) -> None:
    first = begin(
        runtime, step("drop", requireConfirmation=True), step("end"), fields=ASKING, preferences=preferences
    )

    second = advance(runtime, first)

    assert codes(second) == []
    assert shown(runtime, first)["gaps"] == []


MODES = {"features": ["wr.features.mode_guidance"]}


@pytest.mark.parametrize("mode", ["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"])
def test_only_the_mode_in_force_is_explained(runtime: Runtime, mode: str) -> None:
    first = begin(runtime, step("do"), step("end"), fields=MODES, preferences={"autonomy": mode})

    lines = first["pending"]["prompt"].splitlines()

    explained = [line for line in lines if line.startswith(("- guided:", "- full_auto_"))]
    assert [line.partition(":")[0] for line in explained] == [f"- {mode}"]


def test_never_stop_tells_nobody_to_ask(runtime: Runtime) -> None:
    ask = step("ask", userOnly={"reason": "needs_user_approval"})
    pick = choice("way", option("left"), option("right"), nonAssumable="scope_boundary")
    fields = ASKING | MODES
    prompts = {}
    for mode in ("guided", "full_auto_never_stop"):
        first = begin(runtime, ask, fields=fields, preferences={"autonomy": mode})
        at_choice = begin(runtime, pick, fields=NO_FIELDS, preferences={"autonomy": mode})
        prompts[mode] = first["pending"]["prompt"] + at_choice["pending"]["prompt"]

    assert prompts["guided"].lower().count("ask the user") == 2
    assert "ask the user" not in prompts["full_auto_never_stop"].lower()
    assert "wr.user_input" not in prompts["full_auto_never_stop"]
    assert "Which customer?" in prompts["full_auto_never_stop"]


def test_the_rules_for_notes_are_read_before_they_block(runtime: Runtime) -> None:
    rules = [
        {"type": "contains", "value": "risk", "message": "Name the risks."},
        {"type": "length", "minimum": 20, "message": "Say more."},
    ]
    first = begin(runtime, step("plan", validation=rules), fields=NO_FIELDS)

    assert first["pending"]["prompt"].splitlines()[-3:] == [
        "The notes are accepted only if they:",
        '- contain "risk" (Name the risks.)',
        "- have at least 20 characters (Say more.)",
    ]
    assert advance(runtime, first, "short")["kind"] == "blocked"
    assert advance(runtime, rehydrate(runtime, first), "the risk is that it breaks")["isComplete"]


def test_the_next_call_frames_what_must_be_sent(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), fields=NO_FIELDS)

    frame = first["nextCall"]["params"]["output"]

    assert frame == {
        "notesMarkdown": "…",
        "artifacts": [
            {
                "kind": "wr.decision",
                "question": "…",
                "options": [{"…": "…"}],
                "chosen": "…",
                "rationale": "…",
                "decidedBy": "…",
                "revisitWhen": "…",
            }
        ],
    }


def test_names_that_are_no_work_are_filled_in(runtime: Runtime) -> None:
    looping = advance(runtime, begin(runtime, rounds(), fields=KEEP))
    probe = begin(runtime, step("do"), fields={"capabilities": {"web_browsing": "required"}})

    assert looping["nextCall"]["params"]["output"]["artifacts"] == [
        {"kind": "wr.loop_control", "loopId": "fix", "decision": "…"}
    ]
    observed = probe["nextCall"]["params"]["output"]["artifacts"][0]
    assert (observed["capability"], observed["status"]) == ("web_browsing", "…")


def test_unfilled_frame_is_refused_by_its_names(
    runtime: Runtime,
) -> None:
    parts = (step("decide", **WITH_DECISION), step("big", when=equals("size", "big")))
    workflow_id = give(runtime, *parts, **INPUTS)
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id).structured
    before = len(events_of(runtime, first))

    refused = tool_call(runtime, "continue_workflow", **first["nextCall"]["params"])

    assert refused.is_error
    assert [problem["param"] for problem in refused.structured["details"]["problems"]] == [
        "output.notesMarkdown",
        "output.artifacts[0].question",
        "output.artifacts[0].options[0]",
        "output.artifacts[0].chosen",
        "output.artifacts[0].rationale",
        "output.artifacts[0].decidedBy",
        "output.artifacts[0].revisitWhen",
        "context.size",
    ]
    assert "output.notesMarkdown: still holds the placeholder" in refused.text
    assert len(events_of(runtime, first)) == before


def test_a_blocked_reply_frames_only_what_is_still_missing(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), fields=NO_FIELDS)

    blocked = report(runtime, first["ackToken"], notes="thought about it")

    output = blocked["nextCall"]["params"]["output"]
    assert "notesMarkdown" not in output
    assert [held["kind"] for held in output["artifacts"]] == ["wr.decision"]


def test_a_blocked_reply_shows_its_example_once_in_each_channel(runtime: Runtime) -> None:
    workflow_id = give(runtime, step("decide", **WITH_DECISION))
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id)

    blocked = tool_call(runtime, "continue_workflow", ackToken=first.structured["ackToken"])
    again = tool_call(runtime, "continue_workflow", stateToken=blocked.structured["stateToken"])

    question = blocked.structured["example"]["question"]
    assert question in first.structured["pending"]["prompt"]
    for reply in (blocked, again):
        assert reply.text.count(question) == 1
        assert question not in reply.structured["pending"].get("prompt", "")


def test_after_compaction_the_step_has_all_that_it_needs(runtime: Runtime) -> None:
    goal = "g" * 200
    kind = {"type": "string"}
    fields = MODES | {"inputs": {"ticket": kind | {"default": "none"}, "module": kind, "log": kind}}
    first = begin(runtime, step("one"), step("two"), step("three"), fields=fields, goal=goal)
    second = advance(runtime, first, context={"module": "billing", "log": "x" * 900, "own": "mine"})

    back = rehydrate(runtime, second)

    assert "## Mode" not in second["pending"]["prompt"]
    assert "## Mode" in back["pending"]["prompt"]
    assert back["session"]["goal"] == goal
    values = {held["name"]: held["value"] for held in back["recap"]["inputs"]}
    assert list(values) == ["log", "module", "ticket"]
    assert (values["ticket"], values["module"]) == ("none", "billing")
    assert values["log"].endswith("…")
    assert len(values["log"]) < 420
    text = tool_call(runtime, "continue_workflow", stateToken=second["stateToken"]).text
    assert 'module = "billing"' in text
    assert goal in text


def test_changed_mode_is_explained_where_it_begins(runtime: Runtime) -> None:
    first = begin(runtime, step("one"), step("two"), fields=MODES)
    session = first["session"]["sessionId"]
    line = ("settings", "set", "--session", session, "--autonomy", "full_auto_never_stop")
    token = command(runtime, *line, "--dry-run")[1]["data"]["confirm_token"]
    command(runtime, *line, "--confirm", token)

    second = advance(runtime, first)

    assert second["preferences"]["autonomy"] == "full_auto_never_stop"
    assert "- full_auto_never_stop: never wait." in second["pending"]["prompt"]


def test_progress_counts_what_is_done_and_what_surely_follows(runtime: Runtime) -> None:
    parts = (step("one"), step("maybe", when=equals("size", "big")), rounds(), step("end"))
    first = begin(runtime, *parts, fields=KEEP | INPUTS)
    second = advance(runtime, first)

    assert first["progress"] == {"done": 0, "atLeast": 4}
    assert second["progress"] == {"done": 1, "atLeast": 4}
    stay = {"kind": "wr.loop_control", "decision": "continue"}
    again = report(runtime, advance(runtime, second)["ackToken"], stay)
    assert again["progress"] == {"done": 3, "atLeast": 6}
    assert list(again).index("progress") > list(again).index("nextCall")


def test_what_somebody_gave_counts_before_it_happens(runtime: Runtime) -> None:
    """So that the total stays the same on the straight way; what nobody gave counts for nothing."""
    parts = (step("one"), each(step("work"), step("see")), step("maybe", when=equals("size", "big")))
    given = {"size": "big", "files": ["a", "b", "c"]}
    begun = begin(runtime, *parts, fields=INPUTS)
    reply = begin(runtime, *parts, fields=INPUTS, context=given)

    totals = []
    while not reply["isComplete"]:
        totals.append(reply["progress"]["atLeast"])
        reply = advance(runtime, reply)

    assert begun["progress"]["atLeast"] == 1, "nothing was given"
    assert totals == [8] * 8


def test_what_one_decides_by_is_not_cut(runtime: Runtime) -> None:
    said = "Low: nobody would notice within a week, or only one person would. " * 4 + "High: everything else."
    inputs = {"severity": {"type": "string", "enum": ["low", "high"], "description": said}}

    first = begin(runtime, *SEVERE, fields={"inputs": inputs})

    assert f"- severity (low | high): {said}" in first["pending"]["prompt"].splitlines()


def test_mark_says_what_type_is_needed(runtime: Runtime) -> None:
    fields = {"inputs": {"more": {"type": "boolean"}, "count": {"type": "integer"}}}
    many = {"kind": "compare", "input": "count", "op": "gt", "value": 2}
    parts = (step("look"), step("deep", when=equals("more", True)), step("end", when=many))

    first = begin(runtime, *parts, fields=fields)
    context = first["nextCall"]["params"]["context"]
    refused = refusal(runtime, "run.continue", ackToken=first["ackToken"], context=context)

    assert context == {"more": "… true or false", "count": "… number"}
    problems = [one["problem"] for one in refused.details["problems"]]
    assert problems == [f"still holds the placeholder {mark}" for mark in context.values()]


def test_the_end_of_a_run_has_a_line_for_the_user(runtime: Runtime) -> None:
    parts = (step("one"), step("maybe", when=equals("size", "big")), step("decide", **WITH_DECISION))
    workflow_id = give(runtime, *parts, **INPUTS)
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id, preferences=NEVER_STOP).structured
    second = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"]).structured

    end = tool_call(runtime, "continue_workflow", ackToken=second["ackToken"])

    line = end.structured["closing"]
    assert line == (
        "Done: 2 steps, 1 skipped. For review: The agent has not delivered what the step “Decide” asks for: "
        "decision."
    )
    assert f"Tell the user: {line}" in end.text
    assert end.structured["progress"] == {"done": 2, "atLeast": 2}
