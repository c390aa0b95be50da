"""A server among others: live across them, fair between accounts, and honest while its database is away."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import conninfo, sql

from handrail.contract.outcome import Fault
from handrail.host.counts import OwnCounts
from handrail.operations import stored_sessions
from handrail.ports.log import Draft
from handrail_serve.app import App, Parts
from handrail_serve.endpoints import health
from handrail_serve.feed import Feed
from handrail_serve.guard import team_identity
from handrail_team.accounts.throttling import FREE_TRIES, CallPace
from handrail_team.service import NOWHERE
from handrail_team.store.database import Database
from handrail_team.store.log import TeamLog
from handrail_team.store.migrations import NEWEST
from handrail_team.store.session_index import TeamIndexView
from tests.team.team_server import ORIGIN, PAGE, PASSPHRASE, Caller, Server

AWAY = "postgresql://127.0.0.1:1/away"


@pytest.mark.thorough
def test_a_commit_on_one_server_is_live_on_another(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    other = Server(team_database, tmp_path / "other")
    workspace, elsewhere = server.workspace("main"), server.workspace("elsewhere")
    agent = server.join(workspace, "Ana").agent("builder")
    feeds = [Feed(other.accounts.marks(one), "epoch") for one in (workspace, elsewhere)]

    async def listen() -> bytes:
        near, far = (feed.stream("") for feed in feeds)
        await anext(near)
        await anext(far)
        await asyncio.to_thread(agent.start)
        told = await asyncio.wait_for(anext(near), 60)
        await near.aclose()
        await far.aclose()
        return told

    told = asyncio.run(listen())

    assert b"event: change" in told
    assert feeds[1]._number == 0


def test_while_the_database_is_away_every_call_says_so(tmp_path: Path) -> None:
    server = Server(AWAY, tmp_path)
    told = [
        server.ask("POST", "/api/session.list", "hra_" + "x" * 43, body={}),
        server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE),
    ]

    assert [one.status for one in told] == [503, 503]
    assert all(one.header("retry-after") for one in told)
    assert server.ask("GET", "/health/live", "").status == 200


def serve_as_started(server: Server) -> None:
    """What `handrail serve --team` makes of it: its runtime knows the database."""
    runtime = msgspec.structs.replace(server.runtime, database=server.accounts.facts)
    server.app = App(
        Parts(
            runtime=runtime,
            identity=team_identity(ORIGIN, 7245),
            answer_mcp=server.app._parts.answer_mcp,
            accounts=server.accounts,
        )
    )


@pytest.mark.thorough
def test_readiness_asks_the_database(server: Server, tmp_path: Path) -> None:
    statuses = []
    for one in (server, Server(AWAY, tmp_path / "away")):
        serve_as_started(one)
        statuses.append(one.ask("GET", "/health/ready", "").status)

    assert statuses == [200, 503]


@pytest.mark.thorough
def test_one_noisy_account_is_told_to_wait_and_others_are_not(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "Ben")
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["is_me"])
    now = time.monotonic()
    monkeypatch.setattr("handrail_team.service.time.monotonic", lambda: now)
    for _ in range(599):
        server.accounts._paces.require(account)

    noisy, quiet = ana.call("session.list"), ben.call("session.list")

    assert (noisy.status, quiet.status) == (429, 200)
    assert int(noisy.header("retry-after") or 0) >= 1
    monkeypatch.setattr("handrail_team.service.time.monotonic", lambda: now + 1)
    assert ana.call("session.list").status == 200


@pytest.mark.thorough
def test_account_has_a_limit_of_calls_at_once(server: Server) -> None:
    """An account has so many calls at once and others still get in."""
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "Ben")
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["is_me"])
    server.app.load.calls.held[account] = 32

    told = ana.call("session.list")

    assert (told.status, ben.call("session.list").status) == (429, 200)
    assert int(told.header("retry-after") or 0) >= 1
    assert server.app.load.calls.held[account] == 32, "what is refused is not counted"


@pytest.mark.thorough
def test_calls_and_feeds_leave_room_for_other_workspaces(server: Server) -> None:
    crowded, quiet = server.workspace("crowded"), server.workspace("quiet")
    ana, ben = server.join(crowded, "Ana"), server.join(quiet, "Ben")
    load = server.app.load
    load.calls.held[crowded] = 48
    load.feeds_open.held[crowded] = 256

    calls = ana.call("session.list"), ben.call("session.list")
    load.calls.held.clear()
    feed = server.ask("GET", "/api/feed", ana.token, PAGE)

    assert [one.status for one in (*calls, feed)] == [429, 200, 429]
    assert "This workspace" in feed.document["detail"]
    assert int(feed.header("retry-after") or 0) >= 1
    assert load.calls.held == {}, "a call that has ended is not counted"


@pytest.mark.thorough
def test_account_over_its_feeds_is_told_to_wait(server: Server) -> None:
    ana = server.join(server.workspace("main"), "Ana")
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["is_me"])
    server.app.load.feeds_open.held[account] = 8

    told = server.ask("GET", "/api/feed", ana.token, PAGE)

    assert (told.status, told.document["code"]) == (429, "E_RATE_LIMITED")


@pytest.mark.thorough
def test_who_guesses_passphrases_has_to_wait_longer_each_time(server: Server) -> None:
    server.join(server.workspace("main"), "Ana")
    told = [
        server.sign_in("passphrase", name="ana", passphrase="wrong in every way")
        for _ in range(FREE_TRIES + 1)
    ]

    assert [one.status for one in told] == [401] * FREE_TRIES + [429]
    assert server.sign_in("passphrase", name="ana", passphrase=PASSPHRASE).status == 429


def test_the_rate_is_of_one_account() -> None:
    paces = CallPace(OwnCounts(), 600)
    for _ in range(600):
        paces.require("a")

    paces.require("b")
    with pytest.raises(Exception, match="calls a minute"):
        paces.require("a")


@pytest.mark.thorough
def test_a_workspace_has_a_rate_of_its_own(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    crowded, quiet = server.workspace("crowded"), server.workspace("quiet")
    ana, ben = server.join(crowded, "Ana"), server.join(quiet, "Ben")
    now = time.monotonic()
    monkeypatch.setattr("handrail_team.service.time.monotonic", lambda: now)
    for _ in range(6_000):
        server.accounts._paces_of_workspaces.require(crowded)

    told = ana.call("session.list")

    assert (told.status, ben.call("session.list").status) == (429, 200)
    assert "This workspace" in told.document["detail"]


def test_a_page_token_is_replaced_by_use_and_the_old_one_ends(server: Server) -> None:
    ana = server.join(server.workspace("main"), "Ana", "owner")

    renewed = server.sign_in("renew", ana.token).document["token"]
    row = server.accounts.directory.find(ana.token)

    assert row is not None
    assert 0 < row.ended_at - server.runtime.clock.unix_seconds() <= 60
    assert Caller(server, renewed, is_page=True).call("session.list").status == 200
    assert server.sign_in("renew", "hra_" + "x" * 43).status == 401


@pytest.mark.thorough
def test_session_of_a_newer_server_is_refused_unchanged(server: Server, team_database: str) -> None:
    workspace = server.workspace("main")
    ana = server.join(workspace, "Ana")
    agent = ana.agent("builder")
    newer, own = agent.start(requestId="newer"), agent.start(requestId="own")
    session_id = newer["session"]["sessionId"]
    log = TeamLog(Database(team_database).within(workspace))
    planted = b'{"v":1,"at":"2027-01-15T08:00:00.000Z","scope":{},"data":{"kind":"of_the_next_release"}}'
    with log.hold_existing(session_id, 60_000) as hold:
        before = hold.load()
        assert before is not None
        hold.append(before.head, [Draft(dedupe_key="new", body=planted)])

    report = {"notesMarkdown": "Looked at it."}
    refused = agent.call("run.continue", ackToken=newer["ackToken"], output=report)
    others = [agent.call("run.continue", ackToken=own["ackToken"], output=report), ana.call("session.list")]
    begun = agent.call("run.start", workflowId="wr.small_change", goal="More.", requestId="more")
    after = log.load(session_id)

    assert refused.document["code"] == "STORE_UNSUPPORTED_VERSION"
    assert [one.status for one in (*others, begun)] == [200, 200, 200]
    assert after is not None
    assert [one.body for one in after.records] == [*(one.body for one in before.records), planted]


@pytest.mark.thorough
def test_no_path_of_a_caller_is_opened_by_the_server(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    (folder / ".handrail").mkdir(parents=True)
    (folder / ".handrail" / "config.json").write_text("{broken", encoding="utf-8")
    agent = server.join(server.workspace("main"), "Ana").agent("builder")

    begun = agent.start(project=str(folder))
    again = agent.start(project=begun["project"])

    assert begun["project"].startswith(NOWHERE)
    assert again["session"] == begun["session"]


@pytest.mark.thorough
def test_lists_ask_the_database_for_what_they_show(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = server.join(server.workspace("main"), "Ana")
    agent = ana.agent("builder")
    ids = [agent.start(requestId=at)["session"]["sessionId"] for at in "01"]
    agent.data("run.close", run=ids[1], reason="done_elsewhere", requestId="close")
    agent.start(requestId="2")
    me = ana.data("team.whoami")["account"]
    ana.data("session.list", status="closed")  # now the index knows them
    found: list[int] = []
    find = TeamIndexView.find

    def count(self: TeamIndexView, *told: Any, **more: Any) -> Any:
        rows = find(self, *told, **more)
        found.append(len(rows))
        return rows

    monkeypatch.setattr(TeamIndexView, "find", count)
    monkeypatch.setattr(stored_sessions, "FIRST_LOOKED_AT", 1)
    told = [
        [row["id"] for row in ana.data("session.list", **asked)["items"]]
        for asked in ({"status": "closed"}, {"status": "closed", "account": me}, {"account": "acc_other"})
    ]

    assert told == [[ids[1]], [ids[1]], []]
    assert ana.data("session.gaps")["items"] == []
    assert found == [1, 1, 0, 0]  # beside the latest one, which is always looked at


@pytest.mark.thorough
def test_a_healthy_server_is_ready_without_a_doubt(server: Server) -> None:
    """A balancer that waits for `pass` waits for nothing that is no part of a team's server."""
    server.workspace("main")
    serve_as_started(server)

    ready = server.ask("GET", "/health/ready", "")

    assert (ready.status, ready.body) == (200, b"pass\n")


