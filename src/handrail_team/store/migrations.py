"""The tables of the store, as numbered steps that only ever add.

Nothing here, and nothing on the path of a commit, is refused by the databases that speak PostgreSQL's
language: no triggers, no sequences, no foreign keys, plain primary keys. The one advisory lock keeps two
processes from migrating at once.
"""

from __future__ import annotations

from typing import Final, LiteralString

import psycopg

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.outcome import Fault

MIGRATIONS: Final[tuple[tuple[LiteralString, ...], ...]] = (
    (  # 1: the truth
        "CREATE TABLE handrail.sessions ("
        " session_id text PRIMARY KEY, workspace text NOT NULL DEFAULT '', head bigint NOT NULL,"
        " digest text NOT NULL, stamp bigint NOT NULL)",
        "CREATE TABLE handrail.events ("
        " session_id text NOT NULL, event_index bigint NOT NULL, commit_first bigint NOT NULL,"
        " dedupe_key text NOT NULL, body bytea NOT NULL, digest text NOT NULL,"
        " PRIMARY KEY (session_id, event_index), UNIQUE (session_id, dedupe_key))",
        "CREATE TABLE handrail.blobs ("
        " workspace text NOT NULL DEFAULT '', ref text NOT NULL, content bytea NOT NULL,"
        " touched timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (workspace, ref))",
        "CREATE TABLE handrail.session_blobs ("
        " session_id text NOT NULL, commit_first bigint NOT NULL, place bigint NOT NULL, ref text NOT NULL,"
        " PRIMARY KEY (session_id, commit_first, place))",
        "CREATE TABLE handrail.keyring (name text PRIMARY KEY, content bytea NOT NULL)",
    ),
    (  # 2: what stands beside it
        "CREATE TABLE handrail.confirmed_tokens (fingerprint text PRIMARY KEY, expires_at bigint NOT NULL)",
        "CREATE TABLE handrail.audit ("
        " id text PRIMARY KEY, month text NOT NULL, at text NOT NULL, line bytea NOT NULL)",
        "CREATE INDEX audit_month ON handrail.audit (month)",
        "CREATE TABLE handrail.search ("
        " session_id text PRIMARY KEY, form text NOT NULL, version text NOT NULL,"
        " facts bytea NOT NULL, subjects bytea NOT NULL, words tsvector NOT NULL)",
        "CREATE INDEX search_words ON handrail.search USING gin (words)",
        "CREATE INDEX session_blobs_ref ON handrail.session_blobs (ref)",
    ),
)
NEWEST: Final = len(MIGRATIONS)
_ONE_AT_A_TIME: Final = 0x68616E6472  # any number that nobody else uses


def version_of(link: psycopg.Connection) -> int:
    """The version of the tables; 0 where there are none yet.

    Raises Fault STORE_UNSUPPORTED_VERSION when a newer program made them.
    """
    try:
        row = link.execute("SELECT max(version) FROM handrail.schema_versions").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return 0
    found = int(row[0] or 0) if row else 0
    if found > NEWEST:
        raise Fault(
            STORE_UNSUPPORTED_VERSION,
            f"The database holds version {found} of the store; this program knows {NEWEST}.",
            details={"found": found, "supported": NEWEST},
        )
    return found


def migrate(link: psycopg.Connection, up_to: int = NEWEST) -> None:
    """Bring the tables to this version; whoever else does the same waits, and finds it done."""
    with link.transaction():
        link.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
        link.execute("CREATE SCHEMA IF NOT EXISTS handrail")
        link.execute("CREATE TABLE IF NOT EXISTS handrail.schema_versions (version bigint PRIMARY KEY)")
        for number in range(version_of(link) + 1, up_to + 1):
            for statement in MIGRATIONS[number - 1]:
                link.execute(statement)
            link.execute("INSERT INTO handrail.schema_versions VALUES (%s)", (number,))
