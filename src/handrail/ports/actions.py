"""What carries out the actions of a workflow that no agent is asked for."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from handrail.contract.outcome import Json

ALREADY_APPLIED = "already_applied"


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a plan, as the plan leaves it."""

    file: str
    after_hash: str


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What leads to the plan again."""

    action: str
    parameters: dict[str, Any]
    languages: list[str] = []


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What the saved result of a preview says about its plan."""

    action: str
    changes: list[PlannedChange]
    plan: str
    planned: PlannedCall

    def describe_applied(self, *, already: bool = False) -> dict[str, Json]:
        """The result of writing it."""
        return {
            "status": "success",
            "action": self.action,
            "files_modified": [one.file for one in self.changes],
            ALREADY_APPLIED: already,
        }


class OwnAction(Protocol):
    """One call of an operation in the project of a run. Starts no program, and touches no other project."""

    def call(self) -> dict[str, Json]:
        """What the operation answers about the code, with the plan of a preview. Raises Fault."""

    def apply(self, preview: Preview) -> dict[str, Json]:
        """Write the plan of a preview, unless its files are there already.

        Raises Fault RESULTS_STALE where they are neither those before nor those after it.
        """