@pytest.mark.thorough
def test_idle_server_is_ready_when_the_database_is_back(server: Server, postgres: str) -> None:
    """An idle server is ready at the first question after the database is back."""
    server.workspace("main")
    serve_as_started(server)
    held = [server.accounts.database.take()[0] for _ in range(4)]
    for one in held:
        server.accounts.database.give(one)
    with psycopg.connect(postgres, autocommit=True) as link:
        for one in held:
            link.execute("SELECT pg_terminate_backend(%s, 5000)", (one.info.backend_pid,))

    ready = server.ask("GET", "/health/ready", "")

    assert (ready.status, ready.body) == (200, b"pass\n")


@pytest.mark.thorough
def test_call_works_after_a_read_only_database(server: Server, team_database: str) -> None:
    """A read-only database is unavailable and the same call goes on afterwards."""
    agent = server.join(server.workspace("main"), "Ana").agent("builder")
    agent.start()
    serve_as_started(server)
    name = conninfo.conninfo_to_dict(team_database)["dbname"]
    setting = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute(setting.format(sql.Identifier(str(name)), sql.SQL("on")))
        server.accounts.database.close()  # kept connections have the setting of before

        refused = agent.call("run.start", workflowId="wr.small_change", goal="Go on.", requestId="second")
        ready = server.ask("GET", "/health/ready", "")
        link.execute("SET default_transaction_read_only = off")
        link.execute(setting.format(sql.Identifier(str(name)), sql.SQL("off")))

    went_on = agent.call("run.start", workflowId="wr.small_change", goal="Go on.", requestId="second")
    assert (refused.status, refused.document["code"]) == (503, "STORE_UNAVAILABLE")
    assert refused.header("retry-after")
    assert (ready.status, ready.body) == (503, b"fail\nstore fail\n")
    assert went_on.status == 200


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["53100", "XX000"])
def test_full_disk_is_unavailable_until_there_is_room(
    team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """PostgreSQL calls a disk without room 53100, and a quota that is reached XX000."""
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    lines: list[str] = []
    server = Server(team_database, tmp_path, note=lines.append)
    agent = server.join(server.workspace("main"), "Ana").agent("builder")
    serve_as_started(server)
    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute(
            "CREATE FUNCTION handrail.fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" RAISE EXCEPTION 'could not extend file \"pg_tblspc/1\"' USING ERRCODE = '{state}'; END $$"
        )
        link.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON handrail.blobs EXECUTE FUNCTION handrail.fill()"
        )
        given = {"workflowId": "wr.small_change", "goal": "Go on.", "requestId": "first"}
        refused = agent.call("run.start", **given)
        ready = [server.ask("GET", "/health/ready", "").body for _ in range(2)]
        link.execute("DROP TRIGGER full_disk ON handrail.blobs")
        ready.append(server.ask("GET", "/health/ready", "").body)
        left = link.execute("SELECT count(*) FROM handrail.blobs").fetchone()

    assert (refused.status, refused.document["retryable"]) == (503, True)
    assert refused.header("retry-after")
    assert b"pg_tblspc" not in refused.body
    assert "pg_tblspc" in "".join(lines)
    assert ready == [b"fail\nstore fail\n", b"fail\nstore fail\n", b"pass\n"]
    assert left == (0,)
    assert agent.call("run.start", **given).status == 200


