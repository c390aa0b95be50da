"""The error catalogue: each error kind with its exit status, retry rule and form in both dialects.
Pure.

Exit numbers, HTTP statuses and `E_` strings appear only in this file and in the register of LAFS
(tests/house). A new kind is one new row; the message of an error is written where it is raised.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One row: the code of an error, and how each interface reports it."""

    code: str
    """Code of the kind. Without `E_` it is a domain code and is sent in `details.domain_code`."""
    native: str
    """`error.code` of the CLI dialect: one of the frozen core codes."""
    exit_status: int
    is_retryable: bool = False
    """Whether the same bytes may be sent again."""
    lafs_code: str
    category: str
    is_lafs_retryable: bool = False
    agent_action: str
    needs_escalation: bool = False
    http_status: int
    wait_ms: int | None = None
    hint: str
    """What to do now; used if a Failure has no text of its own."""
    details: tuple[str, ...] = ()
    """The detail keys that a Failure of this kind may have."""
    is_reserved: bool = False
    """Whether the kind is only declared and not raised yet."""


def _like(core: Kind, code: str, *, hint: str, details: tuple[str, ...] = (), **other: Any) -> Kind:
    """Return a kind that the CLI dialect reports under a core kind, with the differences given here."""
    return msgspec.structs.replace(core, code=code, hint=hint, details=details, **other)


def _of_token(code: str, **other: Any) -> Kind:
    """Return a kind for a rejected token."""
    shown = ("token_kind", "session_id", "run_id", "position", "length", "found")
    return _like(E_CONFLICT, code, details=shown, **other)


def _of_bundle(core: Kind, code: str, **other: Any) -> Kind:
    """Return a kind for a rejected bundle."""
    return _like(core, code, details=("path", "measured", "limit", "found", "supported", "problems"), **other)


# The core kinds of the CLI dialect, frozen: every other kind maps to one of them

UPDATE_DETAILS = (
    *("stage", "current_version", "target_version", "binary_replaced", "skill_sync_status"),
    *("skill_sync_command", "command", "cause"),
)
"""Detail keys of every failed update, besides those of its kind: how far it came, and what is
installed now.
"""

REUSED_REQUEST_DETAILS = (*("request_id", "resource", "session_id", "run_id", "workflow_id", "status", "id"),)
"""Detail keys for a request id that was used before with different content: what the first call made."""

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
    hint="Fix the value and send the call again.",
    details=("problems", "param", "valid", "expected", "got", "usage", "line", "column", *UPDATE_DETAILS),
)
E_NOT_FOUND = Kind(
    code="E_NOT_FOUND", native="E_NOT_FOUND", exit_status=3, http_status=404,
    lafs_code="E_NOT_FOUND_RESOURCE", category="NOT_FOUND", agent_action="stop",
    hint="List what exists, and use one of those names.",
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
    hint="Fix that setting, then send the call again.",
    details=("setting", "source", "problems", "reason", "install_command", *UPDATE_DETAILS),
)
E_CONFIRMATION_REQUIRED = Kind(
    code="E_CONFIRMATION_REQUIRED", native="E_CONFIRMATION_REQUIRED", exit_status=5, http_status=428,
    lafs_code="E_VALIDATION_SCHEMA", category="CONTRACT", agent_action="retry_modified",
    hint="Run the next command; it carries what is missing.",
    details=("missing", "effect"),
)
ANSWERED_DETAILS = ("who", "answer", "answered_at", "answer_id")
"""Detail keys for an answer that a person gave after the question was shown."""
E_CONFLICT = Kind(
    code="E_CONFLICT", native="E_CONFLICT", exit_status=6, http_status=409,
    lafs_code="E_CONFLICT_VERSION", category="CONFLICT", agent_action="refresh_context",
    is_lafs_retryable=True,
    hint="Read the current state, then decide again.",
    details=("reason", "expected", "actual", *ANSWERED_DETAILS, *REUSED_REQUEST_DETAILS, *UPDATE_DETAILS),
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
    details=("committed", "items", "summary", "skipped", "check_result_id", *UPDATE_DETAILS),
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
    needs_escalation=True,
    hint="Ask the person to act, then run `handrail session resume`.",
    details=("action", "resume", "url", "code"),
)
E_CHECK_FAILED = Kind(
    code="E_CHECK_FAILED", native="E_CHECK_FAILED", exit_status=1, http_status=422,
    lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION", agent_action="retry_modified",
    hint="Fix what fails, then prove the change again.",
    details=("proof",),
)


