"""What came of several targets. Pure."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Answer


class ItemError(Answer, frozen=True, kw_only=True):
    """Why one target failed, in the codes of the whole tool."""

    code: str
    retryable: bool
    message: str
    domain_code: str | UnsetType = UNSET
    """Ours, where it says more than the code."""


class BatchSummary(Answer, frozen=True, kw_only=True):
    """`total` counts the targets that were attempted."""

    total: int
    succeeded: int
    failed: int
    skipped: int
