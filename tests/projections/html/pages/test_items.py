"""The Console as a supervisor's tool: what waits has a door, silence is seen, and words are for people."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import msgspec

from handrail.projections.html.elements import Html
from handrail.runtime.runtime import Runtime
from handrail.views.inbox import InboxItem, key_of
from handrail.views.nodes import NodeView
from handrail.views.questions import Question
from handrail.views.summaries import SessionSummary
from handrail.views.timelines import MomentRow, Timeline
from handrail_serve.pages.items import Card, answer_form, read_card
from handrail_serve.pages.parts import Rows, duration
from handrail_serve.pages.timeline import timeline_page
from tests.cases import every_case
from tests.conftest import FixedClock
from tests.journeys.conversation import advance, answer, start, viewed
from tests.journeys.given_workflows import WITH_DECISION, begin, choice, declared, option, step
from tests.journeys.rich_session import report, rich_session
from tests.journeys.test_confirmations import at_console
from tests.projections.html.pages.test_pages import show, words_in

HOUR = 3_600
QUESTION: dict[str, Any] = {
    "others": "",
    "session_id": "ses_1",
    "run_id": "run_1",
    "node_id": "nod_1",
    "step_id": "ship",
    "what_digest": "sha256:1",
    "answer_id": "",
    "asked": "confirm",
    "takes_value": False,
    "closed": "",
    "shown": "Step: Ship",
    "options": [],
    "answer": None,
}


def cards_of(runtime: Runtime) -> list[Html]:
    """Every item of the inbox, opened one after the other."""
    items = (viewed(InboxItem, one) for one in answer(runtime, "session.inbox")["items"])
    return [show(runtime, f"/inbox/{one.session_id}/{key_of(one)}") for one in items]


def ask_person(runtime: Runtime) -> dict[str, Any]:
    """A run that waits for a person."""
    steps = (step("build"), step("ship", requireConfirmation=True), step("tell"))
    first = begin(runtime, *steps, fields={}, goal="Ship it")
    return report(runtime, first["ackToken"], notes="**Built** and tested.")


def test_a_waiting_run_is_answered_from_the_first_page(runtime: Runtime) -> None:
    asked = ask_person(runtime)

    page = show(runtime, "/inbox")

    words = words_in(page)
    assert "Do you confirm “Ship”?" in words
    assert "command line" in words
    assert "<strong>Built</strong> and tested." in page.markup  # what the agent reports, rendered
    assert "Yes: the agent goes on" in words
    assert "No: the step stays open" in words
    assert re.findall(r'name="given.answer" value="(\w+)"', page.markup) == ["yes", "no"]
    sent = json.loads(
        unescape(re.findall(r'data-operation="run.answer" data-input="([^"]*)"', page.markup)[0])
    )
    given = {**sent["given"], "answer": "yes"}
    console = msgspec.structs.replace(runtime, is_at_console=True)
    told = answer(console, "run.answer", **{**sent, "given": given})
    assert (told["session_id"], told["answer"]) == (asked["session"]["sessionId"], "confirmed")


def test_card_shows_the_authors_words_alone(
    runtime: Runtime,
) -> None:
    """A card shows what the author asks for and nothing that is added for the agent."""
    way = choice("way", option("left", way="left"), option("right", way="right"))
    secret = {"userOnly": {"reason": "needs_user_artifact"}}
    features = {"features": ["wr.features.mode_guidance", "wr.features.output_contracts"]}
    begin(runtime, {**way, "nonAssumable": "scope_boundary"}, step("tell"), fields=declared("way"))
    begin(runtime, step("ticket", **secret), fields=features)
    first = begin(runtime, step("decide", **WITH_DECISION), fields=features)
    report(runtime, first["ackToken"], notes="Decided.")

    told = " ".join(words_in(card) for card in cards_of(runtime))

    assert told.count("What the step asks for") == 4  # once in the whole text of a report
    for asked in ("Which way?", "Do ticket.", "Do decide."):
        assert asked in told
    for added in ("not you", "Artifact to deliver", "Example:", "never answer for them", "autonomy in"):
        assert added not in told


def test_answer_not_taken_up_is_shown_as_recorded(runtime: Runtime) -> None:
    said = {
        "answer": "confirmed",
        "summary": "confirmed it",
        "option_id": "",
        "source": "console",
        "who": "ada",
        "note": "Go.",
        "at": "",
    }
    ask_person(runtime)
    (item,) = answer(runtime, "session.inbox")["items"]
    node = answer(runtime, "run.node", sessionId=item["session_id"], node=item["node_id"])
    node["pending"]["person"] = said
    row = viewed(InboxItem, item | {"is_answered": True, "reply": "Go on with it."})

    card = read_card(Card(row=row, node=viewed(NodeView, node), question=viewed(Question, QUESTION)))

    assert 'class="need person answered"' in card.markup
    words = words_in(card)
    assert "Recorded: ada confirmed it in the Console Go." in words
    assert "The agent sees it at its next call; copy this if it has stopped." in words
    assert 'data-copy="Go on with it."' in card.markup


def test_an_agent_that_goes_against_the_answer_is_seen(runtime: Runtime) -> None:
    way = choice("way", option("leave", way="leave"), option("change", way="change"))
    asked = {**way, "nonAssumable": "scope_boundary"}
    reply = begin(runtime, asked, step("tell"), fields=declared("way"), goal="Tidy")
    session = reply["session"]["sessionId"]
    question = answer(at_console(runtime), "run.answer", session=session, show=True)
    given = {"answer": "leave", "whatDigest": question["what_digest"]}
    answer(at_console(runtime), "run.answer", session=session, given=given)

    other = reply["nextCall"]["options"][1]["params"]
    refused = answer(runtime, "run.continue", **other)
    cards, run = words_in(show(runtime, "/inbox")), words_in(show(runtime, f"/sessions/{session}"))
    story = words_in(show(runtime, f"/sessions/{session}/timeline"))

    assert refused["kind"] == "blocked"
    why = "For the step “Way” the agent took another option than the person who answered."
    assert f"Since then the agent reported, and it was refused. {why}" in cards
    assert why in run
    assert why in story
    assert "A person answered, and the agent has not gone on at: Way" in run


@every_case(
    ("told", "answers"),
    [
        ({}, ["yes", "no"]),
        ({"asked": "allow_write"}, ["yes", "no"]),
        ({"asked": "choose", "options": [{"id": "small", "label": "Small"}]}, ["small", "no"]),
        ({"asked": "give", "takes_value": False}, ["yes", "no"]),
        ({"asked": "give", "takes_value": True, "question": "What is the ticket?"}, []),
    ],
)
def test_each_kind_of_ask_has_its_door(told: dict[str, Any], answers: list[str]) -> None:
    form = answer_form(viewed(Question, {**QUESTION, **told}))

    assert re.findall(r'name="given.answer" value="(\w+)"', form.markup) == answers
    if not answers:
        assert "What is the ticket?" in words_in(form)
        assert re.search(r'<input[^>]* name="given.answer"[^>]* required', form.markup)


def test_silence_is_seen_after_an_hour_or_as_set(runtime: Runtime) -> None:
    working = start(runtime, goal="Working")["session"]["sessionId"]
    waiting = ask_person(runtime)["session"]["sessionId"]
    clock = runtime.clock
    assert isinstance(clock, FixedClock)

    def silences() -> dict[str, str]:
        return {row["id"]: row["silence"] for row in answer(runtime, "session.list")["items"]}

    assert silences() == {working: "", waiting: ""}
    clock.seconds += HOUR
    assert silences() == {working: "idle", waiting: "stalled"}
    found = answer(runtime, "session.list", silence="stalled")["items"]
    assert [row["id"] for row in found] == [waiting]
    assert words_in(show(runtime, "/sessions", status="idle")).count("Working") == 1
    assert "Ship it" not in words_in(show(runtime, "/sessions", status="idle"))
    assert "stalled" in words_in(show(runtime, "/sessions"))
    for session, silence in ((working, "idle"), (waiting, "stalled")):
        page = words_in(show(runtime, f"/sessions/{session}"))
        assert silence in page.partition("last change")[0], "the page of the run says it in its head"


def test_the_list_says_how_far_a_run_is_and_can_be_grouped(runtime: Runtime) -> None:
    advance(runtime, start(runtime, goal="Half way"))

    words = words_in(show(runtime, "/sessions", group="state"))

    assert "1 of about 3 steps" in words
    assert ">in progress<" in show(runtime, "/sessions", group="state").markup


def test_a_later_goal_does_not_rename_the_session(runtime: Runtime) -> None:
    first = start(runtime, goal="The first thing")
    session_id = first["session"]["sessionId"]
    start(runtime, goal="Another thing", session=session_id)

    assert answer(runtime, "session.list")["items"][0]["goal"] == "The first thing"
    assert answer(runtime, "session.show", sessionId=session_id)["goal"] == "The first thing"
    runs = answer(runtime, "run.graph", sessionId=session_id)["runs"]
    assert [run["goal"] for run in runs] == ["The first thing", "Another thing"]


def test_a_run_of_another_project_shows_the_text_that_it_follows(runtime: Runtime) -> None:
    begun = begin(runtime, step("look", prompt="Look **twice**."), fields={})
    graph = answer(runtime, "run.graph", sessionId=begun["session"]["sessionId"])
    runtime.library.held.clear()  # type: ignore[attr-defined]  # the files of the other project

    page = show(runtime, f"/workflows/{graph['workflow_id']}", run=graph["run_id"])

    assert "Look <strong>twice</strong>." in page.markup


def test_past_rounds_are_folded_and_the_current_is_open(runtime: Runtime) -> None:
    loop = {"type": "loop", "loopId": "fix", "while": {"kind": "loop_control"}, "maxIterations": 5}
    reply = begin(runtime, {**loop, "body": [step("try")]}, step("after"), fields={})
    more = {"kind": "wr.loop_control", "decision": "continue"}
    for _ in range(3):
        reply = report(runtime, reply["ackToken"], more)
    session_id = reply["session"]["sessionId"]

    inside = show(runtime, f"/sessions/{session_id}").markup.partition(
        "<summary>fix: 3 rounds (continue, continue, continue)</summary>"
    )[2]

    folded, _, following = inside.partition("</details>")
    assert folded.count("data-node=") == 3
    assert 'id="now"' in following


def test_what_happened_reads_as_a_story_with_durations(runtime: Runtime) -> None:
    reply = advance(runtime, start(runtime))
    found = answer(runtime, "session.timeline", sessionId=reply["session"]["sessionId"])
    assert [one["seconds"] for one in found["items"]] == [0, None]
    found["items"][0]["seconds"] = 3_700

    shown = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])
    words = words_in(
        timeline_page(
            viewed(SessionSummary, shown), viewed(Timeline, found), viewed(Rows[MomentRow], found).items
        )
    )

    assert "The run started" in words
    assert "The agent finished First after 1 h 1 min" in words


@every_case(
    ("seconds", "told"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (90, "1 min 30 s"), (3_600, "1 h"), (180_000, "2 d 2 h")],
)
def test_a_duration_names_its_two_largest_units(seconds: int, told: str) -> None:
    assert duration(seconds) == told


def test_no_page_shows_a_pointer_a_step_path_or_a_digest(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    never_stop = {"autonomy": "full_auto_never_stop"}
    first = begin(runtime, step("decide", **WITH_DECISION), step("tell"), fields={}, preferences=never_stop)
    wrong = {"notesMarkdown": "Decided.", "artifacts": [{"kind": "wr.decision", "chosen": 7}]}
    left = answer(runtime, "run.continue", ackToken=first["ackToken"], output=wrong)["session"]["sessionId"]
    graph = answer(runtime, "run.graph", sessionId=session_id)
    run = f"/sessions/{session_id}/runs/{graph['run_id']}"
    paths = ["/inbox", "/sessions", run, f"/sessions/{session_id}/timeline", "/gaps", f"/sessions/{left}"]

    for path in (*paths, *(f"{run}/nodes/{node['id']}" for node in graph["nodes"])):
        page = re.sub(r"<pre.*?</pre>|<code.*?</code>", "", show(runtime, path).markup, flags=re.DOTALL)
        words = words_in(Html(markup=page))
        found = re.search(r"sha256:|\w@\d+::|(?<![\w.])/\w+(?:/\d+\b|: )|\b(?:ak|st|ck)1[0-9a-z]{20,}", words)
        assert found is None, (path, found)
    assert "is not right yet: decision" in words_in(show(runtime, f"/sessions/{left}"))


def test_run_that_waits_for_an_answer_is_not_called_blocked(runtime: Runtime) -> None:
    session_id = ask_person(runtime)["session"]["sessionId"]

    words = words_in(show(runtime, f"/sessions/{session_id}"))

    assert words.count("needs your answer") == 2  # beside the title, and where the run is
    assert "blocked" not in words.lower()


LONG: dict[str, Any] = {**QUESTION, "shown": "Step: Ship\n\n" + "word " * 1_000 + "the last word"}


def test_a_long_text_is_shown_whole_before_a_closed_answer() -> None:
    """Only the approving buttons wait; the script opens them at the end of the text with this digest."""
    form = answer_form(viewed(Question, LONG))

    assert "the last word" in words_in(form)
    assert 'data-whole="sha256:1"' in form.markup
    assert re.findall(r"<button[^>]* value=\"(\w+)\"[^>]* disabled[^>]*>", form.markup) == ["yes"]
    assert form.markup.index("the last word") < form.markup.index("<button")


@every_case(
    ("told", "waiting"),
    [
        ({"asked": "choose", "options": [{"id": "small", "label": "Small"}]}, ["small"]),
        ({"closed": "A secret was found in the notes."}, []),
        ({"asked": "give", "takes_value": True, "question": "What is the ticket?"}, []),
        ({"shown": "Step: Ship"}, []),
    ],
)
def test_what_approves_no_long_text_waits_for_nothing(told: dict[str, Any], waiting: list[str]) -> None:
    form = answer_form(viewed(Question, {**LONG, **told}))

    assert re.findall(r"<button[^>]* value=\"(\w+)\"[^>]* disabled[^>]*>", form.markup) == waiting
