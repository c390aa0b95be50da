"""The faults of bundles: one place for their words and details. Pure."""

from __future__ import annotations

from handrail.contract.catalogue import (
    BUNDLE_EVENT_ORDER_INVALID,
    BUNDLE_INTEGRITY_FAILED,
    BUNDLE_INVALID_FORMAT,
    BUNDLE_MANIFEST_ORDER_INVALID,
    BUNDLE_MISSING_PINNED_WORKFLOW,
    BUNDLE_MISSING_SNAPSHOT,
    BUNDLE_TOO_LARGE,
    BUNDLE_UNSUPPORTED_VERSION,
)
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote

_OTHER_WAYS = "Use --as markdown or --as html for a report, or copy the whole store: `handrail store copy`."


def malformed_fault(message: str, path: str = "") -> Fault:
    return Fault(BUNDLE_INVALID_FORMAT, message, details=_at(path))


def too_large_fault(what: str, measured: int, limit: int) -> Fault:
    return Fault(
        BUNDLE_TOO_LARGE,
        f"The bundle has {measured} {what}; the limit is {limit}.",
        details={"path": what, "measured": measured, "limit": limit},
        hint="Nothing was imported. Copy a session of this size with its store: `handrail store copy` there.",
    )


def export_too_large_fault(what: str, measured: int, limit: int) -> Fault:
    """The same, before the bundle is written."""
    return Fault(
        BUNDLE_TOO_LARGE,
        f"The bundle of this session would have {measured} {what}; an import accepts {limit}. "
        "Nothing was written.",
        details={"path": what, "measured": measured, "limit": limit},
        hint=f"{_OTHER_WAYS} Or go on in a new session, which has a bundle of its own.",
    )


def import_refused_fault(fault: Fault) -> Fault:
    """What an import would say about this bundle, before it is written."""
    return Fault(
        BUNDLE_INVALID_FORMAT,
        f"An import would refuse the bundle of this session, so nothing was written. {fault.message}",
        details=fault.details,
        hint=_OTHER_WAYS,
    )


def newer_version_fault(message: str, path: str, *, found: str, supported: int) -> Fault:
    details = {"path": path, "found": found[:200], "supported": supported}
    return Fault(BUNDLE_UNSUPPORTED_VERSION, message, details=details)


def altered_fault(message: str, path: str) -> Fault:
    return Fault(BUNDLE_INTEGRITY_FAILED, message, details=_at(path))


def event_order_fault(message: str, path: str) -> Fault:
    return Fault(BUNDLE_EVENT_ORDER_INVALID, message, details=_at(path))


def manifest_order_fault(message: str, path: str) -> Fault:
    return Fault(BUNDLE_MANIFEST_ORDER_INVALID, message, details=_at(path))


def missing_snapshot_fault(ref: str) -> Fault:
    message = f"The bundle lacks the snapshot {quote(ref)}, which a node stands at."
    return Fault(BUNDLE_MISSING_SNAPSHOT, message, details=_at("session/snapshots"))


def missing_workflow_fault(workflow_hash: str) -> Fault:
    message = f"The bundle lacks the pinned workflow {quote(workflow_hash)}, which a run needs."
    return Fault(BUNDLE_MISSING_PINNED_WORKFLOW, message, details=_at("session/pinnedWorkflows"))


def _at(path: str) -> dict[str, str]:
    return {"path": path[:200]} if path else {}
