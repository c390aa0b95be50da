"""Steps, forks and rereading, tried as the specification tells it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journeys.strangers.execution.flows_a import (
    DECISION,
    ack,
    again,
    codes,
    deciding,
    pending,
    plain,
    report,
    run_of,
    save,
    session,
    step,
    store,
    strings,
    workflow,
)
from tests.journeys.strangers.product import Product


def when(name: str, value: str) -> dict[str, Any]:
    return {"kind": "compare", "input": name, "op": "equals", "value": value}


@pytest.mark.promise("workflows.inspected")
def test_what_inspect_shows_beforehand_is_what_the_start_asks_for_and_the_run_walks(product: Product) -> None:
    made = workflow(
        "shown",
        step("alpha"),
        step("beta", when=when("size", "large")),
        step("gamma"),
        inputs={
            "size": {
                "type": "string",
                "enum": ["small", "large"],
                "required": True,
                "description": "How big.",
            },
            "depth": {"type": "integer", "default": 2},
        },
        capabilities={"delegation": "preferred"},
    )
    workflow_id = product.workflow(made)
    with product.serve() as server:
        inputs = server.call("inspect_workflow", workflowId=workflow_id, part="inputs")
        steps = server.call("inspect_workflow", workflowId=workflow_id, part="steps")
        summary = server.call("inspect_workflow", workflowId=workflow_id)
        refused = server.call("start_workflow", workflowId=workflow_id)
        reply = server.call("start_workflow", workflowId=workflow_id, context={"size": "large"})
        walked: list[str | None] = []
        while pending(reply) is not None:
            walked.append(pending(reply))
            reply = report(server, reply)

    shown = {entry["name"]: entry for entry in inputs.structured["workflow"]["inputs"]}
    assert shown["size"]["required"] is True
    assert shown["size"]["enum"] == ["small", "large"]
    assert shown["depth"]["default"] == 2
    assert "How big." in inputs.text
    assert (
        [entry["id"] for entry in steps.structured["workflow"]["steps"]]
        == walked
        == ["alpha", "beta", "gamma"]
    )
    assert "delegation" in strings(summary.structured)
    assert refused.structured["details"]["problems"][0]["param"] == "context.size"


@pytest.mark.promise("start.first-step")
def test_a_start_passes_over_steps_that_do_not_apply_and_each_of_its_tokens_works(product: Product) -> None:
    made = workflow(
        "late",
        step("never", when=when("kind", "other")),
        step("first"),
        step("second"),
        inputs={"kind": {"type": "string", "enum": ["this", "other"]}},
    )
    workflow_id = product.workflow(made)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, context={"kind": "this"})
        read = again(server, started)
        saved = save(server, started, "Begun.", stateToken=started.structured["stateToken"])
        advanced = report(server, started, "Done.", stateToken=started.structured["stateToken"])

    assert pending(started) == "first"
    assert codes(started)[-1] == "STEPS_SKIPPED"
    assert "never" in started.text
    tokens = {started.structured[name] for name in ("stateToken", "ackToken", "checkpointToken")}
    assert len(tokens) == 3
    assert started.structured["isComplete"] is False
    assert (pending(read), pending(saved), pending(advanced)) == ("first", "first", "second")


@pytest.mark.promise("continue.advances")
def test_an_ack_ends_the_run_at_once_when_nothing_that_follows_applies(product: Product) -> None:
    made = workflow(
        "short",
        step("first"),
        step("more", when=when("kind", "long")),
        step("most", when=when("kind", "long")),
        inputs={"kind": {"type": "string", "enum": ["short", "long"]}},
    )
    workflow_id = product.workflow(made)
    with product.serve() as server:
        short = server.call("start_workflow", workflowId=workflow_id)
        ended = report(server, short, context={"kind": "short"})
        long = server.call("start_workflow", workflowId=workflow_id)
        walked = []
        for _ in range(3):
            long = report(server, long, context={"kind": "long"})
            walked.append(pending(long))

    assert ended.structured["isComplete"] is True
    assert ended.structured["pending"] is None
    assert "ackToken" not in ended.structured
    assert {entry["stepId"] for entry in ended.structured["skipped"]} == {"more", "most"}
    assert walked == ["more", "most", None]
    assert long.structured["isComplete"] is True


@pytest.mark.promise("continue.rehydrate.pure")
def test_reading_pending_old_blocked_and_finished_steps_again_writes_no_byte(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, goal="Keep the goal")
        blocked = report(server, started, "Tried without it.")
        second = report(server, blocked, "Kept note.", DECISION)
        end = report(server, second, "Second note.", DECISION)
        complete = report(server, end, "Last note.")
        before = store(product)

        read = [again(server, reply) for reply in (started, blocked, second, end, complete, second)]
        with_context = server.call(
            "continue_workflow", stateToken=second.structured["stateToken"], context={"late": "value"}
        )

        assert store(product) == before
    assert [pending(reply) for reply in read] == ["first", "first", "second", "end", None, "second"]
    assert "Kept note." in read[2].text
    assert "Kept note." in strings(read[2].structured["recap"])
    assert "Second note." in strings(read[3].structured["recap"]["entries"])
    assert "Keep the goal" in read[3].text
    assert store(product) == before, with_context.text


@pytest.mark.promise("checkpoint.keeps-the-step")
def test_a_checkpoint_at_a_blocked_step_keeps_its_notes_and_leaves_the_step_pending(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        blocked = report(server, started, "Tried.")
        saved = save(server, blocked, "Measured one half.")
        read = again(server, saved)
        second = report(server, saved, "Chosen.", DECISION)
        later = again(server, second)

    assert pending(saved) == pending(read) == "first"
    assert saved.structured["isComplete"] is False
    assert "Measured one half." in strings(read.structured["recap"])
    assert pending(second) == "second"
    notes = [entry["notes"] for entry in later.structured["recap"]["entries"]]
    assert notes[-2:] == ["Measured one half.", "Chosen."]


@pytest.mark.promise("checkpoint.no-fork")
def test_checkpoints_before_and_after_an_ack_leave_a_remembered_ack_without_a_fork(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        saved = save(server, started, "Before.")
        save(server, saved, "Before, once more.")
        second = report(server, started, "By the first token.")
        save(server, again(server, started), "At the old step, late.")
        replayed = report(server, started, "By the first token.")
        third = report(server, second, "Second.")

    run = run_of(product, started)
    assert replayed == second
    assert pending(third) == "three"
    assert run["fork_count"] == 0
    assert run["pending_step"] == "three"
    assert "fork" not in second.text


@pytest.mark.promise("flow.basic")
def test_an_agent_that_fills_in_the_offered_calls_only_reaches_a_complete_run(product: Product) -> None:
    with product.serve() as server:
        listed = server.call("list_workflows", query="planned, made and verified")
        chosen = listed.structured["items"][0]["id"]
        inspected = server.call("inspect_workflow", workflowId=chosen, part="steps")
        reply = server.call("start_workflow", workflowId=chosen, goal="Rename a function")
        done = []
        while not reply.structured["isComplete"]:
            done.append(pending(reply))
            offered = reply.structured["nextCall"]
            words = json.dumps(offered["params"]).replace(
                json.dumps("…"), json.dumps(f"Notes of {pending(reply)}.")
            )
            assert not reply.is_error
            reply = server.call(offered["tool"], **filled(json.loads(words)))
            assert len(done) < 10

    outline = inspected.structured["workflow"]["steps"]
    assert done == [entry["id"] for entry in outline if entry.get("type") != "loop" and not entry.get("loop")]
    assert reply.structured["pending"] is None
    assert reply.structured["nextCall"] is None
    assert reply.structured["progress"]["done"] == len(done)
    assert reply.text.startswith("Complete")


def filled(params: dict[str, Any]) -> dict[str, Any]:
    """The offered parameters with artifacts that fit their kinds."""
    known: dict[str, Any] = {
        "wr.changed_files": {
            "files": [{"path": "src/invoice.py", "change": "modified", "why": "Renamed."}],
            "checks": [{"command": "pytest -q", "exitCode": 0, "summary": "3 passed"}],
        },
        "wr.verification_report": {
            "verdict": "passed",
            "claims": [
                {
                    "claim": "Renamed.",
                    "status": "confirmed",
                    "evidence": [{"source": "command", "ref": "pytest -q", "result": "3 passed"}],
                }
            ],
            "notChecked": [],
        },
    }
    for artifact in params.get("output", {}).get("artifacts", []):
        artifact.update(known[artifact["kind"]])
    return params


@pytest.mark.promise("runs.interleaved")
def test_runs_of_one_and_of_two_sessions_advance_in_any_order_and_share_nothing(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        first = server.call("start_workflow", workflowId=workflow_id, goal="First")
        second = server.call("start_workflow", workflowId=workflow_id, session=session(first))
        third = server.call("start_workflow", workflowId=workflow_id, goal="Third")
        first = report(server, first, "NOTE-A1", context={"marker": "of-first"})
        third = report(server, third, "NOTE-C1")
        third = report(server, third, "NOTE-C2")
        second = report(server, second, "NOTE-B1")
        first = report(server, first, "NOTE-A2")
        third = report(server, third, "NOTE-C3")
        seen = [again(server, reply) for reply in (first, second, third)]

    assert session(first) == session(second) != session(third)
    assert len({reply.structured["session"]["runId"] for reply in (first, second, third)}) == 3
    assert [pending(reply) for reply in seen] == ["three", "two", None]
    for reply, own in zip(seen, ("NOTE-A", "NOTE-B", "NOTE-C"), strict=True):
        found = {text[:6] for text in strings(reply.structured) if text.startswith("NOTE-")}
        assert found == {own}
    runs = product.data("session", "show", session(first))["runs"]
    assert sorted(run["fork_count"] for run in runs) == [0, 0]


@pytest.mark.promise("continue.branches")
def test_four_fresh_attempts_at_one_step_give_four_branches_with_their_own_notes(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        branches = [report(server, started, "Branch 0.")]
        for number in (1, 2, 3):
            branches.append(report(server, again(server, started), f"Branch {number}."))
        replayed = report(server, started, "Branch 0.")
        notes = [
            [entry["notes"] for entry in again(server, branch).structured["recap"]["entries"]]
            for branch in branches
        ]

    run = run_of(product, started)
    assert len({branch.structured["stateToken"] for branch in branches}) == 4
    assert notes == [[f"Branch {number}."] for number in range(4)]
    assert replayed == branches[0]
    assert run["fork_count"] == 3
    assert len(run["tips"]) == 4
    for branch in branches[1:]:
        assert "This is a fork" in branch.text


@pytest.mark.promise("continue.branches")
def test_the_reply_of_a_fork_calls_no_branch_preferred_that_the_run_has_left(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        report(server, started, "Branch 0.")
        fork = report(server, again(server, started), "Branch 1.")

    left = [child["nodeId"] for child in fork.structured["recap"]["children"] if child.get("isPreferred")]
    assert run_of(product, started)["preferred_tip"] not in left
    assert left == [], fork.text


@pytest.mark.promise("outputs.one-path")
def test_after_a_loss_notes_and_artifacts_are_told_again_and_plain_context_is_not(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, context={"ticket": "CTX-SECRET-1"})
        saved = save(server, started, "SAVED-NOTE")
        second = report(server, saved, "DONE-NOTE", DECISION, context={"branch": "CTX-SECRET-2"})
    with product.serve() as server:
        found = server.call("resume_session", query=session(second)).structured["items"][0]["nextCall"]
        read = server.call(found["tool"], **found["params"])

    assert ack(read)
    assert pending(read) == "second"
    for kept in ("SAVED-NOTE", "DONE-NOTE", "The total counts."):
        assert kept in read.text
        assert [text for text in strings(read.structured["recap"]) if kept in text]
    assert "CTX-SECRET" not in read.text
    assert "CTX-SECRET" not in json.dumps(read.structured)
