"""Sentences of the product, held against what then happens."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.journeys.strangers.execution.flows_a import (
    ack,
    again,
    codes,
    pending,
    plain,
    report,
    save,
    session,
    step,
    store,
    workflow,
)
from tests.journeys.strangers.product import Product

RISKY = {"kind": "compare", "input": "risky", "op": "equals", "value": True}
LOOP_DECISION = {"contractRef": "wr.contracts.loop_control"}


@pytest.mark.promise("truth.rules-first")
def test_a_prompt_inside_two_decided_loops_does_not_call_the_loop_id_optional(product: Product) -> None:
    inner = {
        "type": "loop",
        "id": "inner",
        "while": {"kind": "loop_control"},
        "maxIterations": 3,
        "body": [step("in", output=LOOP_DECISION)],
    }
    outer = {
        "type": "loop",
        "id": "outer",
        "while": {"kind": "loop_control"},
        "maxIterations": 2,
        "body": [inner, step("out", output=LOOP_DECISION)],
    }
    workflow_id = product.workflow(workflow("nested", outer, step("end")))
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        left_out = report(server, started, "n", {"kind": "wr.loop_control", "decision": "stop"})

    assert "loopId: may be left out" not in started.text or left_out.structured["kind"] == "ok", left_out.text


@pytest.mark.promise("truth.asked")
def test_a_confirmation_that_depends_on_a_value_is_asked_for_when_the_value_comes_with_the_step(
    product: Product,
) -> None:
    workflow_id = product.workflow(
        workflow(
            "risk",
            step("deploy", requireConfirmation=RISKY),
            step("end"),
            inputs={"risky": {"type": "boolean"}},
        )
    )
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        followed = report(server, started, "Deployed.", context={"risky": True})

    assert "risky" in started.structured["nextCall"]["params"]["context"]
    assert pending(followed) == "deploy" or "confirm" in followed.text, followed.text


@pytest.mark.promise("finding.mistyped-context")
def test_what_a_warning_about_a_mistyped_key_advises_makes_the_passed_step_run(product: Product) -> None:
    high = {"kind": "compare", "input": "severity", "op": "equals", "value": "high"}
    workflow_id = product.workflow(
        workflow(
            "typed",
            step("first"),
            step("careful", when=high),
            step("end"),
            inputs={"severity": {"type": "string", "enum": ["low", "high"]}},
        )
    )
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        mistyped = report(server, started, "n", context={"severty": "high"})
        advice = next(
            held for held in mistyped.structured["warnings"] if held["code"] == "INPUT_NEARLY_DECLARED"
        )
        followed = report(server, mistyped, "n", context={"severity": "high"})

    assert "with your next report" not in advice["message"] or pending(followed) == "careful", (
        advice["message"],
        followed.text,
    )


@pytest.mark.promise("truth.whole-call")
@pytest.mark.parametrize(
    "made",
    [
        workflow(
            "enumerated",
            step("first"),
            step("extra", when={"kind": "compare", "input": "size", "op": "equals", "value": "big"}),
            inputs={"size": {"type": "string", "enum": ["small", "big"], "required": True}},
        ),
        workflow(
            "listed",
            {
                "type": "loop",
                "id": "each",
                "forEach": {"input": "places", "as": "place"},
                "maxIterations": 9,
                "body": [step("look", prompt="Look at {{place}}.")],
            },
            step("end"),
            inputs={"places": {"type": "array"}},
        ),
    ],
    ids=["of an enum", "of a list"],
)
def test_the_call_offered_for_a_missing_input_starts_nothing_until_it_is_filled_in(
    product: Product, made: dict[str, Any]
) -> None:
    workflow_id = product.workflow(made)
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId=workflow_id)
        offered = refused.structured["details"]["next_call"]

        literal = server.call(offered["tool"], **offered["params"])

    assert refused.is_error
    assert literal.is_error, (offered, literal.text[:300])
    assert [name for name in store(product) if "/sessions/" in name] == []


@pytest.mark.promise("unsound.told")
def test_a_server_that_was_running_when_the_log_was_damaged_says_so_and_takes_no_more_work(
    product: Product,
) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        second = report(server, started, "One.")
        log = product.home / "data" / "sessions" / session(started) / "events-000001.jsonl"
        log.write_bytes(log.read_bytes().replace(b"One.", b"Two.", 1))

        read = again(server, second)
        taken = report(server, second, "Work that counts.")
        offered = server.call("resume_session")

    assert "damaged" in offered.text
    assert taken.is_error, taken.text
    assert read.is_error or "SESSION_UNSOUND" in codes(read)
    assert "ackToken" not in read.structured


@pytest.mark.promise("unsound.told")
def test_the_commands_that_a_damaged_session_names_run_as_they_are_printed(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        second = report(server, started, "One.")
        report(server, second, "Two.")
    log = product.home / "data" / "sessions" / session(started) / "events-000001.jsonl"
    log.write_bytes(log.read_bytes().replace(b"Two.", b"Six.", 1))
    with product.serve() as server:
        read = again(server, second)

    commands = read.structured["warnings"][0]["details"]["commands"]
    ran = [product.run(*command.replace("FILE", "kept.json").split()[1:]) for command in commands]
    assert codes(read) == ["SESSION_UNSOUND"]
    assert [held.status for held in ran] == [0, 0], ran


@pytest.mark.promise("truth.endings.verification")
def test_a_run_whose_report_refutes_its_only_claim_does_not_read_as_plain_complete(product: Product) -> None:
    workflow_id = product.workflow(
        workflow(
            "proof", step("check", output={"contractRef": "wr.contracts.verification_report"}), step("end")
        )
    )
    evidence = [{"source": "command", "ref": "pytest -q", "result": "1 failed"}]
    refuted = {
        "kind": "wr.verification_report",
        "verdict": "passed",
        "claims": [{"claim": "All tests pass.", "status": "refuted", "evidence": evidence}],
        "notChecked": [],
    }
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        checked = report(server, started, "Checked.", refuted)
        complete = report(server, checked, "Done.") if checked.structured["kind"] == "ok" else checked

    shown = product.data("session", "show", session(started))["status"]
    assert checked.structured["kind"] == "blocked" or shown != "complete", complete.text


@pytest.mark.promise("recap.one-budget")
def test_the_recap_of_many_short_notes_stays_within_twelve_kilobytes(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        reply = server.call("start_workflow", workflowId=workflow_id)
        for _ in range(80):
            reply = save(server, reply, "n" * 100)
        read = again(server, reply)

    recap = read.structured["recap"]
    size = len(json.dumps(recap, ensure_ascii=False, separators=(",", ":")).encode())
    assert recap["truncated"] is True
    assert recap["omitted"] + len(recap["entries"]) == 80
    assert size <= 12 * 1024, size
    assert len(read.text.partition("Recap")[2].encode()) <= 12 * 1024


@pytest.mark.promise("replay.refusal-first")
def test_the_token_of_another_option_is_not_said_to_have_been_answered_before(product: Product) -> None:
    choice = {
        "type": "choice",
        "id": "pick",
        "title": "Pick",
        "prompt": "Which?",
        "options": [{"id": "left", "label": "Left"}, {"id": "right", "label": "Right"}],
    }
    workflow_id = product.workflow(workflow("choice", choice, step("end")))
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        left, right = (held["token"] for held in started.structured["pending"]["choices"])
        server.call("continue_workflow", ackToken=left)
        other = server.call("continue_workflow", ackToken=right)
        offered = other.structured["warnings"][0]["nextCall"]
        fork = server.call(offered["tool"], **offered["params"])

    assert pending(fork) == "end"
    assert ack(fork)
    assert "its token was answered before" not in other.text, other.text


@pytest.mark.promise("truth.whole-call")
@pytest.mark.parametrize("value", ["…", "", "   "])
def test_a_start_refuses_a_required_input_that_is_empty_or_still_a_placeholder(
    product: Product, value: str
) -> None:
    inputs = {"target": {"type": "string", "required": True}}
    workflow_id = product.workflow(
        workflow("needs", step("look", prompt="Look at {{target}}."), inputs=inputs)
    )
    with product.serve() as server:
        found = server.call("start_workflow", workflowId=workflow_id, context={"target": value})

    assert found.is_error, found.text.splitlines()[1]


@pytest.mark.promise("truth.whole-call")
def test_the_command_that_a_person_is_shown_stores_nothing_until_it_is_filled_in(product: Product) -> None:
    workflow_id = plain(product)
    shown = product.run("run", "start", workflow_id, "--request-id", "a", "--human").out
    line = next(held for held in shown.splitlines() if held.startswith("When done:"))

    ran = product.run(*shlex.split(line.partition(":")[2])[1:])

    assert ran.status != 0, (line, ran.out)


@pytest.mark.promise("truth.counts.own-object")
def test_an_assessment_under_a_nearly_right_id_is_named_where_the_right_one_is_missing(
    product: Product,
) -> None:
    made = workflow(
        "judged",
        step("judge", gates=[{"assessmentId": "ready"}]),
        step("end"),
        assessments=[{"id": "ready", "purpose": "Is it?", "dimensions": {"proof": ["low", "high"]}}],
    )
    workflow_id = product.workflow(made)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        nearly = {"kind": "wr.assessment", "assessmentId": "redy", "dimensions": {"proof": "high"}}
        found = report(server, started, "Judged.", nearly)

    assert found.structured["kind"] == "blocked"
    assert "redy" in found.text, found.text.splitlines()[1]
