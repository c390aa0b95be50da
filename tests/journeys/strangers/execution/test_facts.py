"""What only the user can give, modes, and facts that come with any call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journeys.strangers.execution.flows_a import (
    DECISION,
    again,
    blockers,
    codes,
    deciding,
    pending,
    plain,
    prefer,
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

NEVER_STOP = {"autonomy": "full_auto_never_stop"}
STOP_ON_USER = {"autonomy": "full_auto_stop_on_user_deps"}
GUIDED = {"autonomy": "guided", "riskPolicy": "conservative"}


@pytest.mark.promise("context.limits")
def test_reserved_keys_and_too_much_context_are_refused_at_start_and_continue_and_store_nothing(
    product: Product,
) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, context={"big": "x" * 200_000})
        before = store(product)
        wrong: list[dict[str, Any]] = [
            {"__proto__": {"a": 1}},
            {"constructor": 1, "fine": 2},
            {"prototype": None},
            {"big": "x" * 262_144},
            {"é" * 140_000: 1},
        ]

        refused = [
            server.call("start_workflow", workflowId=workflow_id, context=context) for context in wrong
        ]
        refused += [report(server, started, "Notes.", context=context) for context in wrong]

        assert store(product) == before
        fits = report(server, started, "Notes.", context={"big": None, "more": "y" * 200_000})
    for reply in refused:
        assert reply.is_error, reply.text[:300]
        assert "nothing was stored" in reply.text.lower(), reply.text[:300]
        assert len(reply.text) < 3_000
    assert {reply.structured["code"] for reply in refused[3:5] + refused[8:]} == {"CONTEXT_BUDGET_EXCEEDED"}
    assert pending(fits) == "two"


@pytest.mark.promise("context.external")
def test_context_chooses_the_way_is_not_echoed_and_cannot_move_the_run_itself(product: Product) -> None:
    large = {"kind": "compare", "input": "size", "op": "equals", "value": "QZ-large"}
    made = workflow(
        "ways",
        step("first"),
        step("extra", when=large),
        step("last"),
        inputs={"size": {"type": "string", "enum": ["QZ-small", "QZ-large"]}},
    )
    workflow_id = product.workflow(made)
    progress = {
        "completedSteps": ["first", "extra", "last"],
        "pending": None,
        "isComplete": True,
        "stepId": "last",
        "ticket": "QX-4711",
    }
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, context=progress)
        extra = report(server, started, "One.", context={"size": "QZ-large"} | progress)
        read = again(server, extra)
        other = report(server, again(server, started), "One.", context={"size": "QZ-small"})

    assert [pending(reply) for reply in (started, extra, read, other)] == ["first", "extra", "extra", "last"]
    for reply in (started, extra, read, other):
        assert "QX-4711" not in reply.text + json.dumps(reply.structured)
        assert "completedSteps" not in reply.text + json.dumps(reply.structured)
        assert reply.structured["isComplete"] is False
    assert extra.structured["progress"]["done"] == 1


@pytest.mark.promise("preferences.closed-set")
@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "x"},
        {"autonomy": "FULL_AUTO_NEVER_STOP"},
        {"autonomy": "guided", "model": "large"},
        {"riskPolicy": "none"},
        {"autonomy": ["guided"]},
        {"autonomy": True},
    ],
)
def test_a_preference_outside_the_two_names_and_their_values_starts_nothing(
    product: Product, wrong: dict[str, Any]
) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId=workflow_id, preferences=wrong)

    assert refused.structured["code"] == "VALIDATION_ERROR"
    assert [name for name in store(product) if "/sessions/" in name] == []
    named = refused.structured["details"]["problems"][0]["param"]
    assert named.startswith("preferences")


@pytest.mark.promise("preferences.closed-set")
def test_the_command_line_and_workflow_files_know_the_same_two_preferences(product: Product) -> None:
    product.workflow(workflow("odd", step("one"), recommended={"autonomy": "guided", "speed": "fast"}))

    value = product.error("run", "start", "wr.small_change", "--request-id", "a", "--autonomy", "auto")
    name = product.error("preferences", "set", "--speed", "fast", "--dry-run")
    file = product.run("workflow", "validate", ".handrail/workflows/trial.odd.json")
    shown = product.data("preferences", "show")

    assert value["details"]["problems"]
    assert name["details"]["problems"]
    assert file.status != 0
    assert "speed" in file.out
    assert {"autonomy", "risk_policy"} <= set(shown)


@pytest.mark.promise("preferences.own")
def test_what_one_start_asks_for_holds_for_that_run_and_for_no_other(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        before = server.call("start_workflow", workflowId=workflow_id)
        bold = server.call("start_workflow", workflowId=workflow_id, preferences=NEVER_STOP)
        after = server.call("start_workflow", workflowId=workflow_id)
        sibling = server.call("start_workflow", workflowId=workflow_id, session=session(bold))
        results = [report(server, reply, "Nothing.") for reply in (before, bold, after)]

    shown = product.data("preferences", "show")
    assert before.structured["preferences"] == after.structured["preferences"] == GUIDED
    assert bold.structured["preferences"]["autonomy"] == "full_auto_never_stop"
    assert [reply.structured["kind"] for reply in results] == ["blocked", "ok", "blocked"]
    assert shown["autonomy"] == "guided"
    assert sibling.structured["preferences"]["autonomy"] == "guided"


@pytest.mark.promise("preferences.node")
def test_the_mode_of_a_start_holds_to_the_last_step_and_is_told_in_a_new_process(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, preferences=NEVER_STOP)
        second = report(server, report(server, started, "Nothing."), "Nothing.")
    with product.serve() as server:
        read = again(server, second)

    nodes = run_of(product, started)["nodes"]
    assert pending(second) == "end"
    assert read.structured["preferences"]["autonomy"] == "full_auto_never_stop"
    assert "full_auto_never_stop" in read.text
    assert nodes[0]["preferences"]["autonomy"] == "full_auto_never_stop"
    assert [node["preferences"] for node in nodes[1:]] == [None, None]


@pytest.mark.promise("preferences.node")
def test_a_user_who_switches_a_blocked_run_is_not_blocked_again_and_is_told_the_mode(
    product: Product,
) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        blocked = report(server, server.call("start_workflow", workflowId=workflow_id), "Nothing.")
        prefer(product, session(blocked), "--autonomy", "full_auto_never_stop")
        second = report(server, blocked)

    assert second.structured["kind"] == "ok"
    assert pending(second) == "second"
    assert second.structured["preferences"]["autonomy"] == "full_auto_never_stop"
    assert "GAP_RECORDED" in codes(second)


@pytest.mark.promise("preferences.replayed")
def test_a_step_from_before_a_change_of_mode_is_worked_on_in_the_mode_that_it_tells(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        second = report(server, started, "One.", DECISION)
        prefer(product, session(started), "--autonomy", "full_auto_never_stop")
        third = report(server, second, "Two.", DECISION)
        old = again(server, started)

        fork = report(server, old, "Nothing.")

    assert third.structured["preferences"]["autonomy"] == "full_auto_never_stop"
    assert old.structured["preferences"] == GUIDED
    assert fork.structured["kind"] == "blocked", fork.text
    assert blockers(fork) == ["MISSING_REQUIRED_OUTPUT"]


@pytest.mark.promise("preferences.replayed")
def test_an_older_step_that_is_read_again_tells_the_preferences_of_its_own_time(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        prefer(product, session(started), "--risk-policy", "aggressive")
        second = report(server, started, "One.")
        prefer(product, session(started), "--autonomy", "full_auto_stop_on_user_deps")
        third = report(server, second, "Two.")
        told = [again(server, reply).structured["preferences"] for reply in (started, second, third)]

    assert told == [
        GUIDED,
        {"autonomy": "guided", "riskPolicy": "aggressive"},
        {"autonomy": "full_auto_stop_on_user_deps", "riskPolicy": "aggressive"},
    ]


def users_workflow() -> dict[str, Any]:
    choice = {
        "type": "choice",
        "id": "pick",
        "title": "Pick",
        "prompt": "Which way?",
        "nonAssumable": "irreversible_action",
        "options": [{"id": "keep", "label": "Keep"}, {"id": "drop", "label": "Drop"}],
    }
    return workflow(
        "users",
        step("confirm", requireConfirmation=True),
        step("give", userOnly={"reason": "needs_user_artifact", "input": "design"}),
        step("decide", output={"contractRef": "wr.contracts.decision"}),
        choice,
        step("end"),
        inputs={"design": {"type": "string"}},
    )


@pytest.mark.promise("gaps.never-stop")
def test_never_stop_passes_every_stop_warns_each_time_and_keeps_critical_gaps(product: Product) -> None:
    workflow_id = product.workflow(users_workflow())
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, preferences=NEVER_STOP)
        give = report(server, started, "Went on.")
        decide = report(server, give, "Went on.")
        pick = report(server, decide, "Went on.")
        token = pick.structured["pending"]["choices"][1]["token"]
        end = server.call("continue_workflow", ackToken=token)
        complete = report(server, end, "Went on.")

    replies = [give, decide, pick, end, complete]
    assert [reply.structured["kind"] for reply in replies] == ["ok"] * 5
    assert [pending(reply) for reply in replies] == ["give", "decide", "pick", "end", None]
    gaps = {gap["id"]: gap for gap in run_of(product, started)["gaps"]}
    for reply in replies[:4]:
        warning = next(
            held for held in reply.structured["warnings"] if held["code"] in {"NOT_ASKED", "GAP_RECORDED"}
        )
        assert warning["message"] in reply.text
        assert gaps[warning["details"]["gapId"]]["is_open"] is True
    assert gaps[decide.structured["warnings"][0]["details"]["gapId"]]["severity"] == "critical"
    assert gaps[pick.structured["warnings"][0]["details"]["gapId"]]["severity"] == "critical"
    assert f"{len(gaps)} open gap" in complete.text
    assert "ask the user" not in " ".join(reply.text.lower() for reply in replies)


@pytest.mark.promise("modes.stop-on-user")
def test_stop_on_user_waits_for_what_only_the_user_has_and_not_for_a_confirmation(product: Product) -> None:
    workflow_id = product.workflow(users_workflow())
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, preferences=STOP_ON_USER)
        give = report(server, started, "Not confirmed by anybody.")
        stopped = report(server, give, "Made the design up.")
        forged = report(server, stopped, "", user_input("agent"))
        given = report(server, forged, "", user_input("user"))

    assert pending(give) == "give"
    assert started.structured["nextIntent"] == "perform_pending_then_continue"
    assert blockers(stopped) == ["USER_ONLY_DEPENDENCY"]
    assert stopped.structured["blockers"][0]["pointer"] == {"kind": "context_key", "key": "design"}
    assert forged.structured["kind"] == "blocked"
    assert pending(given) == "decide"


def user_input(giver: str, answer: object = "The design is in docs/design.md.") -> dict[str, Any]:
    return {"kind": "wr.user_input", "answer": answer, "givenBy": giver}


@pytest.mark.promise("modes.stop-on-user")
@pytest.mark.parametrize("answer", ["", "   "])
def test_an_empty_value_is_not_what_only_the_user_can_give(product: Product, answer: str) -> None:
    workflow_id = product.workflow(users_workflow())
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, preferences=STOP_ON_USER)
        give = report(server, started, "Went on.")
        found = report(server, give, "Nobody was asked.", context={"design": answer})

    assert found.structured["kind"] == "blocked", found.text
    assert pending(found) == "give"


@pytest.mark.promise("modes.stop-on-user")
def test_the_printed_example_of_a_users_answer_is_not_an_answer(product: Product) -> None:
    workflow_id = product.workflow(users_workflow())
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, preferences=STOP_ON_USER)
        stopped = report(server, report(server, started, "Went on."), "Nobody was asked.")
        example = stopped.structured["example"]
        found = report(server, stopped, "", example)

    assert example["answer"] == "<what the user said>"
    assert found.is_error or found.structured["kind"] == "blocked", found.text


@pytest.mark.promise("resume.by-id")
def test_session_and_run_ids_lead_to_the_pending_step_of_the_branch_that_the_run_is_on(
    product: Product,
) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, goal="Find me")
        report(server, report(server, started, "Left."), "Left too.")
        fork = report(server, again(server, started), "Chosen.")
        sibling = server.call("start_workflow", workflowId=workflow_id, session=session(started))
        server.call("start_workflow", workflowId=workflow_id, goal="Other work")
    with product.serve() as server:
        run_id = started.structured["session"]["runId"]
        asked = [run_id, f"  {run_id} "]
        answers = [server.call("resume_session", query=query).structured["items"] for query in asked]
        read = [
            server.call(items[0]["nextCall"]["tool"], **items[0]["nextCall"]["params"]) for items in answers
        ]
        whole = server.call("resume_session", query=session(started)).structured["items"]

    for items, reply in zip(answers, read, strict=True):
        assert [item["runId"] for item in items] == [run_id]
        assert pending(reply) == "two"
        assert reply.structured["stateToken"] == fork.structured["stateToken"]
        assert "Chosen." in strings(reply.structured["recap"])
    assert {item["sessionId"] for item in whole} == {session(started)}
    assert sibling.structured["session"]["runId"] in {item["runId"] for item in whole}


@pytest.mark.promise("resume.latest")
def test_without_a_query_the_session_worked_on_last_is_offered_first(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = [server.call("start_workflow", workflowId=workflow_id, goal=f"Goal {n}") for n in range(4)]
        report(server, started[2], "Moved.")
        save(server, started[0], "Touched last.")
        before = store(product)

        offered = server.call("resume_session")
        blank = server.call("resume_session", query="   ")

        assert store(product) == before
    goals = [item["goal"] for item in offered.structured["items"]]
    assert goals == ["Goal 0", "Goal 2", "Goal 3", "Goal 1"]
    assert [item["goal"] for item in blank.structured["items"]] == goals
    assert offered.structured["items"][0]["nextCall"]["tool"] == "continue_workflow"
