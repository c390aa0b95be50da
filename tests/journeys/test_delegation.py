"""Work that is handed out: children are opened once, advance alone, and the step waits for them."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, refusal, rehydrate
from tests.journeys.given_workflows import NEVER_STOP, begin, equals, give, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_confirmations import insist
from tests.journeys.test_moving_sessions import exported, imported
from tests.surfaces.cli.here import run_here

GUIDED: dict[str, Any] = {"autonomy": "guided"}


def child(child_id: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": child_id, "steps": list(steps) or [step("look")]} | fields


def handing_out(*children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "review", "title": "Review", "delegate": {"children": list(children)} | fields}


def arrive(runtime: Runtime, *children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A run that waits for its children, and goes on with a step that reads what they found."""
    steps = (step("plan"), handing_out(*children, collect="findings", **fields), step("conclude"))
    inputs = {"inputs": {"topic": {"type": "string", "default": "the till"}, "risk": {"default": "low"}}}
    return advance(runtime, begin(runtime, *steps, fields=inputs))


def read(runtime: Runtime, handed: dict[str, Any]) -> dict[str, Any]:
    return answer(runtime, "run.continue", stateToken=handed["workToken"])


def finish(runtime: Runtime, handed: dict[str, Any]) -> dict[str, Any]:
    """Do all steps of a child."""
    reply = read(runtime, handed)
    while reply["pending"]:
        reply = advance(runtime, reply, notes=f"{handed['childId']} did {reply['pending']['stepId']}")
    return reply


def test_arrival_opens_the_children_in_one_commit(runtime: Runtime) -> None:
    first = begin(runtime, step("plan"), handing_out(child("a"), child("b")), fields={})
    before = len(events_of(runtime, first))

    replies = [advance(runtime, first) for _ in range(3)]

    started = of_kind(events_of(runtime, first)[before:], "run_started")
    place = {"runId": first["session"]["runId"], "nodeId": started[0]["data"]["parent"]["nodeId"]}
    assert replies[0] == replies[1] == replies[2]
    assert [event["data"]["parent"] for event in started] == [
        place | {"childId": "a"},
        place | {"childId": "b"},
    ]
    assert [one["childId"] for one in replies[0]["children"]] == ["a", "b"]
    assert not any("status" in one for one in replies[0]["children"])


