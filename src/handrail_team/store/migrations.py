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
"""The scope of a transaction that identifies a caller. It sees no sessions."""
# A setting that was never made is null, and one of an earlier transaction is empty; neither begins with `=`.
_HERE: Final = "current_setting('handrail.workspace', true)"
_IS_HERE: Final = f"workspace = substr({_HERE}, 2) AND left({_HERE}, 1) = '='"
_IS_ANYWHERE: Final = f"{_HERE} = '*'"
_IS_HERE_OR_ANYWHERE: Final = f"({_IS_HERE}) OR {_IS_ANYWHERE}"
_IS_ERASING: Final = f"{_IS_ANYWHERE} AND current_setting('handrail.is_erasing', true) = 'yes'"
ERASING: Final = "SELECT set_config('handrail.is_erasing', 'yes', true)"
"""Set before an erased person is removed from the audit; ends with the transaction."""
_HAS_A_MEMBERSHIP: Final = "account IN (SELECT m.account FROM handrail.memberships m)"
_IS_HERE_ONCE: Final = f"workspace = (SELECT substr({_HERE}, 2)) AND (SELECT left({_HERE}, 1) = '=')"
"""The same, computed once instead of for each of a hundred thousand rows."""
_WORDS: Final = "nullif(current_setting('handrail.words', true), '')::tsquery"
ASKED_WORDS: Final = "SELECT set_config('handrail.words', %s, true)"
"""Set before `found_by` is read or changed, with the words of a search."""
ANY_WORDS: Final = "!'='"
"""A word that no session has, so that all are found without it."""

SCOPE: Final = "SELECT set_config('handrail.workspace', %s, true)"
"""Set first in every transaction, with `scope_of`; ends with the transaction."""


def scope_of(workspace: str) -> str:
    """Return the setting that limits a transaction to the rows of this workspace."""
    return workspace if workspace == EVERY_WORKSPACE else f"={workspace}"


def _wall(table: LiteralString, seen: LiteralString, does: LiteralString = "ALL") -> LiteralString:
    kept = f"WITH CHECK ({seen})" if does == "INSERT" else f"USING ({seen})"
    return f"CREATE POLICY {table}_{does.lower()} ON handrail.{table} FOR {does} {kept}"


def _table(name: LiteralString, columns: LiteralString, *walls: LiteralString) -> tuple[LiteralString, ...]:
    """Return the statements for a table with row security; by default, for the rows of a workspace."""
    security = "ROW LEVEL SECURITY"
    return (
        f"CREATE TABLE handrail.{name} ({columns})",
        f"ALTER TABLE handrail.{name} ENABLE {security}",
        f"ALTER TABLE handrail.{name} FORCE {security}",
        *(walls or (_wall(name, _IS_HERE),)),
    )


_OWN: Final = f"workspace text NOT NULL DEFAULT substr({_HERE}, 2)"
"""A new row belongs to the workspace of its transaction."""

