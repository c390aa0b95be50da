"""What waits for a person: one item of the inbox, whoever shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, assert_never

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Answer, make_from
from handrail.engine.reasons import AskKind
from handrail.projections.needs import reply_to_need
from handrail.projections.overview import Need, NeedKind, SessionFacts, Sources


class InboxItem(Answer, frozen=True, kw_only=True):
    """One thing that waits for a person."""

    kind: NeedKind
    """`person`: a step asks for one; `blocked`; `gap`: a critical one is open; `damaged`; `newer`: a
    newer version wrote it."""
    session_id: str
    run_id: str
    node_id: str
    goal: str
    project: str
    branch: str
    workflow_id: str
    workflow_name: str
    agent: str
    """What the client that began the run calls itself; empty: a command line."""
    account: str
    """In a team: whose agent it is."""
    machine: str
    since: str
    """When the run came there."""
    silence: str
    """`stalled` after the setting idleMinutes without a change."""
    title: str
    """Of the step."""
    why: str
    fix: str
    gap_ids: list[str]
    """Of a gap: every open critical gap of the run, which one note resolves."""
    count: int
    attempts: int
    """Reports of the step that were not accepted."""
    asked: AskKind | Literal[""]
    """What a person is asked for: `confirm`, `choose`, `give` or `allow_write`; else empty."""
    is_answered: bool
    """A person answered, and the agent has not taken it up yet."""
    reply: str
    """What to paste into the chat of the agent."""
    command: str
    """What a person can run instead, where there is something; in a team the page where they answer."""
    last_activity: str
    sources: Sources = Sources()
    """What is known of the run at hand, by who recorded it."""


class Inbox(Answer, frozen=True, kw_only=True):
    """Beside the items: how many wait in all, and where they were looked for."""

    scope: str
    total: int
    answered: int = 0
    """Of these: answered by a person, and not taken up by the agent yet; they come last."""
    session_count: int


def list_items(
    session_id: SessionId, facts: SessionFacts, *, silence: str, page: str = ""
) -> Iterator[InboxItem]:
    """Yield what a sound session waits for. `page` is where its people answer in a team; else empty."""
    for need in facts.needs:
        command = _find_command(session_id, facts, need)
        yield make_item(
            session_id,
            facts,
            need,
            reply=reply_to_need(session_id, need),
            command=(page or command) if command else "",
            silence=silence,
        )


def make_item(
    session_id: SessionId,
    facts: SessionFacts,
    need: Need,
    *,
    reply: str = "",
    command: str = "",
    silence: str = "",
) -> InboxItem:
    """Return the item of one need, with the facts of its session."""
    return make_from(
        InboxItem,
        need,
        facts,
        session_id=session_id,
        branch=facts.branches[-1] if facts.branches else "",
        gap_ids=list(need.gap_ids),
        since=need.since or facts.last_activity,
        silence=silence,
        reply=reply,
        command=command,
    )


def _find_command(session_id: SessionId, facts: SessionFacts, need: Need) -> str:
    """Return what a person can run about it; what only the agent can correct has no command."""
    match need.kind:
        case "person" if not need.is_answered or need.is_declined:
            run = f" --run {need.run_id}" if facts.run_count > 1 else ""
            return f"handrail run answer --session {session_id}{run}"
        case "gap":
            return f"handrail session resolve {need.gap_ids[0]} --session {session_id} --note TEXT"
        case _:
            return ""


def key_of(item: InboxItem) -> str:
    """Return what tells an item from the others of its session, for an address."""
    match item.kind:
        case "gap":
            return f"gaps-{item.run_id}"
        case "person" | "blocked":
            return item.node_id
        case "damaged" | "newer":
            return item.kind
        case never:
            assert_never(never)
