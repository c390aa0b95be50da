"""Count the runs in progress of an account and a workspace, so that a start beyond the limit is rejected.

The row of a session names the accounts of its open runs, written with each commit; `counted` is the head at
that time. A commit that could not count leaves `counted` behind, and the next start reads that session.
Delegated work belongs to its run and is not counted.

A start locks the row of its workspace before it counts, so the second of two simultaneous starts sees the
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from handrail.contract.catalogue import WORK_LIMIT_EXCEEDED
from handrail.contract.ids import Actor, RunId, SessionId
from handrail.contract.outcome import Fault, NextCall
from handrail.engine.events import RunStarted, decode_event
from handrail.engine.folding import extend, fold
from handrail.engine.history import History, Node
from handrail.engine.navigate import Complete
from handrail.engine.tips import find_tips, is_closed
from handrail.ports.log import Loaded, Record
from handrail_team.store.database import Link

OF_A_WORKSPACE: Final = 50
"""The limit of a workspace, as a multiple of that of an account."""
MOST_READ_AGAIN: Final = 50
"""Sessions that one start reads again; the next start continues with the others."""
_ONE_AT_A_TIME: Final = "SELECT 1 FROM handrail.workspaces WHERE workspace = %s FOR NO KEY UPDATE"
# The condition is that of the index, so a start looks at open sessions alone.
_OTHERS: Final = (
    " FROM handrail.sessions WHERE workspace <> '' AND (counted <> head OR cardinality(open_runs) > 0)"
    " AND head > 0 AND session_id <> %s AND counted"
)
_OPEN: Final = (
    "SELECT coalesce(sum(cardinality(array_positions(open_runs, %s))), 0)::bigint,"
    " coalesce(sum(cardinality(open_runs)), 0)::bigint" + _OTHERS + " = head"
)
_BEHIND: Final = "SELECT session_id, head" + _OTHERS + " <> head LIMIT %s"
# Whoever writes to a session counts it, so one that is being written to is not waited for.
_KEEP: Final = (
    "UPDATE handrail.sessions SET open_runs = %s, counted = %s WHERE session_id ="
    " (SELECT session_id FROM handrail.sessions WHERE session_id = %s AND head = %s"
    " FOR NO KEY UPDATE SKIP LOCKED)"
)


class Memory(Protocol):
    """Folded sessions from earlier calls."""

    def get_folded(self, session_id: SessionId) -> History | None: ...


class OpenRuns:
    """The open runs of one workspace."""

    def __init__(self, workspace: str, of_an_account: int) -> None:
        self._workspace = workspace
        self._most = (of_an_account, of_an_account * OF_A_WORKSPACE)
        self.memory: Memory | None = None
        """The cache of sessions in use."""

    def after(self, session_id: SessionId, records: Sequence[Record]) -> list[str] | None:
        """Return the accounts of the runs that are open after these events; None if another call came
        between.
        """
        first = records[0].index
        known = self.memory.get_folded(session_id) if first and self.memory is not None else None
        if first and (known is None or known.head != first):
            return None
        return list_open(fold(session_id, records) if known is None else extend(known, records))

    def require_room(
        self,
        link: Link,
        session_id: SessionId,
        records: Sequence[Record],
        after: list[str] | None,
        load: Callable[[SessionId], Loaded | None],
    ) -> None:
        """If these events begin a run, check the limit. Raises Fault WORK_LIMIT_EXCEEDED."""
        begun = [account for record in records for account in _begun_by(record)]
        if not begun:
            return
        with link.pipeline():
            link.execute(_ONE_AT_A_TIME, (self._workspace,))
            known = {one: link.execute(_OPEN, (one, session_id)) for one in sorted(set(begun))}
            behind = link.execute(_BEHIND, (session_id, MOST_READ_AGAIN))
        more = Counter(begun if after is None else after)
        for name, head in behind.fetchall():
            more.update(_read_again(link, SessionId(name), head, load(name)))
        for account, found in known.items():
            own, all_of_them = found.fetchone() or (0, 0)
            if account and own + more[account] > self._most[0]:  # in a bundle there may be runs of nobody
                raise _too_many("account", self._most[0])
            if all_of_them + more.total() > self._most[1]:
                raise _too_many("workspace", self._most[1])


def list_open(history: History) -> list[str]:
    """Return the accounts of a session's runs in progress; empty names for runs without an account."""
    own: dict[RunId, list[Node]] = {run_id: [] for run_id, run in history.runs.items() if run.parent is None}
    for node in history.nodes.values():
        if node.run_id in own:
            own[node.run_id].append(node)
    found = []
    for run_id, nodes in own.items():
        if nodes and not is_closed(history, run_id, nodes):
            tip = history.nodes[find_tips(history, nodes).preferred]
            found += [] if isinstance(tip.state, Complete) else [_name(history.runs[run_id].actor)]
    return found


def _begun_by(record: Record) -> list[str]:
    if not record.dedupe_key.startswith("run_started:"):
        return []
    body = decode_event(record.body)
    is_own = isinstance(body.data, RunStarted) and body.data.parent is None
    return [_name(body.actor)] if is_own else []


def _name(actor: Actor | None) -> str:
    return "" if actor is None else actor.id


def _read_again(link: Link, session_id: SessionId, head: int, loaded: Loaded | None) -> list[str]:
    """Count a session that another program wrote. One that this program cannot continue has no open run."""
    found: list[str] = []
    if loaded is not None and loaded.health.state == "healthy":
        head = loaded.head
        with suppress(Fault):  # it has events of a newer version
            found = list_open(fold(session_id, loaded.records))
    link.execute(_KEEP, (found, head, session_id, head))
    return found


def _too_many(whose: str, most: int) -> Fault:
    return Fault(
        WORK_LIMIT_EXCEEDED,
        f"This {whose} has as many runs under way as one may have: {most}. Nothing was begun.",
        details={"limit": most, "where": f"open runs of this {whose}"},
        hint="Finish runs, or close those that nobody continues (`run close`), then send the same call again;"
        " the operator of the server can raise limits.openRuns.",
        next_call=NextCall(operation="session.list", params={"status": "in_progress"}),
    )
