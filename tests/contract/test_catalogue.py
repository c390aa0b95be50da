"""The catalogue against copies typed in from the specifications: rows, frozen core codes, LAFS registry."""

from __future__ import annotations

import re

import pytest

from handrail.contract import catalogue
from handrail.contract.catalogue import KINDS, Kind
from handrail.contract.registered import REGISTRY, type_uri
from tests.cases import every_case
from tests.surfaces.cli.tool import CORE_CODES

EXTENSION = {"E_HUMAN_REQUIRED": (9, False), "E_CHECK_FAILED": (1, False)}

# LAFS error registry: code, category, retryable, agentAction.
REGISTERED = """
E_FORMAT_CONFLICT CONTRACT - stop
E_FIELD_CONFLICT CONTRACT - stop
E_CONTEXT_MISSING CONTRACT - retry_modified
E_VALIDATION_SCHEMA VALIDATION - retry_modified
E_DISCLOSURE_UNKNOWN_FIELD VALIDATION - retry_modified
E_MVI_BUDGET_EXCEEDED VALIDATION - retry_modified
E_NOT_FOUND_RESOURCE NOT_FOUND - stop
E_CONFLICT_VERSION CONFLICT yes refresh_context
E_CONTEXT_STALE CONFLICT yes refresh_context
E_RATE_LIMITED RATE_LIMIT yes wait
E_TRANSIENT_UPSTREAM TRANSIENT yes retry
E_INTERNAL_UNEXPECTED INTERNAL - escalate
E_MIGRATION_UNSUPPORTED_VERSION MIGRATION - stop
"""

