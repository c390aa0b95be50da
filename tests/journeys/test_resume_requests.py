"""Requests as people phrase them, in nine languages, and the session that each of them means."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import read_session
from tests.conftest import GivenWorkspace
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.test_confirmations import at_console

GIVEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "resume_requests" / "requests.json").read_text(encoding="utf-8")
)
LANGUAGES = ("en", "de", "fr", "ru", "zh", "ja")
"""Those that must be among the languages of the requests."""


def workspace(runtime: Runtime) -> GivenWorkspace:
    assert isinstance(runtime.workspace, GivenWorkspace)
    return runtime.workspace


def build_session(runtime: Runtime, given: dict[str, Any]) -> str:
    seen = workspace(runtime).seen
    seen["git_branch"] = given.get("branch", "main")
    reply = start(runtime, goal=given["goal"], context=given.get("context", {}))
    session_id = str(reply["session"]["sessionId"])
    if "title" in given:
        answer(at_console(runtime), "session.rename", session=session_id, title=given["title"])
    for notes in filter(None, (given.get("older"), given["notes"])):
        reply = advance(runtime, reply, notes)
    while given.get("finished") and reply["pending"] is not None:
        reply = advance(runtime, reply, given["notes"])
    seen["git_branch"] = "main"
    return session_id


def fork(runtime: Runtime, reply: dict[str, Any], notes: str) -> dict[str, Any]:
    """Report the step of an earlier reply once more, as another branch."""
    return advance(runtime, answer(runtime, "run.continue", stateToken=reply["stateToken"]), notes)


def list_nodes(runtime: Runtime, reply: dict[str, Any]) -> list[str]:
    session = read_session(runtime.log, reply["session"]["sessionId"])
    assert session is not None
    return list(session.history.nodes)


@pytest.fixture
def store(runtime: Runtime) -> dict[str, str]:
    return {build_session(runtime, given): given["key"] for given in GIVEN["sessions"]}


@pytest.mark.thorough
def test_requests_find_the_session_they_mean(runtime: Runtime, store: dict[str, str]) -> None:
    languages = Counter(request["language"] for request in GIVEN["requests"])
    missed, lost = [], []
    for request in GIVEN["requests"]:
        found = answer(runtime, "session.resume", query=request["query"])["items"]
        keys = [store[item["sessionId"]] for item in found]
        if keys[:1] != [request["expected"]]:
            missed.append((request["query"], keys[:3]))
        if request["expected"] not in keys[:3]:
            lost.append((request["query"], keys))

    assert sum(languages.values()) >= 100
    assert set(LANGUAGES) <= set(languages)
    assert lost == []
    assert len(missed) <= 5, missed


def test_a_word_that_no_text_has_is_ignored(runtime: Runtime) -> None:
    start(runtime, goal="Fix AUTH-1: login fails")

    found = answer(runtime, "session.resume", query="zebra auth-1 quokka")
    nothing = answer(runtime, "session.resume", query="zebra quokka")

    assert (found["matched"], found["items"][0]["whyMatched"]) == (True, ["goal"])
    assert nothing["matched"] is False
    assert nothing["scope"].startswith("nothing matches in ")


def test_the_sentence_with_the_words_is_shown(runtime: Runtime) -> None:
    advance(runtime, start(runtime, goal="Mend it"), "Read logs. The voucher is counted twice! Then lunch.")

    (found,) = answer(runtime, "session.resume", query="voucher")["items"]

    assert found["snippet"] == "The voucher is counted twice!"


def test_words_lead_to_the_branch_that_has_them(runtime: Runtime) -> None:
    first = start(runtime, goal="Speed up the report")
    left = advance(runtime, first, "Tried an index on the column.")
    fork(runtime, first, "Tried a materialised view instead.")

    (by_index,) = answer(runtime, "session.resume", query="index on the column")["items"]
    (by_view,) = answer(runtime, "session.resume", query="materialised view")["items"]

    assert "nodeId" not in by_view
    assert by_index["nodeId"] == list_nodes(runtime, first)[1]
    assert by_index["nextCall"]["params"]["stateToken"] == left["stateToken"]
    assert "Tried an index on the column." in by_index["snippet"]


def test_a_run_id_lists_every_branch_of_the_run(runtime: Runtime) -> None:
    first = start(runtime, goal="Speed up the report")
    advance(runtime, first, "Tried an index.")
    newest = fork(runtime, first, "Tried a view.")

    found = answer(runtime, "session.resume", query=first["session"]["runId"])["items"]

    assert [item.get("nodeId", "") == "" for item in found] == [True, False]
    assert found[0]["nextCall"]["params"]["stateToken"] == newest["stateToken"]


def test_a_node_id_leads_to_its_branch_and_names_a_fork(runtime: Runtime) -> None:
    first = start(runtime, goal="Speed up the report")
    left = advance(runtime, first, "Tried an index.")
    newest = fork(runtime, first, "Tried a view.")
    root, left_at, _ = list_nodes(runtime, first)

    (at_head,) = answer(runtime, "session.resume", query=left_at)["items"]
    (before,) = answer(runtime, "session.resume", query=root)["items"]
    unknown = answer(runtime, "session.resume", query="nod_000000000000")

    assert at_head["nodeId"] == left_at
    assert at_head["nextCall"]["params"]["stateToken"] == left["stateToken"]
    assert "forkCall" not in at_head
    assert "nodeId" not in before
    assert before["nextCall"]["params"]["stateToken"] == newest["stateToken"]
    assert before["forkCall"]["params"]["stateToken"] == first["stateToken"]
    assert (unknown["items"], unknown["matched"]) == ([], False)


def test_pages_of_candidates_joined_are_all_that_match(runtime: Runtime) -> None:
    started = [start(runtime, goal=f"rounding {number}")["session"]["sessionId"] for number in range(12)]

    seen: list[str] = []
    params: dict[str, Any] = {"query": "rounding"}
    while True:
        page = answer(runtime, "session.resume", **params)
        seen += [item["sessionId"] for item in page["items"]]
        if not page["has_more"]:
            break
        params["cursor"] = page["next_cursor"]
    other = refusal(runtime, "session.resume", query="other", cursor=params["cursor"])

    assert seen == started[::-1]
    assert other.kind.code == "TOKEN_SCOPE_MISMATCH"


@pytest.mark.parametrize("query", ["bill-340", "BILL 340", "340"])
def test_an_identifier_in_the_context_is_found(runtime: Runtime, query: str) -> None:
    meant = start(runtime, goal="Round invoices", context={"ticket": "BILL-340", "size": 7})
    start(runtime, goal="The bill of May", context={"ticket": "BILL-34"})

    found = answer(runtime, "session.resume", query=query)["items"]

    assert found[0]["sessionId"] == meant["session"]["sessionId"]
    assert "context" in found[0]["whyMatched"]


def test_lists_and_searches_find_words_of_any_script(runtime: Runtime) -> None:
    reply = start(runtime, goal="支払いの通知")
    advance(runtime, reply, "Διόρθωση της σύνδεσης. Été terminé.")
    start(runtime, goal="other")

    for query in ("支払い", "διόρθωση", "ÉTÉ", "σύνδ"):
        listed = answer(runtime, "session.list", query=query)["items"]
        assert [item["id"] for item in listed] == [reply["session"]["sessionId"]], query
    hits = answer(runtime, "session.search", query="διόρθωση")["items"]
    assert [hit["session_id"] for hit in hits] == [reply["session"]["sessionId"]]
