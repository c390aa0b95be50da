"""What a decision takes from outside the log: the facts of a start, and those of a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from handrail.contract.ids import Confirmations, ObservationKey, RunId, SessionId, WorkflowHash
from handrail.engine.events import PreferencesDelta, RunStarted, TreeRecorded
from handrail.engine.facts import Helper, WorkDone
from handrail.engine.reasons import Reason
from handrail.workflows.compiled import CompiledWorkflow

if TYPE_CHECKING:
    from handrail.engine.judge.places import Sighting
    from handrail.engine.judge.proofs import ProofFacts

NO_PREFERENCES = PreferencesDelta()
NOTHING_SEEN: Mapping[ObservationKey, str] = {}
NOTHING_HANDED: Mapping[WorkflowHash, CompiledWorkflow] = {}


class StartFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a start brings."""

    session_id: SessionId
    run_id: RunId
    workflow: CompiledWorkflow
    started: RunStarted
    context: dict[str, Any]
    from_goal: tuple[str, ...] = ()
    """Names in the context whose value is the goal, because no other value was given."""
    observations: dict[ObservationKey, str]
    preferences: PreferencesDelta = NO_PREFERENCES
    defaults: PreferencesDelta = NO_PREFERENCES
    """The user's preferences for every new session; an existing one keeps its own."""
    handed: Mapping[WorkflowHash, CompiledWorkflow] = NOTHING_HANDED
    """Workflows that its steps may delegate."""


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a decision takes from outside the log, read before the session is locked."""

    workflow: CompiledWorkflow
    work: WorkDone
    seen: Mapping[ObservationKey, str] = NOTHING_SEEN
    """What is observed around the caller."""
    kept_notes: str = ""
    """The complete notes of the blocked attempt before."""
    sighting: Sighting | None = None
    """What was observed in the working tree; None if no evidence is judged."""
    proof_facts: ProofFacts | None = None
    """Facts for a step that requires a proof; None if it requires none, or if they were not gathered."""
    confirmations: Confirmations = "claimed"
    """Who can approve the step."""
    can_ask: bool = False
    """Whether the client can ask a person."""
    has_confirmer: bool = False
    """Whether an account can give the confirmation that the step requires from a named person or role."""
    troubles: tuple[Reason, ...] = ()
    """Why an action of Handrail did not run."""
    handed: Mapping[WorkflowHash, CompiledWorkflow] = NOTHING_HANDED
    """Workflows that the steps of the run may delegate."""
    other_files: TreeRecorded | None = None
    """The current files of the project if an older step is continued with files that differ from those at
    that step.
    """
    helper: Helper | None = None
    """For a delegated run: where it works, from its first call that writes, and the name that the caller
    states.
    """