# What was published: kind, native, exit, retry, LAFS code, category, LAFS retry, agentAction, escalation,
# HTTP status, wait. Lines are only ever added; a line that would have to change is a breaking change.
PUBLISHED = """
E_USAGE same 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 400 -
E_VALIDATION same 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 400 -
E_NOT_FOUND same 3 - E_NOT_FOUND_RESOURCE NOT_FOUND - stop - 404 -
E_AUTH same 4 - E_VALIDATION_SCHEMA AUTH - authenticate - 401 -
E_FORBIDDEN same 4 - E_INTERNAL_UNEXPECTED PERMISSION - escalate yes 403 -
E_CONFIG same 4 - E_INTERNAL_UNEXPECTED CONTRACT - escalate yes 500 -
E_CONFIRMATION_REQUIRED same 5 - E_VALIDATION_SCHEMA CONTRACT - retry_modified - 428 -
E_CONFLICT same 6 - E_CONFLICT_VERSION CONFLICT yes refresh_context - 409 -
E_NETWORK same 7 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 502 1000
E_RATE_LIMITED same 7 yes E_RATE_LIMITED RATE_LIMIT yes wait - 429 5000
E_SERVER same 7 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 1000
E_TIMEOUT same 8 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 504 1000
E_INTEGRITY same 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 500 -
E_IO same 1 - E_INTERNAL_UNEXPECTED INTERNAL - escalate yes 500 -
E_INTERRUPTED same 130 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 -
E_UNKNOWN same 1 - E_INTERNAL_UNEXPECTED INTERNAL - escalate - 500 -
E_HUMAN_REQUIRED same 9 - E_INTERNAL_UNEXPECTED PERMISSION - escalate yes 403 -
E_CHECK_FAILED same 1 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
FORMAT_CONFLICT E_USAGE 2 - E_FORMAT_CONFLICT CONTRACT - stop - 400 -
FIELD_CONFLICT E_USAGE 2 - E_FIELD_CONFLICT CONTRACT - stop - 400 -
FIELD_UNKNOWN E_VALIDATION 2 - E_DISCLOSURE_UNKNOWN_FIELD VALIDATION - retry_modified - 400 -
EXPAND_UNKNOWN E_VALIDATION 2 - E_DISCLOSURE_UNKNOWN_FIELD VALIDATION - retry_modified - 400 -
BUDGET_EXCEEDED E_VALIDATION 2 - E_MVI_BUDGET_EXCEEDED VALIDATION yes retry_modified - 413 -
CONTEXT_MISSING E_VALIDATION 2 - E_CONTEXT_MISSING CONTRACT - retry_modified - 400 -
CONTEXT_STALE E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 409 -
VERSION_UNSUPPORTED E_CONFIG 4 - E_MIGRATION_UNSUPPORTED_VERSION MIGRATION - stop - 400 -
NOT_CONFORMANT E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
RECEIPT_REFUSED E_INTEGRITY 1 - E_VALIDATION_SCHEMA VALIDATION - escalate yes 422 -
VALIDATION_ERROR E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 400 -
CONTEXT_BUDGET_EXCEEDED E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 413 -
WORK_LIMIT_EXCEEDED E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
FEATURE_DISABLED E_CONFIG 4 - E_INTERNAL_UNEXPECTED CONTRACT - escalate yes 403 -
WORKFLOW_NOT_FOUND E_NOT_FOUND 3 - E_NOT_FOUND_RESOURCE NOT_FOUND - retry_modified - 404 -
WORKFLOW_INVALID E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
WORKFLOW_ID_RESERVED E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
WORKFLOW_ID_LEGACY E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
TOKEN_INVALID_FORMAT E_CONFLICT 6 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 400 -
TOKEN_UNSUPPORTED_VERSION E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 409 -
TOKEN_BAD_SIGNATURE E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 409 -
TOKEN_SCOPE_MISMATCH E_CONFLICT 6 - E_VALIDATION_SCHEMA CONTRACT - retry_modified - 409 -
TOKEN_UNKNOWN_NODE E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 404 -
TOKEN_WORKFLOW_HASH_MISMATCH E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 409 -
STEP_WAITS E_CONFLICT 6 - E_CONFLICT_VERSION CONFLICT yes refresh_context - 409 -
TOKEN_SESSION_LOCKED E_TIMEOUT 8 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 1000
INVALID_TOKEN E_CONFLICT 6 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 400 -
TOKEN_EXPIRED E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 410 -
ACTION_NOT_ALLOWED E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 400 -
EDIT_REFUSED E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
RESULTS_STALE E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 409 -
SESSION_NOT_FOUND E_NOT_FOUND 3 - E_NOT_FOUND_RESOURCE NOT_FOUND - stop - 404 -
SESSION_LOCKED E_TIMEOUT 8 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 1000
SESSION_NOT_HEALTHY E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 500 -
RUN_NOT_FOUND E_NOT_FOUND 3 - E_NOT_FOUND_RESOURCE NOT_FOUND - stop - 404 -
NODE_NOT_FOUND E_NOT_FOUND 3 - E_NOT_FOUND_RESOURCE NOT_FOUND - stop - 404 -
LEDGER_VERSION_AHEAD E_CONFLICT 6 - E_CONTEXT_STALE CONFLICT yes refresh_context - 409 -
STORE_IO_ERROR E_IO 1 - E_INTERNAL_UNEXPECTED INTERNAL - escalate yes 500 -
STORE_PERMISSION_DENIED E_FORBIDDEN 4 - E_INTERNAL_UNEXPECTED PERMISSION - escalate yes 403 -
STORE_UNAVAILABLE E_SERVER 7 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 2000
STORE_CORRUPT E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 500 -
STORE_HISTORY_LOST E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 500 -
STORE_UNSUPPORTED_VERSION E_CONFIG 4 - E_MIGRATION_UNSUPPORTED_VERSION MIGRATION - stop yes 500 -
STORE_TARGET_NOT_EMPTY E_CONFLICT 6 - E_VALIDATION_SCHEMA CONFLICT - retry_modified - 409 -
KEYRING_INVALID E_IO 1 - E_INTERNAL_UNEXPECTED INTERNAL - escalate yes 500 -
BUNDLE_INVALID_FORMAT E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 422 -
BUNDLE_TOO_LARGE E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 413 -
BUNDLE_UNSUPPORTED_VERSION E_CONFIG 4 - E_MIGRATION_UNSUPPORTED_VERSION MIGRATION - stop - 422 -
BUNDLE_INTEGRITY_FAILED E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 422 -
BUNDLE_MISSING_SNAPSHOT E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 422 -
BUNDLE_MISSING_PINNED_WORKFLOW E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 422 -
BUNDLE_EVENT_ORDER_INVALID E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 422 -
BUNDLE_MANIFEST_ORDER_INVALID E_INTEGRITY 1 - E_INTERNAL_UNEXPECTED INTERNAL - stop yes 422 -
INTERNAL_ERROR E_UNKNOWN 1 - E_INTERNAL_UNEXPECTED INTERNAL - escalate - 500 -
INVARIANT_VIOLATION E_UNKNOWN 1 - E_INTERNAL_UNEXPECTED INTERNAL - escalate yes 500 -
HOST_REFUSED E_FORBIDDEN 4 - E_INTERNAL_UNEXPECTED PERMISSION - stop - 421 -
ORIGIN_REFUSED E_FORBIDDEN 4 - E_INTERNAL_UNEXPECTED PERMISSION - stop - 403 -
METHOD_NOT_ALLOWED E_USAGE 2 - E_VALIDATION_SCHEMA CONTRACT - retry_modified - 405 -
MEDIA_TYPE_REFUSED E_USAGE 2 - E_VALIDATION_SCHEMA CONTRACT - retry_modified - 415 -
REQUEST_TOO_LARGE E_VALIDATION 2 - E_VALIDATION_SCHEMA VALIDATION - retry_modified - 413 -
SERVER_BUSY E_SERVER 7 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 1000
SERVER_DRAINING E_SERVER 7 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 1000
UPSTREAM_OPEN E_SERVER 7 yes E_TRANSIENT_UPSTREAM TRANSIENT yes retry - 503 -
"""

