"""The checker on documents of the CLI dialect and on stream lines."""

from __future__ import annotations

import pytest

from handrail.contract.catalogue import KINDS
from handrail.contract.conformance.check import check
from handrail.contract.conformance.rules import Report
from handrail.contract.outcome import Json
from tests.cases import every_case
from tests.contract.conformance.documents import (
    CLI_FAILURE,
    CLI_LINE,
    CLI_SUCCESS,
    Document,
    changed,
    lacking,
)


def check_fails(document: Json, *failed: str) -> Report:
    report = check(document, kind="cli")
    assert report.failed == failed, report
    return report


def check_shape(document: Json, *broken: tuple[str, str]) -> None:
    report = check_fails(document, *(["cli_schema_valid"] if broken else []))
    assert [(error.pointer, error.rule) for error in report.schema_errors] == list(broken)


@pytest.mark.parametrize("document", [CLI_SUCCESS, CLI_FAILURE, CLI_LINE, changed(CLI_SUCCESS, "data", [])])
def test_a_sound_document_passes(document: Document) -> None:
    report = check_fails(document)

    assert [one.name for one in report.checks] == [
        "cli_schema_valid",
        "cli_invariants",
        "cli_retryable_frozen",
    ]
    assert report.advisories == ()


@every_case(
    ("document", "pointer", "rule"),
    [
        (lacking(CLI_SUCCESS, "ok"), "/ok", "required"),
        (lacking(CLI_SUCCESS, "schema_version"), "/schema_version", "required"),
        (lacking(CLI_SUCCESS, "meta"), "/meta", "required"),
        (changed(CLI_SUCCESS, "ok", "true"), "/ok", "type"),
        (changed(CLI_SUCCESS, "schema_version", "2.0"), "/schema_version", "const"),
        (changed(CLI_SUCCESS, "data", "text"), "/data", "type"),
        (changed(CLI_SUCCESS, "items", []), "/items", "additionalProperties"),
        (changed(CLI_SUCCESS, "meta.more", 1), "/meta/more", "additionalProperties"),
        (changed(CLI_SUCCESS, "meta.duration_ms", -1), "/meta/duration_ms", "minimum"),
        (changed(CLI_SUCCESS, "meta.notices", []), "/meta/notices", "minItems"),
        (changed(CLI_SUCCESS, "meta.notices.0.severity", "bad"), "/meta/notices/0/severity", "enum"),
        (lacking(CLI_FAILURE, "error.details"), "/error/details", "required"),
        (changed(CLI_FAILURE, "error.hint", "x"), "/error/hint", "additionalProperties"),
        (changed(CLI_FAILURE, "error.code", "TIMEOUT"), "/error/code", "pattern"),
        (changed(CLI_FAILURE, "error.retryable", 1), "/error/retryable", "type"),
        (changed(CLI_LINE, "type", ""), "/type", "minLength"),
    ],
)
def test_keys_and_values_are_exact(document: Document, pointer: str, rule: str) -> None:
    check_shape(document, (pointer, rule))


@every_case(
    "document",
    [
        lacking(CLI_SUCCESS, "data"),
        lacking(CLI_FAILURE, "error"),
        changed(CLI_FAILURE, "data", {}),
        changed(CLI_SUCCESS, "error", CLI_FAILURE["error"]),
        changed(CLI_SUCCESS, "ok", False),
    ],
)
def test_data_and_error_exclude_each_other(document: Document) -> None:
    check_fails(document, "cli_invariants")


@every_case(
    ("code", "retryable", "is_frozen"),
    [
        ("E_TIMEOUT", True, True),
        ("E_TIMEOUT", False, False),
        ("E_NOT_FOUND", False, True),
        ("E_NOT_FOUND", True, False),
        ("E_SOMETHING_OWN", True, True),
    ],
)
def test_core_codes_never_change_their_retry_rule(code: str, retryable: bool, is_frozen: bool) -> None:
    document = changed(changed(CLI_FAILURE, "error.code", code), "error.retryable", retryable)

    check_fails(document, *([] if is_frozen else ["cli_retryable_frozen"]))


def test_own_code_is_an_advisory_for_the_tool_to_declare() -> None:
    report = check_fails(changed(CLI_FAILURE, "error.code", "E_2FA_REQUIRED"))

    assert [one.name for one in report.advisories] == ["cli_extension_code"]
    assert '"E_2FA_REQUIRED"' in report.advisories[0].detail


def test_a_domain_code_is_no_native_code() -> None:
    assert "TOKEN_EXPIRED" in KINDS
    check_shape(changed(CLI_FAILURE, "error.code", "TOKEN_EXPIRED"), ("/error/code", "pattern"))
