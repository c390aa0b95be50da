"""What waits for a person: one item of the inbox, whoever shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, assert_never

import msgspec

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


class WaitingRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that items are about, and what it waits for."""

    health: str
    status: str
    goal: str
    project: str
    branch: str
    workflow_id: str
    workflow_name: str
    agent: str
    account: str
    machine: str
    last_activity: str
    sources: Sources
    run_count: int
    needs: tuple[Need, ...]


def run_of(facts: SessionFacts) -> WaitingRun:
    """Return the run that a session is about."""
    return make_from(WaitingRun, facts, branch=facts.branches[-1] if facts.branches else "")


def list_items(
    session_id: SessionId, run: WaitingRun, *, silence: str, page: str = ""
) -> Iterator[InboxItem]:
    """Yield what a run of a sound session waits for. `page` is where people answer in a team; else empty."""
    for need in run.needs:
        command = _find_command(session_id, run, need)
        yield make_item(
            session_id,
            run,
            need,
            reply=reply_to_need(session_id, need),
            command=(page or command) if command else "",
            silence=silence,
        )


def make_item(
    session_id: SessionId,
    run: WaitingRun,
    need: Need,
    *,
    reply: str = "",
    command: str = "",
    silence: str = "",
) -> InboxItem:
    """Return the item of one need."""
    return make_from(
        InboxItem,
        need,
        run,
        session_id=session_id,
        gap_ids=list(need.gap_ids),
        since=need.since or run.last_activity,
        silence=silence,
        reply=reply,
        command=command,
    )


def _find_command(session_id: SessionId, run: WaitingRun, need: Need) -> str:
    """Return what a person can run about it; what only the agent can correct has no command."""
    match need.kind:
        case "person" if not need.is_answered or need.is_declined:
            which = f" --run {need.run_id}" if run.run_count > 1 else ""
            return f"handrail run answer --session {session_id}{which}"
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
