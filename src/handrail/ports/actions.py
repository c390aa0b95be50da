"""The port that carries out the workflow actions that Handrail performs itself, without an agent."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from handrail.contract.outcome import Json

ALREADY_APPLIED = "already_applied"


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a plan, as the plan would leave it."""

    file: str
    after_hash: str


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call that produces the plan again."""

    action: str
    parameters: dict[str, Any]
    languages: list[str] = []


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The plan as the saved result of a preview describes it."""

    action: str
    changes: list[PlannedChange]
    plan: str
    planned: PlannedCall

    def describe_applied(self, *, already: bool = False) -> dict[str, Json]:
        """Return the result of writing the plan."""
        return {
            "status": "success",
            "action": self.action,
            "files_modified": [one.file for one in self.changes],
            ALREADY_APPLIED: already,
        }


class OwnAction(Protocol):
    """One call of an operation in the project of a run. Starts no program, and touches no other project."""

    def call(self) -> dict[str, Json]:
        """Return what the operation answers about the code, with the plan of a preview. Raise Fault."""

    def apply(self, preview: Preview) -> dict[str, Json]:
        """Write the plan of a preview, unless its files already have the planned content.

        Raise Fault RESULTS_STALE if a file is neither as before the plan nor as after it.
        """