def test_only_the_operator_is_told_where_the_database_is(tmp_path: Path) -> None:
    lines: list[str] = []
    server = Server(AWAY, tmp_path, note=lines.append)

    told = [
        server.ask("POST", "/api/session.list", "hra_" + "x" * 43, body={}),
        server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE),
        server.ask("GET", "/health/ready", ""),
    ]

    assert all(b"127.0.0.1" not in one.body for one in told)
    assert len(lines) == 1
    assert '"127.0.0.1", port 1' in lines[0]


@pytest.mark.thorough
def test_server_goes_on_while_a_newer_one_extends_tables(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    """A server goes on while a newer one extends the tables and no older one starts."""
    serve_as_started(server)
    ana = server.join(server.workspace("main"), "Ana", "owner")
    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute("INSERT INTO handrail.schema_versions VALUES (%s)", (NEWEST + 1,))
        link.execute("ALTER TABLE handrail.sessions ADD COLUMN of_a_newer_version text")

    ready = server.ask("GET", "/health/ready", "")
    begun = ana.agent("builder").start()
    with pytest.raises(Fault) as refused:
        Server(team_database, tmp_path / "late").accounts.check()

    assert (ready.status, ready.body.split()) == (200, [b"pass"])
    assert begun["session"]["sessionId"] in [row["id"] for row in ana.data("session.list")["items"]]
    assert refused.value.kind.code == "STORE_UNSUPPORTED_VERSION"