# LAFS sections 7.1 and 7.3.
CATEGORIES = {
    "VALIDATION",
    "AUTH",
    "PERMISSION",
    "NOT_FOUND",
    "CONFLICT",
    "RATE_LIMIT",
    "TRANSIENT",
    "INTERNAL",
    "CONTRACT",
    "MIGRATION",
}
AGENT_ACTIONS = {"retry", "retry_modified", "wait", "escalate", "stop", "refresh_context", "authenticate"}

# Keys that some dialect adds to the details itself.
ADDED_DETAILS = {
    "agent_action",
    "hint",
    "next_command",
    "next_call",
    "domain_code",
    "native_code",
    "escalation_required",
    "retry_after_ms",
    "count",
    "complete",
}

ROWS = list(KINDS.values())


def published() -> dict[str, tuple[object, ...]]:
    rows: dict[str, tuple[object, ...]] = {}
    for line in PUBLISHED.strip().splitlines():
        code, native, exit_status, retry, lafs, category, lafs_retry, action, escalation, http, wait = (
            line.split()
        )
        rows[code] = (
            code if native == "same" else native,
            int(exit_status),
            retry == "yes",
            lafs,
            category,
            lafs_retry == "yes",
            action,
            escalation == "yes",
            int(http),
            None if wait == "-" else int(wait),
        )
    return rows


def facts(kind: Kind) -> tuple[object, ...]:
    return (
        kind.native,
        kind.exit_status,
        kind.is_retryable,
        kind.lafs_code,
        kind.category,
        kind.is_lafs_retryable,
        kind.agent_action,
        kind.needs_escalation,
        kind.http_status,
        kind.wait_ms,
    )


@pytest.mark.promise("cli.codes-stable")
def test_no_published_row_is_missing_or_changed() -> None:
    current = {code: facts(kind) for code, kind in KINDS.items()}

    assert {code: current.get(code) for code in published()} == published()


def test_every_row_is_in_the_published_table() -> None:
    assert list(KINDS) == list(published())


def test_every_kind_that_is_defined_is_listed_under_its_own_name() -> None:
    defined = {name: value for name, value in vars(catalogue).items() if isinstance(value, Kind)}

    assert defined == KINDS


def test_the_native_rows_are_the_frozen_core_and_one_extension() -> None:
    native = {kind.code: (kind.exit_status, kind.is_retryable) for kind in ROWS if kind.code.startswith("E_")}

    assert native == CORE_CODES | EXTENSION


@every_case("kind", ROWS)
def test_a_row_takes_exit_and_retry_from_its_native_code(kind: Kind) -> None:
    assert (kind.exit_status, kind.is_retryable) == (CORE_CODES | EXTENSION)[kind.native]


