"""What a person reads at the Console, read through the command line and over HTTP: one answer, two doors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.conversation import start
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import command
from tests.journeys.rich_session import rich_session
from tests.surfaces.http.client import ask, make_app


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A store with one rich session, which nothing changes."""

    runtime: Runtime
    session: str

    def graph(self) -> dict[str, Any]:
        return self.both("run.graph", "session show --graph", sessionId=self.session)

    def served(self, operation: str, /, **params: str) -> dict[str, Any]:
        """What the address answers, where no command does."""
        sent = ask(make_app(self.runtime), "GET", f"/api/{operation}?{_query(params)}")
        told: dict[str, Any] = sent.document["data"]
        return told

    def both(self, operation: str, line: str, /, **params: str) -> dict[str, Any]:
        """What the command prints, which is what the address answers."""
        words = [word for word in line.split() if word not in ("--node", "--compare")]
        given = list(params.values())
        given[2:2] = ["--compare"] if line.endswith("--compare") else []
        status, printed = command(self.runtime, *words, *given)
        sent = ask(make_app(self.runtime), "GET", f"/api/{operation}?{_query(params)}")
        assert (status, sent.status) == (0, 200)
        told: dict[str, Any] = sent.document["data"]
        assert printed["data"] == told
        return told


def _query(params: dict[str, str]) -> str:
    return "&".join(f"{name}={value.replace(' ', '%20')}" for name, value in params.items())


@pytest.fixture(scope="module")
def seen() -> Seen:
    runtime = memory_runtime()
    return Seen(runtime=runtime, session=rich_session(runtime)["session"]["sessionId"])


def test_run_is_shown_with_its_way_forks_and_skipped_parts(seen: Seen) -> None:
    graph = seen.graph()

    nodes = graph["nodes"]
    assert [node["title"] for node in nodes if node["is_on_path"]] == [
        "Started",
        *("Decide", "Decide", "Size", "Try"),
    ]
    assert [(node["kind"], node["title"]) for node in nodes if not node["is_on_path"]] == [
        ("checkpoint", "Size"),
        ("step", "Try"),
    ]
    assert [row["title"] for node in nodes for row in node["passed"]] == ["Extra"]
    assert [row["title"] for row in graph["ahead"]] == ["End"]
    assert (graph["node_count"], graph["branch_count"]) == (7, 2)


def test_a_long_run_shows_its_newest_nodes(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    every = seen.graph()["nodes"]
    monkeypatch.setattr("handrail.operations.runs.show_graph.MOST_ROWS", 5)

    graph = seen.graph()

    assert graph["nodes_omitted"] == len(every) - 5
    assert [node["id"] for node in graph["nodes"]] == [node["id"] for node in every[-5:]]
    assert [node["row"] for node in graph["nodes"]] == list(range(5))


def test_node_shows_its_report_refusal_and_question(seen: Seen) -> None:
    refused, decided = (node["id"] for node in seen.graph()["nodes"] if node["step_id"] == "decide")

    before = seen.both("run.node", "session show --node", sessionId=seen.session, node=refused)
    after = seen.both("run.node", "session show --node", sessionId=seen.session, node=decided)

    assert before["notes"] == "I thought about it."
    assert [one["code"] for one in before["blockers"]] == ["MISSING_REQUIRED_OUTPUT"]
    assert before["pending"]["prompt"].startswith("Do decide.")
    assert {one["kind"] for one in after["artifacts"]} == {"wr.gap", "wr.decision", "wr.workflow_divergence"}
    assert [gap["summary"] for gap in after["gaps"]] == ["The staging database was not reachable."]
    assert [one["reason"] for one in after["divergences"]] == ["safety_stop"]
    assert "Token" not in str(before) + str(after)


def test_two_nodes_are_told_from_where_their_ways_part(seen: Seen) -> None:
    one, other = (node["id"] for node in seen.graph()["nodes"] if node["title"] == "Try")

    found = seen.both("run.compare", "session show --compare", sessionId=seen.session, one=one, other=other)

    (row,) = found["rows"]
    assert (found["ancestor_title"], found["shared_steps"]) == ("Size", 4)
    assert (row["one"]["notes"], row["other"]["notes"]) == ("Tried it.", "Tried it another way.")


def test_words_of_notes_and_artifacts_lead_to_their_node(seen: Seen) -> None:
    tip = seen.graph()["preferred_tip"]

    (notes,) = seen.served("session.search", query="another way")["items"]
    (artifact,) = seen.served("session.search", query="database reachable")["items"]
    nothing = seen.served("session.search", query="nothinghasthis")["items"]

    assert (notes["node_id"], notes["what"], notes["snippet"]) == (tip, "notes", "Tried it another way.")
    assert artifact["what"] == "wr.gap"
    assert artifact["snippet"] == "Severity: warning. Summary: The staging database was not reachable."
    assert nothing == []


def test_what_happened_is_told_in_order_with_a_lane_for_each_run(seen: Seen) -> None:
    found = seen.both("session.timeline", "session show --timeline", sessionId=seen.session)

    moments = found["items"][::-1]
    assert [one["what"] for one in moments] == [
        *("step", "blocked_attempt", "step", "checkpoint"),
        *("step", "step", "step"),
    ]
    assert [one["index"] for one in moments] == sorted(one["index"] for one in moments)
    assert {one["workflow_name"] for one in moments} == {"Given"}
    assert (found["has_more"], found["earlier"]) == (False, 0)


def test_what_waits_for_a_person_comes_with_the_words_to_paste() -> None:
    runtime = memory_runtime()
    start(runtime, goal="Nobody has to do anything here")
    asked = begin(runtime, step("release", requireConfirmation=True), fields={}, goal="Ship it")
    seen = Seen(runtime=runtime, session=asked["session"]["sessionId"])

    (need,) = seen.both("session.inbox", "session inbox")["items"]

    assert (need["kind"], need["goal"], need["title"]) == ("person", "Ship it", "Release")
    assert seen.session in need["reply"]
    assert asked["ackToken"] not in str(need)
