"""What a reader is told stands at the step, the branch and the store that it is true of."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail_serve.views import render_view
from tests.conftest import memory_runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.given_workflows import begin, equals, step
from tests.journeys.interfaces import command, evidence_of
from tests.journeys.test_confirmations import insist

DEPLOY = (step("plan"), step("deploy", requireConfirmation=True), step("tell"))


def words_of(runtime: Runtime, path: str) -> str:
    view = render_view(lambda name, params: perform(runtime, name, params), path, {})
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", view.html.markup)).split())


def graph_of(runtime: Runtime, reply: dict[str, Any]) -> dict[str, Any]:
    status, told = command(runtime, "session", "show", "--graph", reply["session"]["sessionId"])
    assert status == 0
    graph: dict[str, Any] = told["data"]
    return graph


def node_of(runtime: Runtime, graph: dict[str, Any], node_id: str) -> dict[str, Any]:
    return answer(runtime, "run.node", sessionId=graph["session_id"], node=node_id)


def say(runtime: Runtime, reply: dict[str, Any], told: str) -> None:
    answer(seat(runtime, Person(told)), "run.answer", session=reply["session"]["sessionId"])


def test_a_persons_answer_stands_at_the_report_that_it_is_about(runtime: Runtime) -> None:
    pending = advance(runtime, begin(runtime, *DEPLOY, fields={}))

    insist(runtime)
    blocked = advance(runtime, pending)
    say(runtime, pending, "y")
    before = graph_of(runtime, pending)
    advance(runtime, {"ackToken": blocked["retryAckToken"]})
    after = graph_of(runtime, pending)

    assert before["pending_person"] == "confirmed"
    assert node_of(runtime, before, before["preferred_tip"])["pending"]["person"]["answer"] == "confirmed"
    told = [(node["title"], node["person"]) for node in after["nodes"]]
    assert told[:2] == [("Started", ""), ("Plan", "")]
    assert told[-1] == ("Deploy", "confirmed")
    answered = [node_of(runtime, after, node["id"])["person"] is not None for node in after["nodes"]]
    assert answered == [False, False, True, True]
    assert after["pending_person"] == ""


def test_after_a_no_the_answer_stays_shown_and_can_be_given_anew(runtime: Runtime) -> None:
    pending = advance(runtime, begin(runtime, *DEPLOY, fields={}))

    say(runtime, pending, "n")

    (need,) = answer(runtime, "session.inbox")["items"]
    page = words_of(runtime, f"/sessions/{pending['session']['sessionId']}")
    assert (need["kind"], need["is_answered"]) == ("person", True)
    assert need["why"] == f"It was answered by {runtime.workspace.account()}: no."
    assert need["command"] == f"handrail run answer --session {pending['session']['sessionId']}"
    assert 'I have said no to the step "Deploy"' in need["reply"]
    assert f"Recorded: {runtime.workspace.account()} declined it at a terminal" in page
    assert "Change the answer" in page
    assert "Needs your answer" not in page
    assert "declined by a person" in page


def test_steps_ahead_are_those_of_the_preferred_branch(runtime: Runtime) -> None:
    second = advance(runtime, begin(runtime, *(step(name) for name in "abcd"), fields={}))
    advance(runtime, advance(runtime, advance(runtime, second)), "The first way goes to the end.")

    advance(runtime, rehydrate(runtime, second), "Another way.")

    graph = graph_of(runtime, second)
    assert graph["pending_title"] == "C"
    assert [row["title"] for row in graph["ahead"]] == ["D"]


def test_skipped_step_stands_after_the_one_that_was_done(runtime: Runtime) -> None:
    extra = step("extra", when=equals("wanted", True))
    begun = begin(runtime, step("one"), step("two"), extra, step("end"), fields={"inputs": {"wanted": {}}})
    advance(runtime, advance(runtime, begun))
    session = begun["session"]["sessionId"]

    rail = words_of(runtime, f"/sessions/{session}")

    assert rail.index("Two") < rail.index("Skipped: Extra") < rail.index("End now")


def test_what_another_store_saw_says_so_at_every_level_and_count(runtime: Runtime) -> None:
    begun = begin(runtime, *DEPLOY, fields={})
    pending = advance(runtime, begun)
    insist(runtime)
    blocked = advance(runtime, pending)
    say(runtime, pending, "y")
    advance(runtime, advance(runtime, {"ackToken": blocked["retryAckToken"]}))
    content = answer(runtime, "session.export", sessionId=begun["session"]["sessionId"])["content"]
    other = memory_runtime()
    bundle = {"source": "b", "text": json.dumps(content)}
    shown = answer(other, "session.import", bundle=bundle, dryRun=True)
    made = answer(other, "session.import", bundle=bundle, confirm=shown["confirm_token"])

    graph = graph_of(other, {"session": {"sessionId": made["session_id"]}})
    deployed = [node for node in graph["nodes"] if node["title"] == "Deploy"][-1]
    node = node_of(other, graph, deployed["id"])
    path = f"/sessions/{made['session_id']}"
    pages = [words_of(other, path), words_of(other, f"{path}/runs/{graph['run_id']}/nodes/{node['node_id']}")]

    caveat = "as another store recorded it before the import"
    assert evidence_of(graph) == {"approved": 1}
    assert deployed["is_imported"]
    assert graph["evidence_caveat"] == node["evidence_caveat"] == caveat
    assert [one["level_text"] for one in node["statements"]] == [f"approved by a person, {caveat}"]
    for page in pages:
        assert f"1 approved by a person {caveat}" in page
        assert "approved by a person, in another store" in page
    own = graph_of(runtime, begun)
    assert own["evidence_caveat"] == ""
    assert not any(node["is_imported"] for node in own["nodes"])


def test_preferences_in_force_say_who_set_them(runtime: Runtime) -> None:
    begun = start(runtime, preset="full_auto")
    session = begun["session"]["sessionId"]

    _, held = command(runtime, "settings", "show", "--preferences", "--session", session)
    preview = answer(runtime, "preferences.set", session=session, preset="guided", dryRun=True)
    one = answer(runtime, "preferences.set", session=session, riskPolicy="balanced", dryRun=True)
    page = words_of(runtime, f"/sessions/{session}/preferences")

    assert (held["data"]["preset"], held["data"]["source"]) == ("full_auto", "run")
    assert held["data"]["run_id"] == begun["session"]["runId"]
    assert held["data"]["new_runs"] == {"autonomy": "guided", "risk_policy": "conservative"}
    (change,) = preview["preview"]["changes"]
    assert change["before"]["autonomy"] == "full_auto_never_stop"
    assert change["after"]["autonomy"] == "guided"
    (change,) = one["preview"]["changes"]
    assert change["after"] == {"autonomy": "full_auto_never_stop", "risk_policy": "balanced"}
    assert "Now Full auto , set when the present run was started." in page
    answer(runtime, "preferences.set", session=session, preset="guided", confirm=preview["confirm_token"])
    assert answer(runtime, "preferences.show", session=session)["source"] == "user"
