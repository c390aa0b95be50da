"""The rebuildable index of sessions in the database: what a list and a search need, never truth.

An entry counts while the session still ends with the event that it was made after. Words are kept as they
are, without a dictionary or stemming, so a search finds what it finds beside files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.ports.log import EventReader, SessionStamp
from handrail.ports.store import Entry, Indexed, IndexTrouble
from handrail_team.store.database import Link
from handrail_team.store.log import TeamLog

_MOST_WORD_CHARACTERS = 2_000
"""PostgreSQL keeps no longer word; one that is longer is cut here and in the question alike."""
_LOOK = (
    "SELECT s.session_id, s.stamp, s.digest, f.version, f.facts FROM handrail.sessions s"
    " LEFT JOIN handrail.search f ON f.session_id = s.session_id AND f.form = %s WHERE s.head > 0"
)
_FIND = "SELECT session_id FROM handrail.search WHERE form = %s AND words @@ %s::tsquery"
_SUBJECTS = "SELECT subjects FROM handrail.search WHERE session_id = %s AND form = %s"
_KEEP = (
    "INSERT INTO handrail.search (session_id, form, version, facts, subjects, words)"
    " VALUES (%s, %s, %s, %b, %b, array_to_tsvector(%s::text[]))"
    " ON CONFLICT (session_id, workspace) DO UPDATE SET form = excluded.form, version = excluded.version,"
    " facts = excluded.facts, subjects = excluded.subjects, words = excluded.words"
)
_GONE = (
    "DELETE FROM handrail.search f WHERE NOT EXISTS"
    " (SELECT 1 FROM handrail.sessions s WHERE s.session_id = f.session_id)"
)


class TeamSessionIndex:
    """`ports.store.SessionIndex` beside a log in the same database."""

    def __init__(self, log: TeamLog) -> None:
        self._log = log

    @contextmanager
    def open_view(self, form: str) -> Iterator[TeamIndexView]:
        yield TeamIndexView(self._log, form)


class TeamIndexView:
    """Every question is answered as of its own moment; what is kept names the events it was made from."""

    def __init__(self, log: TeamLog, form: str) -> None:
        self.reader: EventReader = log
        self._database = log.database
        self._form = form

    def look(self) -> Sequence[Indexed]:
        with _translate_faults():
            rows = self._database.fetch(_LOOK, (self._form,))
        found = [
            Indexed(
                stamp=SessionStamp(session_id=SessionId(session_id), order=order),
                version=digest,
                facts=bytes(facts) if version == digest else None,
            )
            for session_id, order, digest, version, facts in rows
        ]
        return sorted(found, key=lambda held: (-held.stamp.order, held.stamp.session_id))

    def with_words(self, words: Sequence[str]) -> frozenset[SessionId]:
        wanted = " & ".join(f"'{_cut(word)}'" for word in words)  # a-z 0-9 _ - only
        with _translate_faults():
            rows = self._database.fetch(_FIND, (self._form, wanted))
        return frozenset(SessionId(row[0]) for row in rows)

    def subjects(self, session_id: SessionId) -> bytes | None:
        with _translate_faults():
            rows = self._database.fetch(_SUBJECTS, (session_id, self._form))
        return bytes(rows[0][0]) if rows else None

    def keep(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        rows = [
            (one.session_id, self._form, one.version, one.facts, one.subjects, _words(one.words))
            for one in entries
        ]

        def write(link: Link) -> None:
            with link.cursor() as cursor:
                cursor.executemany(_KEEP, rows)
            link.execute(_GONE)

        with _translate_faults():
            self._database.write(write)


def _words(text: str) -> list[str]:
    return sorted({_cut(word) for word in text.split(" ") if word})


def _cut(word: str) -> str:
    return word[:_MOST_WORD_CHARACTERS]


@contextmanager
def _translate_faults() -> Iterator[None]:
    try:
        yield
    except Fault as fault:
        raise IndexTrouble(fault.message) from fault
