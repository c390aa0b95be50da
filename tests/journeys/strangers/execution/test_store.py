"""Tokens, damaged sessions, locks and the log itself."""

from __future__ import annotations

import fcntl
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.strangers.execution.flows_b import (
    ack,
    codes,
    events,
    follow,
    reread,
    session_of,
    start,
    stored,
    three,
)
from tests.journeys.strangers.product import PROGRAM, Called, Product, Server


def log(product: Product, session: str) -> Path:
    return product.home / "data" / "sessions" / session / "events-000001.jsonl"


def flip(product: Product, session: str) -> None:
    """Changes one letter of the note "two", as a failing disk would."""
    path = log(product, session)
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"Two"'))


def two_steps(product: Product, server: Server) -> tuple[Called, Called]:
    begun = start(server, three(product), goal="the goal")
    return begun, ack(server, ack(server, begun, "one"), "two")


@pytest.mark.promise("tokens.crypto")
def test_a_token_lives_through_one_rotation_and_not_through_two(product: Product) -> None:
    def rotate() -> None:
        token = product.data("keys", "rotate", "--dry-run")["confirm_token"]
        product.data("keys", "rotate", "--confirm", token)

    with product.serve() as server:
        begun, tip = two_steps(product, server)
    rotate()
    with product.serve() as server:
        once = reread(server, tip)
        assert not once.is_error, once.text
    rotate()
    with product.serve() as server:
        before = stored(product, session_of(begun))
        twice = [reread(server, tip), ack(server, tip, "three")]
        between = reread(server, once)
        after = stored(product, session_of(begun))

    assert all(reply.is_error for reply in twice)
    assert {reply.structured["code"] for reply in twice} == {"TOKEN_BAD_SIGNATURE"}
    assert not between.is_error, "a token of the key before the current one"
    assert before == after


@pytest.mark.promise("tokens.crypto")
def test_tokens_put_together_from_two_others_or_changed_in_two_places_are_refused(product: Product) -> None:
    with product.serve() as server:
        begun, tip = two_steps(product, server)
        one, two = begun.structured["ackToken"], tip.structured["ackToken"]
        middle = len(one) // 2
        swapped = (
            two[:10]
            + ("0" if two[10] != "0" else "1")
            + two[11:20]
            + ("0" if two[20] != "0" else "1")
            + two[21:]
        )
        forged = [
            one[:middle] + two[middle:],
            two[:-12] + one[-12:],
            "st" + two[2:],
            swapped,
            two[:-8],
            "",
        ]
        before = stored(product, session_of(begun))
        replies = [
            server.call("continue_workflow", ackToken=token, output={"notesMarkdown": "forged"})
            for token in forged
        ]

    assert [reply.is_error for reply in replies] == [True] * len(forged)
    assert stored(product, session_of(begun)) == before


@pytest.mark.promise("store.unsound")
def test_a_session_damaged_under_a_running_server_takes_no_more_work(product: Product) -> None:
    with product.serve() as server:
        begun, tip = two_steps(product, server)
        flip(product, session_of(begun))

        replies = {
            "continue": ack(server, tip, "three"),
            "checkpoint": server.call(
                "checkpoint_workflow",
                checkpointToken=tip.structured["checkpointToken"],
                output={"notesMarkdown": "saved"},
            ),
            "join": server.call("start_workflow", workflowId="project.three", session=session_of(begun)),
        }

    taken = [name for name, reply in replies.items() if not reply.is_error]
    kept = product.data("session", "show", session_of(begun))
    assert taken == [], f"answered as done, and of it {kept['event_count']} events can be read"


@pytest.mark.promise("store.unsound")
def test_reading_a_session_damaged_under_a_running_server_says_so_and_offers_no_ack(product: Product) -> None:
    with product.serve() as server:
        begun, tip = two_steps(product, server)
        flip(product, session_of(begun))

        for reply in (reread(server, begun), reread(server, tip)):
            assert reply.is_error or "SESSION_UNSOUND" in codes(reply), reply.text
            assert "ackToken" not in reply.structured


@pytest.mark.promise("store.unsound")
def test_a_new_server_reads_the_proven_part_with_a_banner_and_without_tokens_and_every_list_tells_the_health(
    product: Product,
) -> None:
    with product.serve() as server:
        begun, tip = two_steps(product, server)
    session = session_of(begun)
    flip(product, session)
    with product.serve() as server:
        old = reread(server, begun)
        late = reread(server, tip)
        before = stored(product, session)
        repeated = ack(server, begun, "another way")
        resumed = server.call("resume_session")
    shown = product.data("session", "show", session)
    listed = product.data("session", "list")["items"][0]
    human = product.run("session", "list", "--human").out

    assert "SESSION_UNSOUND" in codes(old)
    assert "damaged" in old.text
    assert {"ackToken", "checkpointToken"} & set(old.structured) == set()
    assert repeated.is_error or "SESSION_UNSOUND" in codes(repeated)
    assert "ackToken" not in repeated.structured
    assert stored(product, session) == before
    assert late.is_error
    assert "store verify" in late.text, "an error without a call that helps"
    assert session in resumed.text
    assert "damaged" in resumed.text
    assert listed["health"] == shown["health"]["state"] == "corrupt_tail"
    assert "corrupt" in human or "damaged" in human, "the list for people shows a session like any other"