MIGRATIONS: Final[tuple[tuple[LiteralString, ...], ...]] = (
    (
        *_table(
            "sessions",
            f"session_id text NOT NULL, {_OWN}, head bigint NOT NULL, digest text NOT NULL,"
            " stamp bigint NOT NULL, open_runs text[] NOT NULL DEFAULT '{}',"
            " counted bigint NOT NULL DEFAULT -1, PRIMARY KEY (session_id, workspace)",
            _wall("sessions", _IS_HERE_ONCE),
        ),
        "CREATE INDEX sessions_latest ON handrail.sessions (workspace, stamp DESC, session_id)",
        "CREATE INDEX sessions_open ON handrail.sessions (workspace)"
        " WHERE workspace <> '' AND (counted <> head OR cardinality(open_runs) > 0)",
        *_table(
            "events",
            "session_id text NOT NULL, event_index bigint NOT NULL, commit_first bigint NOT NULL,"
            f" dedupe_key text NOT NULL, body bytea NOT NULL, digest text NOT NULL, {_OWN},"
            " PRIMARY KEY (session_id, event_index, workspace), UNIQUE (session_id, dedupe_key, workspace)",
        ),
        *_table(
            "blobs",
            f"{_OWN}, ref text NOT NULL, content bytea NOT NULL,"
            " touched timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (workspace, ref)",
        ),
        *_table(
            "session_blobs",
            "session_id text NOT NULL, commit_first bigint NOT NULL, place bigint NOT NULL,"
            f" ref text NOT NULL, {_OWN}, PRIMARY KEY (session_id, commit_first, place, workspace)",
        ),
        "CREATE INDEX session_blobs_ref ON handrail.session_blobs (ref)",
        *_table(
            "keyring", f"name text NOT NULL, content bytea NOT NULL, {_OWN}, PRIMARY KEY (name, workspace)"
        ),
        *_table(
            "confirmed_tokens",
            f"fingerprint text NOT NULL, expires_at bigint NOT NULL, {_OWN},"
            " PRIMARY KEY (fingerprint, workspace)",
        ),
        *_table(
            "audit",
            f"id text PRIMARY KEY, month text NOT NULL, at text NOT NULL, line bytea NOT NULL, {_OWN}",
            # Nothing is taken out of the audit of a team; direct mode keeps the months that its settings say.
            _wall("audit", _IS_HERE, "SELECT"),
            _wall("audit", _IS_HERE, "INSERT"),
            _wall("audit", f"{_IS_HERE} AND workspace = ''", "DELETE"),
        ),
        "CREATE INDEX audit_month ON handrail.audit (month)",
        *_table(
            "outbox",
            f"id text NOT NULL, {_OWN}, due bigint NOT NULL, tries bigint NOT NULL DEFAULT 0,"
            " body bytea NOT NULL, PRIMARY KEY (id, workspace)",
        ),
        *_table(
            "search",
            "session_id text NOT NULL, form text NOT NULL, version text NOT NULL,"
            f" facts bytea NOT NULL, subjects bytea NOT NULL, {_OWN}, PRIMARY KEY (session_id, workspace)",
            _wall("search", _IS_HERE_ONCE),
        ),
        "CREATE INDEX search_known ON handrail.search (workspace, session_id, version, form)",
        *_table(
            "found_by",
            f"session_id text NOT NULL, {_OWN}, words tsvector NOT NULL, PRIMARY KEY (session_id, workspace)",
            # Behind a wall the database uses no index for a word that a statement asks for, only for one that
            # the wall itself asks for. So the words are a setting, and without it there is no row.
            "CREATE POLICY found_by_all ON handrail.found_by FOR ALL"
            f" USING (words @@ {_WORDS} AND {_IS_HERE}) WITH CHECK ({_IS_HERE})",
        ),
        "CREATE INDEX found_by_words ON handrail.found_by USING gin (words)",
        *_table(
            "workspaces",
            "workspace text PRIMARY KEY, name text NOT NULL UNIQUE, made_at text NOT NULL,"
            " request_id text UNIQUE",
            _wall("workspaces", _IS_HERE_OR_ANYWHERE),
        ),
        *_table(
            "memberships",
            "account text NOT NULL, workspace text NOT NULL, role text NOT NULL, since text NOT NULL,"
            " PRIMARY KEY (account, workspace)",
            _wall("memberships", _IS_HERE_OR_ANYWHERE),
        ),
        *_table(
            "accounts",
            "account text PRIMARY KEY, name text NOT NULL, sign_in text UNIQUE, passphrase text,"
            " issuer text, subject text, made_at text NOT NULL, UNIQUE (issuer, subject)",
            _wall("accounts", f"{_IS_ANYWHERE} OR {_HAS_A_MEMBERSHIP}"),
        ),
        *_table(
            "credentials",
            "hash text PRIMARY KEY, id text NOT NULL UNIQUE, workspace text NOT NULL,"
            " account text NOT NULL, kind text NOT NULL, name text NOT NULL, role text NOT NULL,"
            " machine text NOT NULL, scopes text NOT NULL, made_at text NOT NULL, made_by text NOT NULL,"
            " expires_at bigint NOT NULL, used_at bigint NOT NULL, ended_at bigint NOT NULL,"
            " request_id text, UNIQUE (workspace, request_id)",
            _wall("credentials", _IS_HERE_OR_ANYWHERE),
        ),
        "CREATE INDEX credentials_account ON handrail.credentials (workspace, account)",
        *_table(
            "servers",
            "origin text PRIMARY KEY, seen_at bigint NOT NULL",
            _wall("servers", _IS_ANYWHERE),
        ),
    ),
    # The authentication line of a commit, in the row of its last event.
    ("ALTER TABLE handrail.events ADD COLUMN line text",),
    # Folded sessions: a cache that a process without any reads in place of hundreds of events.
    _table(
        "folded",
        f"session_id text NOT NULL, {_OWN}, head bigint NOT NULL, digest text NOT NULL,"
        " content bytea NOT NULL, PRIMARY KEY (session_id, workspace)",
    ),
    # An erased person leaves the audit of every workspace, for which a transaction has to say so.
    (
        f"CREATE POLICY audit_searched ON handrail.audit FOR SELECT USING ({_IS_ERASING})",
        f"CREATE POLICY audit_erased ON handrail.audit FOR UPDATE USING ({_IS_ERASING})",
    ),
)
NEWEST: Final = len(MIGRATIONS)
_PASSES_WALLS: Final = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_ONE_AT_A_TIME: Final = 0x68616E6472  # any number that nobody else uses


def version_of(link: psycopg.Connection, *, is_in_use: bool = False) -> int:
    """Return the version of the tables; 0 if there are none.

    Raises Fault STORE_UNSUPPORTED_VERSION if a newer program made them and they are not in use yet.
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
    """Bring the tables to this version. A second process that tries waits, then finds it done."""
    with link.transaction():
        link.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
        link.execute("CREATE SCHEMA IF NOT EXISTS handrail")
        link.execute("CREATE TABLE IF NOT EXISTS handrail.schema_versions (version bigint PRIMARY KEY)")
        for number in range(version_of(link) + 1, up_to + 1):
            for statement in MIGRATIONS[number - 1]:
                link.execute(statement)
            link.execute("INSERT INTO handrail.schema_versions VALUES (%s)", (number,))


def require_walls(link: psycopg.Connection, *, is_team: bool) -> None:
    """Raise Fault STORE_PERMISSION_DENIED for a role that row security does not bind, if there is a team."""
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
