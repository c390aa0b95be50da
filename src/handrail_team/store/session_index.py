"""The rebuildable index of sessions in the database, for lists and searches.

An entry counts only while the session still ends with the event it was made after. Words are stored without
dictionary or stemming, so a search finds the same as in a store of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.contract.search_terms import Choice
from handrail.ports.log import EventReader, SessionStamp
from handrail.ports.store import Entry, Indexed, IndexTrouble
from handrail_team.store.database import Link
from handrail_team.store.log import TeamLog
from handrail_team.store.migrations import ANY_WORDS, ASKED_WORDS

_MOST_WORD_CHARACTERS = 2_000
"""PostgreSQL stores no longer word; longer words are cut here and in the search alike."""
_PART = 3
"""The length of the pieces by which any part of a text is found."""
_END = " " * (_PART - 1)
"""Appended to a text, so that its last characters begin a piece too."""
_LAST = 2**63 - 1
_LOOK = (
    "WITH s AS (SELECT session_id, stamp, digest, true AS has FROM handrail.sessions"
    " WHERE head > 0 AND stamp <= %s AND (stamp < %s OR session_id > %s)"
    " ORDER BY stamp DESC, session_id LIMIT %s)"
)
_FIND = (
    "WITH known AS (SELECT session_id, words @@ %s::tsquery AS has FROM handrail.found_by"
    " WHERE words @@ %s::tsquery),"
    " new AS (SELECT s.session_id FROM handrail.sessions s WHERE s.head > 0 AND NOT EXISTS"
    " (SELECT 1 FROM handrail.search f WHERE f.session_id = s.session_id AND f.version = s.digest"
    " AND f.form = %s)),"
    " s AS (SELECT s.session_id, s.stamp, s.digest, bool_or(c.has) AS has FROM handrail.sessions s JOIN"
    " (TABLE known UNION ALL SELECT session_id, true FROM new) c ON c.session_id = s.session_id"
    " WHERE s.head > 0 AND s.stamp <= %s AND (s.stamp < %s OR s.session_id > %s)"
    " GROUP BY 1, 2, 3 ORDER BY s.stamp DESC, s.session_id LIMIT %s)"
)
_FACTS = (
    " SELECT s.session_id, s.stamp, s.digest, s.has, f.version, f.facts FROM s LEFT JOIN"
    " handrail.search f ON f.session_id = s.session_id AND f.form = %s ORDER BY s.stamp DESC, s.session_id"
)
_COUNT = "SELECT count(*) FROM handrail.sessions WHERE head > 0"
_WITH_WORDS = (
    "SELECT w.session_id FROM handrail.found_by w JOIN handrail.search f ON f.session_id = w.session_id"
    " WHERE w.words @@ %s::tsquery AND f.form = %s"
)
_SUBJECTS = "SELECT session_id, subjects FROM handrail.search WHERE session_id = ANY(%s) AND form = %s"
_KEEP = (
    "INSERT INTO handrail.search (session_id, form, version, facts, subjects)"
    " SELECT session_id, %s, %s, %b, %b"
    " FROM handrail.sessions WHERE session_id = %s"  # one that is removed meanwhile leaves nothing
    " ON CONFLICT (session_id, workspace) DO UPDATE SET form = excluded.form, version = excluded.version,"
    " facts = excluded.facts, subjects = excluded.subjects"
)
_KEEP_WORDS = (
    "INSERT INTO handrail.found_by (session_id, words) SELECT session_id, array_to_tsvector(%s::text[])"
    " FROM handrail.sessions WHERE session_id = %s"
    " ON CONFLICT (session_id, workspace) DO UPDATE SET words = excluded.words"
)


class TeamSessionIndex:
    """`ports.store.SessionIndex` beside a log in the same database."""

    def __init__(self, log: TeamLog) -> None:
        self._log = log

    @contextmanager
    def open_view(self, form: str) -> Iterator[TeamIndexView]:
        yield TeamIndexView(self._log, form)


class TeamIndexView:
    """Answers each query as of its own moment. A cached answer names the events it was made from."""

    def __init__(self, log: TeamLog, form: str) -> None:
        self.reader: EventReader = log
        self._database = log.database
        self._form = form

    def count(self) -> int:
        with _translate_faults():
            return int(rows[0][0]) if (rows := self._database.fetch(_COUNT)) else 0

    def look(self, most: int = 0, after: SessionStamp | None = None) -> Sequence[Indexed]:
        with _translate_faults():
            rows = self._database.fetch(_LOOK + _FACTS, (*_window(most, after), self._form))
        return list(map(_indexed, rows))

    def find(
        self,
        needed: Sequence[Choice],
        parts: Sequence[str] = (),
        most: int = 0,
        after: SessionStamp | None = None,
    ) -> Sequence[Indexed]:
        has_words = _ask_words(needed)
        asked = " | ".join(f"({one})" for one in (has_words, _ask_parts(parts)) if one)
        values = (has_words, asked, self._form, *_window(most, after), self._form)
        with _translate_faults():
            rows = self._database.fetch(_FIND + _FACTS, values, words=asked)
        return list(map(_indexed, rows))

    def with_word(self, word: str) -> frozenset[SessionId]:
        wanted = _quote(word)
        with _translate_faults():
            rows = self._database.fetch(_WITH_WORDS, (wanted, self._form), words=wanted)
        return frozenset(SessionId(row[0]) for row in rows)

    def subjects(self, session_ids: Sequence[SessionId]) -> Mapping[SessionId, bytes]:
        with _translate_faults():
            rows = self._database.fetch(_SUBJECTS, (list(session_ids), self._form))
        return {SessionId(session_id): bytes(kept) for session_id, kept in rows}

    def keep(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        # One order for all: two servers that keep the same ones wait for each other.
        ordered = sorted(entries, key=lambda one: one.session_id)
        rows = [(self._form, one.version, one.facts, one.subjects, one.session_id) for one in ordered]
        found = [
            ([*_words(one.words), *_cut_pieces(_keepable(one.about) + _END)], one.session_id)
            for one in ordered
        ]

        def write(link: Link) -> None:
            with link.cursor() as cursor:
                cursor.executemany(_KEEP, rows)
                cursor.execute(ASKED_WORDS, (ANY_WORDS,))
                cursor.executemany(_KEEP_WORDS, found)

        with _translate_faults():
            self._database.write(write)


def _window(most: int, after: SessionStamp | None) -> tuple[object, ...]:
    last, name = (_LAST, "") if after is None else (after.order, after.session_id)
    return last, last, name, most or None


def _indexed(row: tuple[Any, ...]) -> Indexed:
    session_id, order, digest, has_words, version, facts = row
    return Indexed(
        stamp=SessionStamp(session_id=SessionId(session_id), order=order),
        version=digest,
        facts=bytes(facts) if version == digest else None,
        lacks_words=not has_words,
    )


def _words(text: str) -> list[str]:
    return sorted({_cut(word) for word in text.split(" ") if word})


def _cut(word: str) -> str:
    return word[:_MOST_WORD_CHARACTERS]


def _ask_words(needed: Sequence[Choice]) -> str:
    return " & ".join("(" + " | ".join(map(_quote, choice)) + ")" for choice in needed)


def _ask_parts(parts: Sequence[str]) -> str:
    """Return a query for the pieces of any text with these parts; a short part matches the start of a
    piece.
    """
    plain = [_keepable(part) for part in parts]
    asked = {
        f"{_quote(piece)}:*" if len(part) < _PART else _quote(piece)
        for part in plain
        for piece in (_cut_pieces(part) if len(part) >= _PART else [f"~{part}"])
    }
    return " & ".join(sorted(asked))


def _quote(word: str) -> str:
    return "'" + _cut(word).replace("\\", "\\\\").replace("'", "''") + "'"


def _cut_pieces(text: str) -> list[str]:
    """Return all pieces of a text, as words that no text has."""
    return sorted({f"~{text[at : at + _PART]}" for at in range(len(text) - _PART + 1)})


def _keepable(text: str) -> str:
    """Return the text without characters that PostgreSQL rejects."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


@contextmanager
def _translate_faults() -> Iterator[None]:
    try:
        yield
    except Fault as fault:
        raise IndexTrouble(fault.message) from fault