@every_case("kind", ROWS)
def test_a_row_that_is_no_domain_code_is_its_own_native_code(kind: Kind) -> None:
    assert (kind.code == kind.native) == kind.code.startswith("E_")


@every_case("kind", ROWS)
def test_a_row_uses_only_words_that_lafs_knows(kind: Kind) -> None:
    registered = {line.split()[0] for line in REGISTERED.strip().splitlines()}

    assert kind.lafs_code in registered
    assert kind.category in CATEGORIES
    assert kind.agent_action in AGENT_ACTIONS


@every_case("kind", ROWS)
def test_a_row_keeps_the_registry_retry_except_for_the_budget(kind: Kind) -> None:
    retried = {line.split()[0]: line.split()[2] == "yes" for line in REGISTERED.strip().splitlines()}
    retried["E_MVI_BUDGET_EXCEEDED"] = True  # LAFS 9.5.3 against its own registry

    assert kind.is_lafs_retryable == retried[kind.lafs_code]


@every_case("kind", ROWS)
def test_a_row_waits_only_where_the_same_call_may_be_repeated(kind: Kind) -> None:
    assert kind.wait_ms is None or (kind.is_retryable and kind.wait_ms > 0)


@every_case("kind", ROWS)
def test_a_hint_is_a_short_sentence_about_what_to_do(kind: Kind) -> None:
    assert kind.hint.endswith(".")
    assert kind.hint[0].isupper()
    assert 10 <= len(kind.hint) <= 512
    assert not re.search(r"!|\bsimply\b|\bplease\b", kind.hint, re.IGNORECASE)


@every_case("kind", ROWS)
def test_detail_keys_are_snake_case_and_added_by_no_dialect(kind: Kind) -> None:
    assert len(set(kind.details)) == len(kind.details)
    assert not set(kind.details) & ADDED_DETAILS
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", name) for name in kind.details)


@every_case("kind", ROWS)
def test_a_detail_that_the_hint_names_is_allowed(kind: Kind) -> None:
    named_in_hint = re.findall(r"details\.([a-z_]+)", kind.hint)

    assert set(named_in_hint) <= set(kind.details)


def test_reserved_rows_are_those_that_nothing_raises() -> None:
    reserved = {kind.code for kind in ROWS if kind.is_reserved}

    assert reserved == {"CONTEXT_STALE", "TOKEN_WORKFLOW_HASH_MISMATCH"}


def test_every_exit_and_every_lafs_code_is_reachable() -> None:
    reachable = [kind for kind in ROWS if not kind.is_reserved]

    assert {kind.exit_status for kind in reachable} == {1, 2, 3, 4, 5, 6, 7, 8, 9, 130}
    assert {kind.lafs_code for kind in reachable} == {
        line.split()[0] for line in REGISTERED.strip().splitlines()
    }


def test_the_registry_is_the_lafs_one() -> None:
    ours = [
        f"{code} {entry.category} {'yes' if entry.is_retryable else '-'} {entry.agent_action}"
        for code, entry in REGISTRY.items()
    ]

    assert ours == REGISTERED.strip().splitlines()


def test_every_registered_code_has_its_own_title() -> None:
    titles = [entry.title for entry in REGISTRY.values()]

    assert len(set(titles)) == 13
    assert all(title and not title.endswith(".") for title in titles)


def test_a_type_uri_is_the_code_in_kebab_case() -> None:
    assert type_uri("E_NOT_FOUND_RESOURCE") == "https://lafs.dev/errors/v1/not-found-resource"
    assert type_uri("E_RATE_LIMITED") == "https://lafs.dev/errors/v1/rate-limited"


def test_a_row_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        KINDS["E_USAGE"].exit_status = 0  # type: ignore[misc]  # the point of the test


def test_no_hint_names_a_field_of_a_document() -> None:
    """A person sees lines, HTTP another document: what a hint speaks of is told beside it in both."""
    named = [
        kind.code for kind in KINDS.values() if re.search(r"details\.|next_c|\b[a-z]+_[a-z]+\b", kind.hint)
    ]

    assert named == []
