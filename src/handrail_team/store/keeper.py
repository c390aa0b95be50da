"""The operator's view of a store in a database: `ports.StoreKeeper`.

A session is removed in one transaction under its lock. A blob is removed only if no session names it and it
was not used for an hour: a commit that brings it again locks its row, so one of the two waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql

from handrail.contract.catalogue import E_CONFLICT, E_VALIDATION, SESSION_NOT_FOUND
from handrail.contract.ids import BlobRef, SessionId, blob_ref
from handrail.contract.outcome import refuse_argument
from handrail.engine.events import count_known
from handrail.event_log.copying import CommitFacts, copy_session, has_foreign_facts, plan_copy
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.store_key import StoreKey
from handrail.event_log.files.upkeep.keeper import FileKeeper, commits_in, open_source
from handrail.event_log.plan import refuse_locked
from handrail.ports.store import (
    CopyWay,
    MovedSessions,
    RemovalPlan,
    Removed,
    SessionCheck,
    SessionCopy,
    SessionToRemove,
    SessionUsage,
    StoreCheck,
    StoreOrigin,
    StoreProblem,
    StoreUsage,
)
from handrail_team.store.beside_the_log import SERVERS, check_ring, list_workspaces
from handrail_team.store.database import LONG_PATIENCE_S, Link
from handrail_team.store.log import BLOB, TeamLog
from handrail_team.store.migrations import ANY_WORDS, ASKED_WORDS

DAY_NS: Final = 86_400 * 1_000_000_000
_WAIT_MS: Final = 5_000
_COUNTED: Final = (
    *("sessions", "events", "bytes_read", "workspaces"),
    *("blobs", "leftover_blobs", "unattested_sessions"),
)
"""The sums of a check over several workspaces."""
_GRACE: Final = "1 hour"
"""A younger blob may belong to a commit in progress."""
_SIZE = (
    "SELECT s.session_id, s.head, s.digest, s.stamp,"
    " coalesce(sum(octet_length(e.body) + octet_length(e.dedupe_key) + octet_length(e.digest)), 0)::bigint"
    " FROM handrail.sessions s LEFT JOIN handrail.events e ON e.session_id = s.session_id"
    " WHERE s.head > 0 AND (%s::text[] IS NULL OR s.session_id = ANY(%s::text[]))"
    " GROUP BY s.session_id, s.head, s.digest, s.stamp"
)
_UNUSED = (
    "FROM handrail.blobs b WHERE b.touched < now() - %s::interval AND NOT EXISTS"
    " (SELECT 1 FROM handrail.session_blobs p WHERE p.ref = b.ref AND NOT p.session_id = ANY(%s::text[]))"
)
_BLOBS = (
    "SELECT count(*), coalesce(sum(octet_length(content)), 0)::bigint,"
    " count(*) FILTER (WHERE is_left), coalesce(sum(octet_length(content)) FILTER (WHERE is_left), 0)::bigint"
    " FROM (SELECT content, NOT EXISTS"
    " (SELECT 1 FROM handrail.session_blobs p WHERE p.ref = b.ref) AS is_left"
    " FROM handrail.blobs b) AS all_blobs"
)
_FOLDED = "SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM handrail.folded"
_LEFT_FOLDED = (
    "DELETE FROM handrail.folded f WHERE NOT EXISTS"
    " (SELECT 1 FROM handrail.sessions s WHERE s.session_id = f.session_id)"
)
"""Servers of earlier versions remove sessions without these tables."""
_COMMITS = (
    "SELECT e.commit_first, max(e.event_index), max(e.line),"
    " (SELECT array_agg(p.ref ORDER BY p.place) FROM handrail.session_blobs p"
    "  WHERE p.session_id = %s AND p.commit_first = e.commit_first)"
    " FROM handrail.events e WHERE e.session_id = %s GROUP BY e.commit_first ORDER BY e.commit_first"
)


class TeamKeeper:
    """Checks, measures, empties and copies the store in a database; `data` is that of the local home.

    It works on one workspace. With `has_address`, the operator's case, checks, sizes and copies into files
    cover every workspace of the team.
    """

    def __init__(
        self,
        log: TeamLog,
        data: str,
        *,
        has_address: bool = False,
        key_of: Callable[[str], StoreKey | None] = lambda _: None,
    ) -> None:
        self._key_of = key_of
        self._log = log
        self._database = log.database
        self._data = data
        self._has_address = has_address

    def check(self, session_ids: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
        totals = []
        for one in self._keepers():
            for found in one._check_workspace(session_ids):
                if isinstance(found, StoreCheck):
                    totals.append(found)
                else:
                    yield found
        yield StoreCheck(
            **{name: sum(getattr(one, name) for one in totals) for name in _COUNTED},
            problems=tuple(problem for one in totals for problem in one.problems),
            newer=tuple(name for one in totals for name in one.newer),
            elsewhere=tuple(name for one in totals for name in one.elsewhere),
        )

    def _check_workspace(self, session_ids: Sequence[SessionId]) -> Iterator[SessionCheck | StoreCheck]:
        workspace = self._database.workspace
        wanted = sorted(session_ids or (stamp.session_id for stamp in self._log.list_sessions()))
        checks = []
        for session_id in wanted:
            found = self._check_session(session_id)
            if found is not None:
                checks.append(found)
                yield found
        named = self._named_by(wanted)
        problems = [problem for check in checks for problem in check.problems]
        if workspace and not session_ids:  # the one of direct mode may be that of the machine
            problems += check_ring(self._database)
        blob_bytes = 0
        for ref in named:
            size, trouble = self._check_blob(ref)
            blob_bytes += size
            problems += [] if trouble is None else [trouble]
        yield StoreCheck(
            sessions=len(checks),
            events=sum(check.events for check in checks),
            blobs=len(named),
            leftover_blobs=0 if session_ids else self._blob_sizes()[2],
            unattested_sessions=0,
            bytes_read=blob_bytes + sum(check.bytes_read for check in checks),
            problems=tuple(problems),
            newer=tuple(check.session_id for check in checks if check.is_newer),
            elsewhere=tuple(check.session_id for check in checks if check.is_elsewhere),
            workspaces=int(workspace not in ("", SERVERS)),
        )

    def usage(self) -> StoreUsage:
        keepers = self._keepers()
        sessions = [
            SessionUsage(session_id=SessionId(name), events=head, bytes=size)
            for one in keepers
            for name, head, _, _, size in one._sizes(None)
        ]
        sizes = [one._blob_sizes() for one in keepers]
        blobs, blob_bytes, left, left_bytes = (sum(column) for column in zip(*sizes, strict=True))
        return StoreUsage(
            sessions=tuple(sorted(sessions, key=lambda one: (-one.bytes, one.session_id))),
            unreadable=(),
            blobs=blobs,
            blob_bytes=blob_bytes,
            leftover_blobs=left,
            leftover_sessions=0,
            leftover_bytes=left_bytes,
            cache_bytes=sum(one._cache_bytes() for one in keepers),
        )

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        rows = self._sizes(None)
        # Age counts from the newest commit, so a clock that runs ahead makes nothing old.
        newest = max((row[3] for row in rows), default=0)
        before = min(time.time_ns(), newest + 1) - older_than_days * DAY_NS
        old = sorted((row for row in rows if row[3] < before and row[0] not in keep), key=lambda row: row[0])
        sessions = tuple(_to_remove(row) for row in old)
        blobs = self._fetch(
            "SELECT b.ref, octet_length(b.content)::bigint " + _UNUSED + " ORDER BY b.ref",
            (_GRACE, [one.session_id for one in sessions]),
        )
        return RemovalPlan(
            sessions=sessions,
            blobs=tuple(BlobRef(ref) for ref, _ in blobs),
            blob_bytes=sum(size for _, size in blobs),
            blocked_by=(),
        )

    def remove(self, plan: RemovalPlan) -> Removed:
        gone: list[SessionId] = []
        kept: list[SessionId] = []
        freed = 0
        for session in plan.sessions:
            if not self.sessions_to_remove([session.session_id]):
                continue  # an earlier attempt at this plan removed it
            size = self.remove_session(session, _WAIT_MS)
            (kept if size is None else gone).append(session.session_id)
            freed += size or 0
        sizes = self._database.write(
            lambda link: link.execute(
                "DELETE " + _UNUSED + " RETURNING octet_length(b.content)", (_GRACE, [])
            ).fetchall(),
            LONG_PATIENCE_S,
        )
        self._database.send((_LEFT_FOLDED, ()))
        return Removed(
            sessions=tuple(gone),
            kept=tuple(kept),
            blobs=len(sizes),
            bytes_freed=freed + sum(row[0] for row in sizes),
            blocked_by=(),
        )

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        found = {row[0]: _to_remove(row) for row in self._sizes(session_ids)}
        return tuple(found[one] for one in session_ids if one in found)

    def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
        def remove(link: Link) -> int | None:
            try:
                return _remove_unchanged(link, session, wait_ms)
            except psycopg.errors.LockNotAvailable as error:
                raise refuse_locked(session.session_id, wait_ms) from error

        return self._database.write(remove, LONG_PATIENCE_S)

    def clear(self, name: str) -> int:
        del name  # a removal here leaves nothing behind
        return 0

    def wait_for_writers(self, session_ids: Sequence[SessionId], wait_ms: int) -> None:
        there = {one.session_id for one in self.sessions_to_remove(session_ids)}
        for session_id in session_ids:
            if session_id in there:
                with self._log.hold(session_id, wait_ms):
                    continue

    def origin(self) -> StoreOrigin:
        key = self._log.key
        if key is None or key.read() is None:
            return StoreOrigin()
        return StoreOrigin(listed=key.count_listed(), is_adopted=key.is_adopted())

    def adopt(self) -> None:
        key = self._log.key
        assert key is not None, "a store that has no key has nothing to adopt"
        key.adopt()

    def move(self, way: CopyWay) -> MovedSessions:
        del way
        message = "This store is in a database. Move it with the tools of PostgreSQL."
        raise refuse_argument(
            message, "to", "is for a store in files", "no HANDRAIL_STORE", kind=E_VALIDATION
        )

    def plan_copy(self, way: CopyWay, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        if way.source and way.target:
            return FileKeeper(self._data, key_of=self._key_of).plan_copy(way, session_ids)
        if way.source:
            return plan_copy(open_source(way.source), self._log, session_ids)
        target = self._target(way)
        return merge_plans(plan_copy(one._log, target, session_ids) for one in self._keepers())

    def copy_session(self, way: CopyWay, session: SessionCopy) -> None:
        if way.source and way.target:
            FileKeeper(self._data, key_of=self._key_of).copy_session(way, session)
        elif way.source:
            source = open_source(way.source)
            copy_session(source, commits_in(source, session.session_id), self._log, session)
        else:
            keeper = next((one for one in self._keepers() if one._ends_with(session)), self)
            copy_session(keeper._log, keeper._commits(session.session_id), self._target(way), session)

    def _keepers(self) -> list[TeamKeeper]:
        if not self._has_address:
            return [self]
        names = list_workspaces(self._database)
        return [self, *(self._keeper_of(one) for one in names)]

    def _keeper_of(self, workspace: str) -> TeamKeeper:
        key = self._log.key
        log = TeamLog(self._database.within(workspace), key=None if key is None else key.within(workspace))
        return TeamKeeper(log, self._data, key_of=self._key_of)

    def _ends_with(self, session: SessionCopy) -> bool:
        asked = "SELECT 1 FROM handrail.sessions WHERE session_id = %s AND digest = %s"
        return bool(self._fetch(asked, (session.session_id, session.head_digest)))

    def _target(self, way: CopyWay) -> FileLog | TeamLog:
        data = os.path.realpath(f"{way.target}/data")
        return FileLog(data, key=self._key_of(data)) if way.target else self._log

    def _commits(self, session_id: SessionId) -> Sequence[CommitFacts]:
        rows = self._fetch(_COMMITS, (session_id, session_id))
        return [
            CommitFacts(first=first, last=last, blobs=tuple(refs or ()), line=line or "")
            for first, last, line, refs in rows
        ]

    def _check_session(self, session_id: SessionId) -> SessionCheck | None:
        loaded = self._log.load(session_id)
        if loaded is None:
            return None
        problems: tuple[StoreProblem, ...] = ()
        if loaded.health.state != "healthy":
            problems = (
                StoreProblem(
                    what="session", id=session_id, reason=loaded.health.reason, detail=loaded.health.detail
                ),
            )
        known = count_known(record.body for record in loaded.records)
        return SessionCheck(
            session_id=session_id,
            events=len(loaded.records),
            bytes_read=sum(len(record.body) for record in loaded.records),
            problems=problems,
            is_newer=not problems and known < len(loaded.records),
            is_elsewhere=bool(loaded.records) and has_foreign_facts(self._log, session_id, loaded),
        )

    def _check_blob(self, ref: str) -> tuple[int, StoreProblem | None]:
        rows = self._fetch(BLOB, (ref,))
        content = bytes(rows[0][0]) if rows else b""
        if rows and blob_ref(content) == ref:
            return len(content), None
        reason = "digest_mismatch" if rows else "missing_blob"
        detail = "Its content differs from its name." if rows else "A commit names it, and it is not there."
        return len(content), StoreProblem(what="blob", id=ref, reason=reason, detail=detail)

    def _named_by(self, session_ids: Sequence[SessionId]) -> list[str]:
        asked = "SELECT DISTINCT ref FROM handrail.session_blobs WHERE session_id = ANY(%s::text[])"
        return sorted(row[0] for row in self._fetch(asked, (list(session_ids),)))

    def _blob_sizes(self) -> tuple[int, int, int, int]:
        """Return the number and bytes of all blobs, and of those that no commit names."""
        found: tuple[int, int, int, int] = next(iter(self._fetch(_BLOBS)), (0, 0, 0, 0))
        return found

    def _cache_bytes(self) -> int:
        """Return the bytes of folded sessions, which can be rebuilt."""
        return int(next(iter(self._fetch(_FOLDED)), (0,))[0])

    def _sizes(self, session_ids: Sequence[SessionId] | None) -> list[tuple[Any, ...]]:
        wanted = None if session_ids is None else list(session_ids)
        return self._fetch(_SIZE, (wanted, wanted))

    def _fetch(self, asked: LiteralString, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._database.fetch(asked, values, LONG_PATIENCE_S)


def merge_plans(plans: Iterable[Sequence[SessionCopy]]) -> tuple[SessionCopy, ...]:
    """Merge the plans of several workspaces: an id that is missing in some is in another.

    If two workspaces have different events under one id, only one of them could be copied, so neither is.
    """
    merged: dict[SessionId, SessionCopy] = {}
    for one in (one for plan in plans for one in plan):
        known = merged.setdefault(one.session_id, one)
        if known.trouble == SESSION_NOT_FOUND.code:
            merged[one.session_id] = one
        elif one.trouble != SESSION_NOT_FOUND.code and one != known:
            merged[one.session_id] = SessionCopy(
                session_id=one.session_id,
                trouble=E_CONFLICT.code,
                detail="Two workspaces hold different sessions with this id.",
            )
    return tuple(merged.values())


def _to_remove(row: tuple[Any, ...]) -> SessionToRemove:
    return SessionToRemove(session_id=SessionId(row[0]), head_digest=row[2], bytes=row[4])


def _remove_unchanged(link: Link, session: SessionToRemove, wait_ms: int) -> int | None:
    """Return the bytes freed; None if the session is gone or has changed since the plan."""
    link.execute("SELECT set_config('lock_timeout', %s, true)", (str(max(1, wait_ms)),))
    locked = "SELECT digest FROM handrail.sessions WHERE session_id = %s FOR UPDATE"
    row = link.execute(locked, (session.session_id,)).fetchone()
    if row is None or row[0] != session.head_digest:
        return None
    link.execute(ASKED_WORDS, (ANY_WORDS,))
    for table in ("events", "session_blobs", "search", "found_by", "folded", "sessions"):
        asked = sql.SQL("DELETE FROM handrail.{} WHERE session_id = %s")
        link.execute(asked.format(sql.Identifier(table)), (session.session_id,))
    return session.bytes
