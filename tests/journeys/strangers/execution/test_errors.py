"""Trouble as a stranger meets it: what is offered must work as it is printed."""

from __future__ import annotations

import fcntl
import json
import re
from typing import Any

import pytest

from tests.journeys.strangers.execution.flows_a import (
    DECISION,
    again,
    deciding,
    plain,
    report,
    save,
    session,
    step,
    store,
    strings,
    workflow,
)
from tests.journeys.strangers.product import Called, Product, Server

RETRY_KINDS = {"not_retryable", "retryable_immediate", "retryable_after_ms"}


def wrong_calls(server: Server, workflow_id: str) -> list[Called]:
    """One bad call per way of going wrong, over every tool."""
    started = server.call("start_workflow", workflowId=workflow_id)
    token = started.structured["ackToken"]
    checkpoint = started.structured["checkpointToken"]
    lines: list[tuple[str, dict[str, Any]]] = [
        ("list_workflows", {"query": 7}),
        ("list_workflows", {"cursor": "nonsense"}),
        ("inspect_workflow", {}),
        ("inspect_workflow", {"workflowId": "trial.plian"}),
        ("inspect_workflow", {"workflowId": workflow_id, "part": "everything"}),
        ("start_workflow", {"workflowId": "../../etc/passwd"}),
        ("start_workflow", {"workflowId": workflow_id, "context": "text"}),
        ("start_workflow", {"workflowId": workflow_id, "session": "ses_000000000000"}),
        ("start_workflow", {"workflowId": workflow_id, "project": "/nowhere/at/all"}),
        ("continue_workflow", {}),
        ("continue_workflow", {"ackToken": 5}),
        ("continue_workflow", {"ackToken": "\x00\x1b[2J"}),
        ("continue_workflow", {"ackToken": token, "output": {"artifacts": [[]]}}),
        ("continue_workflow", {"ackToken": token, "context": {"a": json.loads("[" * 80 + "]" * 80)}}),
        ("checkpoint_workflow", {"checkpointToken": checkpoint}),
        ("checkpoint_workflow", {"checkpointToken": token, "output": {"notesMarkdown": "x"}}),
        ("resume_session", {"query": ["a"]}),
    ]
    return [server.call(tool, **arguments) for tool, arguments in lines]


@pytest.mark.promise("errors.as-data")
def test_every_bad_call_over_every_tool_is_answered_with_a_code_and_a_next_step(product: Product) -> None:
    with product.serve() as server:
        answers = wrong_calls(server, plain(product))
        alive = server.call("list_workflows")

    for answer in answers:
        assert answer.is_error, answer
        assert re.fullmatch(r"[A-Z][A-Z_]+", answer.structured["code"]), answer
        assert answer.structured["code"] != "INTERNAL_ERROR", answer
        assert answer.structured["message"] in answer.text
        assert answer.structured["suggestion"] in answer.text
        assert "Traceback" not in answer.text
    assert not alive.is_error


@pytest.mark.promise("errors.as-data")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("continue_workflow", {"ackToken": None}),
        ("start_workflow", {"workflowId": "trial.plian"}),
        ("start_workflow", {"workflow_id": "trial.plain"}),
        ("resume_session", {"qeury": "x"}),
    ],
)
def test_the_call_that_an_error_offers_works_as_it_is_printed(
    product: Product, tool: str, arguments: dict[str, Any]
) -> None:
    plain(product)
    with product.serve() as server:
        refused = server.call(tool, **arguments)
        offered = refused.structured["details"]["next_call"]

        followed = server.call(offered["tool"], **offered["params"])

    assert refused.is_error
    assert not followed.is_error, (offered, followed.text)


@pytest.mark.promise("errors.as-data")
def test_a_call_with_placeholders_that_an_error_offers_is_refused_until_they_are_filled(
    product: Product,
) -> None:
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId="wr.refactor")
        offered = refused.structured["details"]["next_call"]

        followed = server.call(offered["tool"], **offered["params"])

    assert refused.is_error
    assert followed.is_error, followed.text[:400]


@pytest.mark.promise("errors.as-data")
def test_the_command_line_answers_bad_commands_as_data_that_name_the_next_command(product: Product) -> None:
    lines = [
        ("run", "continue", "--ack", "zzz"),
        ("run", "start", "trial.nothing", "--request-id", "a"),
        ("run", "checkpoint", "--checkpoint", "ck1", "--notes", "x"),
        ("workflow", "inspect", "trial.nothing"),
        ("session", "show", "ses_000000000000"),
    ]

    found = [product.error(*line) for line in lines]

    for error in found:
        assert re.fullmatch(r"[A-Z][A-Z_]+", error["code"])
        assert error["details"]["agent_action"]
        assert error["details"]["next_command"].startswith("handrail ")
        assert isinstance(error["retryable"], bool)


