"""The checks that a project declares. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Payload


class CheckRow(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """One declared check; secrets in its command are not shown."""

    name: str
    command: tuple[str, ...]
    line: str
    """The command as a shell takes it, with the variables that its declaration sets."""
    directory: str
    timeout_seconds: int
    description: str
    report: str
    """The file from which Handrail reads the number of its tests; empty if there is none."""
    environment: list[str]
    """Variables that its declaration sets, as NAME=value."""
    digest: str
    """Digest of the declaration."""
    is_approved: bool
    """Whether Handrail may run it itself if a report needs it and its last run was short."""
    last_duration_ms: int | None
    """Duration of its last run on this machine; null if it never ran to its end, or its last run was
    stopped.
    """


class CheckList(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """Fields beside the list of checks: where they are declared."""

    declared_in: str
