"""`session search`: the nodes whose notes or artifacts contain the words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, Success
from handrail.contract.parameters import Cursor
from handrail.contract.search_terms import require_terms
from handrail.operations.sessions.session_hits import MOST_READ, find_hits
from handrail.operations.stored_sessions import (
    READ_TO_PROVEN,
    Sessions,
    ask_sessions,
    describe_unsound,
    sort_latest,
)
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import read_session
from handrail.views.hits import HitList, HitRow


class SearchSessions(Input, frozen=True, kw_only=True):
    """The words to search for."""

    query: Annotated[str, Meta(description="Words; a hit has all of them.", min_length=1, max_length=256)]
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


def search_sessions(rt: ReadPorts, request: SearchSessions) -> Success:
    """Return one page of hits in the latest sessions that may have the words."""
    return ask_sessions(rt, lambda sessions: _search(rt, request, sessions))


def _search(rt: ReadPorts, request: SearchSessions, sessions: Sessions) -> Success:
    needed = require_terms(request.query)
    unsound: dict[SessionId, str] = {}

    def find() -> Iterator[tuple[tuple[str, ...], HitRow]]:
        """Yield hits lazily, so that a page reads no session that it does not need."""
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
            for number, row in enumerate(find_hits(session, needed)):
                yield (sort_latest(stamp.order), stamp.session_id, f"{number:03d}"), row

    may_match = (one for one in sessions.find(needed) if not sessions.lacks_words(one.session_id))
    candidates = list(islice(may_match, MOST_READ + 1)) if needed else []
    page = page_of(rt, OPERATION, request, find(), lambda one: one[0], lambda one: one[1])
    count = sessions.count()
    is_whole = len(candidates) <= MOST_READ
    searched = "all sessions of this store" if is_whole else f"the latest {MOST_READ} sessions that may match"
    listed = HitList(scope=searched + describe_unsound(unsound, READ_TO_PROVEN), session_count=count)
    return Success(data=msgspec.to_builtins(listed), page=page)


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
