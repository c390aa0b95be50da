"""Kinds of sessions, runs, nodes and ledgers that are absent, busy or unsound. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
SESSION_NOT_FOUND = Kind(
    code="SESSION_NOT_FOUND", native="E_NOT_FOUND", exit_status=3, http_status=404,
    lafs_code="E_NOT_FOUND_RESOURCE", category="NOT_FOUND", agent_action="stop",
    hint="List the sessions to see which exist.",
    details=("session_id", "did_you_mean"),
)
SESSION_LOCKED = Kind(
    code="SESSION_LOCKED", native="E_TIMEOUT", exit_status=8, http_status=503,
    is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Another process is writing; wait, then send the same call again.",
    details=("session_id", "waited_ms"),
)
SESSION_NOT_HEALTHY = Kind(
    code="SESSION_NOT_HEALTHY", native="E_INTEGRITY", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="Reading still works up to the proven point; a person must look at the store before work goes on.",
    details=("session_id", "health", "reason", "event_index"),
)
RUN_NOT_FOUND = Kind(
    code="RUN_NOT_FOUND", native="E_NOT_FOUND", exit_status=3, http_status=404,
    lafs_code="E_NOT_FOUND_RESOURCE", category="NOT_FOUND", agent_action="stop",
    hint="List the sessions to see which runs exist.",
    details=("run_id",),
)
NODE_NOT_FOUND = Kind(
    code="NODE_NOT_FOUND", native="E_NOT_FOUND", exit_status=3, http_status=404,
    lafs_code="E_NOT_FOUND_RESOURCE", category="NOT_FOUND", agent_action="stop",
    hint="Show the session to see which nodes exist.",
    details=("node_id",),
)
LEDGER_VERSION_AHEAD = Kind(
    code="LEDGER_VERSION_AHEAD", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context", is_lafs_retryable=True,
    hint="Ask for the ledger summary first and use its version.",
    details=("since_version", "version"),
)
# fmt: on
