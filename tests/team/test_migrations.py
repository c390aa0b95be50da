"""The tables grow from every earlier version with what is in them, and a newer version is refused."""

from __future__ import annotations

from functools import partial

import psycopg
import pytest

from handrail.contract.outcome import Fault
from handrail.ports.log import Appended
from handrail_team.store.database import Database
from handrail_team.store.log import TeamLog
from handrail_team.store.migrations import MIGRATIONS, NEWEST, migrate, version_of
from tests.event_log.log_promises import A, append, blob, code_of, in_threads, keys, plan

TABLES = {
    *("schema_versions", "sessions", "events", "blobs", "session_blobs", "keyring"),
    *("confirmed_tokens", "audit", "search", "found_by", "folded", "outbox"),
    *("workspaces", "accounts", "memberships", "credentials", "servers"),
}
FIRST = "be46c31aa7a909ca91d3dc6bd04932636c749ac9143e53f9cda5113cb980aed7"


def tables(link: psycopg.Connection) -> set[str]:
    rows = link.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'handrail'").fetchall()
    return {row[0] for row in rows}


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
@pytest.mark.thorough
def test_a_store_of_every_earlier_version_is_read_and_goes_on(database: str, version: int) -> None:
    with psycopg.connect(database, autocommit=True) as link:
        migrate(link, version)
        link.execute("SELECT set_config('handrail.workspace', '=', false)")
        link.execute("INSERT INTO handrail.sessions VALUES (%s, '', 1, %s, 5)", (A, FIRST))
        body = b'{"n":1}'
        link.execute("INSERT INTO handrail.events VALUES (%s, 0, 0, 'a:1', %s, %s)", (A, body, FIRST))
        link.execute("INSERT INTO handrail.blobs VALUES ('', %s, %s)", (blob(b"old").ref, b"old"))
        before = version_of(link)

        log = TeamLog(Database(database))
        read = keys(log.load(A))
        append(log, A, 1, plan("a:2"))

        assert (before, read, version_of(link)) == (version, ["a:1"], NEWEST)
        assert keys(log.load(A)) == ["a:1", "a:2"]
        assert log.get_blob(blob(b"old").ref) == b"old"
        assert tables(link) == TABLES


@pytest.mark.thorough
def test_reading_an_empty_database_makes_nothing(database: str) -> None:
    log = TeamLog(Database(database))

    found = (log.load(A), list(log.list_sessions()), code_of(lambda: log.get_blob(blob(b"x").ref)))

    with psycopg.connect(database) as link:
        assert (found, tables(link)) == ((None, [], "STORE_CORRUPT"), set())


def begin(log: TeamLog, answers: list[Appended]) -> None:
    answers.append(append(log, A, 0, plan("a:1")))


@pytest.mark.thorough
def test_many_processes_make_the_tables_once(database: str) -> None:
    logs = [TeamLog(Database(database)) for _ in range(5)]

    answers: list[Appended] = []

    troubles = in_threads([partial(begin, log, answers) for log in logs])

    assert troubles == []
    assert sorted(type(answer).__name__ for answer in answers) == ["Committed"] + ["Replayed"] * 4
    assert keys(logs[0].load(A)) == ["a:1"]


@pytest.mark.thorough
def test_tables_of_a_newer_version_are_refused_with_what_to_do(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as link:
        migrate(link)
        link.execute("INSERT INTO handrail.schema_versions VALUES (%s)", (NEWEST + 1,))
    log = TeamLog(Database(database))

    with pytest.raises(Fault) as caught:
        log.load(A)

    assert caught.value.kind.code == "STORE_UNSUPPORTED_VERSION"
    assert caught.value.details == {"found": NEWEST + 1, "supported": NEWEST}
    assert "Update" in caught.value.kind.hint
    assert code_of(lambda: append(log, A, 0, plan("a:1"))) == "STORE_UNSUPPORTED_VERSION"


def test_commit_needs_only_what_distributed_databases_have() -> None:
    text = " ".join(statement for step in MIGRATIONS for statement in step).upper()

    refused = ("TRIGGER", "SERIAL", "REFERENCES", "PARTITION", "SEQUENCE")
    assert [word for word in refused if word in text] == []
