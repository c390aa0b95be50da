"""Kinds that only a network door or an upstream produces. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
HOST_REFUSED = Kind(
    code="HOST_REFUSED", native="E_FORBIDDEN", exit_status=4, http_status=421,
    lafs_code="E_INTERNAL_UNEXPECTED", category="PERMISSION", agent_action="stop",
    hint="Use the exact address that the server printed.",
)
ORIGIN_REFUSED = Kind(
    code="ORIGIN_REFUSED", native="E_FORBIDDEN", exit_status=4, http_status=403,
    lafs_code="E_INTERNAL_UNEXPECTED", category="PERMISSION", agent_action="stop",
    hint="Open the page from the address that the server printed.",
)
METHOD_NOT_ALLOWED = Kind(
    code="METHOD_NOT_ALLOWED", native="E_USAGE", exit_status=2, http_status=405,
    lafs_code="E_VALIDATION_SCHEMA", category="CONTRACT", agent_action="retry_modified",
    hint="Use a method listed in details.allow.",
    details=("allow",),
)
MEDIA_TYPE_REFUSED = Kind(
    code="MEDIA_TYPE_REFUSED", native="E_USAGE", exit_status=2, http_status=415,
    lafs_code="E_VALIDATION_SCHEMA", category="CONTRACT", agent_action="retry_modified",
    hint="Send JSON with Content-Type: application/json.",
    details=("expected",),
)
REQUEST_TOO_LARGE = Kind(
    code="REQUEST_TOO_LARGE", native="E_VALIDATION", exit_status=2, http_status=413,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Send less: details give the limit.",
    details=("measured", "limit", "what"),
)
SERVER_BUSY = Kind(
    code="SERVER_BUSY", native="E_SERVER", exit_status=7, http_status=503, is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait, then send the same call again.",
)
SERVER_DRAINING = Kind(
    code="SERVER_DRAINING", native="E_SERVER", exit_status=7, http_status=503,
    is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait for the restart, then send the same call again.",
)
UPSTREAM_OPEN = Kind(
    code="UPSTREAM_OPEN", native="E_SERVER", exit_status=7, http_status=503, is_retryable=True,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait as long as retry_after_ms says, then send the same call again.",
    details=("upstream",),
)
# fmt: on
