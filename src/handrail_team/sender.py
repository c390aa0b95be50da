"""Sends what happens in runs to the address of the settings: from the outbox, until somebody takes it.

A notice is in the same transaction as its event, so none is lost; it is removed once the receiver answered,
so it may come twice, with the same `Idempotency-Key`. Servers that share a database share the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from handrail.contract.outcome import Fault
from handrail.operations.notices.outward import sign_notice
from handrail.ports.process import Clock
from handrail.ports.server import HttpClient
from handrail.ports.workspace import Notify, SettingsFiles
from handrail.runtime.runtime import Runtime
from handrail_team.accounts.directory import Directory
from handrail_team.silence import LOOK_EVERY_SECONDS, MARK, NEVER, note_silence
from handrail_team.store.database import Link

EVERY_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 10
ANSWER_SECONDS: Final = 10.0
FIRST_WAIT_S: Final = 2
LONGEST_WAIT_S: Final = 3_600
MOST_TRIES: Final = 40
"""Over more than a day; then it is given up."""
_TAKE: Final = (
    "UPDATE handrail.outbox SET tries = tries + 1,"
    " due = %s + least(%s, %s * (1::bigint << least(tries, 12)::int))"
    " WHERE id IN (SELECT id FROM handrail.outbox WHERE due <= %s ORDER BY due LIMIT %s"
    " FOR UPDATE SKIP LOCKED) RETURNING id, tries, body"
)


class Sender:
    """One thread of a server."""

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
        """Send from now on, where the settings name an address."""
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
        """Once a minute, find the runs that fell silent: how many notices that makes."""
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
        """Send what is due now: how many were taken by the receiver."""
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
            told = self._client.ask(
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
        return 200 <= told.status < 300
