"""What a report brings is judged by what it says: nothing, a placeholder, a contradiction is no answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.given_workflows import (
    A_DECISION,
    NEVER_STOP,
    STOP_ON_USER,
    WITH_DECISION,
    choice,
    equals,
    give,
    option,
    step,
)
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_facts_of_every_call import REPORTING, report, saved, shown
from tests.journeys.test_what_counts import DECIDED, Reply, begun, decision, reread, seen, sent

GIVEN = {"userOnly": {"reason": "needs_user_artifact", "input": "design"}}
ASKED = {"userOnly": {"reason": "needs_user_artifact"}}
DESIGN: dict[str, Any] = {"inputs": {"design": {}}}
RISKY: dict[str, Any] = {"inputs": {"risky": {"type": "boolean"}}}
WEB: dict[str, Any] = {"capabilities": {"web_browsing": "required"}}
READY: dict[str, Any] = {
    "assessments": [{"id": "ready", "purpose": "Is it?", "dimensions": {"proof": ["low", "high"]}}]
}
NOTHING_SAID = ["", "   ", [], {}]


def answered(answer: Any) -> dict[str, Any]:
    return {"kind": "wr.user_input", "answer": answer, "givenBy": "user"}


def set_autonomy(runtime: Runtime, reply: Reply, autonomy: str) -> dict[str, Any]:
    """As a person does it: shown first, then confirmed. What was shown."""
    words = ("settings", "set", "--session", reply["session"]["sessionId"], "--autonomy", autonomy)
    _, preview = command(runtime, *words, "--dry-run")
    status, _ = command(runtime, *words, "--confirm", preview["data"]["confirm_token"])
    assert status == 0
    told: dict[str, Any] = preview["data"]
    return told


def warned(reply: Reply, code: str) -> list[dict[str, Any]]:
    return [told for told in reply.get("warnings", ()) if told["code"] == code]


@pytest.mark.parametrize("preferences", [None, STOP_ON_USER])
@pytest.mark.parametrize("said", NOTHING_SAID)
def test_empty_value_is_not_what_the_user_must_give(
    runtime: Runtime, said: Any, preferences: dict[str, str] | None
) -> None:
    first = begun(runtime, step("give", **GIVEN), step("end"), preferences=preferences, **DESIGN)

    blocked = sent(runtime, first["ackToken"], context={"design": said})
    after = sent(runtime, blocked["retryAckToken"], context={"design": "docs/design.md"})

    assert [blocker["code"] for blocker in blocked["blockers"]] == ["USER_ONLY_DEPENDENCY"]
    assert after["pending"]["stepId"] == "end"


@pytest.mark.parametrize("said", NOTHING_SAID)
@pytest.mark.parametrize("asking", [GIVEN, ASKED])
def test_an_artifact_that_says_nothing_is_not_the_users_answer(
    runtime: Runtime, said: Any, asking: dict[str, Any]
) -> None:
    first = begun(runtime, step("give", **asking), step("end"), **DESIGN)

    blocked = sent(runtime, first["ackToken"], answered(said))
    after = sent(runtime, blocked["retryAckToken"], answered(False))

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "USER_ONLY_DEPENDENCY"
    assert "/answer: is empty" in blocker["message"]
    assert after["pending"]["stepId"] == "end"


def test_printed_example_of_somebodys_words_is_refused(runtime: Runtime) -> None:
    gate = {"gates": [{"assessmentId": "ready"}]}
    give_it = begun(runtime, step("give", **ASKED), step("end"))
    judge = begun(runtime, step("judge", **gate), step("end"), **READY)
    examples = [sent(runtime, reply["ackToken"])["example"] for reply in (give_it, judge)]
    fresh = [reread(runtime, reply)["ackToken"] for reply in (give_it, judge)]

    said, reason = (
        tool_call(runtime, "continue_workflow", ackToken=token, output={"artifacts": [example]})
        for token, example in zip(fresh, examples, strict=True)
    )

    assert said.is_error
    assert "output.artifacts[0].answer: still holds the placeholder <what the user said>" in said.text
    assert reason.is_error
    assert "output.artifacts[0].rationale: still holds the placeholder" in reason.text


@pytest.mark.parametrize("said", ["", "  ", "…", "\u2060"])
def test_empty_required_input_starts_no_run(runtime: Runtime, said: str) -> None:
    fields = {"inputs": {"target": {"type": "string", "required": True}}}
    named = give(runtime, step("look", prompt="Look at {{target}}."), step("end"), **fields)

    refused = tool_call(runtime, "start_workflow", workflowId=named, context={"target": said})
    started = tool_call(runtime, "start_workflow", workflowId=named, context={"target": "a.py"}).structured
    emptied = tool_call(runtime, "continue_workflow", ackToken=started["ackToken"], context={"target": said})

    assert refused.is_error
    assert refused.structured["details"]["problems"][0]["param"] == "context.target"
    assert emptied.is_error
    assert sent(runtime, started["ackToken"])["pending"]["stepId"] == "end"


@pytest.mark.parametrize(
    "given",
    [{"type": "string", "enum": ["small", "big"]}, {"type": "integer"}, {"type": "array"}, {"type": "any"}],
)
def test_offered_start_needs_to_be_filled_in(runtime: Runtime, given: dict[str, Any]) -> None:
    named = give(runtime, step("a", prompt="Do {{size}}."), inputs={"size": given | {"required": True}})

    refused = tool_call(runtime, "start_workflow", workflowId=named)
    offered = refused.structured["details"]["next_call"]
    literal = tool_call(runtime, offered["tool"], **offered["params"])

    assert literal.is_error
    assert literal.structured["details"]["problems"][0]["param"].partition("[")[0] == "context.size"
    assert list(runtime.log.list_sessions()) == []


@pytest.mark.promise("truth.preferences.going-back")
def test_older_step_is_judged_in_its_own_preferences(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), step("c"))
    second = sent(runtime, first["ackToken"], A_DECISION)
    set_autonomy(runtime, first, "full_auto_never_stop")
    third = sent(runtime, second["ackToken"])

    back = reread(runtime, first)
    blocked = sent(runtime, back["ackToken"])
    fork = sent(runtime, blocked["retryAckToken"], A_DECISION)
    on_fork = sent(runtime, fork["ackToken"])

    assert third["preferences"]["autonomy"] == "full_auto_never_stop"
    assert back["preferences"]["autonomy"] == "guided"
    assert blocked["kind"] == "blocked"
    assert fork["preferences"]["autonomy"] == "guided"
    assert reread(runtime, on_fork)["preferences"]["autonomy"] == "guided"


@pytest.mark.promise("truth.preferences.going-back")
def test_change_made_at_an_older_place_holds_there(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))
    sent(runtime, first["ackToken"], A_DECISION)
    set_autonomy(runtime, first, "full_auto_never_stop")
    blocked = sent(runtime, reread(runtime, first)["ackToken"])

    preview = set_autonomy(runtime, first, "full_auto_never_stop")
    told = reread(runtime, blocked)
    fork = sent(runtime, told["ackToken"])

    assert blocked["kind"] == "blocked"
    assert preview["preview"]["unchanged"] is False
    assert told["preferences"]["autonomy"] == "full_auto_never_stop"
    assert fork["preferences"]["autonomy"] == "full_auto_never_stop"
    assert warned(fork, "GAP_RECORDED")


@pytest.mark.promise("truth.preferences.going-back")
def test_step_read_again_shows_the_mode_of_its_report(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))
    set_autonomy(runtime, first, "full_auto_never_stop")

    told = reread(runtime, first)
    after = sent(runtime, told["ackToken"])

    assert told["preferences"]["autonomy"] == after["preferences"]["autonomy"] == "full_auto_never_stop"
    assert warned(after, "GAP_RECORDED")


def test_a_verdict_that_its_own_rows_contradict_is_not_accepted(runtime: Runtime) -> None:
    first = begun(runtime, step("check", **REPORTING), step("end"))
    refuted = report("passed")
    refuted["claims"] = [refuted["claims"][0] | {"status": "refuted"}]

    blocked = sent(runtime, first["ackToken"], refuted)
    honest = sent(runtime, blocked["retryAckToken"], refuted | {"verdict": "failed"})
    end = sent(runtime, honest["ackToken"])

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "INVALID_REQUIRED_OUTPUT"
    assert "/verdict: cannot be passed while claims/0/status is refuted" in blocker["message"]
    assert shown(runtime, end)["status"] == "complete_with_gaps"


def test_review_cannot_approve_what_it_calls_a_blocker(
    runtime: Runtime,
) -> None:
    evidence = [{"source": "file", "ref": "a.py:1", "result": "It drops the table."}]
    finding = {"title": "Data loss", "severity": "blocker", "problem": "It drops the table."}
    review = {
        "kind": "wr.review_findings",
        "verdict": "approve",
        "findings": [finding | {"evidence": evidence, "suggestion": "Do not."}],
        "reviewed": ["a.py"],
        "notReviewed": [],
    }
    asking = step("review", output={"contractRef": "wr.contracts.review_findings"})
    first = begun(runtime, asking, preferences=NEVER_STOP)

    end = sent(runtime, first["ackToken"], review)

    assert (
        "cannot be approve while findings/0/severity is blocker" in warned(end, "GAP_RECORDED")[0]["message"]
    )
    assert shown(runtime, end)["status"] == "complete_with_gaps"


def option_of(name: str) -> dict[str, Any]:
    return {"id": name, "description": "A way.", "advantages": ["Short."], "drawbacks": ["Narrow."]}


A_CHOICE: dict[str, Any] = {
    "kind": "wr.decision",
    "question": "Which way?",
    "options": [option_of("left"), option_of("right")],
    "chosen": "left",
    "rationale": "It is shorter.",
    "decidedBy": "agent",
    "revisitWhen": "It is closed.",
}


def slice_of(name: str, *others: str) -> dict[str, Any]:
    return {"id": name, "what": "Build.", "doneWhen": "It runs.", "check": "pytest", "dependsOn": [*others]}


def plan_of(*slices: dict[str, Any]) -> dict[str, Any]:
    known = {"kind": "wr.plan", "goal": "Build it.", "outOfScope": [], "risks": [], "openQuestions": []}
    return known | {"slices": [*slices]}


@pytest.mark.parametrize(
    ("wrong", "told", "right"),
    [
        (A_CHOICE | {"chosen": "up"}, "/chosen: up is not one of the options: left, right", A_CHOICE),
        (
            A_CHOICE | {"options": [option_of("left"), option_of("left")]},
            "/options/1/id: is also the id of another of the options",
            A_CHOICE,
        ),
        (
            plan_of(slice_of("a"), slice_of("b", "c")),
            "/slices/1/dependsOn: c is not one of the slices: a, b",
            plan_of(slice_of("a"), slice_of("b", "a")),
        ),
        (
            plan_of(slice_of("a", "a")),
            "/slices/0/dependsOn: a slice cannot depend on itself",
            plan_of(slice_of("a")),
        ),
    ],
)
def test_artifact_that_contradicts_its_rows_is_refused(
    runtime: Runtime, wrong: dict[str, Any], told: str, right: dict[str, Any]
) -> None:
    ref = str(wrong["kind"]).replace("wr.", "wr.contracts.")
    first = begun(runtime, step("settle", output={"contractRef": ref}), step("end"))

    blocked = sent(runtime, first["ackToken"], wrong)
    honest = sent(runtime, blocked["retryAckToken"], right)

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "INVALID_REQUIRED_OUTPUT"
    assert told in blocker["message"]
    assert honest["pending"]["stepId"] == "end"


def test_confirmation_made_necessary_by_a_report_is_asked_once(runtime: Runtime) -> None:
    risky = step("deploy", requireConfirmation=equals("risky", True))
    first = begun(runtime, risky, step("end"), **RISKY)

    blocked = sent(runtime, first["ackToken"], context={"risky": True})
    after = sent(runtime, blocked["retryAckToken"])

    (blocker,) = blocked["blockers"]
    assert (blocker["code"], blocker["pointer"]["stepId"]) == ("USER_ONLY_DEPENDENCY", "deploy")
    assert blocked["nextIntent"] == "await_user_confirmation"
    assert blocked["pending"]["requireConfirmation"] is True
    assert after["pending"]["stepId"] == "end"


def test_confirmation_resting_on_the_own_artifact_is_asked(runtime: Runtime) -> None:
    by_agent = {
        "kind": "compare",
        "artifact": "wr.decision",
        "field": "decidedBy",
        "op": "equals",
        "value": "agent",
    }
    first = begun(runtime, step("choose", requireConfirmation=by_agent, **WITH_DECISION), step("end"))

    blocked = sent(runtime, first["ackToken"], A_DECISION)
    with_it_again = sent(runtime, blocked["retryAckToken"], A_DECISION)
    by_user = sent(runtime, reread(runtime, first)["ackToken"], A_DECISION | {"decidedBy": "user"})

    assert [blocker["code"] for blocker in blocked["blockers"]] == ["USER_ONLY_DEPENDENCY"]
    assert with_it_again["pending"]["stepId"] == by_user["pending"]["stepId"] == "end"


def test_where_nobody_is_asked_such_a_confirmation_is_disclosed(runtime: Runtime) -> None:
    risky = step("deploy", requireConfirmation=equals("risky", True))
    first = begun(runtime, risky, step("end"), preferences=NEVER_STOP, **RISKY)

    after = sent(runtime, first["ackToken"], context={"risky": True})

    assert after["pending"]["stepId"] == "end"
    (warning,) = warned(after, "NOT_ASKED")
    assert "The user did not confirm “Deploy”." in warning["message"]


@pytest.mark.parametrize("place", ["requireConfirmation", "promptFragments"])
@pytest.mark.parametrize("given", [{"type": "boolean"}, {"type": "boolean", "required": True}])
def test_validate_names_a_value_unknown_at_the_first_step(
    runtime: Runtime, place: str, given: dict[str, Any], tmp_path: Path
) -> None:
    held = equals("risky", True)
    read: Any = held if place == "requireConfirmation" else [{"id": "more", "when": held, "text": "Careful."}]
    document: dict[str, Any] = {"id": "project.risk", "name": "Risk", "description": "A trial."}
    document |= {"steps": [step("deploy", **{place: read}), step("end")], "inputs": {"risky": given}}
    file = tmp_path / "project.risk.json"
    file.write_text(json.dumps(document), encoding="utf-8")

    _, told = command(runtime, "workflow", "validate", str(file))

    (result,) = told["data"]["items"]
    found = [(one["code"], one["severity"], one["pointer"]) for one in result["problems"]]
    pointer = "/steps/0/requireConfirmation" if place == "requireConfirmation" else f"/steps/0/{place}/0/when"
    assert found == ([] if "required" in given else [("read_too_early", "warning", pointer)])


@pytest.mark.parametrize("is_left_aside", [False, True])
def test_an_artifact_that_a_checkpoint_saved_answers_the_step(runtime: Runtime, is_left_aside: bool) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), **WEB)
    probed = saved(runtime, first, seen("web_browsing", "available")).structured
    at_a = sent(runtime, (first if is_left_aside else probed)["ackToken"])
    held = saved(runtime, at_a, A_DECISION).structured

    after = sent(runtime, (at_a if is_left_aside else held)["ackToken"])

    assert [at_a["pending"]["stepId"], after["pending"]["stepId"]] == ["a", "b"]
    assert [kept["kind"] for kept in reread(runtime, after)["recap"]["artifacts"]] == [
        "wr.capability_observation",
        "wr.decision",
    ]


def test_checkpoint_between_attempts_loses_nothing(runtime: Runtime) -> None:
    gap = {"kind": "wr.gap", "severity": "warning", "summary": "No logs."}
    noted = step("a", validationCriteria=[{"type": "length", "min": 5, "message": "Short."}], **WITH_DECISION)
    first = begun(runtime, noted, step("b"))
    blocked = sent(runtime, first["ackToken"], A_DECISION, notes="no")

    held = saved(runtime, blocked, gap).structured
    after = sent(runtime, held["ackToken"], notes="long enough")

    assert after["pending"]["stepId"] == "b"
    assert len(shown(runtime, after)["gaps"]) == 1


def test_a_prompt_inside_two_decided_loops_calls_for_the_loop_id(runtime: Runtime) -> None:
    inner = {"type": "loop", "id": "inner", "while": DECIDED, "maxIterations": 3, "body": [step("in")]}
    outer = {
        "type": "loop",
        "id": "outer",
        "while": DECIDED,
        "maxIterations": 2,
        "body": [inner, step("out")],
    }
    first = begun(runtime, outer, step("end"))

    left_out = sent(runtime, first["ackToken"], decision("stop"))
    at_out = sent(runtime, left_out["retryAckToken"], decision("stop", loopId="inner"))

    assert "- loopId: inner, because several loops are open" in first["pending"]["prompt"]
    assert "loopId: may be left out" not in first["pending"]["prompt"]
    assert left_out["kind"] == "blocked"
    assert "- loopId: may be left out" in at_out["pending"]["prompt"]
    assert sent(runtime, at_out["ackToken"], decision("stop"))["pending"]["stepId"] == "end"


def test_missing_optional_value_is_named_in_every_prompt(
    runtime: Runtime,
) -> None:
    mentioned = {"guidance": ["Mind {{t}}."], "output": {"hints": ["About {{t}}."]}}
    first = begun(
        runtime,
        step("a", prompt="Look at {{t}}.", **mentioned),
        choice("b", option("x"), option("y"), prompt="For {{t}}?"),
        inputs={"t": {"type": "string"}},
    )

    second = tool_call(
        runtime, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "x"}
    )
    again = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "x"})
    reread_first = tool_call(runtime, "continue_workflow", stateToken=first["stateToken"])

    prompt = first["pending"]["prompt"]
    assert [f"{words} (not given: t)." in prompt for words in ("Look at", "Mind", "About")] == [True] * 3
    assert "{{" not in first["pending"]["prompt"] + reread_first.text + second.text
    assert "For (not given: t)?" in second.structured["pending"]["prompt"]
    assert again.text == second.text


def test_lack_of_a_capability_says_what_must_change(
    runtime: Runtime,
) -> None:
    first = begun(runtime, step("work"), step("end"), **WEB)
    work = sent(runtime, first["ackToken"], seen("web_browsing", "available"))

    lost = seen("web_browsing", "unavailable")
    stopped = tool_call(runtime, "continue_workflow", ackToken=work["ackToken"], output={"artifacts": [lost]})
    call = stopped.structured["nextCall"]
    read = tool_call(runtime, call["tool"], **call["params"]).structured
    params = read["nextCall"]["params"]
    (frame,) = params["output"]["artifacts"]
    cured = tool_call(
        runtime,
        "continue_workflow",
        ackToken=params["ackToken"],
        output={
            "notesMarkdown": "Works.",
            "artifacts": [frame | {"status": "available", "summary": "Read."}],
        },
    ).structured

    assert "no new input" not in stopped.text
    assert warned(stopped.structured, "CAPABILITY_UNAVAILABLE") == []
    assert frame == {
        "kind": "wr.capability_observation",
        "capability": "web_browsing",
        "status": "…",
        "summary": "…",
    }
    assert [kept["body"]["status"] for kept in read["recap"]["artifacts"]] == ["unavailable"]
    assert cured["pending"]["stepId"] == "end"


@pytest.mark.parametrize("told", [[], [seen("web_browsing", "available", provenance="manual_claim")]])
def test_working_capability_closes_its_gap(runtime: Runtime, told: list[dict[str, Any]]) -> None:
    first = begun(runtime, step("work"), preferences=NEVER_STOP, **WEB)
    work = sent(runtime, first["ackToken"], *told)

    end = sent(runtime, work["ackToken"], seen("web_browsing", "available"))

    assert warned(work, "GAP_RECORDED")
    assert shown(runtime, end)["status"] == "complete"
    assert "gap" not in end["closing"]


def test_claim_saved_at_a_probe_leaves_no_gap(runtime: Runtime) -> None:
    first = begun(runtime, step("work"), **WEB)
    claimed = saved(runtime, first, seen("web_browsing", "available", provenance="manual_claim")).structured

    still_claimed = sent(runtime, claimed["ackToken"])
    work = sent(runtime, still_claimed["retryAckToken"], seen("web_browsing", "available"))
    end = sent(runtime, work["ackToken"])

    assert [told["code"] for told in still_claimed["blockers"]] == ["REQUIRED_CAPABILITY_UNKNOWN"]
    assert shown(runtime, end)["status"] == "complete"


def test_the_example_of_a_probe_is_about_what_is_probed(runtime: Runtime) -> None:
    first = begun(runtime, step("work"), capabilities={"delegation": "required"})

    blocked = sent(runtime, first["ackToken"])

    assert "Fetched" not in first["pending"]["prompt"]
    assert blocked["example"]["capability"] == "delegation"
    assert "subagent" in blocked["example"]["summary"]


def test_assessment_under_another_id_is_named(runtime: Runtime) -> None:
    first = begun(runtime, step("judge", gates=[{"assessmentId": "ready"}]), step("end"), **READY)
    nearly = {"kind": "wr.assessment", "assessmentId": "redy", "dimensions": {"proof": "high"}}

    blocked = sent(runtime, first["ackToken"], nearly)

    (blocker,) = blocked["blockers"]
    assert blocker["message"].endswith("none came. What came is about redy.")


def test_value_that_contradicts_the_option_is_refused(runtime: Runtime) -> None:
    pick = choice("pick", option("a", way="a"), option("b", way="b"))
    first = begun(runtime, pick, step("end", when=equals("way", "b")))
    token = first["pending"]["choices"][0]["token"]

    refused = tool_call(runtime, "continue_workflow", ackToken=token, context={"way": "b"})
    same = tool_call(runtime, "continue_workflow", ackToken=token, context={"way": "a"})

    assert refused.is_error
    assert "context.way: the option a sets it, to another value; nothing was stored" in refused.text
    assert same.structured["isComplete"] is True


def test_context_of_a_branch_is_bounded(runtime: Runtime) -> None:
    named = give(runtime, step("a"), step("b"))
    big = {"big": "x" * 200_000}
    first = tool_call(runtime, "start_workflow", workflowId=named, context=big).structured

    more = {"more": "y" * 100_000}
    refused = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"], context=more)
    fits = sent(runtime, first["ackToken"], context=more | {"big": None})

    assert refused.structured["code"] == "CONTEXT_BUDGET_EXCEEDED"
    assert refused.structured["details"]["measured"] > refused.structured["details"]["limit"] == 262_144
    assert "nothing was stored" in refused.text
    assert fits["pending"]["stepId"] == "b"
