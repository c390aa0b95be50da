"""`session list`: every stored session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success, make_from
from handrail.contract.parameters import Cursor, MintedId, NamedId
from handrail.contract.search_terms import has_every_word, index_terms, require_terms
from handrail.operations.durations import find_seconds
from handrail.operations.finding import read_or_pass_over
from handrail.operations.sessions.session_hits import MOST_READ, find_hits
from handrail.operations.stored_sessions import (
    FAR,
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
from handrail.projections.overview import FINISHED, UNDER_WAY, SessionFacts
from handrail.runtime.operation import Input, Maybe, Operation, ValueRule
from handrail.runtime.paging import DEFAULT_LIMIT, MOST_ITEMS, page_of, read_place
from handrail.runtime.runtime import ReadPorts
from handrail.views.sessions import SessionList, SessionView, StoredValues

MOST_VALUES = 200
"""Most values of each kind that a filter offers."""
LONGEST_KEY = 80
"""Most characters of a title by which a list is sorted."""
AFTER_ALL = "\U0010ffff"
"""Sorts after every name."""
_TIMES = "a UTC time such as 2026-11-15T09:30:00Z"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", re.ASCII)


class ListSessions(Input, frozen=True, kw_only=True):
    """The filters and the order of a list of sessions."""

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
                description="Only where the unfinished, else latest, run is of it.",
                max_length=128,
            ),
        ]
    ] = UNSET
    project_name: Maybe[
        Annotated[str, Meta(description="Only this project, by its name.", max_length=256)]
    ] = UNSET
    branch: Maybe[
        Annotated[str, Meta(description="Only those last seen on this git branch.", max_length=256)]
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
            Meta(description="Only runs long without a change: idle, or stalled while waiting."),
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
    needs: Maybe[Annotated[bool, Meta(description="Only what waits for a person.")]] = UNSET
    damaged: Maybe[Annotated[bool, Meta(description="Only damaged ones.")]] = UNSET
    stated: Maybe[Annotated[bool, Meta(description="Only finished ones that are only stated.")]] = UNSET
    sort: Maybe[
        Annotated[
            Literal["activity", "silent", "title"],
            Meta(description="Order [activity]."),
        ]
    ] = UNSET
    group: Maybe[
        Annotated[
            Literal["project", "branch", "state"],
            Meta(description="Group by this value."),
        ]
    ] = UNSET
    values: Maybe[Annotated[bool, Meta(description="Also list the values to filter by.")]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


def list_sessions(rt: ReadPorts, request: ListSessions) -> Success:
    """Return one page, last activity first. Without a filter only the sessions of this page are read."""
    return ask_sessions(rt, lambda sessions: _list(rt, request, sessions))


def _list(rt: ReadPorts, request: ListSessions, sessions: Sessions) -> Success:
    silence = find_silence(rt)
    is_filtered = bool(msgspec.to_builtins(request).keys() - {"limit", "cursor", "sort", "group", "values"})
    is_sorted = request.sort in ("silent", "title") or request.group is not UNSET
    chosen: Iterable[SessionStamp]
    if is_filtered:
        chosen = _matching(rt, sessions, request, silence)
    else:
        chosen = sessions.stamps if is_sorted else _next(rt, sessions, request)
    find_key = partial(_sort_key, sessions, request, silence)
    if is_sorted:
        chosen = sorted(chosen, key=find_key)
    page = page_of(rt, OPERATION, request, chosen, find_key, lambda stamp: _row(sessions, stamp, silence))
    lost = {
        session_id: "healthy"
        for row in page.items
        for session_id in [SessionId(row["id"])]
        if sessions.has_lost_workflow(session_id)
    }
    listed = SessionList(
        scope="all sessions of this store" + describe_unsound(lost, "shown without a workflow"),
        session_count=sessions.count(),
        values=_list_values(sessions) if request.values is True else UNSET,
    )
    return Success(data=msgspec.to_builtins(listed), page=page)


def _list_values(sessions: Sessions) -> StoredValues:
    every = [sessions.facts(stamp.session_id) for stamp in sessions.stamps]
    names = {one.workflow_id: one.workflow_name or one.workflow_id for one in reversed(every)}
    return StoredValues(
        projects=_in_order(one.project for one in every),
        branches=_in_order(_branch(one) for one in every),
        workflows=dict(sorted((key, name) for key, name in names.items() if key)[:MOST_VALUES]),
        accounts=_in_order(one.account for one in every),
        agents=_in_order(one.agent for one in every),
    )


def _in_order(values: Iterable[str]) -> list[str]:
    return sorted({value for value in values if value})[:MOST_VALUES]


def _next(rt: ReadPorts, sessions: Sessions, request: ListSessions) -> Sequence[SessionStamp]:
    """Return the sessions of this page, and one more."""
    place = read_place(rt, OPERATION, request)
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
    """Return the facets of a session that the filters need."""
    asked = [facet(name, value) for name, value in _named(request).items()]
    return [*asked, *([facet("needs")] if request.needs is True else [])]


def _named(request: ListSessions) -> dict[str, str]:
    """Return the requested facts, by name."""
    given = {
        "status": request.status,
        "workflow_id": request.workflow,
        "project": request.project_name,
        "account": request.account,
        "agent": request.agent,
    }
    return {name: value for name, value in given.items() if value is not UNSET}


def _is_wanted(facts: SessionFacts, request: ListSessions, *, is_lost: bool) -> bool:
    """Whether a session passes the filters; a session without a readable time passes those about time."""
    if request.needs is True and not (facts.needs or facts.health != "healthy" or is_lost):
        return False
    if request.damaged is True and facts.health == "healthy":
        return False
    if request.stated is True and not (facts.status in FINISHED and facts.sources.is_only_stated):
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
    """Return a time in a form that sorts like its text; a missing fraction is zero."""
    whole, _, fraction = time.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}"


def _is_time(text: str) -> bool:
    try:
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(f"{text[:19]}Z"))
    except ValueError:  # a day that does not exist
        return False


def _sort_key(
    sessions: Sessions, request: ListSessions, silence: FindSilence, stamp: SessionStamp
) -> tuple[str, ...]:
    if request.group is UNSET and request.sort not in ("silent", "title"):
        return (sort_latest(stamp.order), stamp.session_id)
    facts = sessions.facts(stamp.session_id)
    group: tuple[str, ...]
    own: tuple[str, ...]
    match request.group:
        case "project" | "branch":
            named = facts.project if request.group == "project" else _branch(facts)
            group = (named or AFTER_ALL,)
        case "state":
            group = (name_state(facts, silence(facts)),)
        case _:
            group = ()
    match request.sort:
        case "title":
            own = (facts.goal.casefold()[:LONGEST_KEY],)
        case "silent":
            own = (str(int(facts.status not in UNDER_WAY)), f"{stamp.order:025d}")
        case _:
            own = (sort_latest(stamp.order),)
    return (*group, *own, stamp.session_id)


def name_state(facts: SessionFacts, silence: str) -> str:
    """Return the state by which a list groups sessions; states that need a person come first."""
    asked = asked_of(facts)
    if facts.health != "healthy":
        return "0 damaged"
    if asked == "waiting":
        return "1 waiting"
    return f"2 {silence}" if silence else f"3 {asked}" if asked else f"4 {facts.status}"


def asked_of(facts: SessionFacts) -> str:
    """Return `waiting` if only the answer of a person is missing, `answered` if the
    agent has not read it yet.
    """
    asked = [need for need in facts.needs if need.kind == "person"]
    if not asked:
        return ""
    return "answered" if all(need.is_answered for need in asked) else "waiting"


def _branch(facts: SessionFacts) -> str:
    return facts.branches[-1] if facts.branches else ""


def _row(sessions: Sessions, stamp: SessionStamp, silence: FindSilence) -> SessionView:
    facts = sessions.facts(stamp.session_id)
    return make_from(
        SessionView,
        facts,
        id=stamp.session_id,
        silence=silence(facts),
        needs_person=bool(facts.needs),
        asked=asked_of(facts),
        seconds=find_seconds(facts.started_at, facts.since) or 0,
        branch=_branch(facts),
        open_gaps=facts.open_gap_count,
        critical_gaps=facts.critical_gap_count,
    )


_TIME_RULE = ValueRule(fits=_is_time, problem="is not a UTC time", expected=_TIMES)

OPERATION = Operation(
    name="session.list",
    effect="read",
    summary="List the stored sessions, last activity first.",
    input=ListSessions,
    output=SessionList,
    item=SessionView,
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


class Texts:
    """Checks whether notes or an artifact of a session have all the words; reads the latest candidates."""

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
        return has_every_word(self._needed, named) or bool(find_hits(session, self._needed))