# Requests that cannot be served as sent

FORMAT_CONFLICT = _like(
    E_USAGE, "FORMAT_CONFLICT", lafs_code="E_FORMAT_CONFLICT", category="CONTRACT", agent_action="stop",
    hint="Ask for one format only.",
    details=("formats",),
)
FIELD_CONFLICT = _like(
    E_USAGE, "FIELD_CONFLICT", lafs_code="E_FIELD_CONFLICT", category="CONTRACT", agent_action="stop",
    hint="Use --field for one bare value or --fields for a projection, not both.",
    details=("field", "fields"),
)
FIELD_UNKNOWN = _like(
    E_VALIDATION, "FIELD_UNKNOWN", lafs_code="E_DISCLOSURE_UNKNOWN_FIELD",
    hint="Choose from the valid names.",
    details=("unknown", "valid"),
)
EXPAND_UNKNOWN = _like(
    E_VALIDATION, "EXPAND_UNKNOWN", lafs_code="E_DISCLOSURE_UNKNOWN_FIELD",
    hint="Choose from the valid names.",
    details=("unknown", "valid"),
)
BUDGET_EXCEEDED = _like(
    E_VALIDATION, "BUDGET_EXCEEDED", lafs_code="E_MVI_BUDGET_EXCEEDED", is_lafs_retryable=True,
    http_status=413,
    hint="Raise the budget to the minimum, or ask for fewer fields.",
    details=("constraint", "budget", "measured", "minimum", "estimated_tokens", "excess_tokens"),
)
CONTEXT_MISSING = _like(
    E_VALIDATION, "CONTEXT_MISSING", lafs_code="E_CONTEXT_MISSING", category="CONTRACT",
    hint="Pass the ackToken of the newest reply; if it is lost, resume the session.",
    details=("missing", "not_stored"),
)
CONTEXT_STALE = _like(
    E_CONFLICT, "CONTEXT_STALE", lafs_code="E_CONTEXT_STALE", is_reserved=True,
    hint="Fetch the current context, then decide again.",
    details=("version",),
)
VERSION_UNSUPPORTED = _like(
    E_CONFIG, "VERSION_UNSUPPORTED", lafs_code="E_MIGRATION_UNSUPPORTED_VERSION", category="MIGRATION",
    agent_action="stop", needs_escalation=False, http_status=400,
    hint="Ask for a supported schema version.",
    details=("requested", "supported"),
)
NOT_CONFORMANT = _like(
    E_VALIDATION, "NOT_CONFORMANT", http_status=422,
    hint="Fix what the reports list as failed, then check again.",
    details=("reports",),
)
RECEIPT_REFUSED = _like(
    E_INTEGRITY, "RECEIPT_REFUSED", lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION",
    agent_action="escalate", http_status=422,
    hint="Do not rely on this receipt, for the reasons given. Ask its author for another one.",
    details=("reasons", "commit", "key_id"),
)
VALIDATION_ERROR = _like(
    E_VALIDATION, "VALIDATION_ERROR",
    hint="Fix every problem listed above and send the call again.",
    details=("problems", "did_you_mean", "not_stored"),
)
CONTEXT_BUDGET_EXCEEDED = _like(
    E_VALIDATION, "CONTEXT_BUDGET_EXCEEDED", http_status=413,
    hint="Store large text as notes or artifacts and keep only references in context.",
    details=("measured", "limit", "method"),
)
WORK_LIMIT_EXCEEDED = _like(
    E_VALIDATION, "WORK_LIMIT_EXCEEDED", http_status=422,
    hint="Send less; nothing was stored.",
    details=("limit", "where"),
)
FEATURE_DISABLED = _like(
    E_CONFIG, "FEATURE_DISABLED", http_status=403,
    hint="Turn on that setting.",
    details=("setting",),
)


# Workflows and their sources

