"""What the log really holds, read from the store itself and not from what anybody said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from handrail.contract.ids import SessionId
from handrail.engine.events import Advanced, AdvanceRecorded, NodeOutputAppended, NotesKept, decode_event
from handrail.wiring import build_runtime


class LogSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A session's log at one moment."""

    events: int
    head: str
    """The chain digest of the last event: it changes whenever anything before it does."""
    is_healthy: bool
    advances: int
    """Steps that were accepted."""
    blocked: int = 0
    """Attempts that were not."""
    notes: Mapping[str, int]
    """Each text that was kept, and how often."""
    artifacts: Mapping[str, int] = {}
    """Each artifact that was found valid against its contract, by its digest, and how often."""

    def describe(self) -> str:
        return f"{self.events} events, head {self.head[:12]}"


def look(home: str, session_id: str) -> LogSeen:
    """The log as it is on disk now."""
    loaded = build_runtime({"HANDRAIL_HOME": home}).log.load(SessionId(session_id))
    assert loaded is not None, "the demo asks only for the session it has started"
    facts = [decode_event(record.body).data for record in loaded.records]
    answers = [fact.outcome for fact in facts if isinstance(fact, AdvanceRecorded)]
    kept = [fact for fact in facts if isinstance(fact, NodeOutputAppended)]
    checked = [fact.artifact for fact in kept if fact.artifact is not None and fact.artifact.contract_ref]
    advances = sum(isinstance(answer, Advanced) for answer in answers)
    return LogSeen(
        events=loaded.head,
        head=loaded.records[-1].digest,
        is_healthy=loaded.health.state == "healthy",
        advances=advances,
        blocked=len(answers) - advances,
        notes=Counter(fact.notes.text for fact in kept if isinstance(fact.notes, NotesKept)),
        artifacts=Counter(artifact.digest for artifact in checked),
    )
