"""`session.list` and `session.search`: every stored session, and the nodes that have the words of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Answer, Fault, Success, make_from
from handrail.contract.parameters import Cursor, MintedId, NamedId
from handrail.contract.search_terms import Choice, has_every_word, index_terms, require_terms
from handrail.engine.facts import notes_at
from handrail.engine.history import History, Node, attached_to
from handrail.operations.finding import read_or_pass_over
from handrail.operations.stored_sessions import (
    FACETS,
    FAR,
    READ_TO_PROVEN,
    FindSilence,
    Sessions,
    about,
    ask_sessions,
    describe_unsound,
    facet,
    find_silence,
    sort_latest,
)
from handrail.ports.log import SessionStamp
from handrail.projections.overview import SessionFacts, session_title
from handrail.projections.plain_words import artifact_lines
from handrail.projections.run_graph import completed_step
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.operation import Input, Maybe, Operation, ValueRule
from handrail.runtime.paging import DEFAULT_LIMIT, MOST_ITEMS, page_of, read_place
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, read_session

_TIMES = "a UTC time such as 2026-11-15T09:30:00Z"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", re.ASCII)


class ListSessions(Input, frozen=True, kw_only=True):
    """Which sessions to list."""

    status: Maybe[
        Annotated[
            Literal[
                "in_progress",
                "blocked",
                "complete",
                "complete_with_gaps",
                "closed",
                "notes_only",
                "empty",
                "unreadable",
            ],
            Meta(description="Only this status."),
        ]
    ] = UNSET
    workflow: Maybe[
        Annotated[
            NamedId,
            Meta(
                description="Only sessions whose unfinished, else latest, run is of this workflow.",
                max_length=128,
            ),
        ]
    ] = UNSET
    project_name: Maybe[
        Annotated[str, Meta(description="Only this project, by its name.", max_length=256)]
    ] = UNSET
    branch: Maybe[
        Annotated[str, Meta(description="Only sessions last seen on this git branch.", max_length=256)]
    ] = UNSET
    account: Maybe[
        Annotated[
            MintedId, Meta(description="In a team: only what agents of this account began.", max_length=128)
        ]
    ] = UNSET
    agent: Maybe[
        Annotated[str, Meta(description="Only what a client that calls itself this began.", max_length=128)]
    ] = UNSET
    silence: Maybe[
        Annotated[
            Literal["idle", "stalled"],
            Meta(description="Only runs without a change for long: idle, or stalled while they wait."),
        ]
    ] = UNSET
    since: Maybe[Annotated[str, Meta(description=f"Last activity at or after {_TIMES}.", max_length=40)]] = (
        UNSET
    )
    until: Maybe[Annotated[str, Meta(description=f"Last activity before {_TIMES}.", max_length=40)]] = UNSET
    query: Maybe[
        Annotated[
            str,
            Meta(
                description="Only where goal, project, workflow, notes or an artifact have all these words.",
                max_length=256,
            ),
        ]
    ] = UNSET
    needs: Maybe[Annotated[bool, Meta(description="Only those that wait for a person.")]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


class SessionRow(Answer, frozen=True, kw_only=True):
    """One session; `status` and what follows are those of its latest unfinished run, else of its latest."""

    id: str
    status: str
    health: str
    goal: str = ""
    project: str = ""
    workflow_id: str = ""
    workflow_hash: str = ""
    """What its run is pinned to; the workflow as it is now may have another."""
    run_id: str = ""
    run_count: int = 0
    pending_step: str | None = None
    pending_title: str = ""
    workflow_name: str = ""
    done: int = 0
    at_least: int = 0
    """Steps of the run, those that surely follow among them."""
    parts: int = 0
    """Pieces of work that the pending step handed out; `parts_done` of them are done."""
    parts_done: int = 0
    since: str = ""
    """When the run came to where it stands."""
    agent: str = ""
    """What the client that began it calls itself; empty: a command line."""
    account: str = ""
    """In a team: whose agent began it."""
    machine: str = ""
    silence: str = ""
    """`idle` or `stalled` after the setting idleMinutes without a change."""
    needs_person: bool = False
    """Whether something waits for a person."""
    branch: str = ""
    """The git branch that it was last seen on."""
    last_activity: str = ""
    imported_from: str = ""
    open_gaps: int = 0
    """Of all its runs."""
    critical_gaps: int = 0


class SessionList(Answer, frozen=True, kw_only=True):
    """Beside the items: where was looked."""

    scope: str


def list_sessions(rt: ReadPorts, request: ListSessions) -> Success:
    """One page, last activity first. Without a filter only the sessions of this page are looked at."""
    return ask_sessions(rt, lambda sessions: _list(rt, request, sessions))


def _list(rt: ReadPorts, request: ListSessions, sessions: Sessions) -> Success:
    silence = find_silence(rt)
    is_filtered = bool(msgspec.to_builtins(request).keys() - {"limit", "cursor"})
    chosen: Iterable[SessionStamp] = (
        _matching(rt, sessions, request, silence) if is_filtered else _next(rt, sessions, request)
    )
    page = page_of(rt, LIST, request, chosen, _sort_key, lambda stamp: _row(sessions, stamp, silence))
    lost = {
        SessionId(session_id): "healthy"
        for _, session_id in page.sort_keys
        if sessions.has_lost_workflow(SessionId(session_id))
    }
    scope = "all sessions of this store" + describe_unsound(lost, "shown without a workflow")
    return Success(data={"scope": scope}, page=page)


def _next(rt: ReadPorts, sessions: Sessions, request: ListSessions) -> Sequence[SessionStamp]:
    """The sessions of this page, and one more."""
    place = read_place(rt, LIST, request)
    limit = DEFAULT_LIMIT if request.limit is UNSET else request.limit
    after = place and SessionStamp(session_id=SessionId(place[1]), order=FAR - int(place[0]))
    return sessions.latest(limit + 1, after or None)


def _matching(
    rt: ReadPorts, sessions: Sessions, request: ListSessions, silence: FindSilence
) -> Iterator[SessionStamp]:
    query = "" if request.query is UNSET else request.query
    texts = Texts(rt, sessions, query)
    parts = query.casefold().split()
    facets = _facets(request)
    for stamp in sessions.find(require_terms(query), parts) if parts else sessions.filtered(facets):
        facts = sessions.facts(stamp.session_id)
        is_silent = request.silence is UNSET or silence(facts) == request.silence
        is_lost = request.needs is True and sessions.has_lost_workflow(stamp.session_id)
        is_wanted = is_silent and _is_wanted(facts, request, is_lost=is_lost)
        text = about(stamp.session_id, facts)
        if is_wanted and (all(part in text for part in parts) or texts.has_all(stamp)):
            yield stamp


def _facets(request: ListSessions) -> list[str]:
    """What the index knows of a session that the filters let pass."""
    asked = [facet(name, value) for name, value in _named(request).items()]
    return [*asked, *([facet("needs")] if request.needs is True else [])]


def _named(request: ListSessions) -> dict[str, str]:
    """The facts that are asked for, by name."""
    given = (request.status, request.workflow, request.project_name, request.account, request.agent)
    return {name: value for name, value in zip(FACETS, given, strict=True) if value is not UNSET}


def _is_wanted(facts: SessionFacts, request: ListSessions, *, is_lost: bool) -> bool:
    """A session whose time nobody can read passes the filters of time: it is never dropped for that."""
    if request.needs is True and not (facts.needs or facts.health != "healthy" or is_lost):
        return False
    if any(getattr(facts, name) != value for name, value in _named(request).items()):
        return False
    if request.branch is not UNSET and _branch(facts) != request.branch:
        return False
    at = facts.last_activity
    if at and request.since is not UNSET and _comparable(at) < _comparable(request.since):
        return False
    return not (at and request.until is not UNSET and _comparable(at) >= _comparable(request.until))


def _comparable(time: str) -> str:
    """Times in one form sort like their text; a fraction that is left out is zero."""
    whole, _, fraction = time.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}"


def _is_time(text: str) -> bool:
    try:
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(f"{text[:19]}Z"))
    except ValueError:  # no calendar has that day
        return False


def _sort_key(stamp: SessionStamp) -> tuple[str, ...]:
    return (sort_latest(stamp.order), stamp.session_id)


def _branch(facts: SessionFacts) -> str:
    return facts.branches[-1] if facts.branches else ""


def _row(sessions: Sessions, stamp: SessionStamp, silence: FindSilence) -> SessionRow:
    facts = sessions.facts(stamp.session_id)
    return make_from(
        SessionRow,
        facts,
        id=stamp.session_id,
        silence=silence(facts),
        needs_person=bool(facts.needs),
        branch=_branch(facts),
        open_gaps=facts.open_gap_count,
        critical_gaps=facts.critical_gap_count,
    )


_TIME_RULE = ValueRule(fits=_is_time, problem="is not a UTC time", expected=_TIMES)

LIST = Operation(
    name="session.list",
    effect="read",
    summary="List the stored sessions, last activity first.",
    input=ListSessions,
    output=SessionList,
    item=SessionRow,
    perform=list_sessions,
    shape=Shape(
        levels={"minimal": ("id", "status", "health")},
        id_field="id",
        select="items",
        untrusted=("goal", "project", "branch", "pending_title", "workflow_name", "agent"),
    ),
    value_rules={"since": _TIME_RULE, "until": _TIME_RULE},
    default_sort="last activity (newest first), id",
)


# The nodes whose notes or artifacts have the words


MOST_READ = 200
"""Sessions that one search reads; the latest that may match."""
MOST_OF_ONE = 10
"""Hits in one session."""
SNIPPET_CHARACTERS = 160
_LEAD = 60


class SearchSessions(Input, frozen=True, kw_only=True):
    """What to look for."""

    query: Annotated[str, Meta(description="Words; a hit has all of them.", min_length=1, max_length=256)]
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


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
    needed = require_terms(request.query)
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
            for number, row in enumerate(_hits(session, needed)):
                yield (sort_latest(stamp.order), stamp.session_id, f"{number:03d}"), row

    may_match = (one for one in sessions.find(needed) if not sessions.lacks_words(one.session_id))
    candidates = list(islice(may_match, MOST_READ + 1)) if needed else []
    page = page_of(rt, SEARCH, request, find(), lambda one: one[0], lambda one: one[1])
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
        self._needed = require_terms(query)
        self._left = MOST_READ if self._needed else 0

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
        named = index_terms((opened, goals))
        return has_every_word(self._needed, named) or bool(_hits(session, self._needed))


def _hits(session: Session, needed: Sequence[Choice]) -> list[HitRow]:
    """The newest hits of one session."""
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
    """Where a text lies, what it is, what is searched, what is shown of it, and when it came."""
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
    """The text around the first of the words, in one line."""
    flat = " ".join(text.split())
    folded = flat.casefold()
    first = min((place for word, *_ in needed if (place := folded.find(word)) >= 0), default=0)
    start = max(0, first - _LEAD)
    shown = flat[start : start + SNIPPET_CHARACTERS]
    return ("…" if start else "") + shown + ("…" if start + SNIPPET_CHARACTERS < len(flat) else "")


SEARCH = Operation(
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
