"""Runs that fell silent, for the outbox: idle where an agent keeps nothing, stalled where nobody came.

A row of the outbox stands for each silence that was looked at, also after it was sent, so that every silence
is told once, by whichever server finds it first. Work that goes on begins another one.
"""

from __future__ import annotations

from typing import Final

from handrail.contract.ids import SessionId
from handrail.operations.notices.outward import OutwardNotice, encode_notice
from handrail.operations.stored_sessions import Sessions, find_silence
from handrail.ports.log import SessionStamp
from handrail.ports.workspace import Notify
from handrail.runtime.runtime import Runtime
from handrail_team.store.database import Database, Link

LOOK_EVERY_SECONDS: Final = 60
MOST_LOOKED_AT: Final = 200
"""Sessions that one look reads; the next one goes on."""
LOOK_BACK_SECONDS: Final = 7 * 86_400
"""What has been silent for longer is old news."""
NEVER: Final = 2**62
"""When a row is due that only says that its silence was looked at."""
MARK: Final = ":silence"
"""How the ids of such rows end."""
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
    """Put what fell silent into the outbox of a workspace: how many notices that makes.

    Raises Fault when the database is away.
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
