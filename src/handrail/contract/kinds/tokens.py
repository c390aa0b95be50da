"""Kinds of tokens that cannot be honoured. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
TOKEN_INVALID_FORMAT = Kind(
    code="TOKEN_INVALID_FORMAT", native="E_CONFLICT", exit_status=6, http_status=400,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Copy the token whole from the newest reply; if it is lost, resume the session.",
    details=("token_kind", "session_id", "run_id", "position", "length", "found"),
)
TOKEN_UNSUPPORTED_VERSION = Kind(
    code="TOKEN_UNSUPPORTED_VERSION", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context", is_lafs_retryable=True,
    hint="Resume the session to get tokens of the current version.",
    details=("token_kind", "session_id", "run_id", "position", "length", "found"),
)
TOKEN_BAD_SIGNATURE = Kind(
    code="TOKEN_BAD_SIGNATURE", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context", is_lafs_retryable=True,
    hint="Copy the token again from the newest reply; if it is lost, resume the session.",
    details=("token_kind", "session_id", "run_id", "position", "length", "found"),
)
TOKEN_SCOPE_MISMATCH = Kind(
    code="TOKEN_SCOPE_MISMATCH", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_VALIDATION_SCHEMA", category="CONTRACT", agent_action="retry_modified",
    hint="Use the tokens of one and the same reply; if they are lost, resume the session.",
    details=("token_kind", "session_id", "run_id", "position", "length", "found", "belong_to"),
)
TOKEN_UNKNOWN_NODE = Kind(
    code="TOKEN_UNKNOWN_NODE", native="E_CONFLICT", exit_status=6, http_status=404,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context", is_lafs_retryable=True,
    hint="The session is not in this store; list the sessions or start a new run.",
    details=("token_kind", "session_id", "run_id", "position", "length", "found"),
)
TOKEN_WORKFLOW_HASH_MISMATCH = Kind(
    code="TOKEN_WORKFLOW_HASH_MISMATCH", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context",
    is_lafs_retryable=True, is_reserved=True,
    hint="Resume the session to get current tokens.",
    details=("token_kind", "session_id", "run_id", "position", "length", "found"),
)
TOKEN_SESSION_LOCKED = Kind(
    code="TOKEN_SESSION_LOCKED", native="E_TIMEOUT", exit_status=8, http_status=503,
    is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Another process is writing; wait, then send the same call again.",
    details=("session_id", "waited_ms"),
)
INVALID_TOKEN = Kind(
    code="INVALID_TOKEN", native="E_CONFLICT", exit_status=6, http_status=400,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Repeat the query that issued the token to get a new one.",
    details=("token_kind", "status", "recovery"),
)
TOKEN_EXPIRED = Kind(
    code="TOKEN_EXPIRED", native="E_CONFLICT", exit_status=6, http_status=410,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context", is_lafs_retryable=True,
    hint="Repeat the query that issued the token to get a new one.",
    details=("token_kind", "status", "recovery", "expired_at"),
)
ACTION_NOT_ALLOWED = Kind(
    code="ACTION_NOT_ALLOWED", native="E_VALIDATION", exit_status=2, http_status=400,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Choose an action listed in details.allowed.",
    details=("allowed", "status"),
)
RESULTS_STALE = Kind(
    code="RESULTS_STALE", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context", is_lafs_retryable=True,
    hint="Repeat the query, look at the new results, then act.",
    details=("digest_mismatch", "recovery", "status"),
)
# fmt: on
