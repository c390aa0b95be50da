"""The checker on context ledgers: full, delta and summary."""

from __future__ import annotations

import hashlib
import json

import pytest

from handrail.contract.conformance.check import check
from handrail.contract.conformance.rules import Report
from handrail.contract.outcome import Json
from tests.cases import every_case
from tests.contract.conformance.documents import (
    LEDGER,
    LEDGER_DELTA,
    LEDGER_SUMMARY,
    Document,
    changed,
    lacking,
)


def check_fails(document: Json, *failed: str) -> Report:
    report = check(document)
    assert report.kind == "ledger"
    assert report.failed == failed, report
    return report


def check_shape(document: Json, *broken: tuple[str, str]) -> None:
    report = check_fails(document, *(["ledger_schema_valid"] if broken else []))
    assert [(error.pointer, error.rule) for error in report.schema_errors] == list(broken)


def chained(document: Document) -> str:
    """The checksum of section 7 of the contract; these values need no more of RFC 8785 than sorted keys."""

    def digest(value: Json) -> str:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    checksum = digest({"ledgerId": document["ledgerId"]})
    for entry in document["entries"]:
        checksum = digest([checksum, entry])
    return checksum


@every_case(
    "document",
    [
        LEDGER,
        LEDGER_DELTA,
        LEDGER_SUMMARY,
        lacking(LEDGER_DELTA, "checksum"),
        lacking(LEDGER_SUMMARY, "checksum"),
        changed(LEDGER, "entries", []),
        changed(LEDGER, "entries.0.extra", {"of": "another producer"}),
        lacking(lacking(LEDGER, "entries.0.version"), "entries.1.version"),
    ],
)
def test_the_three_modes_pass(document: Document) -> None:
    check_fails(document)


@every_case("key", ["version", "createdAt", "updatedAt", "entries", "checksum", "maxEntries"])
def test_a_full_ledger_has_all_its_keys_and_no_other(key: str) -> None:
    check_shape(lacking(LEDGER, key), (f"/{key}", "required"))
    check_shape(changed(LEDGER, "more", 1), ("/more", "additionalProperties"))


@every_case(
    ("document", "pointer", "rule"),
    [
        (changed(LEDGER, "version", -1), "/version", "minimum"),
        (changed(LEDGER, "createdAt", "2026-11-15T09:30:00"), "/createdAt", "format"),
        (changed(LEDGER, "maxEntries", 0), "/maxEntries", "minimum"),
        (lacking(LEDGER, "entries.0.contextDelta"), "/entries/0/contextDelta", "required"),
        (changed(LEDGER, "entries.1.version", 0), "/entries/1/version", "minimum"),
        (changed(LEDGER, "entries.1.timestamp", "soon"), "/entries/1/timestamp", "format"),
        (changed(LEDGER_DELTA, "mode", "full"), "/mode", "const"),
        (lacking(LEDGER_DELTA, "removedConstraints"), "/removedConstraints", "required"),
        (changed(LEDGER_DELTA, "version", 1), "/version", "additionalProperties"),
        (changed(LEDGER_SUMMARY, "entryCount", 1.5), "/entryCount", "type"),
        (changed(LEDGER_SUMMARY, "entries", []), "/entries", "additionalProperties"),
    ],
)
def test_a_broken_rule_is_named_with_its_place(document: Document, pointer: str, rule: str) -> None:
    check_shape(document, (pointer, rule))


@every_case(
    "document",
    [
        changed(LEDGER, "entries.1.version", 1),
        changed(changed(LEDGER, "entries.0.version", 2), "entries.1.version", 1),
        changed(LEDGER, "entries.1.version", 3),
        changed(LEDGER_DELTA, "fromVersion", 1),
        changed(LEDGER_DELTA, "fromVersion", 2),
        changed(LEDGER_DELTA, "toVersion", 0),
    ],
)
def test_versions_rise_inside_the_range_of_the_document(document: Document) -> None:
    check_fails(document, "ledger_versions_rise")


def test_a_filter_may_leave_gaps() -> None:
    check_fails(changed(changed(LEDGER, "entries.1.version", 7), "version", 9))


def test_two_entries_cannot_share_an_id() -> None:
    check_fails(changed(LEDGER, "entries.1.entryId", "evt_1"), "ledger_entries_distinct")


def test_a_ledger_keeps_to_its_own_maximum() -> None:
    check_fails(changed(LEDGER, "maxEntries", 1), "ledger_entries_bounded")


def test_a_checksum_that_is_not_the_chain_is_an_advisory() -> None:
    right = changed(LEDGER, "checksum", chained(LEDGER))

    assert check_fails(right).advisories == ()
    assert [one.name for one in check_fails(LEDGER).advisories] == ["ledger_checksum"]


@pytest.mark.parametrize(
    "document",
    [
        changed(LEDGER, "version", 10**18),
        changed(LEDGER, "entries", LEDGER["entries"][:1]),
        changed(LEDGER, "entries", []),
        LEDGER_SUMMARY,
    ],
)
def test_checksum_over_hidden_entries_is_not_judged(document: Document) -> None:
    assert check_fails(document).advisories == ()


def test_entry_without_a_canonical_form_is_advice() -> None:
    report = check_fails(changed(LEDGER, "entries.0.contextDelta", {"n": 2**60}))

    assert [one.name for one in report.advisories] == ["ledger_checksum"]
