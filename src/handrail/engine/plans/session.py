"""The plans of a session that has no run: how it begins, and the notes it keeps of its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.contract.ids import SessionId
from handrail.contract.vocabulary import ObservationKey
from handrail.engine.events import (
    NodeOutputAppended,
    ObservationRecorded,
    PlannedEvent,
    Project,
    Scope,
    SessionCreated,
)
from handrail.engine.plans.writing import kept_notes, planned
from handrail.engine.work import WorkDone


def plan_session(
    session_id: SessionId,
    goal: str,
    input_digest: str,
    seen: Mapping[ObservationKey, str],
    project: Project | None = None,
) -> list[PlannedEvent]:
    """A session on its own; its goal stands in the first event, so that every replay can tell it."""
    created = SessionCreated(goal=goal, input_digest=input_digest, project=project)
    return [
        planned(f"session_created:{session_id}", Scope(), created),
        *(
            planned(
                f"observation_recorded:{session_id}:{key}", Scope(), ObservationRecorded(key=key, value=value)
            )
            for key, value in sorted(seen.items())
        ),
    ]


def plan_session_notes(output_id: str, work: WorkDone) -> list[PlannedEvent]:
    """Notes that belong to no node. The name of the output comes from the token, so a repeat meets it."""
    appended = NodeOutputAppended(
        output_id=output_id, channel="recap", notes=kept_notes(work), input_digest=work.input_digest
    )
    return [planned(f"node_output_appended:{output_id}", Scope(), appended)]
