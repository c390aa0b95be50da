"""The inbox: what waits for a person, in the same form for every interface. Pure."""

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
    """Why it waits. `person`: a step asks for a person. `blocked`: a report was not accepted. `gap`: a
    critical gap is open. `damaged`: the log is damaged. `newer`: a newer version of Handrail wrote it.
    """
    session_id: str
    run_id: str
    node_id: str
    goal: str
    project: str
    branch: str
    workflow_id: str
    workflow_name: str
    agent: str
    """The name that the client stated when it began the run; empty for a command line."""
    account: str
    """On a team server: the account of the agent."""
    machine: str
    since: str
    """When the run reached this state."""
    silence: str
    """`stalled` if nothing changed for as long as the setting idleMinutes says."""
    title: str
    """Title of the step."""
    why: str
    fix: str
    gap_ids: list[str]
    """For a gap: every open critical gap of the run; one note resolves them all."""
    count: int
    attempts: int
    """How many reports of the step were not accepted."""
    asked: AskKind | Literal[""]
    """What a person is asked for: `confirm`, `choose`, `give` or `allow_write`; otherwise empty."""
    is_answered: bool
    """Whether a person has answered and the agent has not read the answer yet."""
    reply: str
    """The text to paste into the agent's chat."""
    command: str
    """A command that a person can run instead, if there is one; on a team server the page where they
    answer.
    """
    last_activity: str
    sources: Sources = Sources()
    """Counts of what is known about the run, by who recorded it."""


class Inbox(Answer, frozen=True, kw_only=True):
    """Fields beside the inbox items: how many there are in all, and where Handrail searched."""

    scope: str
    total: int
    answered: int = 0
    """How many of these a person answered and the agent has not read yet; they are listed last."""
    session_count: int


class WaitingRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that inbox items are about, and its needs."""

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
    """Yield one item for each need of a run; its session is intact.

    `page` is the page where people answer on a team server; otherwise empty.
    """
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
    """Return the inbox item for one need of a run."""
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
    """Return a command that a person can run for it; empty if only the agent can correct it."""
    match need.kind:
        case "person" if not need.is_answered or need.is_declined:
            which = f" --run {need.run_id}" if run.run_count > 1 else ""
            return f"handrail run answer --session {session_id}{which}"
        case "gap":
            return f"handrail session resolve {need.gap_ids[0]} --session {session_id} --note TEXT"
        case _:
            return ""


def key_of(item: InboxItem) -> str:
    """Return a key that identifies the item within its session, for use in an address."""
    match item.kind:
        case "gap":
            return f"gaps-{item.run_id}"
        case "person" | "blocked":
            return item.node_id
        case "damaged" | "newer":
            return item.kind
        case never:
            assert_never(never)
