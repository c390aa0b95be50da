"""Row security: a transaction sees the workspace that it names, and without a name nothing at all."""

from __future__ import annotations

import psycopg
import pytest

from handrail.contract.outcome import Fault
from handrail.ports.store import Entry
from handrail_team.store.beside_the_log import TeamConfirmedTokens
from handrail_team.store.database import Database
from handrail_team.store.log import TeamLog
from handrail_team.store.session_index import TeamSessionIndex
from tests.event_log.log_promises import A, append, blob, code_of, keys, plan

pytestmark = pytest.mark.thorough

TABLES = (
    *("sessions", "events", "blobs", "session_blobs", "search", "keyring", "confirmed_tokens", "audit"),
    *("outbox", "found_by", "folded", "workspaces", "accounts", "memberships", "credentials", "servers"),
)


def test_one_session_id_in_two_workspaces_is_two_sessions(team_database: str) -> None:
    held = Database(team_database, is_team=True)
    here, there = TeamLog(held.within("ws_a")), TeamLog(held.within("ws_b"))
    append(here, A, 0, plan("a:1"), [blob(b"ours")])

    before = (there.load(A), list(there.list_sessions()), code_of(lambda: there.get_blob(blob(b"ours").ref)))
    append(there, A, 0, plan("b:1"))

    assert before == (None, [], "STORE_CORRUPT")
    assert (keys(here.load(A)), keys(there.load(A))) == (["a:1"], ["b:1"])
    tokens = [TeamConfirmedTokens(held.within(name)) for name in ("ws_a", "ws_b")]
    assert [one.claim("f", expires_at=9, now=5).state for one in tokens] == ["claimed", "claimed"]


def test_sql_without_a_workspace_sees_and_adds_nothing(team_database: str) -> None:
    held = Database(team_database, is_team=True)
    append(TeamLog(held.within("ws_a")), A, 0, plan("a:1"), [blob(b"ours")])
    keep_words(held.within("ws_a"), "ours")
    counts = {}

    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute("SELECT set_config('handrail.words', '!x', false)")  # what nobody's session has not
        for setting in (None, "", "=", "*", "=ws_b", "ws_a"):
            if setting is not None:
                link.execute("SELECT set_config('handrail.workspace', %s, false)", (setting,))
            for table in TABLES:
                row = link.execute(f"SELECT count(*) FROM handrail.{table}".encode()).fetchone()
                assert row is not None
                counts[setting, table] = row[0]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            link.execute("INSERT INTO handrail.sessions VALUES ('ses_x', 'ws_a', 1, 'd', 1)")
        link.execute("SELECT set_config('handrail.workspace', '=ws_a', false)")
        seen = link.execute("SELECT count(*) FROM handrail.events").fetchone()

    assert set(counts.values()) == {0}
    assert seen == (1,)


def keep_words(held: Database, words: str) -> None:
    with TeamSessionIndex(TeamLog(held)).open_view("form") as view:
        entries = [
            Entry(
                session_id=one.stamp.session_id,
                version=one.version,
                facts=b"f",
                subjects=b"",
                words=words,
                about=words,
            )
            for one in view.look()
        ]
        view.keep(entries)


def test_search_finds_its_own_workspace_by_the_index(team_database: str) -> None:
    held = Database(team_database, is_team=True)
    here, there = held.within("ws_a"), held.within("ws_b")
    for database in (here, there):
        append(TeamLog(database), A, 0, plan("a:1"))
    keep_words(here, "ours")
    keep_words(there, "theirs")

    found = []
    for database in (here, there):
        with TeamSessionIndex(TeamLog(database)).open_view("form") as view:
            for word in ("ours", "theirs"):
                found.append((len(view.with_word(word)), len(view.find([(word,)], [word]))))
    with psycopg.connect(team_database, autocommit=True) as link:
        for setting in ("handrail.workspace", "=ws_a"), ("handrail.words", "'ours'"):
            link.execute("SELECT set_config(%s, %s, false)", setting)
        link.execute("SET enable_seqscan = off")
        plan_ = link.execute("EXPLAIN SELECT session_id FROM handrail.found_by").fetchall()
        left = link.execute("DELETE FROM handrail.found_by").rowcount

    assert found == [(1, 1), (0, 0), (0, 0), (1, 1)]
    assert "found_by_words" in str(plan_), "the wall asks for the words, so that their index serves"
    assert left == 1


def test_the_audit_of_a_team_cannot_be_changed_or_emptied(team_database: str) -> None:
    Database(team_database, is_team=True).write(lambda link: None)
    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute("SELECT set_config('handrail.workspace', '=ws_a', false)")
        link.execute("INSERT INTO handrail.audit (id, month, at, line) VALUES ('1', 'm', 'a', 'line')")

        changed = link.execute("UPDATE handrail.audit SET line = 'other'").rowcount
        removed = link.execute("DELETE FROM handrail.audit").rowcount

    assert (changed, removed) == (0, 0)


def test_a_superuser_is_refused_by_a_team_and_beside_one(database: str) -> None:
    team = TeamLog(Database(database, is_team=True))
    with pytest.raises(Fault) as caught:
        append(team, A, 0, plan("a:1"))

    direct = TeamLog(Database(database))
    append(direct, A, 0, plan("a:1"))
    with psycopg.connect(database, autocommit=True) as link:
        link.execute("INSERT INTO handrail.workspaces VALUES ('ws_a', 'ours', '2026', NULL)")

    assert (caught.value.kind.code, caught.value.details["reason"]) == (
        "STORE_PERMISSION_DENIED",
        "superuser",
    )
    assert code_of(lambda: TeamLog(Database(database)).load(A)) == "STORE_PERMISSION_DENIED"
