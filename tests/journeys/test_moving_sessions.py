"""A session leaves in a bundle and goes on elsewhere: nothing is lost, nothing is taken over unseen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.json.canonical import chain_digest, genesis
from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime, settings_of
from tests.engine.bundles.made import Document, rechained, repinned
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import (
    answer,
    commits_of,
    refusal,
    rehydrate,
    start,
)
from tests.journeys.given_workflows import begin, step
from tests.journeys.rich_session import decided, report, rich_session, to_the_end

NAMES_OF_HERE = ("session_id", "imported", "event_count", "last_activity")
"""What a copy of a session tells differently: whose it is, that it is one, and since when."""


def exported(runtime: Runtime, session_id: str) -> str:
    return json.dumps(answer(runtime, "session.export", sessionId=session_id)["content"])


def bundle(text: str) -> dict[str, str]:
    return {"source": "work.handrail.json", "text": text}


def imported(runtime: Runtime, text: str, **params: Any) -> dict[str, Any]:
    """Shown, then made."""
    shown = answer(runtime, "session.import", bundle=bundle(text), dryRun=True, **params)
    return answer(runtime, "session.import", bundle=bundle(text), confirm=shown["confirm_token"], **params)


def told(runtime: Runtime, session_id: str) -> dict[str, Any]:
    """What every reader sees, without the names that belong to one store and what says that it was moved."""
    shown = answer(runtime, "session.show", sessionId=session_id)
    for run in shown["runs"]:
        assert bool(run.pop("evidence_caveat")) == bool(shown["imported"])
        for one in run["statements"]:
            assert one.pop("is_imported") == bool(shown["imported"])
            del one["level_text"]  # says so in words
    return {name: value for name, value in shown.items() if name not in NAMES_OF_HERE}


@pytest.mark.promise("bundle.round-trip")
def test_a_moved_session_keeps_its_id_and_tells_the_same_story(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    elsewhere = memory_runtime()

    made = imported(elsewhere, exported(runtime, session_id))

    assert made["session_id"] == session_id
    assert told(elsewhere, session_id) == told(runtime, session_id)
    assert answer(elsewhere, "session.show", sessionId=session_id)["imported"] == {
        "bundle_id": made["bundle_id"],
        "source_session_id": session_id,
    }


@pytest.mark.promise("bundle.resumable")
def test_moved_session_is_finished_with_tokens_of_its_home(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    elsewhere = memory_runtime()
    imported(elsewhere, exported(runtime, session_id))

    last = to_the_end(elsewhere, session_id)

    assert last["isComplete"]
    assert told(elsewhere, session_id)["status"] == "complete_with_gaps"
    assert told(runtime, session_id)["status"] == "in_progress"


def _pinned_with(pattern: str) -> str:
    """A bundle whose last step holds its notes to a pattern, as an older version compiled it."""
    rule = {"type": "regex", "pattern": pattern, "message": "Say that it is done."}

    def change(workflow: Document) -> None:
        workflow["steps"][-1]["rules"] = [rule]

    return rechained(lambda document: repinned(document, change))


@pytest.mark.promise("bundle.resumable")
def test_a_run_pinned_with_look_around_goes_on_after_import() -> None:
    elsewhere = memory_runtime()
    made = imported(elsewhere, _pinned_with(r"(?<!un)done\b(?=\.)"))
    (candidate,) = answer(elsewhere, "session.resume", query=made["session_id"])["items"]
    tried = answer(elsewhere, "run.continue", **candidate["nextCall"]["params"])
    last = decided(elsewhere, tried, "stop")

    blocked = report(elsewhere, last["ackToken"], notes="It is undone.")
    closed = report(elsewhere, blocked["retryAckToken"], notes="It is done.")

    assert "Say that it is done." in str(blocked["blockers"])
    assert closed["isComplete"]


def test_a_pattern_that_tries_for_long_is_not_imported() -> None:
    text = _pinned_with("(?=a)(a+)+b")

    refused = refusal(memory_runtime(), "session.import", bundle=bundle(text), dryRun=True)

    assert refused.kind.code == "BUNDLE_INVALID_FORMAT"
    assert "a pattern that is refused" in refused.message


@pytest.mark.promise("bundle.import-as-new")
def test_session_with_a_taken_id_gets_a_new_one(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    before = told(runtime, session_id)

    made = imported(runtime, exported(runtime, session_id))

    assert made["session_id"] != session_id
    assert told(runtime, made["session_id"]) == before
    assert told(runtime, session_id) == before
    assert to_the_end(runtime, made["session_id"])["isComplete"]
    assert told(runtime, session_id) == before


@pytest.mark.promise("bundle.import-as-new")
def test_a_new_id_can_be_asked_for(runtime: Runtime) -> None:
    session_id = start(runtime)["session"]["sessionId"]
    elsewhere = memory_runtime()

    made = imported(elsewhere, exported(runtime, session_id), asNew=True)

    assert made["session_id"] != session_id
    assert made["source_session_id"] == session_id


def test_the_same_bundle_twice_makes_one_session(runtime: Runtime) -> None:
    text = exported(runtime, rich_session(runtime)["session"]["sessionId"])
    made = imported(runtime, text)
    commits = commits_of(runtime)

    shown = answer(runtime, "session.import", bundle=bundle(text), dryRun=True)
    again = imported(runtime, text)

    assert shown["preview"]["unchanged"] is True
    assert (again["session_id"], again["is_imported"]) == (made["session_id"], False)
    assert commits_of(runtime) == commits


def test_an_imported_session_says_so_wherever_it_is_told_of(runtime: Runtime) -> None:
    source = rich_session(runtime)
    session_id = source["session"]["sessionId"]
    made = imported(runtime, exported(runtime, session_id))["session_id"]

    rows = {row["id"]: row["imported_from"] for row in answer(runtime, "session.list")["items"]}
    (candidate,) = answer(runtime, "session.resume", query=made)["items"]
    reply = answer(runtime, "run.continue", **candidate["nextCall"]["params"])

    assert rows == {session_id: "", made: session_id}
    assert candidate["importedFrom"] == session_id
    assert reply["recap"]["importedFrom"] == session_id
    assert "importedFrom" not in rehydrate(runtime, source)["recap"]


def test_a_yes_from_another_store_says_so_wherever_it_is_listed(runtime: Runtime) -> None:
    settings_of(runtime).settings = Settings(confirmations="person")
    source = begin(runtime, step("ship", requireConfirmation=True), step("after"), fields={})
    report(runtime, source["ackToken"], notes="One file.")
    session_id = source["session"]["sessionId"]
    answer(seat(runtime, Person("y")), "run.answer", session=session_id)
    elsewhere = memory_runtime()
    imported(elsewhere, exported(runtime, session_id))

    def read(runtime: Runtime) -> dict[str, str]:
        """Every place that tells of an answer, as it tells of it."""
        (candidate,) = answer(runtime, "session.resume", query=session_id)["items"]
        graph = answer(runtime, "run.graph", sessionId=session_id)
        run_id, tip = graph["run_id"], graph["preferred_tip"]
        shown = answer(runtime, "session.show", sessionId=session_id)["runs"][0]["confirmations"]
        node = answer(runtime, "run.node", sessionId=session_id, node=tip)
        reply = answer(runtime, "run.continue", **candidate["nextCall"]["params"])
        moments = answer(runtime, "session.timeline", sessionId=session_id)["items"]
        exports = answer(runtime, "session.export", **{"sessionId": session_id, "as": "markdown"})
        ledger = answer(runtime, "ledger.show", runId=run_id)
        return {
            "candidate": candidate["personAnswer"],
            "recap": reply["recap"]["personAnswer"]["words"],
            "shown": shown[0]["summary"],
            "node": node["person"]["summary"],
            "timeline": next(one["summary"] for one in moments if one["what"] == "confirmed"),
            "report": next(line for line in exports["content"].splitlines() if "confirmed it" in line),
            "badge": "in another store" if graph["is_pending_person_imported"] else "",
            "badge of the node": graph["nodes"][-1]["answer"]["summary"],
            "ledger": "in another store" if "'imported': True" in str(ledger) else "",
        }

    here, copied = read(runtime), read(elsewhere)

    assert [place for place, words in copied.items() if "in another store" not in words] == []
    assert [place for place, words in here.items() if "in another store" in words] == []


def test_a_copy_can_be_proven_against_its_source(runtime: Runtime) -> None:
    """The events before the label give the source's own chain, whatever the session is called here."""
    session_id = rich_session(runtime)["session"]["sessionId"]
    source = runtime.log.load(session_id)

    made = imported(runtime, exported(runtime, session_id))
    copied = runtime.log.load(made["session_id"])

    assert source is not None
    assert copied is not None
    digest = genesis(session_id)
    for record in copied.records[:-1]:
        digest = chain_digest(digest, record.dedupe_key, record.body)
    label = json.loads(copied.records[-1].body)["data"]
    assert label["sourceHead"] == digest == source.records[-1].digest
    assert copied.records[-1].digest != digest