@pytest.mark.promise("errors.retry")
def test_every_refusal_carries_a_retry_of_the_closed_set_in_data_and_text(product: Product) -> None:
    with product.serve() as server:
        answers = wrong_calls(server, plain(product))

    for answer in answers:
        retry = answer.structured["retry"]
        assert retry["kind"] in RETRY_KINDS, retry
        assert f"retry: {retry['kind']}" in answer.text
        assert set(retry) <= {"kind", "afterMs"}


@pytest.mark.promise("errors.retry")
def test_a_session_that_another_process_holds_is_the_one_trouble_that_may_be_sent_again(
    product: Product,
) -> None:
    product.environment["HANDRAIL_TIMEOUT"] = "1"
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        held = product.home / "data" / "sessions" / session(started) / "lock"
        with held.open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            refused = report(server, started, "First.")
        sent_again = report(server, started, "First.")

    assert refused.is_error
    assert refused.structured["retry"]["kind"] in RETRY_KINDS - {"not_retryable"}, refused.text
    assert not sent_again.is_error
    assert sent_again.structured["pending"]["stepId"] == "two"


@pytest.mark.promise("replies.both-channels")
def test_replies_of_start_blocked_continue_and_checkpoint_say_everything_in_both_channels(
    product: Product,
) -> None:
    long = "Line with ünïcödé → and `code`.\n" * 40
    made = workflow(
        "both",
        step("first", prompt=long, output={"contractRef": "wr.contracts.decision"}),
        step("second", requireConfirmation=True),
        {
            "type": "choice",
            "id": "pick",
            "title": "Pick one",
            "prompt": "Which way?",
            "options": [{"id": "left", "label": "To the left"}, {"id": "right", "label": "To the right"}],
        },
        step("end"),
    )
    workflow_id = product.workflow(made)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, goal="Round it right")
        blocked = report(server, started, "Nothing yet.")
        second = report(server, blocked, "Decided.", DECISION)
        saved = save(server, second, "Half of it.")
        choice = report(server, second, "Confirmed.")
        read = again(server, choice)

    silent = {"kind", "nextIntent", "tool", "type"}
    for reply in (started, blocked, second, saved, choice, read):
        told = json.loads(json.dumps(reply.structured))
        told.pop("_untrusted", None)
        for name in silent:
            told.pop(name, None)
        values = [
            text
            for key, held in told.items()
            if key not in {"nextCall", "recap", "example"}
            for text in leaves(held)
        ]
        for value in values:
            assert value in reply.text, (value, reply.text)
    assert json.dumps(blocked.structured["example"], separators=(",", ":")) in blocked.text
    assert second.structured["pending"]["requireConfirmation"] is True
    assert "confirm" in second.text
    for option in choice.structured["nextCall"]["options"]:
        assert json.dumps(option["params"], separators=(",", ":"), ensure_ascii=False) in choice.text
    assert "Half of it." in read.text
    assert "Half of it." in strings(read.structured["recap"])


def leaves(value: Any) -> list[str]:
    """Every text value inside a JSON value, keys and marks of trust left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [
            text for key, held in value.items() if key not in {"_untrusted", "kind"} for text in leaves(held)
        ]
    if isinstance(value, list):
        return [text for held in value for text in leaves(held)]
    return []


@pytest.mark.promise("replies.no-template-version")
def test_no_reply_error_or_document_names_a_version_of_its_text_rules(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, goal="g")
        blocked = report(server, started)
        saved = save(server, blocked, "Half.")
        replies = [started, blocked, saved, again(server, saved), report(server, saved, "n", DECISION)]
        replies += [server.call("resume_session"), server.call("continue_workflow", ackToken="x")]
    shown = product.run("run", "continue", "--state", started.structured["stateToken"]).document

    mark = re.compile(
        r"(template|render\w*|text|layout|prompt)[\s_-]*(version|rev(ision)?|v\d)", re.IGNORECASE
    )
    for reply in replies:
        assert not mark.search(reply.text), reply.text
        keys = {text.lower() for text in strings(reply.structured)}
        assert not [key for key in keys if mark.search(key)]
        assert "version" not in keys
    assert not mark.search(json.dumps(shown["data"]))


@pytest.mark.promise("workflows.read-only")
def test_listing_and_inspecting_in_every_way_leave_every_stored_byte_as_it_was(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        report(server, server.call("start_workflow", workflowId=workflow_id), "n")
        before = store(product)

        server.call("list_workflows")
        server.call("list_workflows", query="review")
        for part in ("summary", "inputs", "steps"):
            assert not server.call("inspect_workflow", workflowId=workflow_id, part=part).is_error
            assert not server.call("inspect_workflow", workflowId="wr.code_review", part=part).is_error
        server.call("inspect_workflow", workflowId="trial.nothing")
        product.run("workflow", "list")
        product.run("workflow", "inspect", workflow_id)

        assert store(product) == before


@pytest.mark.promise("workflows.read-only")
def test_listing_and_inspecting_in_a_fresh_home_store_no_session(product: Product) -> None:
    with product.serve() as server:
        server.call("list_workflows")
        server.call("inspect_workflow", workflowId="wr.small_change", part="steps")

    assert [name for name in store(product) if "/sessions/" in name or "/blobs/" in name] == []
