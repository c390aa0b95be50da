"""The frozen core kinds of the CLI dialect; every other kind lands on one of them. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

UPDATE_DETAILS = (
    *("stage", "current_version", "target_version", "binary_replaced", "skill_sync_status"),
    *("skill_sync_command", "command", "cause"),
)
"""What every failure of an update tells beside its own: how far it came, and what is installed now."""

# fmt: off
E_USAGE = Kind(
    code="E_USAGE", native="E_USAGE", exit_status=2, http_status=400,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Run the command with --help to see its words and flags.",
    details=("problems", "did_you_mean", "commands", "usage"),
)
E_VALIDATION = Kind(
    code="E_VALIDATION", native="E_VALIDATION", exit_status=2, http_status=400,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Correct the value named in details and send the call again.",
    details=("problems", "param", "valid", "expected", "got", "usage", "line", "column", *UPDATE_DETAILS),
)
E_NOT_FOUND = Kind(
    code="E_NOT_FOUND", native="E_NOT_FOUND", exit_status=3, http_status=404,
    lafs_code="E_NOT_FOUND_RESOURCE", category="NOT_FOUND", agent_action="stop",
    hint="Check the name; list what exists before asking for one.",
    details=("resource", "id", "did_you_mean", "field", "status", "recovery", *UPDATE_DETAILS),
)
E_AUTH = Kind(
    code="E_AUTH", native="E_AUTH", exit_status=4, http_status=401,
    lafs_code="E_VALIDATION_SCHEMA", category="AUTH", agent_action="authenticate",
    hint="Sign in again, then repeat the call.",
    details=("setting", *UPDATE_DETAILS),
)
E_FORBIDDEN = Kind(
    code="E_FORBIDDEN", native="E_FORBIDDEN", exit_status=4, http_status=403,
    lafs_code="E_INTERNAL_UNEXPECTED", category="PERMISSION", agent_action="escalate", needs_escalation=True,
    hint="Ask someone who has the right, or raise the permission in the settings.",
    details=("setting", "needed", "given", *UPDATE_DETAILS),
)
E_CONFIG = Kind(
    code="E_CONFIG", native="E_CONFIG", exit_status=4, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="CONTRACT", agent_action="escalate", needs_escalation=True,
    hint="Fix the setting named in details, then repeat the call.",
    details=("setting", "source", "problems", "reason", "install_command", *UPDATE_DETAILS),
)
E_CONFIRMATION_REQUIRED = Kind(
    code="E_CONFIRMATION_REQUIRED", native="E_CONFIRMATION_REQUIRED", exit_status=5, http_status=428,
    lafs_code="E_VALIDATION_SCHEMA", category="CONTRACT", agent_action="retry_modified",
    hint="Run the command in next_command; it carries what is missing.",
    details=("missing", "effect"),
)
E_CONFLICT = Kind(
    code="E_CONFLICT", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONFLICT_VERSION", category="CONFLICT", agent_action="refresh_context",
    is_lafs_retryable=True,
    hint="Read the current state, then decide again.",
    details=("reason", "expected", "actual", *UPDATE_DETAILS),
)
E_NETWORK = Kind(
    code="E_NETWORK", native="E_NETWORK", exit_status=7, http_status=502, is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait, then send the same call again.",
    details=(*UPDATE_DETAILS,),
)
E_RATE_LIMITED = Kind(
    code="E_RATE_LIMITED", native="E_RATE_LIMITED", exit_status=7, http_status=429,
    is_retryable=True, wait_ms=5000,
    lafs_code="E_RATE_LIMITED", category="RATE_LIMIT", agent_action="wait", is_lafs_retryable=True,
    hint="Wait as long as retry_after_ms says, then send the same call again.",
    details=(*UPDATE_DETAILS,),
)
E_SERVER = Kind(
    code="E_SERVER", native="E_SERVER", exit_status=7, http_status=503, is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait, then send the same call again.",
    details=(*UPDATE_DETAILS,),
)
E_TIMEOUT = Kind(
    code="E_TIMEOUT", native="E_TIMEOUT", exit_status=8, http_status=504, is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Send the same call again, with a longer --timeout if the work is large.",
    details=("timeout_ms", "committed", "items", "summary", "skipped", *UPDATE_DETAILS),
)
E_INTEGRITY = Kind(
    code="E_INTEGRITY", native="E_INTEGRITY", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="Stop; a person must look at the source of these bytes.",
    details=("expected", "actual", "report", "reason", "mismatch", "path", *UPDATE_DETAILS),
)
E_IO = Kind(
    code="E_IO", native="E_IO", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="escalate", needs_escalation=True,
    hint="Free space or fix the file system, then send the same call again.",
    details=("reason", "path", *UPDATE_DETAILS),
)
E_INTERRUPTED = Kind(
    code="E_INTERRUPTED", native="E_INTERRUPTED", exit_status=130, http_status=503, is_retryable=True,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Nothing was half-applied; send the same call again.",
    details=("committed", "items", "summary", "skipped", *UPDATE_DETAILS),
)
E_UNKNOWN = Kind(
    code="E_UNKNOWN", native="E_UNKNOWN", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="escalate",
    hint="Report this with the request id.",
    details=("incident", *UPDATE_DETAILS),
)
E_HUMAN_REQUIRED = Kind(
    code="E_HUMAN_REQUIRED", native="E_HUMAN_REQUIRED", exit_status=9, http_status=403,
    lafs_code="E_INTERNAL_UNEXPECTED", category="PERMISSION", agent_action="escalate",
    needs_escalation=True, is_reserved=True,
    hint="Ask the person named in details to act, then run resume.",
    details=("action", "resume"),
)
# fmt: on
