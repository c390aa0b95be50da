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
    """Everything a start brings with it."""

    session_id: SessionId
    run_id: RunId
    workflow: CompiledWorkflow
    started: RunStarted
    context: dict[str, Any]
    from_goal: tuple[str, ...] = ()
    """Names in the context that are the goal, because nobody gave them."""
    observations: dict[ObservationKey, str]
    preferences: PreferencesDelta = NO_PREFERENCES
    defaults: PreferencesDelta = NO_PREFERENCES
    """What the user wants in every new session; an existing one keeps its own."""
    handed: Mapping[WorkflowHash, CompiledWorkflow] = NOTHING_HANDED
    """What its steps may delegate."""


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a decision takes from outside the log, read before the session is held."""

    workflow: CompiledWorkflow
    work: WorkDone
    seen: Mapping[ObservationKey, str] = NOTHING_SEEN
    """What can be observed around the caller."""
    kept_notes: str = ""
    """The whole notes of the blocked attempt before."""
    sighting: Sighting | None = None
    """Of the working tree; None: no evidence is judged."""
    proof_facts: ProofFacts | None = None
    """Of a step that wants a proof; None: it wants none, or nobody looked."""
    confirmations: Confirmations = "claimed"
    """Who can approve the step."""
    can_ask: bool = False
    """Whether the client can ask a person."""
    has_confirmer: bool = False
    """Whether an account can give the confirmation that the step wants of somebody by name or role."""
    troubles: tuple[Reason, ...] = ()
    """Why an action of ours did not run."""
    handed: Mapping[WorkflowHash, CompiledWorkflow] = NOTHING_HANDED
    """What the steps of the run may delegate."""
    other_files: TreeRecorded | None = None
    """The present files of a project that an older step is continued in, if they are not those it saw."""
    helper: Helper | None = None
    """Of a run that was delegated: where it works, by its first call that writes, and who says to."""
