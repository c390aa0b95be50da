"""Send notices about runs from the outbox to the configured address until the receiver accepts them.

A notice is written in the transaction of its event, so none is lost. It is removed after the receiver
answered, so it may arrive twice with the same `Idempotency-Key`. Servers with one database share the work.
The row of a silent run stays after it was sent, so that only one server reports each silence; a run that
continues and falls silent again gets a new row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.operations.stored_sessions import Sessions, find_silence
from handrail.ports.log import SessionStamp
from handrail.ports.process import Clock
from handrail.ports.server import HttpClient
from handrail.ports.workspace import Notify, SettingsFiles
from handrail.runtime.outward import OutwardNotice, encode_notice, sign_notice
from handrail.runtime.runtime import Runtime
from handrail_team.accounts.directory import Directory
from handrail_team.store.database import Database, Link

EVERY_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 10
ANSWER_SECONDS: Final = 10.0
FIRST_WAIT_S: Final = 2
LONGEST_WAIT_S: Final = 3_600
MOST_TRIES: Final = 40
"""The tries spread over more than a day; then the notice is dropped."""
_TAKE: Final = (
    "UPDATE handrail.outbox SET tries = tries + 1,"
    " due = %s + least(%s, %s * (1::bigint << least(tries, 12)::int))"
    " WHERE id IN (SELECT id FROM handrail.outbox WHERE due <= %s ORDER BY due LIMIT %s"
    " FOR UPDATE SKIP LOCKED) RETURNING id, tries, body"
)


class NoticeSender:
    """The sending thread of a server."""

    def __init__(
        self,
        directory: Directory,
        settings: SettingsFiles,
        client: HttpClient,
        clock: Clock,
        open_workspace: Callable[[str], Runtime],
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._client = client
        self._clock = clock
        self._open_workspace = open_workspace
        self._looked_at = 0
        self._stop = threading.Event()

    def start(self) -> None:
        """Start sending, if the settings name an address."""
        notify = self._settings.of().notify
        if notify is not None and notify.url:
            threading.Thread(target=self._run, args=(notify,), name="notices", daemon=True).start()

    def _run(self, notify: Notify) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            try:
                self.look_for_silence(notify)
                self.send_due(notify)
            except Fault:  # the database is away; what is due stays due
                continue

    def look_for_silence(self, notify: Notify) -> int:
        """Find silent runs once a minute, and return how many notices that adds."""
        now = self._clock.unix_seconds()
        if now - self._looked_at < LOOK_EVERY_SECONDS:
            return 0
        self._looked_at = now
        database = self._directory.database
        return sum(
            note_silence(self._open_workspace(one.id), database.within(one.id), notify)
            for one in self._directory.workspaces()
        )

    def send_due(self, notify: Notify) -> int:
        """Send what is due now, and return how many the receiver accepted."""
        return sum(self._send_of(one.id, notify) for one in self._directory.workspaces())

    def _send_of(self, workspace: str, notify: Notify) -> int:
        database, now = self._directory.database.within(workspace), self._clock.unix_seconds()

        def take(link: Link) -> list[tuple[str, int, bytes]]:
            values = (now, LONGEST_WAIT_S, FIRST_WAIT_S, now, MOST_AT_ONCE)
            return [(row[0], int(row[1]), bytes(row[2])) for row in link.execute(_TAKE, values)]

        taken = 0
        for name, tries, body in database.write(take):
            is_taken = self._post(notify, name, body)
            taken += is_taken
            if not is_taken and tries < MOST_TRIES:
                continue
            if name.endswith(MARK):  # it stays, so that nobody tells it again
                database.send(("UPDATE handrail.outbox SET due = %s, body = '' WHERE id = %s", (NEVER, name)))
            else:
                database.send(("DELETE FROM handrail.outbox WHERE id = %s", (name,)))
        return taken

    def _post(self, notify: Notify, name: str, body: bytes) -> bool:
        headers = {"content-type": "application/json", "idempotency-key": name}
        if notify.key:
            headers["x-handrail-signature"] = sign_notice(notify.key, body)
        try:
            response = self._client.ask(
                "POST",
                notify.url,
                headers,
                body,
                ANSWER_SECONDS,
                65_536,
                is_public_only=not notify.allow_private,
            )
        except Fault:
            return False
        return 200 <= response.status < 300


# Runs that fell silent: idle where an agent keeps nothing, stalled where nobody goes on

LOOK_EVERY_SECONDS: Final = 60
MOST_LOOKED_AT: Final = 200
"""Sessions read at a time; the next round continues after them."""
LOOK_BACK_SECONDS: Final = 7 * 86_400
"""A longer silence is not reported."""
NEVER: Final = 2**62
"""The due time of a row that only marks a silence as reported."""
MARK: Final = ":silence"
"""The suffix of such rows' ids."""
_A_SECOND: Final = 1_000_000_000
_FIND: Final = (
    "SELECT s.session_id, s.stamp, s.head FROM handrail.sessions s WHERE s.head > 0 AND s.stamp > %s"
    " AND s.stamp <= %s AND NOT EXISTS (SELECT 1 FROM handrail.outbox o"
    " WHERE o.id = s.session_id || ':' || s.head || ':silence') ORDER BY s.stamp LIMIT %s"
)
_KEEP: Final = "INSERT INTO handrail.outbox (id, due, body) VALUES (%s, %s, %b) ON CONFLICT DO NOTHING"
_FORGET: Final = (
    "DELETE FROM handrail.outbox o WHERE o.due = %s AND NOT EXISTS"
    " (SELECT 1 FROM handrail.sessions s WHERE s.stamp > %s"
    " AND o.id = s.session_id || ':' || s.head || ':silence')"
)


def note_silence(rt: Runtime, database: Database, notify: Notify) -> int:
    """Add notices of silent runs to the outbox of a workspace, and return how many.

    Raises Fault if the database is away.
    """
    wanted = [kind for kind in ("idle", "stalled") if not notify.kinds or kind in notify.kinds]
    if not wanted:
        return 0
    now = rt.clock.unix_seconds()
    oldest, newest = now - LOOK_BACK_SECONDS, now - 60 * rt.settings.of().idle_minutes
    found = database.fetch(_FIND, (oldest * _A_SECOND, newest * _A_SECOND, MOST_LOOKED_AT))
    stamps = [SessionStamp(session_id=SessionId(name), order=order) for name, order, _ in found]
    sessions, silence = Sessions(rt, None, only=stamps), find_silence(rt)
    rows: list[tuple[str, int, bytes]] = []
    for name, _, head in found:
        facts = sessions.facts(SessionId(name))
        kind, row = silence(facts), f"{name}:{head}{MARK}"
        if kind == "" or kind not in wanted:
            rows.append((row, NEVER, b""))
            continue
        notice = OutwardNotice(
            id=row, kind=kind, session_id=name, run_id=facts.run_id, at=facts.last_activity
        )
        rows.append((row, now, encode_notice(notice)))

    def write(link: Link) -> None:
        link.execute(_FORGET, (NEVER, oldest * _A_SECOND))
        for row in rows:
            link.execute(_KEEP, row)

    if rows:
        database.write(write)
    return sum(due != NEVER for _, due, _ in rows)
