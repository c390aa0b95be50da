"""Kinds that are our own fault. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
INTERNAL_ERROR = Kind(
    code="INTERNAL_ERROR", native="E_UNKNOWN", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="escalate",
    hint="This is a defect; report it with the request id.",
    details=("incident",),
)
INVARIANT_VIOLATION = Kind(
    code="INVARIANT_VIOLATION", native="E_UNKNOWN", exit_status=1, http_status=500,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="escalate", needs_escalation=True,
    hint="This is a defect; report it with the request id and stop.",
    details=("incident", "session_id"),
)
# fmt: on
