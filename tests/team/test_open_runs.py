"""So many runs may be under way, for an account and for a workspace; the operator says how many."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from handrail_serve.limits import Bounds
from handrail_team.store.migrations import SCOPE, scope_of
from tests.event_log.log_promises import in_threads
from tests.journeys.given_workflows import step
from tests.surfaces.http.client import Answered
from tests.team.cutting_proxy import cutting_proxy
from tests.team.team_server import Caller, Server

pytestmark = pytest.mark.thorough
ONE_STEP = {
    "id": "ours.note",
    "name": "Note",
    "description": "Notes it.",
    "version": "1.0.0",
    "steps": [step("note"), step("end")],
}


def limited(address: str, home: Path, **limits: int) -> Server:
    """A server whose operator has set these limits, and which offers a workflow of two steps."""
    (home / "home" / "workflows").mkdir(parents=True)
    (home / "home" / "workflows" / "note.json").write_text(json.dumps(ONE_STEP), encoding="utf-8")
    (home / "home" / "config.json").write_text(json.dumps({"limits": limits}), encoding="utf-8")
    return Server(address, home)


@pytest.fixture
def server(team_database: str, tmp_path: Path) -> Server:
    return limited(team_database, tmp_path, openRuns=2)


def begin(agent: Caller, name: str, **more: Any) -> Answered:
    given = {"workflowId": "ours.note", "goal": f"Note {name}.", "requestId": name, **more}
    return agent.call("run.start", **given)


def answered(told: Answered) -> Any:
    assert told.status == 200, told.body
    return told.document["data"]


def go_on(agent: Caller, reply: Any) -> Any:
    return agent.data("run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "Noted it."})


def close(agent: Caller, reply: Any) -> None:
    agent.data("run.close", stateToken=reply["stateToken"], reason="abandoned", requestId="close")


def test_start_over_the_limit_waits_for_a_closed_run(server: Server) -> None:
    ana, ben = (server.join(server.workspace(f"of {name}"), name) for name in ("Ana", "Ben"))
    first, second = ana.agent("one"), ana.agent("two")
    kept = [answered(begin(first, "a")), answered(begin(second, "b"))]

    refused = begin(first, "c")
    repeated = begin(first, "a")
    listed = ana.data("session.list")["items"]
    elsewhere = begin(ben.agent("three"), "c")
    close(second, kept[0])
    later = begin(first, "c")

    assert (refused.status, refused.document["code"]) == (422, "WORK_LIMIT_EXCEEDED")
    assert "run close" in refused.document["details"]["hint"]
    assert "limits.openRuns" in refused.document["details"]["hint"]
    assert sorted(one["id"] for one in listed) == sorted(one["session"]["sessionId"] for one in kept)
    assert answered(repeated)["session"] == kept[0]["session"]
    assert (elsewhere.status, later.status) == (200, 200)


def test_finished_run_counts_only_if_it_goes_on_again(server: Server) -> None:
    agent = server.join(server.workspace("main"), "Ana").agent("one")
    first, second = answered(begin(agent, "a")), answered(begin(agent, "b"))
    over = begin(agent, "c").status
    last = go_on(agent, go_on(agent, first))
    third = begin(agent, "c")
    close(agent, second)
    go_on(agent, second)

    full = begin(agent, "d")

    assert (over, third.status, full.status) == (422, 200, 422)
    assert last["isComplete"] is True


def test_every_run_of_a_session_counts_for_who_began_it(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = (server.join(workspace, name).agent(f"of-{name}") for name in ("Ana", "Ben"))
    shared = answered(begin(ana, "a"))["session"]["sessionId"]

    told = [begin(who, name, session=shared).status for who, name in ((ana, "b"), (ben, "c"), (ana, "d"))]

    assert told == [200, 200, 422]


def test_a_workspace_has_room_for_the_runs_of_several_accounts(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail_team.store.open_runs.OF_A_WORKSPACE", 1)
    workspace = server.workspace("main")
    told = [begin(server.join(workspace, name).agent(f"of-{name}"), name) for name in ("Ana", "Ben", "Cleo")]

    assert [one.status for one in told] == [200, 200, 422]
    assert "This workspace has as many runs" in told[2].document["detail"]


def test_simultaneous_starts_keep_to_the_limit(team_database: str, tmp_path: Path) -> None:
    servers = [limited(team_database, tmp_path / name, openRuns=3) for name in ("one", "two")]
    token = servers[0].join(servers[0].workspace("main"), "Ana").agent("one").token
    agents = [Caller(one, token, is_page=False) for one in servers]
    told: list[int] = []

    def start(agent: Caller, name: str) -> None:
        told.append(begin(agent, name).status)

    troubles = in_threads([partial(start, agents[at % 2], f"start-{at}") for at in range(8)])

    assert troubles == []
    assert sorted(told) == [200] * 3 + [422] * 5
    assert len(agents[0].data("session.list")["items"]) == 3


def forget_counts(address: str, workspace: str) -> None:
    """What a server of the version before leaves: it moves the head, and knows no counting."""
    with psycopg.connect(address, autocommit=False) as link:
        link.execute(SCOPE, (scope_of(workspace),))
        link.execute("UPDATE handrail.sessions SET open_runs = '{}', counted = -1")


def test_next_start_counts_runs_of_an_older_server(server: Server, team_database: str) -> None:
    workspace = server.workspace("main")
    agent = server.join(workspace, "Ana").agent("one")
    first = answered(begin(agent, "a"))
    close(agent, answered(begin(agent, "b")))
    forget_counts(team_database, workspace)

    told = [begin(agent, name).status for name in ("c", "d")]
    with psycopg.connect(team_database) as link:
        link.execute(SCOPE, (scope_of(workspace),))
        asked = link.execute("SELECT session_id, counted = head FROM handrail.sessions")
        rows: dict[str, bool] = dict(asked.fetchall())

    assert told == [200, 422]
    assert rows[first["session"]["sessionId"]] is True, "it is not read again by every start"
    assert list(rows.values()) == [True] * 3


def test_counting_costs_an_advance_no_trip(
    team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail_team.service.FRESH_SECONDS", 10_000)
    monkeypatch.setattr("handrail_team.store.log._KEPT_SECONDS", 10_000)
    trips = []
    with cutting_proxy(team_database) as proxy:
        server = limited(proxy.address, tmp_path, openRuns=2)
        agent = server.join(server.workspace("main"), "Ana").agent("one")
        reply = answered(begin(agent, "a"))
        before = proxy.trips
        go_on(agent, reply)
        trips.append(proxy.trips - before)

    assert trips == [2], "the lock with what is new, and the commit"


def test_the_operator_sets_what_an_account_may_have(team_database: str, tmp_path: Path) -> None:
    server = limited(team_database, tmp_path, callsAMinute=5, callsAtOnce=2, feeds=1, bodyBytes=65_536)
    bounds = Bounds(limits=server.runtime.settings.of().limits)
    server.app = type(server.app)(msgspec.structs.replace(server.app._parts, bounds=bounds))
    ana = server.join(server.workspace("main"), "Ana")

    long = ana.call("session.list", query="x" * 70_000)
    told = [ana.call("session.list").status for _ in range(5)]

    assert (long.status, long.document["code"]) == (413, "REQUEST_TOO_LARGE")
    assert told.count(429) >= 1
    assert (server.app.load.calls._most, server.app.load.feeds_open._most) == ((2, 3), (1, 32))


def test_a_limit_that_is_none_keeps_the_server_from_starting(team_database: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"limits.openRuns"):
        limited(team_database, tmp_path, openRuns=0)
