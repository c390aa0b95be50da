"""Kinds of trouble with workflows and where they come from. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
WORKFLOW_NOT_FOUND = Kind(
    code="WORKFLOW_NOT_FOUND", native="E_NOT_FOUND", exit_status=3, http_status=404,
    lafs_code="E_NOT_FOUND_RESOURCE", category="NOT_FOUND", agent_action="retry_modified",
    hint="List the workflows, or use a name from details.did_you_mean.",
    details=("workflow_id", "did_you_mean"),
)
WORKFLOW_INVALID = Kind(
    code="WORKFLOW_INVALID", native="E_VALIDATION", exit_status=2, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Fix the problems in details.problems, then validate the file again.",
    details=("workflow_id", "problems", "report"),
)
WORKFLOW_ID_RESERVED = Kind(
    code="WORKFLOW_ID_RESERVED", native="E_VALIDATION", exit_status=2, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Rename the workflow: wr.* belongs to the bundled ones.",
    details=("workflow_id", "problems"),
)
WORKFLOW_ID_LEGACY = Kind(
    code="WORKFLOW_ID_LEGACY", native="E_VALIDATION", exit_status=2, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Use the suggested id, which has a namespace.",
    details=("workflow_id", "suggested_id"),
)
WORKFLOW_SOURCE_UNAVAILABLE = Kind(
    code="WORKFLOW_SOURCE_UNAVAILABLE", native="E_NETWORK", exit_status=7, http_status=502,
    is_retryable=True, wait_ms=1000,
    lafs_code="E_TRANSIENT_UPSTREAM", category="TRANSIENT", agent_action="retry", is_lafs_retryable=True,
    hint="Wait, then send the same call again.",
    details=("source",),
)
# fmt: on
