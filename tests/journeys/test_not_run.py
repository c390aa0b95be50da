"""What did not run is told as long as anybody can ask: at the skip, at the end, and in every view."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.views.runs import RunView
from handrail.views.summaries import SessionSummary
from handrail_serve.pages.session import session_page
from tests.journeys.conversation import advance, answer, refusal, viewed
from tests.journeys.given_workflows import begin, equals, give, rounds, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_asked_values import INPUTS, codes, each, told
from tests.journeys.test_blocked import report
from tests.surfaces.cli.here import run_here

ALL_DONE = "Every step was done."
NO_ROUND = rounds("again", {"while": equals("more", True)}, step("work"))


def views(runtime: Runtime, reply: dict[str, Any]) -> dict[str, str]:
    """What everybody who reads the session later is shown, as words."""
    session_id = reply["session"]["sessionId"]
    graph = answer(runtime, "run.graph", sessionId=session_id)
    shown = answer(runtime, "session.show", sessionId=session_id, run=graph["run_id"])
    reports = {
        form: answer(runtime, "session.export", **{"sessionId": session_id, "as": form})["content"]
        for form in ("markdown", "html")
    }
    page = session_page(viewed(SessionSummary, shown), viewed(RunView, graph)).markup
    return {name: unescape(re.sub(r"<[^>]*>", " ", text)) for name, text in {**reports, "page": page}.items()}


def test_loops_that_had_no_round_are_told_after_the_end_too(runtime: Runtime) -> None:
    first = begin(runtime, step("one"), NO_ROUND, each(step("item")), step("end"), fields=INPUTS)

    end = advance(runtime, advance(runtime, first, context={"files": []}))
    (run,) = command(runtime, "session", "show", end["session"]["sessionId"])[1]["data"]["runs"]
    human = run_here(runtime, ("session", "show", end["session"]["sessionId"], "--human")).out.decode()
    closed = refusal(runtime, "run.close", run=end["session"]["sessionId"], reason="abandoned")

    assert end["closing"].startswith("Done: 2 steps, 1 skipped.")
    assert [(row["step_id"], row["reason"], row["not_needed"]) for row in run["skipped"]] == [
        ("again", "condition_false", False),
        ("each", "items_exhausted", True),
    ]
    assert run["not_run_summary"] == "1 part did not run"
    assert "1 part did not run" in human
    assert "no step is left (1 part did not run)" in closed.message
    for name, text in views(runtime, end).items():
        assert "1 part did not run." in text, name
        assert ALL_DONE not in text, name
        assert ("it had nothing to go through" in text) is (name != "page"), name


@pytest.mark.parametrize(
    ("given", "is_told"),
    [({"severity": "low"}, False), ({}, True), ({"size": "big"}, True)],
    ids=["a given value", "nothing", "another value"],
)
def test_what_a_given_value_rules_out_is_not_mentioned(
    runtime: Runtime, given: dict[str, Any], is_told: bool
) -> None:
    both = {"kind": "and", "of": [equals("severity", "high"), equals("more", True)]}
    first = begin(runtime, step("one"), step("extra", when=both), step("end"), fields=INPUTS)

    second = advance(runtime, first, context=given)
    end = advance(runtime, second)
    (run,) = answer(runtime, "session.show", sessionId=end["session"]["sessionId"])["runs"]

    assert ("skipped" in second, "skipped" in end["closing"]) == (is_told, is_told)
    assert [(row["step_id"], row["not_needed"]) for row in run["skipped"]] == [("extra", not is_told)]


def test_a_default_that_nobody_was_asked_for_skips_and_is_told(runtime: Runtime) -> None:
    fields = {"inputs": {"ending": {"type": "string", "default": "fix"}}}
    extra = step("extra", when=equals("ending", "cause"))

    assumed = begin(runtime, step("one"), extra, step("end"), fields=fields)
    said = begin(runtime, step("one"), extra, step("end"), fields=fields)

    assert "skipped" in advance(runtime, assumed)
    assert "skipped" not in advance(runtime, said, context={"ending": "fix"})


def test_a_run_of_which_everything_ran_or_nothing_says_so(runtime: Runtime) -> None:
    done = advance(runtime, begin(runtime, step("one"), fields=INPUTS))
    nothing = begin(runtime, step("one", when=equals("severity", "high")), fields=INPUTS)

    assert done["closing"].startswith("Done: 1 step.")
    assert nothing["closing"].startswith("Done: 0 steps, 1 skipped.")
    assert all(ALL_DONE in text for text in views(runtime, done).values())
    assert all("1 part did not run." in text for text in views(runtime, nothing).values())


def test_a_step_counts_once_for_every_round_that_passed_it_by(runtime: Runtime) -> None:
    body = (step("maybe", when=equals("size", "b")), step("always"))
    reply = begin(runtime, step("one"), each(*body), fields=INPUTS)
    reply = advance(runtime, reply, context={"files": ["a", "b", "c"]})
    while "ackToken" in reply:
        reply = advance(runtime, reply)
    only = begin(runtime, step("one"), each(body[0]), step("end"), fields=INPUTS)

    at_once = advance(runtime, only, context={"files": ["a", "c", "d"]})

    assert reply["closing"].startswith("Done: 4 steps, 3 skipped.")
    assert told(at_once, "STEPS_SKIPPED")["message"].startswith("Did not run: maybe (3 times); ")
    assert told(at_once, "STEPS_SKIPPED")["details"] == {"stepIds": ["maybe"], "count": 3}
    assert [part["stepId"] for part in at_once["skipped"]] == ["maybe"]


def test_many_skipped_parts_are_counted_everywhere(runtime: Runtime) -> None:
    parts = [step(f"s{number}", when=equals("severity", "high")) for number in range(40)]
    workflow_id = give(runtime, step("one"), *parts, step("end"), **INPUTS)
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id).structured

    second = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"])
    again = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"])
    read = tool_call(runtime, "continue_workflow", stateToken=second.structured["stateToken"])
    end = advance(runtime, second.structured)
    (run,) = answer(runtime, "session.show", sessionId=end["session"]["sessionId"])["runs"]

    warning = told(second.structured, "STEPS_SKIPPED")
    assert warning["message"].startswith("Did not run: s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 and 30 more;")
    assert warning["details"]["count"] == 40
    assert (again.text, again.structured) == (second.text, second.structured)
    assert read.structured["recap"]["skippedOmitted"] == 40 - len(read.structured["recap"]["skipped"])
    assert end["closing"].startswith("Done: 2 steps, 40 skipped.")
    assert (len(run["skipped"]), run["omitted"]) == (24, {"skipped": 16})
    for name, text in views(runtime, end).items():
        assert "40 parts did not run." in text, name
        assert re.search(r"16 (more parts|are parts that did not run)", text), name
    (trace,) = [
        event["data"]
        for event in of_kind(events_of(runtime, end), "decision_trace_appended")
        if "omitted" in event["data"]
    ]
    assert (len(trace["entries"]), trace["omitted"], trace["passedOmitted"]) == (25, 56, 16)


def test_long_inputs_are_cut_with_required_ones_first(
    runtime: Runtime,
) -> None:
    names = [f"k{number}" for number in range(50)]
    inputs: dict[str, Any] = {name: {"type": "string", "description": "D" * 2_000} for name in names}
    inputs["k49"]["required"] = True
    prompt = " ".join(f"{{{{{name}}}}}" for name in names)
    workflow_id = give(runtime, step("one", prompt=prompt), inputs=inputs)

    looked = tool_call(runtime, "inspect_workflow", workflowId=workflow_id, part="inputs")

    shown = looked.structured["workflow"]
    assert shown["inputs"][0]["name"] == "k49"
    assert len(shown["inputs"]) + shown["inputsOmitted"] == 50
    assert len(looked.text.encode()) < 30_000
    assert f"handrail workflow inspect {workflow_id} --part compiled" in looked.text
    assert f"{shown['inputsOmitted']} more inputs are left out" in looked.text


UNVERIFIED = {"kind": "compare", "artifact": "wr.verification_report", "field": "verdict", "value": "passed"}
VERIFY = step("verify", output={"contractRef": "wr.contracts.verification_report"}, when=equals("more", True))
PLACE = {"source": "command", "ref": "make", "result": "It ended with exit status 2."}
FAILED = {
    "kind": "wr.verification_report",
    "verdict": "failed",
    "claims": [{"claim": "It adds.", "status": "refuted", "evidence": [PLACE]}],
    "notChecked": [],
}


@pytest.mark.parametrize(("again", "operator"), [("while", "not_equals"), ("until", "equals")])
def test_round_without_an_artifact_names_whose_verdict_counts(
    runtime: Runtime, again: str, operator: str
) -> None:
    loop = {"type": "loop", "loopId": "fix", "maxIterations": 4, "body": [step("work"), VERIFY]}
    loop |= {again: UNVERIFIED | {"op": operator}}
    first = begin(runtime, step("look"), loop, step("end"), fields=INPUTS)
    verify = advance(runtime, advance(runtime, first), context={"more": True})
    second = report(runtime, verify["ackToken"], FAILED, notes="It fails.")
    third = report(runtime, advance(runtime, second)["ackToken"], FAILED, notes="It fails again.")

    fourth = advance(runtime, third, context={"more": False})
    ended = advance(runtime, fourth)

    assert "ROUND_WITHOUT_ARTIFACT" not in [*codes(second), *codes(third)], "their own rounds delivered it"
    source = {"artifact": "wr.verification_report", "stepId": "fix@1::verify"}
    went_on, stopped = (told(reply, "ROUND_WITHOUT_ARTIFACT") for reply in (fourth, ended))
    assert went_on["details"] == {"loopId": "fix", "rounds": 3, **source}
    assert went_on["message"].startswith(
        "Round 3 of fix delivered no wr.verification_report: that of fix@1::verify decided about another"
    )
    assert stopped["details"] == {"loopId": "fix", "rounds": 4, **source}
    assert advance(runtime, third, context={"more": False}) == fourth, "its repeat says the same"
    traces = of_kind(events_of(runtime, ended), "decision_trace_appended")
    rows = [row for trace in traces for row in trace["data"]["entries"] if row["kind"].endswith("ed_loop")]
    assert [row.get("carried") for row in rows] == [None, None, None, [source], [source]]
    decided = "Its last round delivered no wr.verification_report: that of fix@1::verify decided."
    report_read = views(runtime, ended)["html"]
    assert f"Entered loop fix, iteration 4. {decided}" in report_read
    assert f"because it reached its limit. {decided}" in report_read
