"""Where the words of a search occur in a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from handrail.contract.search_terms import Choice, has_every_word, index_terms
from handrail.engine.facts import notes_at
from handrail.engine.history import History, Node, attached_to
from handrail.projections.overview import session_title
from handrail.projections.plain_words import artifact_lines
from handrail.projections.run_graph import completed_step
from handrail.runtime.sessions import Session
from handrail.views.hits import HitRow

MOST_READ = 200
"""Most sessions that one search reads; the latest that may match."""
MOST_OF_ONE = 10
"""Most hits in one session."""
SNIPPET_CHARACTERS = 160
_LEAD = 60


def find_hits(session: Session, needed: Sequence[Choice]) -> list[HitRow]:
    """Return the newest hits of one session."""
    history = session.history
    rows: list[HitRow] = []
    for node, what, text, shown, at in _texts(history):
        if has_every_word(needed, index_terms((text,))):
            rows.append(
                HitRow(
                    session_id=history.session_id,
                    run_id="" if node is None else node.run_id,
                    node_id="" if node is None else node.node_id,
                    step_id="" if node is None else completed_step(history, node),
                    what=what,
                    goal=session_title(history),
                    health=session.health.state,
                    snippet=_snippet(shown, needed),
                    at=at,
                )
            )
            if len(rows) == MOST_OF_ONE:
                break
    return rows


def _texts(history: History) -> Iterator[tuple[Node | None, str, str, str, str]]:
    """Yield each text: its node, what it is, the text to search, the text to show, and its time."""
    for node in reversed(tuple(history.nodes.values())):
        notes = notes_at(history, node.node_id)
        if notes is not None:
            text = notes.text
            yield node, "notes", text, text, node.at
        for held in attached_to(history, node.node_id).artifacts:
            body = held.artifact.body
            lines = " ".join(
                words if words[-1:] in ".:?!" else f"{words}." for _, words in artifact_lines(body)
            )
            yield node, held.artifact.kind, msgspec.json.encode(body).decode(), lines, node.at
    for kept in reversed(tuple(history.session_notes.values())):
        yield None, "session notes", kept.notes.text, kept.notes.text, kept.at


def _snippet(text: str, needed: Sequence[Choice]) -> str:
    """Return the text around the first of the words, in one line."""
    flat = " ".join(text.split())
    folded = flat.casefold()
    first = min((place for word, *_ in needed if (place := folded.find(word)) >= 0), default=0)
    start = max(0, first - _LEAD)
    shown = flat[start : start + SNIPPET_CHARACTERS]
    return ("…" if start else "") + shown + ("…" if start + SNIPPET_CHARACTERS < len(flat) else "")
