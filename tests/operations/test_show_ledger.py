"""The ledger of a run: one entry per accepted change, a checksum anyone can follow, and its three modes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
import rfc8785

from handrail.contract.conformance.check import check
from handrail.contract.disclosure.fields import Ask, Budget
from handrail.contract.envelopes.lafs import to_lafs
from handrail.contract.ledger import fold_ledger
from handrail.contract.outcome import Call, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.rich_session import rich_session, to_the_end


def plain(value: Any) -> Any:
    """As it is read on the other side."""
    return json.loads(msgspec.json.encode(value))


def ledger(runtime: Runtime, reply: dict[str, Any], **params: Any) -> Any:
    return plain(answer(runtime, "ledger.show", runId=reply["session"]["runId"], **params))


def checksum(ledger_id: str, entries: list[Any]) -> str:
    """The chain by another implementation of RFC 8785."""
    reached = _digest({"ledgerId": ledger_id})
    for entry in entries:
        reached = _digest([reached, entry])
    return reached


def _digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def test_every_accepted_change_is_one_entry(runtime: Runtime) -> None:
    whole = ledger(runtime, rich_session(runtime))

    assert [entry["operation"] for entry in whole["entries"]] == [
        "run.start",
        "run.continue",
        "run.continue",
        "run.checkpoint",
        "run.continue",
        "run.continue",
        "run.continue",
    ]
    assert [entry["version"] for entry in whole["entries"]] == [1, 2, 3, 4, 5, 6, 7]
    assert (whole["version"], whole["maxEntries"], whole["has_more"]) == (7, 1_000_000, False)


def test_the_checksum_is_the_chain_over_the_entries(runtime: Runtime) -> None:
    whole = ledger(runtime, rich_session(runtime))

    assert whole["checksum"] == checksum(whole["ledgerId"], whole["entries"])


def test_an_entry_tells_what_changed_and_nothing_else(runtime: Runtime) -> None:
    entries = ledger(runtime, rich_session(runtime))["entries"]
    deltas = [entry["contextDelta"] for entry in entries]

    assert deltas[0]["objective"] == "Make the cache <fast>"
    assert [one["value"] for one in deltas[0]["constraints"]] == ["no new deps", "guided", "conservative"]
    assert [one["id"] for one in deltas[0]["references"]] == ["workflow"]
    assert deltas[1]["state"]["status"] == "blocked"
    assert [(one["action"], one["value"]["code"]) for one in deltas[1]["openIssues"]] == [
        ("append", "MISSING_REQUIRED_OUTPUT")
    ]
    assert [(one["action"], one["id"][:7]) for one in deltas[2]["openIssues"]] == [
        ("remove", "blocker"),
        ("append", "gap_" + deltas[2]["state"]["nodeId"][4:7]),
    ]
    assert [one["value"]["reason"] for one in deltas[2]["decisions"]] == ["safety_stop"]
    assert set(deltas[3]) == {"state"}
    assert deltas[4]["decisions"][0]["value"] == {"step": "size", "option": "small"}
    assert deltas[6]["decisions"][0]["id"] == f"fork.{deltas[6]['state']['nodeId']}"


def test_the_state_is_what_all_entries_add_up_to(runtime: Runtime) -> None:
    reply = rich_session(runtime)
    to_the_end(runtime, reply["session"]["sessionId"])
    shown = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])["runs"][0]

    state = ledger(runtime, reply, view="state")

    assert state.pop("_untrusted") == [*("objective", "constraints", "references", "decisions", "openIssues")]
    assert state == plain(fold_ledger(ledger(runtime, reply)["entries"]))
    assert state["state"] == {"status": "complete_with_gaps", "nodeId": shown["preferred_tip"]}
    assert [held["value"]["summary"] for held in state["openIssues"]] == [
        "The staging database was not reachable."
    ]
    assert state["version"] == shown["ledger_version"]
    assert {"loop": "fix", "iterations": 2, "reason": "condition_false"} in [
        held["value"] for held in state["decisions"]
    ]


def test_what_was_said_once_is_never_said_differently(runtime: Runtime) -> None:
    reply = rich_session(runtime)
    before = ledger(runtime, reply)

    to_the_end(runtime, reply["session"]["sessionId"])
    after = ledger(runtime, reply)

    assert after["entries"][: before["version"]] == before["entries"]


def test_deltas_together_say_what_the_whole_says(runtime: Runtime) -> None:
    """Page by page with the cursor, and again by `toVersion` alone; each page is proven as it comes."""
    reply = rich_session(runtime)
    whole = ledger(runtime, reply)
    followed: list[Any] = []
    cursor: dict[str, str] = {}
    reached = 0

    while True:
        page = ledger(runtime, reply, mode="delta", sinceVersion=0, limit=3, **cursor)
        assert page["fromVersion"] == reached
        followed += page["entries"]
        assert page["checksum"] == checksum(page["ledgerId"], followed)
        reached = page["toVersion"]
        by_version = ledger(runtime, reply, mode="delta", sinceVersion=reached)
        assert by_version["entries"] == whole["entries"][reached:]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert followed == whole["entries"]
    assert reached == whole["version"]


def test_a_constraint_that_goes_is_reported_as_gone(runtime: Runtime) -> None:
    reply = start(runtime, context={"constraints": ["no network", "small diff"]})
    advance(runtime, reply, context={"constraints": ["small diff"]})

    page = ledger(runtime, reply, mode="delta", sinceVersion=1)

    assert [held["value"] for held in page["removedConstraints"]] == ["no network"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": 1}, {"context.a": 1}),
        ("one text", {"one text"}),
        (["x", {"y": 1}], {"x", "y"}),
    ],
)
def test_constraints_may_be_a_list_an_object_or_one_value(
    runtime: Runtime, given: Any, expected: Any
) -> None:
    state = ledger(runtime, start(runtime, context={"constraints": given}), view="state")

    held = {one["id"]: one["value"] for one in state["constraints"] if one["id"].startswith("context.")}
    assert len(held) == len(expected)
    if isinstance(expected, dict):
        assert held == expected


FILTERS = [
    ("run.start", ["run.start"]),
    ("run.*", ["run.start", "run.continue", "run.checkpoint"]),
    ("!run.continue", ["run.start", "run.checkpoint"]),
    ("run.*,!run.start,!run.continue", ["run.checkpoint"]),
    ("store.*", []),
]


@pytest.mark.parametrize(("pattern", "expected"), FILTERS)
def test_a_filter_leaves_out_entries_and_nothing_else(
    runtime: Runtime, pattern: str, expected: list[str]
) -> None:
    reply = rich_session(runtime)
    whole = ledger(runtime, reply)

    chosen = ledger(runtime, reply, filterByOperation=pattern)

    assert list(dict.fromkeys(entry["operation"] for entry in chosen["entries"])) == expected
    assert (chosen["version"], chosen["checksum"]) == (whole["version"], whole["checksum"])


def test_a_window_of_the_whole_says_how_much_there_is(runtime: Runtime) -> None:
    reply = rich_session(runtime)

    window = ledger(runtime, reply, offset=2, limit=3)

    assert [entry["version"] for entry in window["entries"]] == [3, 4, 5]
    assert (window["offset"], window["next_offset"], window["has_more"]) == (2, 5, True)


def test_the_checksum_can_be_left_out(runtime: Runtime) -> None:
    reply = start(runtime)

    assert "checksum" not in ledger(runtime, reply, mode="summary", withoutChecksum=True)
    assert "checksum" in ledger(runtime, reply, mode="summary", withoutChecksum=False)


MODES: list[dict[str, Any]] = [{}, {"mode": "summary"}, {"mode": "delta", "sinceVersion": 2, "limit": 2}]


@pytest.mark.parametrize("params", MODES)
def test_every_mode_is_conformant_at_the_complete_tier(runtime: Runtime, params: dict[str, Any]) -> None:
    run_id = rich_session(runtime)["session"]["runId"]
    outcome = perform(runtime, "ledger.show", {"runId": run_id, **params})
    assert isinstance(outcome, Success)
    call = Call(operation="ledger.show", request_id="req_1", at="2027-01-15T08:00:00.000Z")

    envelope = plain(to_lafs(outcome, call))

    assert check(envelope, kind="lafs", tier="complete").ok
    report = check(envelope["result"], kind="ledger", tier="complete")
    assert (report.ok, report.advisories) == (True, ())
    assert envelope["_meta"]["contextVersion"] == 7


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"mode": "delta"}, "VALIDATION_ERROR"),
    ({"sinceVersion": 1}, "VALIDATION_ERROR"),
    ({"cursor": "x"}, "VALIDATION_ERROR"),
    ({"mode": "delta", "sinceVersion": 0, "offset": 1}, "VALIDATION_ERROR"),
    ({"mode": "summary", "view": "state"}, "VALIDATION_ERROR"),
    ({"limit": 1001}, "VALIDATION_ERROR"),
    ({"filterByOperation": "run.*;"}, "VALIDATION_ERROR"),
    ({"mode": "delta", "sinceVersion": 99}, "LEDGER_VERSION_AHEAD"),
    ({"mode": "delta", "sinceVersion": 0, "cursor": "x"}, "INVALID_TOKEN"),
    ({"runId": "run_000000000000"}, "RUN_NOT_FOUND"),
    ({"runId": "../x"}, "RUN_NOT_FOUND"),
]


@pytest.mark.parametrize(("params", "code"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(runtime: Runtime, params: dict[str, Any], code: str) -> None:
    run_id = start(runtime)["session"]["runId"]

    assert refusal(runtime, "ledger.show", **{"runId": run_id} | params).kind.code == code


def test_delta_in_a_budget_claims_only_what_it_shows(runtime: Runtime) -> None:
    run_id = rich_session(runtime)["session"]["runId"]
    params = {"runId": run_id, "mode": "delta", "sinceVersion": 0}

    cut = perform(runtime, "ledger.show", params, Ask(budget=Budget(max_items=2)))

    assert isinstance(cut, Success)
    assert cut.page is not None
    assert isinstance(cut.data, dict)
    assert [entry["version"] for entry in cut.page.items] == [1, 2]
    narrow = answer(runtime, "ledger.show", **params, limit=2)
    assert (cut.data["toVersion"], cut.data["checksum"]) == (2, narrow["checksum"])
    rest = answer(runtime, "ledger.show", **params, cursor=cut.page.next_cursor)
    assert rest["entries"][0]["version"] == 3
