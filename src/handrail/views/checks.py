"""The checks that a project declares. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Payload


class CheckRow(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """One declared check; secrets in its command are not shown."""

    name: str
    command: tuple[str, ...]
    line: str
    """The same as a shell takes it, with what its declaration sets."""
    directory: str
    timeout_seconds: int
    description: str
    report: str
    """The file in which its tests are counted; empty: there is none."""
    environment: list[str]
    """What its declaration sets, as NAME=value."""
    digest: str
    """Of the declaration."""
    is_approved: bool
    """Handrail runs it itself where a report needs it and its last run was short."""
    last_duration_ms: int | None
    """On this machine; null: it was never run to its end, or was ended before it last time."""


class CheckList(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """Beside the items: where they are declared."""

    declared_in: str
