"""Results of a call about several targets. Pure."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Answer


class ItemError(Answer, frozen=True, kw_only=True):
    """Why one target failed, with the error codes that every interface uses."""

    code: str
    retryable: bool
    message: str
    domain_code: str | UnsetType = UNSET
    """Handrail's own error code, if it is more specific than `code`."""


class BatchSummary(Answer, frozen=True, kw_only=True):
    """Counts of a batch; `total` counts the targets that were attempted."""

    total: int
    succeeded: int
    failed: int
    skipped: int
