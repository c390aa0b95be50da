"""The tables of the store, as numbered steps.

Every row belongs to a workspace; the one of direct mode has an empty name. Row security is forced on the
owner of the tables too: a transaction that did not say its workspace (`scope_of`) sees no row and adds none,
and one that said it sees no other's. What tells who may come in is also seen by a transaction that says `*`.

Nothing here, and nothing on the path of a commit, is refused by the databases that speak PostgreSQL's
language: no triggers, no sequences, no foreign keys, plain primary keys. The one advisory lock keeps two
processes from migrating at once.
"""

from __future__ import annotations

from typing import Final, LiteralString

import psycopg

from handrail.contract.catalogue import STORE_PERMISSION_DENIED, STORE_UNSUPPORTED_VERSION
from handrail.contract.outcome import Fault

EVERY_WORKSPACE: Final = "*"
"""What a transaction says that looks up who somebody is. It sees nothing of a session."""
# A setting that was never made is null, and one of an earlier transaction is empty; neither begins with `=`.
_HERE: Final = "current_setting('handrail.workspace', true)"
_IS_HERE: Final = f"workspace = substr({_HERE}, 2) AND left({_HERE}, 1) = '='"
_IS_ANYWHERE: Final = f"{_HERE} = '*'"
_HAS_A_MEMBERSHIP: Final = "account IN (SELECT m.account FROM handrail.memberships m)"
_WHO: Final = ("workspaces", "accounts", "memberships", "credentials")

_IS_HERE_ONCE: Final = f"workspace = (SELECT substr({_HERE}, 2)) AND (SELECT left({_HERE}, 1) = '=')"
_LISTED: Final = ("sessions", "search")
_WORDS: Final = "nullif(current_setting('handrail.words', true), '')::tsquery"
ASKED_WORDS: Final = "SELECT set_config('handrail.words', %s, true)"
"""Said before `found_by` is read or changed, with the words of a search."""
ANY_WORDS: Final = "!'='"
"""No session has this word, so all are found without it."""

SCOPE: Final = "SELECT set_config('handrail.workspace', %s, true)"
"""Said first in every transaction, with `scope_of`; it ends with the transaction."""


def scope_of(workspace: str) -> str:
    """The setting with which a transaction sees the rows of this workspace, and adds to them."""
    return workspace if workspace == EVERY_WORKSPACE else f"={workspace}"


def _wall(table: LiteralString, seen: LiteralString, does: LiteralString = "ALL") -> LiteralString:
    kept = f"WITH CHECK ({seen})" if does == "INSERT" else f"USING ({seen})"
    return f"CREATE POLICY {table}_{does.lower()} ON handrail.{table} FOR {does} {kept}"


def _close(table: LiteralString) -> tuple[LiteralString, ...]:
    security = "ROW LEVEL SECURITY"
    return (
        f"ALTER TABLE handrail.{table} ENABLE {security}",
        f"ALTER TABLE handrail.{table} FORCE {security}",
    )


