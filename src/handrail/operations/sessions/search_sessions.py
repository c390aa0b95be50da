"""`session.search`: find the nodes whose notes or artifacts have all the words that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Answer, Fault, Success
from handrail.engine.facts import notes_at
from handrail.engine.history import History, Node, attached_to
from handrail.operations.finding import read_or_pass_over
from handrail.operations.stored_sessions import (
    READ_TO_PROVEN,
    Sessions,
    ask_sessions,
    describe_unsound,
    sort_latest,
)
from handrail.ports.log import SessionStamp
from handrail.projections.overview import session_title
from handrail.projections.plain_words import artifact_lines
from handrail.projections.resume_candidates import words_of
from handrail.projections.run_graph import completed_step
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.operation import Input, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, read_session

MOST_READ = 200
"""Sessions that one search reads; the latest that may match."""
MOST_OF_ONE = 10
"""Hits in one session."""
SNIPPET_CHARACTERS = 160
_LEAD = 60


class SearchSessions(Input, frozen=True, kw_only=True):
    """What to look for."""

    query: Annotated[str, Meta(description="Words; a hit has all of them.", min_length=1, max_length=256)]
    limit: Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)] | UnsetType = UNSET
    cursor: Annotated[str, Meta(description="next_cursor of the page before.")] | UnsetType = UNSET


class HitRow(Answer, frozen=True, kw_only=True):
    """One place that has the words."""

    session_id: str
    run_id: str
    """Empty: notes of the session itself."""
    node_id: str
    step_id: str
    what: str
    """`notes`, `session notes`, or the kind of the artifact."""
    goal: str
    health: str
    """Of the session; of a damaged one only what is proven was searched."""
    snippet: str
    at: str


class HitList(Answer, frozen=True, kw_only=True):
    """Beside the items: what was searched, and which of it is damaged."""

    scope: str
    session_count: int


def search_sessions(rt: ReadPorts, request: SearchSessions) -> Success:
    """One page of hits in the latest sessions that may have the words."""
    return ask_sessions(rt, lambda sessions: _search(rt, request, sessions))


def _search(rt: ReadPorts, request: SearchSessions, sessions: Sessions) -> Success:
    words = words_of(request.query)
    unsound: dict[SessionId, str] = {}

    def find() -> Iterator[tuple[tuple[str, ...], HitRow]]:
        """Lazily, so that a page reads no session that it does not need."""
        for stamp in candidates[:MOST_READ]:
            rt.interruptions.end_here()
            try:
                session = read_session(rt.log, stamp.session_id)
            except Fault as fault:
                pass_over(fault)
                unsound[stamp.session_id] = fault.kind.code
                continue
            if session is None:
                continue
            unsound.update({} if session.is_sound else {stamp.session_id: session.health.state})
            for number, row in enumerate(_hits(session, words)):
                yield (sort_latest(stamp.order), stamp.session_id, f"{number:03d}"), row

    may_match = (one for one in sessions.find(sorted(words)) if not sessions.lacks_words(one.session_id))
    candidates = list(islice(may_match, MOST_READ + 1)) if words else []
    page = page_of(rt, OPERATION, request, find(), lambda one: one[0], lambda one: one[1])
    count = sessions.count()
    is_whole = len(candidates) <= MOST_READ
    searched = "all sessions of this store" if is_whole else f"the latest {MOST_READ} sessions that may match"
    listed = HitList(scope=searched + describe_unsound(unsound, READ_TO_PROVEN), session_count=count)
    return Success(data=msgspec.to_builtins(listed), page=page)


class Texts:
    """Whether notes or an artifact of a session have all the words; the latest that may are read."""

    def __init__(self, rt: ReadPorts, sessions: Sessions, query: str) -> None:
        self._rt = rt
        self._sessions = sessions
        self._words = words_of(query)
        self._left = MOST_READ if self._words else 0

    def has_all(self, stamp: SessionStamp) -> bool:
        if not self._left or self._sessions.lacks_words(stamp.session_id):
            return False
        self._left -= 1
        self._rt.interruptions.end_here()
        session = read_or_pass_over(self._rt.log, stamp.session_id)
        if session is None:
            return False
        goals = " ".join(run.seen.get("goal", "") for run in session.history.runs.values())
        opened = "" if session.history.opening is None else session.history.opening.goal
        return self._words <= words_of(f"{opened} {goals}") or bool(_hits(session, self._words))


def _hits(session: Session, words: frozenset[str]) -> list[HitRow]:
    """The newest hits of one session."""
    history = session.history
    rows: list[HitRow] = []
    for node, what, text, shown, at in _texts(history):
        if words <= words_of(text):
            rows.append(
                HitRow(
                    session_id=history.session_id,
                    run_id="" if node is None else node.run_id,
                    node_id="" if node is None else node.node_id,
                    step_id="" if node is None else completed_step(history, node),
                    what=what,
                    goal=session_title(history),
                    health=session.health.state,
                    snippet=_snippet(shown, words),
                    at=at,
                )
            )
            if len(rows) == MOST_OF_ONE:
                break
    return rows


def _texts(history: History) -> Iterator[tuple[Node | None, str, str, str, str]]:
    """Where a text lies, what it is, what is searched, what is shown of it, and when it came."""
    for node in reversed(tuple(history.nodes.values())):
        told = notes_at(history, node.node_id)
        if told is not None:
            text = told.text
            yield node, "notes", text, text, node.at
        for held in attached_to(history, node.node_id).artifacts:
            body = held.artifact.body
            lines = " ".join(
                words if words[-1:] in ".:?!" else f"{words}." for _, words in artifact_lines(body)
            )
            yield node, held.artifact.kind, msgspec.json.encode(body).decode(), lines, node.at
    for kept in reversed(tuple(history.session_notes.values())):
        yield None, "session notes", kept.notes.text, kept.notes.text, kept.at


def _snippet(text: str, words: frozenset[str]) -> str:
    """The text around the first of the words, in one line."""
    flat = " ".join(text.split())
    lowered = flat.lower()
    first = min((place for word in words if (place := lowered.find(word)) >= 0), default=0)
    start = max(0, first - _LEAD)
    shown = flat[start : start + SNIPPET_CHARACTERS]
    return ("…" if start else "") + shown + ("…" if start + SNIPPET_CHARACTERS < len(flat) else "")


OPERATION = Operation(
    name="session.search",
    effect="read",
    summary="Find the nodes whose notes or artifacts have all the words of a query.",
    input=SearchSessions,
    output=HitList,
    item=HitRow,
    perform=search_sessions,
    shape=Shape(
        levels={"minimal": ("session_id", "node_id")},
        id_field="session_id",
        select="items",
        untrusted=("goal", "snippet", "what"),
    ),
    default_sort="last activity of the session, the newest node first",
)