WORKFLOW_NOT_FOUND = _like(
    E_NOT_FOUND, "WORKFLOW_NOT_FOUND", agent_action="retry_modified",
    hint="List the workflows to see which exist.",
    details=("workflow_id", "did_you_mean"),
)
WORKFLOW_INVALID = _like(
    E_VALIDATION, "WORKFLOW_INVALID", http_status=422,
    hint="Fix the problems listed above, then validate the file again.",
    details=("workflow_id", "problems", "report"),
)
WORKFLOW_ID_RESERVED = _like(
    E_VALIDATION, "WORKFLOW_ID_RESERVED", http_status=422,
    hint="Rename the workflow: wr.* belongs to the bundled ones.",
    details=("workflow_id", "problems"),
)
WORKFLOW_ID_LEGACY = _like(
    E_VALIDATION, "WORKFLOW_ID_LEGACY", http_status=422,
    hint="Use the suggested id, which has a namespace.",
    details=("workflow_id", "suggested_id"),
)


# Tokens

TOKEN_INVALID_FORMAT = _of_token(
    "TOKEN_INVALID_FORMAT", lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION",
    is_lafs_retryable=False, agent_action="retry_modified", http_status=400,
    hint="Copy the token whole from the newest reply; if it is lost, resume the session.",
)
TOKEN_UNSUPPORTED_VERSION = _of_token(
    "TOKEN_UNSUPPORTED_VERSION", lafs_code="E_CONTEXT_STALE",
    hint="Resume the session to get tokens of the current version.",
)
TOKEN_BAD_SIGNATURE = _of_token(
    "TOKEN_BAD_SIGNATURE", lafs_code="E_CONTEXT_STALE",
    hint="Copy the token again from the newest reply; if it is lost, resume the session.",
)
TOKEN_SCOPE_MISMATCH = _of_token(
    "TOKEN_SCOPE_MISMATCH", lafs_code="E_VALIDATION_SCHEMA", category="CONTRACT",
    is_lafs_retryable=False, agent_action="retry_modified",
    hint="Use the tokens of one and the same reply; if they are lost, resume the session.",
)
TOKEN_UNKNOWN_NODE = _of_token(
    "TOKEN_UNKNOWN_NODE", lafs_code="E_CONTEXT_STALE", http_status=404,
    hint="The session is not in this store; list the sessions or start a new run.",
)
TOKEN_WORKFLOW_HASH_MISMATCH = _of_token(
    "TOKEN_WORKFLOW_HASH_MISMATCH", lafs_code="E_CONTEXT_STALE", is_reserved=True,
    hint="Resume the session to get current tokens.",
)
STEP_WAITS = _like(
    E_CONFLICT, "STEP_WAITS",
    hint="Do the child's work with the next call or delegate it, then read the step again.",
    details=("step_id", "children"),
)
TOKEN_SESSION_LOCKED = _like(
    E_TIMEOUT, "TOKEN_SESSION_LOCKED", http_status=503,
    hint="Another process is writing; wait, then send the same call again.",
    details=("session_id", "waited_ms"),
)
INVALID_TOKEN = _like(
    E_CONFLICT, "INVALID_TOKEN", lafs_code="E_VALIDATION_SCHEMA", category="VALIDATION",
    is_lafs_retryable=False, agent_action="retry_modified", http_status=400,
    hint="Repeat the query that issued the token to get a new one.",
    details=("token_kind", "status", "recovery"),
)
TOKEN_EXPIRED = _like(
    E_CONFLICT, "TOKEN_EXPIRED", lafs_code="E_CONTEXT_STALE", http_status=410,
    hint="Repeat the query that issued the token to get a new one.",
    details=("token_kind", "status", "recovery", "expired_at"),
)
ACTION_NOT_ALLOWED = _like(
    E_VALIDATION, "ACTION_NOT_ALLOWED",
    hint="Choose an action that is allowed.",
    details=("allowed", "status"),
)
EDIT_REFUSED = _like(
    E_VALIDATION, "EDIT_REFUSED", http_status=422,
    hint="Choose another name, or change the code at that place first.",
    details=("reason", "file", "line", "column", "item", "places", "accept"),
)
RESULTS_STALE = _like(
    E_CONFLICT, "RESULTS_STALE", lafs_code="E_CONTEXT_STALE",
    hint="Repeat the query, look at the new results, then act.",
    details=("digest_mismatch", "recovery", "status"),
)


# Sessions, runs, nodes and ledgers