def test_waiting_step_leads_to_the_first_open_child(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    a, b = waiting["children"]

    finish(runtime, a)
    again = rehydrate(runtime, waiting)

    for reply, next_child in ((waiting, a), (again, b)):
        assert "ackToken" not in reply
        assert {"stateToken", "checkpointToken"} <= reply.keys()
        assert reply["nextCall"]["params"] == {"stateToken": next_child["workToken"]}
    assert [(one["childId"], one["status"]) for one in again["children"]] == [("a", "done"), ("b", "open")]


def test_met_need_goes_on_with_what_the_children_found(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a", step("look"), step("sum")), child("b"))
    closings = [finish(runtime, one)["closing"] for one in waiting["children"]]

    reply = advance(runtime, rehydrate(runtime, waiting))

    told = of_kind(events_of(runtime, reply), "context_set")[-1]["data"]
    assert reply["pending"]["stepId"] == "conclude"
    assert [(row["child"], row["notes"]) for row in told["context"]["findings"]] == [
        ("a", "a did sum"),
        ("b", "b did look"),
    ]
    assert told["owners"] == {"findings": "action"}
    assert all(closing.endswith("the parent continues with its stateToken.") for closing in closings)


def test_early_ack_uses_nothing_up_and_names_the_children(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a", step("look"), step("sum")))
    (handed,) = waiting["children"]
    first = read(runtime, handed)
    finish(runtime, handed)
    met = rehydrate(runtime, waiting)
    # The child goes back to its first step, on a branch of its own, and stands at the second again.
    advance(runtime, rehydrate(runtime, first), notes="looked again")
    before = len(events_of(runtime, waiting))

    refused = refusal(runtime, "run.continue", ackToken=met["ackToken"])
    status, document = command(runtime, "run", "continue", "--ack", met["ackToken"])
    stored = len(events_of(runtime, waiting)) - before
    finish(runtime, handed)

    assert refused.kind.code == "STEP_WAITS"
    assert refused.message.startswith("Nothing was stored, and no token was used up")
    assert [one["status"] for one in refused.details["children"]] == ["open"]
    assert refused.next_call is not None
    assert refused.next_call.params == {"stateToken": handed["workToken"]}
    assert (status, document["error"]["code"], stored) == (6, "E_CONFLICT", 0)
    assert advance(runtime, met)["pending"]["stepId"] == "conclude"


def test_helpers_that_share_a_work_token_share_attempts(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a", step("look"), step("sum")))
    (handed,) = waiting["children"]
    one, other = read(runtime, handed), read(runtime, handed)

    mine = advance(runtime, one, notes="mine")
    late = advance(runtime, other, notes="late")

    assert one["ackToken"] == other["ackToken"]
    assert late["warnings"][0]["code"] == "REPLAY_INPUT_MISMATCH"
    assert late["warnings"][0]["nextCall"]["params"] == {"stateToken": handed["workToken"]}
    assert late["ackToken"] == mine["ackToken"]
    assert read(runtime, handed)["pending"]["stepId"] == "sum"


def test_closed_child_leaves_again_without_and_stop(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    a, b = waiting["children"]
    finish(runtime, b)
    run_id = read(runtime, a)["session"]["runId"]
    answer(runtime, "run.close", run=run_id, reason="abandoned")

    offered = rehydrate(runtime, waiting)
    again = take(runtime, offered, "again")
    retried = finish(runtime, rehydrate(runtime, again)["children"][0])
    joined = advance(runtime, rehydrate(runtime, again))

    assert [one["id"] for one in offered["pending"]["choices"]] == ["again", "without", "stop"]
    assert [one["childId"] for one in again["children"]] == ["a-2", "b"]
    assert retried["isComplete"]
    assert joined["pending"]["stepId"] == "conclude"


def take(runtime: Runtime, reply: dict[str, Any], option_id: str) -> dict[str, Any]:
    tokens = {one["id"]: one["token"] for one in reply["pending"]["choices"]}
    return answer(runtime, "run.continue", ackToken=tokens[option_id])


@pytest.mark.parametrize(
    ("option_id", "pending", "status"), [("without", "conclude", "in_progress"), ("stop", "review", "closed")]
)
def test_a_run_goes_on_without_a_closed_child_or_stops_with_it(
    runtime: Runtime, option_id: str, pending: str, status: str
) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    a, b = waiting["children"]
    finish(runtime, b)
    answer(runtime, "run.close", run=read(runtime, a)["session"]["runId"], reason="abandoned")

    reply = take(runtime, rehydrate(runtime, waiting), option_id)

    gaps = [event["data"]["summary"] for event in of_kind(events_of(runtime, reply), "gap_recorded")]
    shown = answer(runtime, "session.show", sessionId=waiting["session"]["sessionId"])
    assert reply["pending"]["stepId"] == pending
    assert gaps == (["“Review” went on without a: it was closed."] if option_id == "without" else [])
    assert shown["status"] == status


def test_fewer_than_all_may_be_enough_and_no_child_at_all_passes(runtime: Runtime) -> None:
    enough = arrive(runtime, child("a"), child("b"), child("c"), needs={"atLeast": 2})
    for one in enough["children"][:2]:
        finish(runtime, one)
    none = arrive(runtime, child("a", when=equals("risk", "high")))

    gone_on = advance(runtime, rehydrate(runtime, enough))

    assert gone_on["pending"]["stepId"] == none["pending"]["stepId"] == "conclude"
    assert of_kind(events_of(runtime, none), "context_set")[-1]["data"]["context"] == {"findings": []}


@pytest.mark.parametrize(("mode", "kind", "count"), [(GUIDED, "blocked", 0), (NEVER_STOP, "ok", 16)])
def test_list_is_delegated_by_item_and_at_most_sixteen(
    runtime: Runtime, mode: dict[str, Any], kind: str, count: int
) -> None:
    handed = child("slice", brief="Look at {{part}}.")
    each = {
        "id": "slices",
        "title": "Slices",
        "delegate": {
            "forEach": "{{parts}}",
            "as": "part",
            "child": handed,
        },
    }
    fields = {"inputs": {"parts": {"type": "array"}}}
    for items in (["x", "y"], [str(number) for number in range(17)]):
        first = begin(runtime, step("plan"), each, fields=fields, preferences=mode)
        reply = advance(runtime, first, context={"parts": items})
        if len(items) == 2:
            assert [one["childId"] for one in reply["children"]] == ["slice_1", "slice_2"]
            assert reply["children"][1]["brief"].startswith("Look at y.")
            (given,) = read(runtime, reply["children"][1])["recap"]["inputs"]
            assert (given["name"], given["value"]) == ("part", "y")

    assert (reply["kind"], len(reply.get("children", []))) == (kind, count)
    assert "17 items" in str(reply["blockers"] if kind == "blocked" else reply["warnings"])


EACH: dict[str, Any] = {
    "id": "slices",
    "title": "Slices",
    "delegate": {
        "forEach": "{{parts}}",
        "as": "part",
        "child": child("slice"),
        "needs": {"atLeast": 2},
        "collect": "results",
    },
}
PARTS: dict[str, Any] = {"inputs": {"parts": {"type": "array"}}}
LAST = step("conclude", prompt="Read {{results}}.")


def begin_with_list(runtime: Runtime, items: list[str], *, is_first: bool, **params: Any) -> dict[str, Any]:
    """A run over a list, by a step that it begins with or that it comes to."""
    if is_first:
        return begin(runtime, EACH, LAST, fields=PARTS, context={"parts": items}, **params)
    first = begin(runtime, step("plan"), EACH, LAST, fields=PARTS, **params)
    return advance(runtime, first, context={"parts": items})


@pytest.mark.parametrize("is_first", [True, False])
def test_empty_list_is_collected_and_a_short_one_reported(runtime: Runtime, is_first: bool) -> None:
    none = begin_with_list(runtime, [], is_first=is_first)
    one = begin_with_list(runtime, ["x"], is_first=is_first)
    below = begin(runtime, handing_out(child("a", EACH, LAST, inputs={"parts": []})), fields={})

    inside = read(runtime, below["children"][0])
    assert none["pending"]["prompt"].startswith("Read [].")
    assert inside["pending"]["prompt"].startswith("Read [].")
    told = [
        [gap["data"]["summary"] for gap in of_kind(events_of(runtime, reply), "gap_recorded")]
        for reply in (none, one, below)
    ]
    assert told == [
        ["“Slices” asks for 2 pieces of work, and there was none to delegate."],
        ["“Slices” asks for 2 pieces of work and delegated 1: all must be done."],
        ["“Slices” asks for 2 pieces of work, and there was none to delegate."],
    ]


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_not_handed_out_is_named(runtime: Runtime, is_first: bool) -> None:
    items = [f"part {number}" for number in range(17)]

    reply = begin_with_list(runtime, items, is_first=is_first, preferences=NEVER_STOP)
    given = give(runtime, EACH, LAST, **PARTS)
    refused = refusal(runtime, "run.start", workflowId=given, context={"parts": items}, preferences=GUIDED)
    below = begin(runtime, handing_out(child("a", EACH, LAST, inputs={"parts": items})), fields={})

    said = [
        (gap["data"]["severity"], gap["data"]["summary"])
        for held in (reply, below)
        for gap in of_kind(events_of(runtime, held), "gap_recorded")
    ]
    over = (
        "“Slices” delegates one piece of work for each item of parts: 17 items, and 16 at most; beyond that: "
        '"part 16".'
    )
    assert said == [("critical", over)] * 2
    assert len(reply["children"]) == len(read(runtime, below["children"][0])["children"]) == 16
    assert (refused.kind.code, refused.details["problems"][0]["param"]) == (
        "VALIDATION_ERROR",
        "context.parts",
    )
    assert "17 items" in refused.message


def test_the_gaps_of_a_child_are_handed_up_with_its_name(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"))
    reply = read(runtime, waiting["children"][0])
    gap = {"kind": "wr.gap", "severity": "warning", "summary": "The drawer sticks."}
    output = {"notesMarkdown": "looked", "artifacts": [gap]}
    answer(runtime, "run.continue", ackToken=reply["ackToken"], output=output)

    met = rehydrate(runtime, waiting)
    joined = advance(runtime, met)

    assert met["children"][0]["status"] == "done_with_gaps"
    told = [event["data"]["summary"] for event in of_kind(events_of(runtime, joined), "gap_recorded")]
    assert told == ["The drawer sticks.", "a: The drawer sticks."]


def test_a_session_is_told_by_its_own_run_and_never_by_a_child(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    session_id, run_id = waiting["session"]["sessionId"], waiting["session"]["runId"]
    finish(runtime, waiting["children"][0])

    shown = answer(runtime, "session.show", sessionId=session_id)
    handed = [(run.get("child_id", ""), run.get("parent_run_id", "")) for run in shown["runs"]]
    (listed,) = answer(runtime, "session.list")["items"]
    found = answer(runtime, "session.resume", query=session_id)["items"]

    assert shown["status"] == listed["status"] == "in_progress"
    assert [one["runId"] for one in found] == [run_id]
    assert sorted(handed) == [("", ""), ("a", run_id), ("b", run_id)]


def test_lost_parent_finds_children_results_and_open_work(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"), child("c"))
    a, b, c = waiting["children"]
    finish(runtime, a)
    answer(runtime, "run.close", run=read(runtime, c)["session"]["runId"], reason="abandoned")
    session_id = waiting["session"]["sessionId"]

    (found,) = answer(runtime, "session.resume", query=session_id)["items"]
    text = tool_call(runtime, "resume_session", query=session_id).text
    shown = run_here(runtime, ("session", "resume", session_id, "--human")).out.decode()

    assert found["children"] == [
        {"childId": "a", "status": "done", "result": "a did look", "_untrusted": ["result"]},
        {
            "childId": "b",
            "status": "open",
            "stepId": "look",
            "workToken": b["workToken"],
            "brief": b["brief"],
        },
        {"childId": "c", "status": "closed", "stepId": "look", "closed": "abandoned"},
    ]
    for told in (text, shown):
        assert b["workToken"] in told
        assert "a did look" in told


@pytest.mark.parametrize(
    ("children", "says"),
    [
        ([child(f"c{number}") for number in range(17)], "16"),
        ([child("a"), child("a-2")], "a second try of a"),
        ([{"id": "a", "workflow": "project.nobody"}], "no workflow"),
        (
            [child("a", handing_out(child("b", handing_out(child("c", handing_out(child("d")))))))],
            "more than 3 levels deep",
        ),
    ],
)
def test_what_could_not_be_handed_out_is_refused_by_validate(
    runtime: Runtime, children: list[dict[str, Any]], says: str
) -> None:
    workflow_id = give(runtime, handing_out(*children))

    refused = refusal(runtime, "run.start", workflowId=workflow_id)

    assert refused.kind.code == "WORKFLOW_INVALID"
    assert says in refused.message


def test_children_travel_in_a_bundle_and_go_on_there(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    finish(runtime, waiting["children"][0])

    copy = imported(runtime, exported(runtime, waiting["session"]["sessionId"]), asNew=True)
    found = answer(runtime, "session.resume", query=copy["session_id"])["items"][0]
    there = answer(runtime, "run.continue", **found["nextCall"]["params"])
    finish(runtime, there["children"][1])
    joined = advance(runtime, answer(runtime, "run.continue", **found["nextCall"]["params"]))

    assert [one["status"] for one in there["children"]] == ["done", "open"]
    assert joined["pending"]["stepId"] == "conclude"
    assert [one["status"] for one in rehydrate(runtime, waiting)["children"]] == ["done", "open"]


def test_child_that_waits_for_a_person_is_in_its_parent(
    runtime: Runtime,
) -> None:
    asking = step("ask", userOnly={"reason": "needs_user_approval"})
    first = begin(runtime, step("plan"), handing_out(child("a", asking)), fields={})
    waiting = advance(runtime, first)
    reply = read(runtime, waiting["children"][0])
    blocked = answer(runtime, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "asked"})

    told = rehydrate(runtime, waiting)["children"]
    needed = answer(runtime, "session.inbox")["items"]
    again = advance(runtime, rehydrate(runtime, first), notes="another plan")

    assert blocked["kind"] == "blocked"
    assert [one["status"] for one in told] == ["needs_person"]
    assert [one["run_id"] for one in needed] == [reply["session"]["runId"]]
    left = [one["run_id"] for one in answer(runtime, "session.inbox")["items"]]
    assert left == [read(runtime, again["children"][0])["session"]["runId"]]
    assert again["children"][0]["workToken"] != waiting["children"][0]["workToken"]


def test_a_brief_has_sixty_tokens_at_most_and_a_step_a_thousand(runtime: Runtime) -> None:
    """Sixteen children, with all that an author may write and a run may hold."""
    long = "Look at every place where a total is rounded, and say which of them a customer sees on paper; "
    inputs = {"topic": "{{topic}}", "other": "x" * 300, "third": ["y" * 90] * 9, "fourth": {"z": "w" * 90}}
    children = [
        child(f"c{number}", step("look"), brief=(long * 2)[:180], inputs=inputs) for number in range(16)
    ]

    handed = arrive(runtime, *children)["children"]

    sizes = [estimate_tokens(one["brief"]) or 0 for one in handed]
    assert max(sizes) <= 60
    assert sum(sizes) <= 1_000
    assert all(one["brief"].startswith("Look at every place") for one in handed)
    assert all("workToken as stateToken" in one["brief"] for one in handed)


def test_rewind_offers_earlier_results_and_takes_none(runtime: Runtime) -> None:
    handed = (child("a", inputs={"about": "{{topic}}"}), child("b"))
    steps = (step("plan"), handing_out(*handed, collect="findings"), step("conclude"))
    first = begin(runtime, *steps, fields={"inputs": {"topic": {"type": "string", "default": "the till"}}})
    waiting = advance(runtime, first)
    for one in waiting["children"]:
        finish(runtime, one)

    again = advance(runtime, rehydrate(runtime, first), notes="another plan")
    taken = take(runtime, again, "take:a")
    now = rehydrate(runtime, taken)
    finish(runtime, now["children"][1])
    joined = advance(runtime, rehydrate(runtime, taken))
    found = of_kind(events_of(runtime, joined), "context_set")[-1]["data"]["context"]["findings"]
    other = advance(runtime, rehydrate(runtime, first), context={"topic": "the door"})

    assert [one["id"] for one in again["pending"]["choices"]] == ["take:a", "take:b"]
    assert again["nextCall"]["params"] == {"stateToken": again["children"][0]["workToken"]}
    assert advance(runtime, rehydrate(runtime, first), notes="x")["pending"]["choices"]
    assert [one["status"] for one in now["children"]] == ["done", "open"]
    assert now["children"][0]["workToken"] == waiting["children"][0]["workToken"]
    assert [(row["child"], row["notes"]) for row in found] == [("a", "a did look"), ("b", "b did look")]
    assert [one["id"] for one in other["pending"]["choices"]] == ["take:b"]


def test_fork_inside_a_child_forks_the_child_alone(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a", step("look"), step("sum")))
    first = read(runtime, waiting["children"][0])
    finish(runtime, waiting["children"][0])
    forked = advance(runtime, rehydrate(runtime, first), notes="looked elsewhere")
    advance(runtime, forked, notes="found more")

    joined = advance(runtime, rehydrate(runtime, waiting))

    events = events_of(runtime, joined)
    (row,) = of_kind(events, "context_set")[-1]["data"]["context"]["findings"]
    assert (row["notes"], row["branches"]) == ("found more", 2)
    told = [event["data"] for event in of_kind(events, "gap_recorded")]
    assert [(gap["severity"], gap["summary"]) for gap in told] == [
        ("info", "a has 2 branches; what it delivered is of the newest.")
    ]
    parent = waiting["session"]["runId"]
    edges = [one for one in of_kind(events, "edge_created") if one["scope"]["runId"] == parent]
    assert "non_tip_advance" not in [one["data"]["cause"] for one in edges]


def test_author_can_leave_a_closed_child_to_a_person(
    runtime: Runtime,
) -> None:
    insist(runtime)
    runtime = seat(runtime, Person("without"))
    waiting = arrive(runtime, child("a"), nonAssumable="scope_boundary")
    run_id = read(runtime, waiting["children"][0])["session"]["runId"]
    answer(runtime, "run.close", run=run_id, reason="abandoned")
    offered = rehydrate(runtime, waiting)

    refused = take(runtime, offered, "without")
    needed = answer(runtime, "session.inbox")["items"]
    unanswered = rehydrate(runtime, waiting)
    said = answer(runtime, "run.answer", session=waiting["session"]["sessionId"])
    stubborn = take(runtime, unanswered, "stop")
    answered = rehydrate(runtime, waiting)
    gone_on = take(runtime, answered, "without")

    assert offered["nextIntent"] == "await_user_confirmation"
    assert refused["blockers"][0]["waitsFor"]["kind"] == "choose"
    assert [one["id"] for one in refused["pending"]["choices"]] == ["again", "without", "stop"]
    assert [one["run_id"] for one in needed] == [waiting["session"]["runId"]]
    assert needed[0]["why"].startswith("Review waits for a, which was closed (abandoned).")
    assert (said["answer"], said["asked"]) == ("confirmed", "choose")
    assert stubborn["kind"] == "blocked"
    assert [one["id"] for one in answered["nextCall"]["options"]] == ["without"]
    assert answered["nextIntent"] == "perform_pending_then_continue"
    assert gone_on["pending"]["stepId"] == "conclude"


@pytest.mark.parametrize("spelling", ["yaml", "md"])
def test_the_step_means_the_same_in_every_spelling(runtime: Runtime, spelling: str) -> None:
    handed = (
        child("a", step("look", prompt="Look at {{topic}}."), brief="Look."),
        {"id": "b", "workflow": "project.three_steps"},
        child("c", when=equals("risk", "high"), inputs={"about": "{{topic}}"}),
    )
    steps = (step("plan"), handing_out(*handed, needs={"atLeast": 1}, collect="findings"), step("conclude"))
    inputs = {"topic": {"type": "string", "default": "the till"}, "risk": {"default": "low"}}
    workflow_id = give(runtime, *steps, inputs=inputs)
    made = answer(runtime, "workflow.convert", workflowId=workflow_id, to=spelling)
    library_of(runtime).held.pop()
    library_of(runtime).add(made["text"].encode(), f"{workflow_id}.{spelling}")

    waiting = advance(runtime, answer(runtime, "run.start", workflowId=workflow_id))
    finish(runtime, waiting["children"][0])
    joined = advance(runtime, rehydrate(runtime, waiting))

    assert [one["childId"] for one in waiting["children"]] == ["a", "b"]
    assert joined["pending"]["stepId"] == "conclude"
