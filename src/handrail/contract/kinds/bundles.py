"""Kinds of bundles that cannot be imported. Pure."""

from __future__ import annotations

from handrail.contract.kinds.kind import Kind

# fmt: off
BUNDLE_INVALID_FORMAT = Kind(
    code="BUNDLE_INVALID_FORMAT", native="E_VALIDATION", exit_status=2, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Export the session again and use that file.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_TOO_LARGE = Kind(
    code="BUNDLE_TOO_LARGE", native="E_VALIDATION", exit_status=2, http_status=413,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Export a smaller part, or raise the limit named in details.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_UNSUPPORTED_VERSION = Kind(
    code="BUNDLE_UNSUPPORTED_VERSION", native="E_CONFIG", exit_status=4, http_status=422,
    lafs_code="E_MIGRATION_UNSUPPORTED_VERSION", category="MIGRATION", agent_action="stop",
    hint="Update handrail: a newer version wrote this bundle.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_INTEGRITY_FAILED = Kind(
    code="BUNDLE_INTEGRITY_FAILED", native="E_INTEGRITY", exit_status=1, http_status=422,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="The file was changed after export; get it again from its author.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_MISSING_SNAPSHOT = Kind(
    code="BUNDLE_MISSING_SNAPSHOT", native="E_INTEGRITY", exit_status=1, http_status=422,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="The bundle is incomplete; export it again.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_MISSING_PINNED_WORKFLOW = Kind(
    code="BUNDLE_MISSING_PINNED_WORKFLOW", native="E_INTEGRITY", exit_status=1, http_status=422,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="The bundle is incomplete; export it again.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_EVENT_ORDER_INVALID = Kind(
    code="BUNDLE_EVENT_ORDER_INVALID", native="E_INTEGRITY", exit_status=1, http_status=422,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="The bundle is damaged; export it again.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
BUNDLE_MANIFEST_ORDER_INVALID = Kind(
    code="BUNDLE_MANIFEST_ORDER_INVALID", native="E_INTEGRITY", exit_status=1, http_status=422,
    lafs_code="E_INTERNAL_UNEXPECTED", category="INTERNAL", agent_action="stop", needs_escalation=True,
    hint="The bundle is damaged; export it again.",
    details=("path", "measured", "limit", "found", "supported", "problems"),
)
# fmt: on