SESSION_NOT_FOUND = _like(
    E_NOT_FOUND, "SESSION_NOT_FOUND",
    hint="List the sessions to see which exist.",
    details=("session_id", "did_you_mean", "report"),
)
SESSION_LOCKED = _like(
    E_TIMEOUT, "SESSION_LOCKED", http_status=503,
    hint="Another process is writing; wait, then send the same call again.",
    details=("session_id", "waited_ms"),
)
SESSION_NOT_HEALTHY = _like(
    E_INTEGRITY, "SESSION_NOT_HEALTHY",
    hint="A person must look at the store before work continues. Reading still works up to the proven point.",
    details=("session_id", "health", "reason", "event_index"),
)
RUN_NOT_FOUND = _like(
    E_NOT_FOUND, "RUN_NOT_FOUND",
    hint="List the sessions to see which runs exist.",
    details=("run_id",),
)
NODE_NOT_FOUND = _like(
    E_NOT_FOUND, "NODE_NOT_FOUND",
    hint="Show the session to see which nodes exist.",
    details=("node_id",),
)
LEDGER_VERSION_AHEAD = _like(
    E_CONFLICT, "LEDGER_VERSION_AHEAD", lafs_code="E_CONTEXT_STALE",
    hint="Ask for the ledger summary first and use its version.",
    details=("since_version", "version"),
)


# The disk, the log and the keyring

STORE_IO_ERROR = _like(
    E_IO, "STORE_IO_ERROR",
    hint="Free space or fix the file system, then send the same call again. Nothing was half-written.",
    details=("reason", "session_id"),
)
STORE_PERMISSION_DENIED = _like(
    E_FORBIDDEN, "STORE_PERMISSION_DENIED",
    hint="Give this user read and write access to the store directory.",
    details=("reason",),
)
STORE_UNAVAILABLE = _like(
    E_SERVER, "STORE_UNAVAILABLE", wait_ms=2000,
    hint="Wait, then send the same call again.",
    details=("reason",),
)
STORE_CORRUPT = _like(
    E_INTEGRITY, "STORE_CORRUPT",
    hint="A person must restore the file named in details from a backup.",
    details=("reason", "session_id"),
)
STORE_HISTORY_LOST = _like(
    E_INTEGRITY, "STORE_HISTORY_LOST",
    hint="The store lost acknowledged work; restore it from a backup before you continue.",
    details=("session_id", "token_kind", "event_count"),
)
STORE_UNSUPPORTED_VERSION = _like(
    E_CONFIG, "STORE_UNSUPPORTED_VERSION", lafs_code="E_MIGRATION_UNSUPPORTED_VERSION", category="MIGRATION",
    agent_action="stop",
    hint="Update handrail: a newer version wrote this store.",
    details=("found", "supported", "report"),
)
STORE_TARGET_NOT_EMPTY = _like(
    E_CONFLICT, "STORE_TARGET_NOT_EMPTY", lafs_code="E_VALIDATION_SCHEMA", is_lafs_retryable=False,
    agent_action="retry_modified",
    hint="Choose an empty target.",
    details=("target",),
)
KEYRING_INVALID = _like(
    E_IO, "KEYRING_INVALID",
    hint="Restore the key file from a backup, or move it away: tokens end, history stays.",
    details=("reason",),
)


# Bundles

BUNDLE_INVALID_FORMAT = _of_bundle(
    E_VALIDATION, "BUNDLE_INVALID_FORMAT", http_status=422,
    hint="Export the session again and use that file.",
)
BUNDLE_TOO_LARGE = _of_bundle(
    E_VALIDATION, "BUNDLE_TOO_LARGE", http_status=413,
    hint="Export a smaller part, or raise that limit.",
)
BUNDLE_UNSUPPORTED_VERSION = _of_bundle(
    E_CONFIG, "BUNDLE_UNSUPPORTED_VERSION", lafs_code="E_MIGRATION_UNSUPPORTED_VERSION", category="MIGRATION",
    agent_action="stop", needs_escalation=False, http_status=422,
    hint="Update handrail: a newer version wrote this bundle.",
)
BUNDLE_INTEGRITY_FAILED = _of_bundle(
    E_INTEGRITY, "BUNDLE_INTEGRITY_FAILED", http_status=422,
    hint="The file was changed after export; get it again from its author.",
)
BUNDLE_MISSING_SNAPSHOT = _of_bundle(
    E_INTEGRITY, "BUNDLE_MISSING_SNAPSHOT", http_status=422,
    hint="The bundle is incomplete; export it again.",
)
BUNDLE_MISSING_PINNED_WORKFLOW = _of_bundle(
    E_INTEGRITY, "BUNDLE_MISSING_PINNED_WORKFLOW", http_status=422,
    hint="The bundle is incomplete; export it again.",
)
BUNDLE_EVENT_ORDER_INVALID = _of_bundle(
    E_INTEGRITY, "BUNDLE_EVENT_ORDER_INVALID", http_status=422,
    hint="The bundle is damaged; export it again.",
)
BUNDLE_MANIFEST_ORDER_INVALID = _of_bundle(
    E_INTEGRITY, "BUNDLE_MANIFEST_ORDER_INVALID", http_status=422,
    hint="The bundle is damaged; export it again.",
)


