"""The sessions a running server works on, kept folded: a call folds only what is new.

Nothing here is truth. Whoever takes a history from here asks the log for what follows it, and the
log's answer says whether the history is still the beginning of that session.
"""

from __future__ import annotations

from _thread import allocate_lock  # `threading` would cost every command line its import
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from handrail.contract.ids import BlobRef, SessionId, WorkflowHash
from handrail.engine.history import History
from handrail.ports import EventLog, Loaded, Remembered, SessionHold, SessionStamp
from handrail.workflows.compiled import CompiledWorkflow, decode_compiled

MOST_SESSIONS: Final = 2_048
MOST_EVENTS: Final = 10_000
"""Over all kept sessions; an event of a folded session takes about one kilobyte."""
ALWAYS_KEPT: Final = 4
"""The latest sessions stay, however long they are: folding one anew in every call would be dear."""
MOST_WORKFLOWS: Final = 64
LARGEST_WORKFLOW_BYTES: Final = 256 * 1024


class HotLog:
    """`ports.EventLog` on top of another one; also remembers folded sessions and compiled workflows.

    Safe between threads: histories and workflows never change, and the bookkeeping is guarded.
    """

    def __init__(
        self,
        log: EventLog,
        *,
        most_sessions: int = MOST_SESSIONS,
        most_events: int = MOST_EVENTS,
        always_kept: int = ALWAYS_KEPT,
    ) -> None:
        self.log = log
        self._most_sessions = most_sessions
        self._most_events = most_events
        self._always_kept = always_kept
        self._guard = allocate_lock()
        self._histories: dict[SessionId, History] = {}
        self._events = 0
        self._workflows: dict[WorkflowHash, CompiledWorkflow] = {}

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.log.load(session_id)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        return self.log.load_since(session_id, index)

    def recall(self, session_id: SessionId) -> Remembered | None:
        return self.log.recall(session_id)

    def list_sessions(self) -> Sequence[SessionStamp]:
        return self.log.list_sessions()

    def get_blob(self, ref: BlobRef) -> bytes:
        return self.log.get_blob(ref)

    def pinned(self, workflow_hash: WorkflowHash) -> CompiledWorkflow:
        """The workflow of a run, decoded once: content never changes under its hash.

        The log proves each time that it still has it, so a running server and a new process agree on what
        is damaged.
        """
        content = self.log.get_blob(BlobRef(workflow_hash))
        with self._guard:
            kept = self._workflows.pop(workflow_hash, None)
            if kept is not None:
                self._workflows[workflow_hash] = kept
        if kept is not None:
            return kept
        workflow = decode_compiled(content)
        if len(content) <= LARGEST_WORKFLOW_BYTES:
            with self._guard:
                self._workflows[workflow_hash] = workflow
                while len(self._workflows) > MOST_WORKFLOWS:
                    del self._workflows[next(iter(self._workflows))]
        return workflow

    def hold(self, session_id: SessionId, wait_ms: int) -> AbstractContextManager[SessionHold]:
        return self.log.hold(session_id, wait_ms)

    def hold_existing(self, session_id: SessionId, wait_ms: int) -> AbstractContextManager[SessionHold]:
        return self.log.hold_existing(session_id, wait_ms)

    def folded(self, session_id: SessionId) -> History | None:
        """The history as it was kept last; now the one that will be forgotten last."""
        with self._guard:
            history = self._histories.pop(session_id, None)
            if history is not None:
                self._histories[session_id] = history
        return history

    def keep(self, history: History) -> None:
        """Remember a history for the next call, and forget those that were used longest ago."""
        with self._guard:
            before = self._histories.pop(history.session_id, None)
            self._events += history.head - (0 if before is None else before.head)
            self._histories[history.session_id] = history
            while len(self._histories) > self._most_sessions or (
                self._events > self._most_events and len(self._histories) > self._always_kept
            ):
                oldest = self._histories.pop(next(iter(self._histories)))
                self._events -= oldest.head

    def forget(self, session_id: SessionId) -> None:
        with self._guard:
            before = self._histories.pop(session_id, None)
            self._events -= 0 if before is None else before.head

    def __len__(self) -> int:
        """How many sessions are kept."""
        with self._guard:
            return len(self._histories)
