"""Forks, recaps and what each attempt leaves behind."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.journeys.strangers.execution.flows_b import (
    FINDINGS,
    ack,
    codes,
    document,
    events,
    follow,
    reread,
    run_of,
    session_of,
    start,
    steps,
    stored,
    three,
)
from tests.journeys.strangers.product import Product, Server


@pytest.mark.promise("continue.fork")
def test_a_fork_through_a_checkpoint_and_a_blocked_try_is_still_told_as_a_fork(product: Product) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(2),
    ]
    workflow = product.workflow(document("project.look", parts))
    with product.serve() as server:
        begun = start(server, workflow)
        blocked = ack(server, begun, "first try")
        went_on = ack(server, blocked, "the first way", FINDINGS)
        ack(server, went_on, "after the first way")
        saved = server.call(
            "checkpoint_workflow",
            checkpointToken=begun.structured["checkpointToken"],
            output={"notesMarkdown": "half of the second way"},
        )

        forked = ack(server, saved, "the second way", FINDINGS)

        shown = product.data("session", "show", session_of(begun))["runs"][0]
    assert forked.structured["kind"] == "ok", forked.text
    assert "fork" in forked.text
    assert "the first way" in forked.text
    children = forked.structured["recap"]["children"]
    assert [child["notes"] for child in children if child["notes"]][-1] == "the first way"
    assert forked.structured["recap"]["stoodAt"]["pendingStepId"] == "s2"
    assert shown["fork_count"] == 1
    assert shown["pending_step"]["id"] == "s1" if isinstance(shown["pending_step"], dict) else True


@pytest.mark.promise("continue.fork")
def test_the_branch_that_a_fork_leaves_is_not_called_preferred_when_the_run_goes_on_with_the_fork(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        ack(server, ack(server, begun, "old one"), "old two")

        forked = ack(server, reread(server, begun), "new one")

        shown = product.data("session", "show", session_of(begun))["runs"][0]
    preferred = {node["id"] for node in shown["nodes"] if node["is_preferred"]}
    told = {child["nodeId"] for child in forked.structured["recap"]["children"] if child["isPreferred"]}
    assert shown["preferred_tip"] in preferred
    assert told == set(), "the reply calls a branch preferred that the session does not prefer any more"


@pytest.mark.promise("recap.tip")
def test_a_tip_below_a_fork_recaps_its_own_way_and_says_nothing_of_the_other_branch(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        first = ack(server, begun, "way A one")
        ack(server, first, "way A two")
        second = ack(server, reread(server, begun), "way B one")
        tip = ack(server, second, "way B two")

        found = reread(server, tip)

    recap = found.structured["recap"]
    assert [entry["notes"] for entry in recap["entries"]] == ["way B one", "way B two"]
    assert set(recap) & {"children", "downstream", "current", "stoodAt"} == set()
    assert "way A" not in found.text
    assert "branch" not in found.text.lower()


@pytest.mark.promise("recap.budget")
def test_a_recap_of_large_and_tiny_notes_keeps_the_newest_within_12_kb_and_counts_the_rest(
    product: Product,
) -> None:
    workflow = product.workflow(document("project.long", steps(40)))
    with product.serve() as server:
        reply = start(server, workflow)
        for number in range(1, 36):
            reply = ack(server, reply, f"note {number} " + 'ü"' * 300)

        found = reread(server, reply)

    recap = found.structured["recap"]
    kept = [int(entry["notes"].split()[1]) for entry in recap["entries"]]
    assert kept == list(range(36 - len(kept), 36))
    assert len(json.dumps(recap["entries"], ensure_ascii=False).encode()) <= 12 * 1024 + 512
    omitted = 35 - len(kept)
    assert omitted > 0
    assert recap["truncated"] is True
    assert omitted in [value for key, value in recap.items() if key != "entries"]
    assert f"Omitted {omitted} " in found.text


@pytest.mark.promise("recap.budget")
def test_one_note_larger_than_the_budget_is_cut_with_a_mark_and_not_left_out_in_silence(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        reply = ack(server, start(server, workflow), "BEGIN " + "€" * 20_000 + " END")

        found = reread(server, reply)

    assert len(found.text.encode()) < 16 * 1024
    assert "�" not in found.text
    assert "TRUNCATED" in found.text.upper()
    assert "trunc" in json.dumps(found.structured["recap"]).lower()


@pytest.mark.promise("notes.per-step")
def test_the_notes_of_a_step_are_stored_alone_and_two_steps_with_the_same_notes_are_both_in_the_recap(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        tip = ack(server, ack(server, begun, "same words"), "same words")

        found = reread(server, tip)
        outputs = events(product, session_of(begun), "node_output_appended")

    assert [entry["notes"] for entry in found.structured["recap"]["entries"]] == ["same words", "same words"]
    assert [entry["stepId"] for entry in found.structured["recap"]["entries"]] == ["s1", "s2"]
    assert [output["data"]["notes"]["text"] for output in outputs] == ["same words", "same words"]


@pytest.mark.promise("lineage.edges")
def test_each_way_to_move_leaves_one_node_and_one_edge_of_its_own_kind(product: Product) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(1),
    ]
    workflow = product.workflow(document("project.look", parts))
    with product.serve() as server:
        begun = start(server, workflow)
        saved = server.call(
            "checkpoint_workflow",
            checkpointToken=begun.structured["checkpointToken"],
            output={"notesMarkdown": "half"},
        )
        blocked = ack(server, saved, "nothing else")
        ack(server, blocked, None, FINDINGS)

        found = events(product, session_of(begun))

    nodes = [event["data"]["nodeKind"] for event in found if event["kind"] == "node_created"]
    edges = [event for event in found if event["kind"] == "edge_created"]
    assert nodes[0] == "step"
    assert nodes[1] == "checkpoint"
    assert nodes[3] == "step"
    assert len(nodes) == 4
    assert len(set(nodes)) == 3
    kinds = [edge["data"]["edgeKind"] for edge in edges]
    assert kinds[0] == "checkpoint"
    assert kinds[2] == "acked_step"
    assert len(kinds) == 3
    assert len(set(kinds)) == 3
    made = {event["scope"]["nodeId"] for event in found if event["kind"] == "node_created"}
    assert {edge["data"]["toNodeId"] for edge in edges} < made
    assert {edge["data"]["fromNodeId"] for edge in edges} < made


@pytest.mark.promise("continue.recorded")
def test_two_blocked_tries_and_a_good_one_are_three_records_with_three_outcomes(product: Product) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(1),
    ]
    workflow = product.workflow(document("project.look", parts))
    with product.serve() as server:
        begun = start(server, workflow)
        first = ack(server, begun, "one")
        second = ack(server, first, "two")
        third = ack(server, second, "three", FINDINGS)
        again = ack(server, begun, "one")

        records = events(product, session_of(begun), "advance_recorded")

    assert [record["data"]["outcome"]["kind"] for record in records] == ["blocked", "blocked", "advanced"]
    assert len({record["scope"]["nodeId"] for record in records}) == 3
    assert len({record["data"]["attemptId"] for record in records}) == 3
    assert third.structured["pending"]["stepId"] == "s1"
    assert again.structured["blockers"] == first.structured["blockers"]


@pytest.mark.promise("continue.once")
def test_four_servers_with_one_ack_make_one_record_and_answer_alike(product: Product) -> None:
    workflow = three(product)
    with product.serve() as first, product.serve() as second, product.serve() as third:
        begun = start(first, workflow)

        def send(server: Server) -> str:
            return json.dumps(ack(server, begun, "the one").structured, sort_keys=True)

        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(send, [first, second, third]))

        late = ack(second, begun, "the one")
        records = events(product, session_of(begun), "advance_recorded")
        nodes = events(product, session_of(begun), "node_created")

    plain = [
        {k: v for k, v in json.loads(reply).items() if k not in ("warnings", "recap")} for reply in replies
    ]
    assert plain[0] == plain[1] == plain[2]
    assert late.structured["stateToken"] == plain[0]["stateToken"]
    assert len(records) == 1
    assert len(nodes) == 2


@pytest.mark.promise("continue.once")
def test_a_replay_after_the_workflow_file_and_the_preferences_changed_returns_the_same_reply(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        first = ack(server, begun, "the one")
    product.workflow(document("project.three", [{"id": "s9", "title": "Other", "prompt": "Other."}]))
    with product.serve() as server:
        again = ack(server, begun, "the one")

    assert again.structured["pending"] == first.structured["pending"]
    assert again.structured["stateToken"] == first.structured["stateToken"]
    assert again.structured["ackToken"] == first.structured["ackToken"]
    assert "REPLAY_INPUT_MISMATCH" not in codes(again)


@pytest.mark.promise("rehydrate.cannot-append")
def test_reading_again_with_context_and_output_besides_leaves_every_byte_of_the_session(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        tip = ack(server, begun, "one")
        before = stored(product, session_of(begun))

        reread(server, begun)
        reread(server, tip)
        greedy = server.call(
            "continue_workflow",
            stateToken=tip.structured["stateToken"],
            context={"sneaky": "value-of-a-reader"},
            output={"notesMarkdown": "notes-of-a-reader", "artifacts": [{"kind": "wr.gap"}]},
        )

        after = stored(product, session_of(begun))
        runs = product.data("session", "show", session_of(begun))["runs"]
    assert after == before
    assert b"reader" not in after
    assert greedy.is_error or codes(greedy), "what was sent besides is neither refused nor named"
    assert [run["id"] for run in runs] == [run_of(begun)]


@pytest.mark.promise("continue.fork")
def test_a_checkpoint_at_an_old_node_does_not_reopen_a_finished_run(product: Product) -> None:
    workflow = product.workflow(document("project.two", steps(2)))
    with product.serve() as server:
        begun = start(server, workflow)
        ended = ack(server, ack(server, begun, "one"), "two")
        saved = server.call(
            "checkpoint_workflow",
            checkpointToken=begun.structured["checkpointToken"],
            output={"notesMarkdown": "a late thought"},
        )

        resumed = server.call("resume_session").structured["items"][0]
        shown = product.data("session", "show", session_of(begun))["runs"][0]

    assert ended.structured["isComplete"] is True
    assert not saved.is_error
    assert shown["status"] == resumed["status"] == "complete"
    assert follow_is_complete(product, resumed)


def follow_is_complete(product: Product, item: dict[str, object]) -> bool:
    call = item["nextCall"]
    assert isinstance(call, dict)
    with product.serve() as server:
        return bool(follow(server, call).structured["isComplete"])