# Defects

INTERNAL_ERROR = _like(
    E_UNKNOWN, "INTERNAL_ERROR",
    hint="This is a defect; report it with the request id.",
    details=("incident",),
)
INVARIANT_VIOLATION = _like(
    E_UNKNOWN, "INVARIANT_VIOLATION", needs_escalation=True,
    hint="This is a defect; report it with the request id and stop.",
    details=("incident", "session_id"),
)


# Network servers and upstreams

HOST_REFUSED = _like(
    E_FORBIDDEN, "HOST_REFUSED", agent_action="stop", needs_escalation=False, http_status=421,
    hint="Use the exact address that the server printed.",
)
ORIGIN_REFUSED = _like(
    E_FORBIDDEN, "ORIGIN_REFUSED", agent_action="stop", needs_escalation=False,
    hint="Open the page from the address that the server printed.",
)
METHOD_NOT_ALLOWED = _like(
    E_USAGE, "METHOD_NOT_ALLOWED", category="CONTRACT", http_status=405,
    hint="Use a method that is allowed.",
    details=("allow",),
)
MEDIA_TYPE_REFUSED = _like(
    E_USAGE, "MEDIA_TYPE_REFUSED", category="CONTRACT", http_status=415,
    hint="Send JSON with Content-Type: application/json.",
    details=("expected",),
)
REQUEST_TOO_LARGE = _like(
    E_VALIDATION, "REQUEST_TOO_LARGE", http_status=413,
    hint="Send less: details give the limit.",
    details=("measured", "limit", "what"),
)
STATUS_BY_PART = {"url": 414, "headers": 431}
"""HTTP has statuses of its own for these parts of a request that is too large."""
SERVER_BUSY = _like(
    E_SERVER, "SERVER_BUSY",
    hint="Wait, then send the same call again.",
)
SERVER_DRAINING = _like(
    E_SERVER, "SERVER_DRAINING",
    hint="Wait for the restart, then send the same call again.",
)
UPSTREAM_OPEN = _like(
    E_SERVER, "UPSTREAM_OPEN", wait_ms=None,
    hint="Wait as long as retry_after_ms says, then send the same call again.",
    details=("upstream",),
)


# Groups of codes that many operations answer with. They are kept here, so that every list names the same
# group.

SHARED_ERRORS = tuple(kind.code for kind in (
    E_USAGE, E_VALIDATION, VALIDATION_ERROR, FORMAT_CONFLICT, FIELD_CONFLICT, FIELD_UNKNOWN, EXPAND_UNKNOWN,
    BUDGET_EXCEEDED, VERSION_UNSUPPORTED, REQUEST_TOO_LARGE, E_NOT_FOUND, E_FORBIDDEN, E_CONFIG, E_IO,
    E_TIMEOUT, E_INTERRUPTED, INTERNAL_ERROR,
))
"""Errors that every operation can return on the command line: about its line, a file that `--input` names,
the settings of its output, a signal, or a defect.
"""
RUN_TOKEN_ERRORS = tuple(kind.code for kind in (
    TOKEN_INVALID_FORMAT, TOKEN_UNSUPPORTED_VERSION, TOKEN_BAD_SIGNATURE, TOKEN_UNKNOWN_NODE,
    TOKEN_SESSION_LOCKED, SESSION_NOT_HEALTHY, STORE_HISTORY_LOST, STORE_UNSUPPORTED_VERSION,
))
"""Errors about a run's token."""
# fmt: on


KINDS: dict[str, Kind] = {row.code: row for row in tuple(globals().values()) if isinstance(row, Kind)}
"""Every row by its code, in the order of the table."""
