"""Tokens in wrong hands, wrong places and wrong spelling."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.journeys.strangers.execution.flows_a import (
    DECISION,
    ack,
    again,
    blockers,
    changed,
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
    workflow,
)
from tests.journeys.strangers.product import Called, Product, Server

TOKEN_CODES = {
    "TOKEN_INVALID_FORMAT",
    "TOKEN_UNSUPPORTED_VERSION",
    "TOKEN_BAD_SIGNATURE",
    "TOKEN_SCOPE_MISMATCH",
    "TOKEN_UNKNOWN_NODE",
}


def tokens(value: Any) -> Iterator[str]:
    """Every token inside a reply, those of offered calls included."""
    if isinstance(value, dict):
        for key, held in value.items():
            if isinstance(held, str) and key.lower().endswith("token"):
                yield held
            else:
                yield from tokens(held)
    elif isinstance(value, list):
        for held in value:
            yield from tokens(held)


def raw(server: Server, tool: str, **arguments: Any) -> bytes:
    """The whole result of a call as bytes."""
    return json.dumps(server.ask("tools/call", name=tool, arguments=arguments)["result"]).encode()


def walk(product: Product, server: Server) -> list[Called]:
    """Replies of every kind of one run: a start, a checkpoint, an advance, a fork and an old step."""
    started = server.call("start_workflow", workflowId=plain(product), goal="Visible goal")
    saved = save(server, started, "Saved.")
    second = report(server, started, "One.")
    old = again(server, started)
    return [started, saved, second, old, report(server, old, "Other.")]


@pytest.mark.promise("tokens.opaque")
def test_every_token_of_an_offered_call_is_ready_and_names_no_run_step_goal_or_node(product: Product) -> None:
    with product.serve() as server:
        replies = walk(product, server)

    run_id = replies[0].structured["session"]["runId"].split("_")[1]
    nodes = [node["id"].split("_")[1] for node in run_of(product, replies[0])["nodes"]]
    for reply in replies:
        offered = reply.structured["nextCall"]["params"]["ackToken"]
        assert offered == reply.structured["ackToken"]
        assert offered in reply.text
        for token in tokens(reply.structured):
            assert token.isalnum()
            for shown in (run_id, "trial", "plain", "one", "visible", *nodes):
                assert shown not in token[3:].lower(), (shown, token)


@pytest.mark.promise("tokens.opaque")
def test_a_token_spells_its_session_and_nothing_else_of_the_run(product: Product) -> None:
    with product.serve() as server:
        replies = walk(product, server)

    shown = replies[0].structured
    spelled = [
        shown["session"]["runId"].split("_")[1],
        shown["pending"]["stepId"],
        shown["session"]["workflowId"],
    ]
    handed_out = [token for reply in replies for token in tokens(reply.structured)]
    assert all(session(replies[0]).split("_")[1] in token for token in handed_out)
    assert [token for token in handed_out for word in spelled if word in token[3:]] == []


@pytest.mark.promise("tokens.checked")
@pytest.mark.parametrize("name", ["stateToken", "ackToken", "checkpointToken"])
def test_a_changed_invented_or_newer_token_is_refused_by_its_own_code_and_stores_nothing(
    product: Product, name: str
) -> None:
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=plain(product))
        good = str(started.structured[name])
        tool = "checkpoint_workflow" if name == "checkpointToken" else "continue_workflow"
        more = {"output": {"notesMarkdown": "x"}} if name == "checkpointToken" else {}
        before = store(product)

        twice = server.call(tool, **{name: changed(good, 20, 35)}, **more)
        invented = server.call(tool, **{name: good[:3] + "b" * (len(good) - 3)}, **more)
        newer = server.call(tool, **{name: good[:2] + "2" + "b" * (len(good) - 3)}, **more)
        halved = server.call(tool, **{name: good[: len(good) // 2]}, **more)
        foreign = server.call(tool, **{name: "st.v1.eyJ3b3JrZmxvdyI6ICJhIn0"}, **more)

        assert store(product) == before
    assert twice.structured["code"] == invented.structured["code"] == "TOKEN_BAD_SIGNATURE"
    assert newer.structured["code"] == "TOKEN_UNSUPPORTED_VERSION"
    assert halved.structured["code"] in TOKEN_CODES
    assert foreign.structured["code"] == "TOKEN_INVALID_FORMAT"


@pytest.mark.promise("tokens.checked")
def test_a_good_token_under_another_version_is_refused_and_does_not_advance(product: Product) -> None:
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=plain(product))
        before = store(product)

        found = server.call("continue_workflow", ackToken=ack(started)[:2] + "2" + ack(started)[3:])

        assert store(product) == before, found.text
    assert found.structured["code"] == "TOKEN_UNSUPPORTED_VERSION"


@pytest.mark.promise("tokens.checked")
def test_a_token_with_one_changed_character_is_repaired_aloud_and_with_two_refused(product: Product) -> None:
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=plain(product))
        before = store(product)

        twice = server.call("continue_workflow", ackToken=changed(ack(started), 30, 40))
        stored = store(product)
        once = server.call("continue_workflow", ackToken=changed(ack(started), 30))

    assert twice.is_error
    assert stored == before
    assert "TOKEN_REPAIRED" in once.text
    assert "TOKEN_REPAIRED" in [warning["code"] for warning in once.structured["warnings"]]


@pytest.mark.promise("checkpoint.handle")
def test_tokens_of_another_kind_or_another_home_make_no_checkpoint(product: Product) -> None:
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=plain(product))
        foreign = started.structured["checkpointToken"]
        before = store(product)
        kinds = [
            server.call(
                "checkpoint_workflow", checkpointToken=started.structured[name], output={"notesMarkdown": "x"}
            )
            for name in ("stateToken", "ackToken")
        ]

        assert store(product) == before
    product.environment["HANDRAIL_HOME"] = str(product.home.with_name("other"))
    with product.serve() as server:
        server.call("start_workflow", workflowId="trial.plain")
        elsewhere = server.call("checkpoint_workflow", checkpointToken=foreign, output={"notesMarkdown": "x"})

    assert [reply.structured["code"] for reply in kinds] == ["TOKEN_SCOPE_MISMATCH"] * 2
    assert elsewhere.structured["code"] in TOKEN_CODES
    assert elsewhere.is_error


@pytest.mark.promise("checkpoint.handle")
def test_a_checkpoint_token_with_two_changed_characters_makes_no_checkpoint(product: Product) -> None:
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=plain(product))
        token = changed(str(started.structured["checkpointToken"]), 30, 40)
        before = store(product)

        found = server.call("checkpoint_workflow", checkpointToken=token, output={"notesMarkdown": "x"})

        assert store(product) == before, found.text
    assert found.is_error


@pytest.mark.promise("tokens.scope")
def test_tokens_of_two_steps_two_runs_and_two_sessions_are_refused_together(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        first = server.call("start_workflow", workflowId=workflow_id)
        sibling = server.call("start_workflow", workflowId=workflow_id, session=session(first))
        stranger = server.call("start_workflow", workflowId=workflow_id)
        second = report(server, first, "One.")
        before = store(product)

        mixed = [
            report(server, second, "Mixed.", stateToken=other.structured["stateToken"])
            for other in (first, sibling, stranger)
        ]

        assert store(product) == before
        advanced = report(server, second, "Right.", stateToken=second.structured["stateToken"])
    assert [reply.structured["code"] for reply in mixed] == ["TOKEN_SCOPE_MISMATCH"] * 3
    assert pending(advanced) == "three"


@pytest.mark.promise("checkpoint.scope")
def test_a_checkpoint_token_is_refused_beside_the_state_of_another_step_run_or_session(
    product: Product,
) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        first = server.call("start_workflow", workflowId=workflow_id)
        sibling = server.call("start_workflow", workflowId=workflow_id, session=session(first))
        stranger = server.call("start_workflow", workflowId=workflow_id)
        second = report(server, first, "One.")
        before = store(product)

        mixed = [
            save(server, second, "Mixed.", stateToken=other.structured["stateToken"])
            for other in (first, sibling, stranger)
        ]
        mixed.append(save(server, first, "Mixed.", stateToken=second.structured["stateToken"]))

        assert store(product) == before
        own = save(server, second, "Right.", stateToken=second.structured["stateToken"])
    assert [reply.structured["code"] for reply in mixed] == ["TOKEN_SCOPE_MISMATCH"] * 4
    assert pending(own) == "two"


@pytest.mark.promise("start.hash")
def test_the_hash_of_a_run_is_the_digest_of_the_stored_workflow_and_outlives_its_file(
    product: Product,
) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        product.workflow(workflow("plain", step("one"), step("other")))
        later = server.call("start_workflow", workflowId=workflow_id)
        (product.project / ".handrail" / "workflows" / f"{workflow_id}.json").unlink()
        second = report(server, started, "One.")

    told = started.structured["workflow"]["workflowHash"]
    stored = product.home / "data" / "blobs" / told.removeprefix("sha256:")[:2] / told.removeprefix("sha256:")
    assert f"sha256:{hashlib.sha256(stored.read_bytes()).hexdigest()}" == told
    assert b"Do three." in stored.read_bytes()
    assert run_of(product, started)["workflow_hash"] == told
    assert later.structured["workflow"]["workflowHash"] != told
    assert second.structured["pending"]["prompt"] == "Do two."


@pytest.mark.promise("continue.replay.same-bytes")
def test_a_repeated_ack_has_the_same_bytes_in_a_new_process_after_the_run_moved_on(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, goal="g")
        sent = {"ackToken": ack(started), "output": {"notesMarkdown": "One."}, "context": {"a": 1}}
        first = raw(server, "continue_workflow", **sent)
        second = server.call("continue_workflow", **sent)
        report(server, again(server, started), "A fork.")
        save(server, second, "Later.")
        report(server, second, "Two.")
        before = store(product)
    product.workflow(workflow("plain", step("quite"), step("different")))
    with product.serve() as server:
        again_sent = raw(server, "continue_workflow", **sent)
        with_state = raw(server, "continue_workflow", stateToken=started.structured["stateToken"], **sent)

    assert first == again_sent == with_state
    assert store(product) == before


@pytest.mark.promise("continue.replay.no-recompute")
def test_a_replay_answers_as_recorded_though_mode_file_and_contract_would_decide_otherwise(
    product: Product,
) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        blocked = raw(server, "continue_workflow", ackToken=ack(started))
        retry = ack(report(server, started))
        advanced = raw(server, "continue_workflow", ackToken=retry, output={"artifacts": [DECISION]})
        prefer(product, session(started), "--autonomy", "full_auto_never_stop")
        (product.project / ".handrail" / "workflows" / f"{workflow_id}.json").write_text(
            "{ broken", encoding="utf-8"
        )
        before = store(product)

        assert raw(server, "continue_workflow", ackToken=ack(started)) == blocked
        assert raw(server, "continue_workflow", ackToken=retry, output={"artifacts": [DECISION]}) == advanced
        assert store(product) == before


@pytest.mark.promise("blocked.replay")
def test_a_blocked_reply_comes_again_byte_for_byte_after_the_step_was_corrected(product: Product) -> None:
    workflow_id = deciding(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        sent: dict[str, Any] = {
            "ackToken": ack(started),
            "output": {"artifacts": [DECISION | {"chosen": 5, "options": []}]},
        }
        first = raw(server, "continue_workflow", **sent)
        blocked = server.call("continue_workflow", **sent)
        second = report(server, blocked, "Right now.", DECISION)
        before = store(product)
    with product.serve() as server:
        replayed = raw(server, "continue_workflow", **sent)

    assert blockers(blocked) == ["INVALID_REQUIRED_OUTPUT"]
    assert pending(second) == "second"
    assert replayed == first
    assert store(product) == before


@pytest.mark.promise("checkpoint.replay")
def test_a_checkpoint_sent_three_times_is_one_node_and_one_answer(product: Product) -> None:
    workflow_id = plain(product)
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        sent = {
            "checkpointToken": started.structured["checkpointToken"],
            "output": {"notesMarkdown": "Half."},
        }
        first = raw(server, "checkpoint_workflow", **sent)
        before = store(product)
        report(server, started, "One.")
        advanced = store(product)
        second = raw(server, "checkpoint_workflow", **sent)

        assert store(product) == advanced != before
    with product.serve() as server:
        third = raw(server, "checkpoint_workflow", **sent)

    nodes = run_of(product, started)["nodes"]
    assert first == second == third
    assert store(product) == advanced
    assert [node["kind"] for node in nodes].count("checkpoint") == 1
