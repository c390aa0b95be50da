"""What a step requires is required: a missing output stops it once with what is accepted, or is disclosed."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer
from tests.journeys.given_workflows import NEVER_STOP, begin, step
from tests.journeys.rich_session import report

DEPTH: dict[str, Any] = {"type": "string", "enum": ["quick", "deep"], "description": "How far to look."}


def at_step(runtime: Runtime, requires: list[str], spec: dict[str, Any], **params: Any) -> dict[str, Any]:
    fields = {"inputs": {"depth": spec}}
    return begin(runtime, step("look", requires=requires), step("end"), fields=fields, **params)


@pytest.mark.parametrize("mode", ["guided", "full_auto_stop_on_user_deps"])
def test_a_missing_value_stops_with_what_is_accepted(runtime: Runtime, mode: str) -> None:
    first = at_step(runtime, ["context.depth"], DEPTH, preferences={"autonomy": mode})

    blocked = advance(runtime, first)
    (blocker,) = blocked["blockers"]
    sent = answer(
        runtime,
        "run.continue",
        ackToken=blocked["retryAckToken"],
        output={"notesMarkdown": "done"},
        context={"depth": "deep"},
    )

    assert (blocked["kind"], blocker["code"]) == ("blocked", "MISSING_REQUIRED_OUTPUT")
    assert blocker["pointer"] == {"kind": "context_key", "key": "depth"}
    assert "one of quick, deep: How far to look." in blocker["message"]
    assert blocker["suggestedFix"] == 'Send it in the context, such as {"depth":"quick"}.'
    assert (sent["kind"], sent["pending"]["stepId"]) == ("ok", "end")
    assert advance(runtime, first) == blocked


def test_a_default_holds_and_the_reply_says_so(runtime: Runtime) -> None:
    first = at_step(runtime, ["context.depth"], DEPTH | {"default": "quick"})

    done = advance(runtime, first)

    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end")
    (warning,) = (one for one in done["warnings"] if one["code"] == "DEFAULT_USED")
    assert warning["message"] == 'Nobody sent what the step required, so the default holds: depth is "quick".'
    assert advance(runtime, first) == done


def test_a_sent_default_needs_no_warning(runtime: Runtime) -> None:
    first = at_step(runtime, ["context.depth"], DEPTH | {"default": "quick"})

    done = advance(runtime, first, context={"depth": "quick"})

    assert [one["code"] for one in done.get("warnings", [])] == []


def test_never_stop_goes_on_with_a_critical_gap(runtime: Runtime) -> None:
    first = at_step(runtime, ["context.depth", "wr.plan"], DEPTH, preferences=NEVER_STOP)

    done = advance(runtime, first)
    shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])

    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end")
    gaps = shown["runs"][0]["gaps"]
    assert [(gap["severity"], gap["reason"]) for gap in gaps] == [
        ("critical", "contract_violation:missing_required_output")
    ] * 2


def test_the_call_has_a_place_for_what_is_required(runtime: Runtime) -> None:
    first = at_step(runtime, ["context.depth", "wr.plan"], DEPTH)

    params = first["nextCall"]["params"]

    assert "depth" in params["context"]
    assert [one["kind"] for one in params["output"]["artifacts"]] == ["wr.plan"]


def test_a_required_artifact_is_missing_then_delivered(runtime: Runtime) -> None:
    first = at_step(runtime, ["wr.plan"], DEPTH)

    blocked = advance(runtime, first)
    example = blocked["example"]
    own = {"goal": "Read the parser.", "risks": [], "outOfScope": ["Speed"]}
    part = {"id": "read", "what": "Read it.", "doneWhen": "It was read.", "check": "true", "files": ["p.py"]}
    done = report(runtime, blocked["retryAckToken"], example | own | {"slices": [part]})

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "MISSING_REQUIRED_OUTPUT"
    assert blocker["pointer"] == {"kind": "output_contract", "contractRef": "wr.contracts.plan"}
    assert done["pending"]["stepId"] == "end"


def test_a_required_artifact_that_does_not_fit_is_named(runtime: Runtime) -> None:
    first = at_step(runtime, ["wr.plan"], DEPTH)

    blocked = report(runtime, first["ackToken"], {"kind": "wr.plan"})

    assert [one["code"] for one in blocked["blockers"]] == ["INVALID_REQUIRED_OUTPUT"]


def test_simulation_sends_what_is_required(runtime: Runtime) -> None:
    at_step(runtime, ["context.depth", "wr.plan", "notes"], DEPTH)

    told = answer(runtime, "workflow.simulate", workflowId="project.given1")

    assert told["problems"] == []