@pytest.mark.promise("bundle.tokens-stay")
def test_tokens_of_the_source_do_not_act_on_its_copy(runtime: Runtime) -> None:
    source = rich_session(runtime)
    made = imported(runtime, exported(runtime, source["session"]["sessionId"]))
    (candidate,) = answer(runtime, "session.resume", query=made["session_id"])["items"]

    mixed = refusal(
        runtime,
        "run.continue",
        stateToken=candidate["nextCall"]["params"]["stateToken"],
        ackToken=source["ackToken"],
    )

    assert mixed.kind.code == "TOKEN_SCOPE_MISMATCH"


@pytest.mark.promise("bundle.gated")
def test_import_needs_the_token_of_exactly_this_preview(runtime: Runtime) -> None:
    text = exported(runtime, rich_session(runtime)["session"]["sessionId"])
    elsewhere = memory_runtime()

    bare = refusal(elsewhere, "session.import", bundle=bundle(text))
    shown = answer(elsewhere, "session.import", bundle=bundle(text), dryRun=True)
    other = refusal(elsewhere, "session.import", bundle=bundle(text + " "), confirm=shown["confirm_token"])

    assert bare.kind.code == "E_CONFIRMATION_REQUIRED"
    assert shown["preview"]["changes"][0]["after"]["events"] == len(json.loads(text)["session"]["events"])
    assert other.kind.code == "E_CONFLICT"
    assert commits_of(elsewhere) == 0


@pytest.mark.promise("bundle.gated")
def test_session_made_after_the_preview_is_not_overwritten(runtime: Runtime) -> None:
    text = exported(runtime, rich_session(runtime)["session"]["sessionId"])
    elsewhere = memory_runtime()
    shown = answer(elsewhere, "session.import", bundle=bundle(text), dryRun=True)
    imported(elsewhere, text)

    late = refusal(elsewhere, "session.import", bundle=bundle(text), confirm=shown["confirm_token"])

    assert late.kind.code == "E_CONFLICT"
