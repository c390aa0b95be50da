"""The runtime: every port an operation may use, in one value."""

from __future__ import annotations

import msgspec

from handrail.ports import (
    AuthoredFiles,
    Clock,
    ConfirmedTokens,
    EventLog,
    EventReader,
    Incidents,
    Keys,
    Randomness,
    SettingsFiles,
    WorkflowLibrary,
    Workspace,
)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What rehydrate is given: nothing in it can append."""

    reader: EventReader
    keys: Keys
    randomness: Randomness


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """What every operation is given."""

    log: EventLog
    keys: Keys
    clock: Clock
    randomness: Randomness
    library: WorkflowLibrary
    workspace: Workspace
    incidents: Incidents
    confirmed: ConfirmedTokens
    authored: AuthoredFiles
    settings: SettingsFiles

    def reading(self) -> Reading:
        return Reading(reader=self.log, keys=self.keys, randomness=self.randomness)
