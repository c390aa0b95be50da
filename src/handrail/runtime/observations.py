"""What can be observed around the caller right now; helpful for finding work again, never required."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Fault
from handrail.contract.vocabulary import ObservationKey
from handrail.runtime.runtime import Runtime


def observed_here(rt: Runtime, project: str | UnsetType) -> dict[ObservationKey, str]:
    """Branch, head and repository; nothing where the directory is gone: a report must not fail by that."""
    try:
        return rt.workspace.observations(rt.workspace.project("" if project is UNSET else project))
    except Fault:
        return {}
