"""Kinds of a request that cannot be served as it was asked. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
FORMAT_CONFLICT = Kind(
    code="FORMAT_CONFLICT", native="E_USAGE", exit_status=2, http_status=400,
    lafs_code="E_FORMAT_CONFLICT", category="CONTRACT", agent_action="stop",
    hint="Ask for one format only.",
    details=("formats",),
)
FIELD_CONFLICT = Kind(
    code="FIELD_CONFLICT", native="E_USAGE", exit_status=2, http_status=400,
    lafs_code="E_FIELD_CONFLICT", category="CONTRACT", agent_action="stop",
    hint="Use --field for one bare value or --fields for a projection, not both.",
    details=("field", "fields"),
)
FIELD_UNKNOWN = Kind(
    code="FIELD_UNKNOWN", native="E_VALIDATION", exit_status=2, http_status=400,
    lafs_code="E_DISCLOSURE_UNKNOWN_FIELD", category="VALIDATION", agent_action="retry_modified",
    hint="Choose from the names in details.valid.",
    details=("unknown", "valid"),
)
EXPAND_UNKNOWN = Kind(
    code="EXPAND_UNKNOWN", native="E_VALIDATION", exit_status=2, http_status=400,
    lafs_code="E_DISCLOSURE_UNKNOWN_FIELD", category="VALIDATION", agent_action="retry_modified",
    hint="Choose from the names in details.valid.",
    details=("unknown", "valid"),
)
BUDGET_EXCEEDED = Kind(
    code="BUDGET_EXCEEDED", native="E_VALIDATION", exit_status=2, http_status=413,
    lafs_code="E_MVI_BUDGET_EXCEEDED", category="VALIDATION", agent_action="retry_modified",
    is_lafs_retryable=True,
    hint="Raise the budget to details.minimum, or ask for fewer fields.",
    details=("constraint", "budget", "measured", "minimum", "estimated_tokens", "excess_tokens"),
)
CONTEXT_MISSING = Kind(
    code="CONTEXT_MISSING", native="E_VALIDATION", exit_status=2, http_status=400,
    lafs_code="E_CONTEXT_MISSING", category="CONTRACT", agent_action="retry_modified",
    hint="Pass the ackToken of the newest reply; if it is lost, resume the session.",
    details=("missing", "not_stored"),
)
CONTEXT_STALE = Kind(
    code="CONTEXT_STALE", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONTEXT_STALE", category="CONFLICT", agent_action="refresh_context",
    is_lafs_retryable=True, is_reserved=True,
    hint="Fetch the current context, then decide again.",
    details=("version",),
)
VERSION_UNSUPPORTED = Kind(
    code="VERSION_UNSUPPORTED", native="E_CONFIG", exit_status=4, http_status=400,
    lafs_code="E_MIGRATION_UNSUPPORTED_VERSION", category="MIGRATION", agent_action="stop",
    hint="Ask for a schema version listed in details.supported.",
    details=("requested", "supported"),
)
NOT_CONFORMANT = Kind(
    code="NOT_CONFORMANT", native="E_VALIDATION", exit_status=2, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Fix what details.reports lists as failed, then check again.",
    details=("reports",),
)
VALIDATION_ERROR = Kind(
    code="VALIDATION_ERROR", native="E_VALIDATION", exit_status=2, http_status=400,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Correct every problem in details.problems and send the call again.",
    details=("problems", "did_you_mean", "not_stored"),
)
CONTEXT_BUDGET_EXCEEDED = Kind(
    code="CONTEXT_BUDGET_EXCEEDED", native="E_VALIDATION", exit_status=2, http_status=413,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Store large text as notes or artifacts and keep only references in context.",
    details=("measured", "limit", "method"),
)
WORK_LIMIT_EXCEEDED = Kind(
    code="WORK_LIMIT_EXCEEDED", native="E_VALIDATION", exit_status=2, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Make smaller what the message names; nothing was stored.",
    details=("limit", "where"),
)
FEATURE_DISABLED = Kind(
    code="FEATURE_DISABLED", native="E_CONFIG", exit_status=4, http_status=403,
    lafs_code="E_INTERNAL_UNEXPECTED", category="CONTRACT", agent_action="escalate", needs_escalation=True,
    hint="Turn on the setting named in details.setting.",
    details=("setting",),
)
# fmt: on