@pytest.mark.promise("store.unsound")
def test_every_command_that_the_banner_prints_works_as_printed(product: Product) -> None:
    with product.serve() as server:
        begun, _ = two_steps(product, server)
    flip(product, session_of(begun))
    banner = product.data("session", "show", session_of(begun))["health"]["banner"]
    verify = banner[banner.index("handrail store verify") :].split(", and")[0]
    salvage = (
        banner[banner.index("handrail session export") :].split(" to keep")[0].replace("FILE", "saved.json")
    )

    checked = product.run(*shlex.split(verify)[1:])
    exported = product.run(*shlex.split(salvage)[1:])

    assert PROGRAM.endswith(shlex.split(verify)[0])
    assert exported.status == 0, exported.out
    assert checked.document.get("error", {}).get("code") != "E_USAGE", (verify, checked.out)


@pytest.mark.promise("store.witness")
def test_while_another_process_holds_the_session_a_call_gives_up_in_time_and_writes_no_byte(
    product: Product,
) -> None:
    with product.serve() as server:
        begun, tip = two_steps(product, server)
    session = session_of(begun)
    before = stored(product, session)
    with (log(product, session).parent / "lock").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ran = product.run(
            "run", "continue", "--ack", tip.structured["ackToken"], "--notes", "x", "--timeout", "1"
        )
        during = stored(product, session)
    late = product.run("run", "continue", "--ack", tip.structured["ackToken"], "--notes", "x")

    assert ran.status != 0
    assert "LOCKED" in ran.out or "E_TIMEOUT" in ran.out
    assert during == before
    assert late.status == 0
    assert late.document["data"]["isComplete"] is True


@pytest.mark.promise("events.closed-set")
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b'"kind":"node_output_appended"', b'"kind":"node_wizard_appended"', 1),
        lambda text: text.replace(b'"event":{"v":1', b'"event":{"v":9', 6),
    ],
)
def test_an_event_of_another_kind_or_version_ends_what_is_read_and_is_never_shown(
    product: Product, change: Callable[[bytes], bytes]
) -> None:
    with product.serve() as server:
        begun, _ = two_steps(product, server)
    session = session_of(begun)
    whole = len(events(product, session))
    path = log(product, session)
    path.write_bytes(change(path.read_bytes()))

    found = product.data("session", "events", session, "--limit", "200")

    assert len(found["items"]) < whole
    assert found["health"] != "healthy"
    assert found["banner"]
    assert {event["v"] for event in found["items"]} <= {1}
    assert "wizard" not in json.dumps(found["items"])


@pytest.mark.promise("events.closed-set")
def test_the_log_of_a_lively_session_holds_only_kinds_that_have_a_name_and_version_one(
    product: Product,
) -> None:
    with product.serve() as server:
        begun, tip = two_steps(product, server)
        gap = {"kind": "wr.gap", "severity": "info", "summary": "x"}
        ack(server, reread(server, begun), "fork", gap)
        ack(server, tip, "three")

    found = events(product, session_of(begun))
    kinds = {event["kind"] for event in found}
    assert {event["v"] for event in found} == {1}
    assert {"session_created", "run_started", "node_created", "edge_created", "advance_recorded"} <= kinds
    assert {"node_output_appended", "gap_recorded", "preferences_changed", "decision_trace_appended"} <= kinds
    assert [event["eventIndex"] for event in found] == list(range(len(found)))
    assert len({event["dedupeKey"] for event in found}) == len(found)


@pytest.mark.promise("continue.once")
def test_a_repeated_ack_with_other_content_stores_nothing_and_its_offered_call_makes_a_fork(
    product: Product,
) -> None:
    with product.serve() as server:
        begun, _ = two_steps(product, server)
        before = stored(product, session_of(begun))

        refused = ack(
            server, begun, "other words\nin two lines", {"kind": "wr.gap", "severity": "info", "summary": "x"}
        )
        after = stored(product, session_of(begun))
        forked = follow(server, refused.structured["warnings"][0]["nextCall"])
        run = product.data("session", "show", session_of(begun))["runs"][0]

    assert refused.text.startswith("Warning REPLAY_INPUT_MISMATCH: Nothing")
    assert after == before
    assert "fork" in forked.text
    assert run["fork_count"] == 1
    assert [gap["summary"] for gap in run["gaps"]] == ["x"]
    assert run["notes"][0]["text"] == "other words\nin two lines"