def _own(table: LiteralString, *keys: LiteralString, is_new: bool) -> tuple[LiteralString, ...]:
    """Give every row its workspace, from then on that of the transaction which adds it."""
    add = (f"ALTER TABLE handrail.{table} ADD COLUMN workspace text NOT NULL DEFAULT ''",) if is_new else ()
    return (
        *add,
        *(f"ALTER TABLE handrail.{table} {key}" for key in keys),
        f"ALTER TABLE handrail.{table} ALTER COLUMN workspace SET DEFAULT substr({_HERE}, 2)",
        *_close(table),
    )


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
    (  # 3: walls between workspaces, and who may come in
        *_own(
            "sessions", "DROP CONSTRAINT sessions_pkey, ADD PRIMARY KEY (session_id, workspace)", is_new=False
        ),
        *_own(
            "events",
            "DROP CONSTRAINT events_pkey, ADD PRIMARY KEY (session_id, event_index, workspace)",
            "DROP CONSTRAINT events_session_id_dedupe_key_key,"
            " ADD UNIQUE (session_id, dedupe_key, workspace)",
            is_new=True,
        ),
        *_own("blobs", is_new=False),
        *_own(
            "session_blobs",
            "DROP CONSTRAINT session_blobs_pkey,"
            " ADD PRIMARY KEY (session_id, commit_first, place, workspace)",
            is_new=True,
        ),
        *_own("search", "DROP CONSTRAINT search_pkey, ADD PRIMARY KEY (session_id, workspace)", is_new=True),
        *_own("keyring", "DROP CONSTRAINT keyring_pkey, ADD PRIMARY KEY (name, workspace)", is_new=True),
        *_own(
            "confirmed_tokens",
            "DROP CONSTRAINT confirmed_tokens_pkey, ADD PRIMARY KEY (fingerprint, workspace)",
            is_new=True,
        ),
        *_own("audit", is_new=True),
        "CREATE TABLE handrail.outbox ("
        " id text NOT NULL, workspace text NOT NULL, due bigint NOT NULL, tries bigint NOT NULL DEFAULT 0,"
        " body bytea NOT NULL, PRIMARY KEY (id, workspace))",
        *_own("outbox", is_new=False),
        *(
            _wall(table, _IS_HERE)
            for table in (
                *("sessions", "events", "blobs", "session_blobs", "search", "keyring", "confirmed_tokens"),
                "outbox",
            )
        ),
        # Nothing is taken out of the audit of a team; direct mode keeps the months that its settings say.
        _wall("audit", _IS_HERE, "SELECT"),
        _wall("audit", _IS_HERE, "INSERT"),
        _wall("audit", f"{_IS_HERE} AND workspace = ''", "DELETE"),
        "CREATE TABLE handrail.workspaces ("
        " workspace text PRIMARY KEY, name text NOT NULL UNIQUE, made_at text NOT NULL,"
        " request_id text UNIQUE)",
        "CREATE TABLE handrail.accounts ("
        " account text PRIMARY KEY, name text NOT NULL, sign_in text UNIQUE, passphrase text,"
        " issuer text, subject text, made_at text NOT NULL, UNIQUE (issuer, subject))",
        "CREATE TABLE handrail.memberships ("
        " account text NOT NULL, workspace text NOT NULL, role text NOT NULL, since text NOT NULL,"
        " PRIMARY KEY (account, workspace))",
        "CREATE TABLE handrail.credentials ("
        " hash text PRIMARY KEY, id text NOT NULL UNIQUE, workspace text NOT NULL,"
        " account text NOT NULL, kind text NOT NULL,"
        " name text NOT NULL, role text NOT NULL, machine text NOT NULL, scopes text NOT NULL,"
        " made_at text NOT NULL, made_by text NOT NULL, expires_at bigint NOT NULL, used_at bigint NOT NULL,"
        " ended_at bigint NOT NULL, request_id text, UNIQUE (workspace, request_id))",
        "CREATE INDEX credentials_account ON handrail.credentials (workspace, account)",
        *(part for table in _WHO for part in _close(table)),
        *(_wall(table, f"({_IS_HERE}) OR {_IS_ANYWHERE}") for table in _WHO if table != "accounts"),
        _wall(
            "accounts",
            f"{_IS_ANYWHERE} OR {_HAS_A_MEMBERSHIP}",
        ),
    ),
    (  # 4: lists and searches of very many sessions
        "CREATE INDEX sessions_latest ON handrail.sessions (workspace, stamp DESC, session_id)",
        # Which workspace it is, is worked out once and not for each of a hundred thousand rows.
        *(f"ALTER POLICY {table}_all ON handrail.{table} USING ({_IS_HERE_ONCE})" for table in _LISTED),
        "ALTER TABLE handrail.search ADD COLUMN found text NOT NULL DEFAULT ''",
        "CREATE INDEX search_known ON handrail.search (workspace, session_id, version, form)"
        " WHERE found = version",
        "CREATE TABLE handrail.found_by ("
        " session_id text NOT NULL, workspace text NOT NULL DEFAULT '', words tsvector NOT NULL,"
        " PRIMARY KEY (session_id, workspace))",
        "CREATE INDEX found_by_words ON handrail.found_by USING gin (words)",
        *_own("found_by", is_new=False),
        "CREATE TABLE handrail.servers (origin text PRIMARY KEY, seen_at bigint NOT NULL)",
        *_close("servers"),
        _wall("servers", _IS_ANYWHERE),
        # Behind a wall the database uses no index for a word that a statement asks for, only for one that the
        # wall itself asks for. So the words are a setting, and without it there is no row.
        "CREATE POLICY found_by_all ON handrail.found_by FOR ALL"
        f" USING (words @@ {_WORDS} AND {_IS_HERE}) WITH CHECK ({_IS_HERE})",
    ),
    (  # 5: runs under way
        "ALTER TABLE handrail.sessions ADD COLUMN open_runs text[] NOT NULL DEFAULT '{}',"
        " ADD COLUMN counted bigint NOT NULL DEFAULT -1",
        "CREATE INDEX sessions_open ON handrail.sessions (workspace)"
        " WHERE workspace <> '' AND (counted <> head OR cardinality(open_runs) > 0)",
    ),
)
NEWEST: Final = len(MIGRATIONS)
_PASSES_WALLS: Final = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_ONE_AT_A_TIME: Final = 0x68616E6472  # any number that nobody else uses


def version_of(link: psycopg.Connection, *, is_in_use: bool = False) -> int:
    """The version of the tables; 0 where there are none yet.

    Raises Fault STORE_UNSUPPORTED_VERSION when a newer program made them, unless they are in use already.
    """
    try:
        row = link.execute("SELECT max(version) FROM handrail.schema_versions").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return 0
    found = int(row[0] or 0) if row else 0
    if found > NEWEST and not is_in_use:
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


def require_walls(link: psycopg.Connection, *, is_team: bool) -> None:
    """Refuse a role that row security does not bind, where there are walls to keep.

    Raises Fault STORE_PERMISSION_DENIED.
    """
    passes = link.execute(_PASSES_WALLS).fetchone()
    if passes is None or not passes[0]:
        return
    if not is_team and link.execute("SELECT 1 FROM handrail.workspaces LIMIT 1").fetchone() is None:
        return
    raise Fault(
        STORE_PERMISSION_DENIED,
        "The database role of this address passes through the walls between workspaces: it is a superuser, or"
        " has BYPASSRLS.",
        details={"reason": "superuser"},
        hint="Make a role of its own, then use its address: CREATE ROLE handrail LOGIN;"
        " CREATE DATABASE handrail OWNER handrail.",
    )
