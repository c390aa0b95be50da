"""What a person does with the forms of the Console, as its script sends them: shown first, then made."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure, Success
from handrail.projections.html.elements import Html
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail_serve.views import render_view
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, answer, start
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.test_confirmations import insist


def at_console(runtime: Runtime) -> Runtime:
    return msgspec.structs.replace(runtime, is_at_console=True)


def show(runtime: Runtime, path: str, **query: str) -> Html:
    return render_view(lambda name, params: perform(runtime, name, params), path, query).html


def tag_of(page: Html, operation: str) -> dict[str, str]:
    """The attributes of the element that calls the operation."""
    (tag,) = re.findall(rf'<(?:form|button)[^>]*data-operation="{operation}"[^>]*>', page.markup)
    named = {name: unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
    return named | dict.fromkeys(re.findall(r" (data-gated)(?=[ >])", tag), "")


def send(runtime: Runtime, tag: dict[str, str], **fields: Any) -> list[Any]:
    """What the script sends for a form, and what each call answers: of a gated one, the preview first."""
    params = {**json.loads(tag.get("data-input", "{}")), **fields}
    if "data-gated" not in tag:
        return [perform(at_console(runtime), tag["data-operation"], params)]
    shown = perform(at_console(runtime), tag["data-operation"], {**params, "dryRun": True})
    assert isinstance(shown, Success), shown
    assert isinstance(shown.data, dict)
    token = shown.data["confirm_token"]
    return [shown, lambda: perform(at_console(runtime), tag["data-operation"], {**params, "confirm": token})]


def path_of(runtime: Runtime, reply: dict[str, Any]) -> str:
    """The page of the node where a run stands."""
    ids = reply["session"]
    tip = answer(runtime, "run.graph", sessionId=ids["sessionId"])["preferred_tip"]
    return f"/sessions/{ids['sessionId']}/runs/{ids['runId']}/nodes/{tip}"


def state_of(runtime: Runtime) -> list[tuple[str, int]]:
    return [(stamp.session_id, stamp.order) for stamp in runtime.log.list_sessions()]


def test_a_bundle_is_shown_and_nothing_is_written_before_the_yes(runtime: Runtime) -> None:
    begun = advance(runtime, start(runtime))
    exported = answer(runtime, "session.export", sessionId=begun["session"]["sessionId"])
    bundle = {"source": "work.handrail.json", "text": json.dumps(exported["content"])}
    other = memory_runtime()

    shown, confirm = send(other, tag_of(show(other, "/import"), "session.import"), bundle=bundle)
    before = state_of(other)
    made = confirm()

    assert before == []
    facts = shown.data["preview"]["changes"][0]["after"]
    assert facts["digest"].startswith("sha256:")
    assert facts["events"] == exported["event_count"]
    assert isinstance(made, Success)
    assert isinstance(made.data, dict)
    assert [session for session, _ in state_of(other)] == [made.data["session_id"]]


def test_changed_bundle_is_refused_in_the_preview(runtime: Runtime) -> None:
    begun = advance(runtime, start(runtime), "All is well.")
    exported = answer(runtime, "session.export", sessionId=begun["session"]["sessionId"])
    text = json.dumps(exported["content"]).replace("All is well.", "All is good.")
    other = memory_runtime()
    tag = tag_of(show(other, "/import"), "session.import")

    refused = perform(
        other, tag["data-operation"], {"bundle": {"source": "x.json", "text": text}, "dryRun": True}
    )

    assert isinstance(refused, Failure)
    assert refused.kind.code == "BUNDLE_INTEGRITY_FAILED"
    assert state_of(other) == []


def test_page_of_a_waiting_step_has_a_form_for_the_answer(runtime: Runtime) -> None:
    insist(runtime)
    third = advance(runtime, advance(runtime, start(runtime)))
    advance(runtime, third)
    tag = tag_of(show(runtime, path_of(runtime, third)), "run.answer")
    given = {**json.loads(tag["data-input"])["given"], "answer": "yes"}

    (told,) = send(runtime, tag, given=given, note="Seen.")

    assert isinstance(told, Success)
    (event,) = of_kind(events_of(runtime, third), "confirmation_recorded")
    assert (event["data"]["door"], event["data"]["answer"], event["data"]["note"]) == (
        "console",
        "confirmed",
        "Seen.",
    )
    after = show(runtime, path_of(runtime, third)).markup
    assert "Recorded: " in after
    assert "Change the answer" in after


def test_answer_before_a_report_leaves_the_question_open(runtime: Runtime) -> None:
    third = advance(runtime, advance(runtime, start(runtime)))
    before = show(runtime, path_of(runtime, third))
    tag = tag_of(before, "run.answer")
    given = {**json.loads(tag["data-input"])["given"], "answer": "yes"}

    (told,) = send(runtime, tag, given=given)

    assert isinstance(told, Success)
    after = show(runtime, path_of(runtime, third))
    for page in (before, after):
        assert "an answer now is not about a report" in page.markup
        assert "Recorded: " not in page.markup
    asked = json.loads(tag_of(after, "run.answer")["data-input"])["given"]
    assert isinstance(told.data, dict)
    assert asked == json.loads(tag["data-input"])["given"] | {"basedOn": told.data["answer_id"]}


def test_a_step_that_asks_nobody_has_no_form(runtime: Runtime) -> None:
    first = start(runtime)

    assert "run.answer" not in show(runtime, path_of(runtime, first)).markup


def test_a_run_is_closed_from_its_page_with_a_reason(runtime: Runtime) -> None:
    begun = start(runtime)
    path = f"/sessions/{begun['session']['sessionId']}"

    (told,) = send(
        runtime, tag_of(show(runtime, path), "run.close"), reason="superseded", note="Begun twice."
    )

    assert isinstance(told, Success)
    (event,) = of_kind(events_of(runtime, begun), "run_closed")
    assert (event["data"]["reason"], event["data"]["note"]) == ("superseded", "Begun twice.")
    assert "run.close" not in show(runtime, path).markup


def test_a_preset_of_a_session_is_shown_first_and_then_set(runtime: Runtime) -> None:
    session = start(runtime)["session"]["sessionId"]
    page = show(runtime, f"/sessions/{session}/preferences")
    (sent,) = [
        json.loads(unescape(one))
        for one in re.findall(r'data-input="([^"]*)"', page.markup)
        if "full_auto_with_stops" in one
    ]
    tag = {"data-operation": "preferences.set", "data-gated": ""}

    shown, confirm = send(runtime, tag, **sent)
    before = answer(runtime, "preferences.show", session=session)["preset"]
    made = confirm()

    (change,) = shown.data["preview"]["changes"]
    assert change["after"] == {"autonomy": "full_auto_stop_on_user_deps", "risk_policy": "balanced"}
    assert (before, made.data["preset"]) == ("guided", "full_auto_with_stops")


@pytest.mark.parametrize("has_run", [True, False])
def test_a_person_renames_a_session_on_its_page(runtime: Runtime, has_run: bool) -> None:
    if has_run:
        session_id = start(runtime, goal="Fix it")["session"]["sessionId"]
    else:
        begun = answer(runtime, "session.start", goal="Fix it", requestId="k-1")
        session_id = begun["session"]["sessionId"]
    page = show(runtime, f"/sessions/{session_id}")

    (made,) = send(runtime, tag_of(page, "session.rename"), title="The parser")

    assert isinstance(made, Success)
    assert 'value="Fix it"' in page.markup  # the field begins with what the session is called
    assert "The parser</h1>" in show(runtime, f"/sessions/{session_id}").markup
