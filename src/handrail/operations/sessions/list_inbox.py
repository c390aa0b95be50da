"""`session inbox`: everything that waits for a person, over all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.accounts import ROLES, Principal
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import NodeId, SessionId
from handrail.contract.outcome import Success
from handrail.contract.parameters import Cursor
from handrail.engine.events import is_newer
from handrail.operations.stored_sessions import (
    FindSilence,
    Sessions,
    ask_sessions,
    facet,
    find_silence,
)
from handrail.projections.overview import Need, SessionFacts
from handrail.runtime.damaged_sessions import list_repair_commands
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import read_session
from handrail.runtime.who_confirms import is_confirmer
from handrail.views.inbox import Inbox, InboxItem, key_of, list_items, make_item, run_of

_KINDS = ("person", "blocked", "damaged", "newer", "gap")
_NO_WORKFLOW = "Its workflow is damaged or gone from the store, so what it waits for is not known."


class ListInbox(Input, frozen=True, kw_only=True):
    """The page of the inbox."""

    assigned: Maybe[
        Annotated[
            Literal["me", "all"],
            Meta(description="In a team: me is what only you, or your role, can resolve. Default all."),
        ]
    ] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


def list_inbox(rt: ReadPorts, request: ListInbox) -> Success:
    """Return one page of what waits, first the kind that only a person can end."""
    found, count = ask_sessions(rt, lambda sessions: (_find_needs(rt, request, sessions), sessions.count()))
    page = page_of(rt, OPERATION, request, sorted(found, key=_sort_need), _sort_need, lambda row: row)
    listed = Inbox(
        scope="all sessions of this store",
        total=len(found),
        answered=sum(row.is_answered for row in found),
        session_count=count,
    )
    return Success(data=msgspec.to_builtins(listed), page=page)


def _sort_need(row: InboxItem) -> tuple[str, ...]:
    return (
        str(int(row.is_answered)),
        str(_KINDS.index(row.kind)),
        row.since,
        row.session_id,
        row.run_id,
        key_of(row),
    )


def _find_needs(rt: ReadPorts, request: ListInbox, sessions: Sessions) -> list[InboxItem]:
    """Return everything that waits. The index names the sessions with needs; it never has a damaged one."""
    found: list[InboxItem] = []
    silence = find_silence(rt)
    me = rt.principal if request.assigned == "me" else None
    for stamp in sessions.find([(facet("needs"),)]):
        facts = sessions.facts(stamp.session_id)
        if me is not None:
            mine = [need for need in facts.needs if _is_mine(rt, stamp.session_id, facts, need, me)]
            if not mine and facts.account not in ("", me.account):
                continue
            facts = msgspec.structs.replace(facts, needs=tuple(mine))
        if sessions.has_lost_workflow(stamp.session_id):
            found.append(_damaged(stamp.session_id, facts, _NO_WORKFLOW))
        else:
            found += _rows(rt, stamp.session_id, facts, silence)
    return found


def _is_mine(rt: ReadPorts, session_id: SessionId, facts: SessionFacts, need: Need, me: Principal) -> bool:
    """Whether it waits for this person.

    If a step names who confirms, whether this person is named; else whether it is about a run of their own
    agent, or of a run without an account.
    """
    if not need.confirmed_by:
        return facts.account in ("", me.account)
    if ROLES.index(me.role) < ROLES.index("member"):
        return False
    session = read_session(rt.log, session_id)
    if session is None or need.node_id not in session.history.nodes:
        return False
    history, node_id = session.history, NodeId(need.node_id)
    return is_confirmer(rt, history, history.nodes[node_id], need.confirmed_by, me)


def _rows(
    rt: ReadPorts, session_id: SessionId, facts: SessionFacts, silence: FindSilence
) -> Iterator[InboxItem]:
    if facts.health != "healthy":
        yield _damaged(session_id, facts, _describe(facts))
        return
    page = "" if rt.principal is None else f"{rt.origin}/sessions/{session_id}"
    yield from list_items(session_id, run_of(facts), silence=silence(facts), page=page)


def _damaged(session_id: SessionId, facts: SessionFacts, banner: str) -> InboxItem:
    if is_newer(facts.health):
        why = "This session was written by a newer version of Handrail, which can read and continue it."
        need = Need(kind="newer", why=why, run_id=facts.run_id)
        return make_item(session_id, run_of(facts), need, command="handrail update")
    look, _ = list_repair_commands(session_id)
    need = Need(kind="damaged", why=banner, run_id=facts.run_id)
    return make_item(session_id, run_of(facts), need, command=look)


def _describe(facts: SessionFacts) -> str:
    proven = facts.event_count
    if not proven:
        return f"This session cannot be read ({facts.health})."
    return f"Its first {proven} events are proven, nothing after them. It can be read, not continued."


OPERATION = Operation(
    name="session.inbox",
    effect="read",
    summary="List what waits for a person: questions, blocked runs, critical gaps and damage.",
    input=ListInbox,
    output=Inbox,
    item=InboxItem,
    perform=list_inbox,
    shape=Shape(
        levels={"minimal": ("kind", "session_id", "node_id")},
        id_field="session_id",
        select="items",
        untrusted=(
            *("goal", "title", "why", "fix", "reply"),
            *("project", "branch", "workflow_name", "agent"),
        ),
    ),
    default_sort="open first, kind (a person first), since, session id",
)
