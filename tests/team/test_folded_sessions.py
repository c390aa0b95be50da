"""What one server folded, another one recalls; agents' steps stand in the log and not in the audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from handrail.contract.ids import SessionId
from handrail.ports.log import Loaded
from handrail.runtime import sessions
from handrail_team.store.log import TeamHold, TeamLog
from handrail_team.store.migrations import SCOPE, scope_of
from tests.team.cutting_proxy import cutting_proxy
from tests.team.team_server import Caller, Server

NOTES = {"notesMarkdown": "Looked."}


def step(agent: Caller, reply: Any) -> Any:
    return agent.data("run.continue", ackToken=reply["ackToken"], output=NOTES)


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions count as long from their eighth event on."""
    monkeypatch.setattr(TeamHold, "remembers_from", 8)
    monkeypatch.setattr(sessions, "FEWEST_NEW_EVENTS", 1)


@pytest.mark.thorough
@pytest.mark.usefixtures("early")
def test_another_server_reads_only_events_after_the_folded_ones(
    server: Server, person: Caller, team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = person.agent("builder")
    reply = step(agent, agent.start())
    other = Caller(Server(team_database, tmp_path / "other"), agent.token, is_page=False)
    read: list[int] = []
    load_since = TeamLog.load_since

    def counted(log: TeamLog, session_id: SessionId, index: int) -> Loaded | None:
        read.append(index)
        return load_since(log, session_id, index)

    monkeypatch.setattr(TeamLog, "load_since", counted)
    shown = other.data("run.continue", stateToken=reply["stateToken"])

    assert min(read) >= 8, "nothing before the folded part is read"
    assert shown["pending"] == reply["pending"]


@pytest.mark.thorough
@pytest.mark.usefixtures("early")
def test_a_damaged_folded_session_is_folded_from_its_events(
    server: Server, person: Caller, team_database: str, tmp_path: Path
) -> None:
    agent = person.agent("builder")
    reply = step(agent, agent.start())
    with psycopg.connect(team_database) as link:
        link.execute(SCOPE, (scope_of(server.workspace("main")),))
        changed = link.execute("UPDATE handrail.folded SET content = 'rubbish'").rowcount
    other = Caller(Server(team_database, tmp_path / "other"), agent.token, is_page=False)

    assert changed == 1
    assert step(other, reply)["kind"] == step(agent, reply)["kind"]


@pytest.mark.thorough
@pytest.mark.usefixtures("early")
def test_a_deleted_session_leaves_nothing_folded(server: Server, person: Caller, team_database: str) -> None:
    agent = person.agent("builder")
    reply = step(agent, agent.start())
    scope, counts = scope_of(server.workspace("main")), []
    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute("SELECT set_config('handrail.workspace', %s, false)", (scope,))
        counts.append(link.execute("SELECT count(*) FROM handrail.folded").fetchone())
        person.gated("session.delete", ids=[reply["session"]["sessionId"]], dangerous=True)
        counts.append(link.execute("SELECT count(*) FROM handrail.folded").fetchone())

    assert counts == [(1,), (0,)]


@pytest.mark.thorough
def test_a_step_of_an_agent_is_two_trips_and_one_durable_commit(
    team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail_team.service.FRESH_SECONDS", 10_000)
    monkeypatch.setattr("handrail_team.store.log._KEPT_SECONDS", 10_000)
    with cutting_proxy(team_database) as proxy:
        server = Server(proxy.address, tmp_path)
        agent = server.join(server.workspace("main"), "Ana").agent("one")
        reply = agent.start()
        before = proxy.trips
        step(agent, reply)

        assert proxy.trips - before == 2


@pytest.mark.thorough
def test_steps_of_agents_stand_in_the_log_alone(server: Server, person: Caller) -> None:
    """What a person does has a line, and so has what an agent was refused."""
    agent = person.agent("builder")
    reply = step(agent, agent.start())
    agent.call("team.invite", role="member", name="Eve", requestId="eve")
    person.data("session.rename", session=reply["session"]["sessionId"], title="Renamed")

    rows = person.data("team.audit")["items"]
    loaded = server.accounts.adapters(server.workspace("main"))["log"].load(reply["session"]["sessionId"])
    steps = [json.loads(one.body) for one in loaded.records if b"advance_recorded" in one.body]

    commands = [row["command"].rpartition("/")[2] for row in rows]
    assert [name for name in commands if name.startswith("run.")] == []
    assert {"session.rename", "team.invite"} <= set(commands)
    assert [one["actor"]["kind"] for one in steps] == ["agent"]
