"""Kinds of trouble with the disk, the log and the keyring. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
STORE_IO_ERROR = Kind(
    code="STORE_IO_ERROR", native="E_IO", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="escalate", needs_escalation=True,
    hint="Free space or fix the file system, then send the same call again; nothing half-written counts.",
    details=("reason", "session_id"),
)
STORE_PERMISSION_DENIED = Kind(
    code="STORE_PERMISSION_DENIED", native="E_FORBIDDEN", exit_status=4, http_status=403,
    lafs_code="E_INTERNAL_UNEXPECTED", category="PERMISSION", agent_action="escalate", needs_escalation=True,
    hint="Give this user read and write access to the store directory.",
    details=("reason",),
)
STORE_UNAVAILABLE = Kind(
    code="STORE_UNAVAILABLE", native="E_SERVER", exit_status=7, http_status=503,
    is_retryable=True, wait_ms=2000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait, then send the same call again.",
    details=("reason",),
)
STORE_CORRUPT = Kind(
    code="STORE_CORRUPT", native="E_INTEGRITY", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="A person must restore the file named in details from a backup.",
    details=("reason", "session_id"),
)
STORE_HISTORY_LOST = Kind(
    code="STORE_HISTORY_LOST", native="E_INTEGRITY", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="The store lost acknowledged work; restore it from a backup before going on.",
    details=("session_id", "token_kind", "event_count"),
)
STORE_UNSUPPORTED_VERSION = Kind(
    code="STORE_UNSUPPORTED_VERSION", native="E_CONFIG", exit_status=4, http_status=500,
    lafs_code="E_MIGRATION_UNSUPPORTED_VERSION", category="MIGRATION", agent_action="stop",
    needs_escalation=True,
    hint="Update handrail: a newer version wrote this store.",
    details=("found", "supported"),
)
STORE_TARGET_NOT_EMPTY = Kind(
    code="STORE_TARGET_NOT_EMPTY", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_VALIDATION_SCHEMA", category="CONFLICT", agent_action="retry_modified",
    hint="Choose an empty target.",
    details=("target",),
)
KEYRING_INVALID = Kind(
    code="KEYRING_INVALID", native="E_IO", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="escalate", needs_escalation=True,
    hint="Restore the key file from a backup, or move it away: tokens end, history stays.",
    details=("reason",),
)
# fmt: on
