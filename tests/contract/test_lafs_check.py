"""The conformance checker on envelopes: every row of the check table, every tier, every Python trap."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.catalogue import KINDS
from handrail.contract.conformance.check import NotConformant, assert_conformant, check, kind_of
from handrail.contract.conformance.rules import Report, Tier
from handrail.contract.envelopes.cli import to_cli
from handrail.contract.envelopes.lafs import expand_minimal, to_lafs
from handrail.contract.outcome import Call, Failure, Json, LedgerRef, Notice, Outcome, Page, Success
from tests.cases import every_case
from tests.contract.conformance.documents import (
    CARD,
    CLI_LINE,
    CLI_SUCCESS,
    DISCOVERY,
    FAILURE,
    LEDGER,
    LEDGER_SUMMARY,
    SUCCESS,
    Document,
    changed,
    lacking,
)

CORE = ["envelope_schema_valid", "envelope_invariants", "error_code_registered"]
STANDARD = [
    *CORE,
    "agent_action_valid",
    "error_registry_agent_action",
    "transport_mapping_consistent",
    "meta_mvi_present",
    "meta_strict_present",
    "strict_mode_behavior",
    "pagination_mode_consistent",
    "strict_mode_enforced",
]
COMPLETE = [
    *STANDARD,
    "context_mutation_failure",
    "context_preservation_valid",
    "context_validation",
    "pagination_validation",
]
UNREGISTERED = changed(FAILURE, "error.code", "E_HOME_GROWN")


def check_fails(document: Json, *failed: str, tier: Tier = "complete") -> Report:
    """Exactly these checks fail; everything else of the tier passes."""
    report = check(document, tier=tier)
    assert report.failed == failed, report
    assert report.ok is (not failed)
    return report


def check_shape(document: Json, *broken: tuple[str, str]) -> Report:
    """Exactly these rules of shape are broken, as (pointer, rule)."""
    report = check(document, kind="lafs")
    assert [(error.pointer, error.rule) for error in report.schema_errors] == list(broken)
    assert report.ok is (not broken)
    return report


@every_case("document", [SUCCESS, FAILURE])
@every_case(("tier", "names"), [("core", CORE), ("standard", STANDARD), ("complete", COMPLETE)])
def test_a_sound_envelope_passes_every_check_of_every_tier(
    document: Document, tier: Tier, names: list[str]
) -> None:
    report = check(document, tier=tier, source="a.json")

    assert (report.ok, report.kind, report.tier, report.source) == (True, "lafs", tier, "a.json")
    assert [one.name for one in report.checks] == names
    assert all(one.passed for one in report.checks)
    assert (report.failed, report.advisories, report.schema_errors) == ((), (), ())


def test_the_report_is_plain_data_with_the_documented_keys() -> None:
    report = check(changed(SUCCESS, "_meta.mvi", "most"), tier="core", source="-")

    plain = msgspec.json.decode(msgspec.json.encode(report))

    assert plain == {
        "source": "-",
        "kind": "lafs",
        "tier": "core",
        "ok": False,
        "checks": [
            {
                "name": "envelope_schema_valid",
                "pass": False,
                "detail": "1 rule is broken; schema_errors lists every one.",
            },
            {
                "name": "envelope_invariants",
                "pass": None,
                "detail": "Not checked: the shape of the document is wrong.",
            },
            {
                "name": "error_code_registered",
                "pass": None,
                "detail": "Not checked: the shape of the document is wrong.",
            },
        ],
        "failed": ["envelope_schema_valid"],
        "advisories": [],
        "schema_errors": [
            {
                "pointer": "/_meta/mvi",
                "rule": "enum",
                "message": "This must be one of minimal, standard, full, custom.",
            }
        ],
    }


def test_all_broken_rules_are_reported_at_once() -> None:
    document = lacking(changed(changed(SUCCESS, "_meta.strict", "yes"), "_meta.more", 1), "_meta.requestId")

    check_shape(
        changed(document, "page.limit", 0),
        ("/_meta/requestId", "required"),
        ("/_meta/strict", "type"),
        ("/_meta/more", "additionalProperties"),
        ("/page/limit", "minimum"),
    )


def test_a_hostile_document_gets_a_bounded_report() -> None:
    report = check(changed(SUCCESS, "_meta.warnings", [0] * 5000))

    assert len(report.schema_errors) == 1000
    assert report.checks[0].detail == "5000 rules are broken; schema_errors lists the first 1000."


def test_warnings_need_code_and_message_and_may_carry_more() -> None:
    check_shape(changed(SUCCESS, "_meta.warnings", [{"code": "W_X", "message": "m", "names": ["a"]}]))
    check_shape(
        changed(SUCCESS, "_meta.warnings", [{"code": "W_X"}, 7]),
        ("/_meta/warnings/0/message", "required"),
        ("/_meta/warnings/1", "type"),
    )


def test_a_failure_may_carry_a_result_with_an_advisory() -> None:
    report = check_fails(changed(FAILURE, "result", {"partial": 1}))

    assert [advisory.name for advisory in report.advisories] == ["failure_with_result"]


@every_case("version", ["1.0.0\n", "1.0.0 ", "١.٠.٠", "1.0.０", "²1.0.0"])
def test_patterns_match_the_whole_text_in_ascii_digits(version: str) -> None:
    check_shape(changed(SUCCESS, "_meta.specVersion", version), ("/_meta/specVersion", "pattern"))


@every_case(
    "timestamp",
    ["2026-11-15T09:30:00", "2026-13-15T09:30:00Z", "2026-02-29T09:30:00Z", "not-a-date", "2026-11-15", ""],
)
def test_naive_and_impossible_times_fail(timestamp: str) -> None:
    check_shape(changed(SUCCESS, "_meta.timestamp", timestamp), ("/_meta/timestamp", "format"))


@every_case(
    ("ledger", "is_preserved"),
    [
        ({"ledgerId": "run_1", "version": 3, "previousVersion": 2}, True),
        ({"version": 3, "previousVersion": 3, "removedConstraints": []}, True),
        ({"version": 3.0}, True),
        ({"version": 3, "previousVersion": "9"}, True),
        ({}, False),
        ([], False),
        ({"version": "3"}, False),
        ({"version": True}, False),
        ({"version": 2}, False),
        ({"version": 3, "previousVersion": 4}, False),
        ({"version": 3, "removedConstraints": ["c1"]}, False),
        ("no ledger", True),
        (None, True),
    ],
)
def test_ledger_extension_agrees_with_the_envelope(ledger: Json, is_preserved: bool) -> None:
    document = changed(changed(SUCCESS, "_meta.contextVersion", 3), "_extensions", {"contextLedger": ledger})

    check_fails(document, *([] if is_preserved else ["context_preservation_valid"]))
    check_fails(document, tier="standard")


@every_case(
    ("path", "value", "rule"),
    [
        ("error.code", "E_ALONE", "pattern"),
        ("error.code", "VALIDATION_SCHEMA", "pattern"),
        ("error.code", "E_validation_schema", "pattern"),
        ("error.message", "", "minLength"),
        ("error.message", "m" * 1025, "maxLength"),
        ("error.category", "OTHER", "enum"),
        ("error.retryable", 0, "type"),
        ("error.retryAfterMs", -1, "minimum"),
        ("error.retryAfterMs", 1.5, "type"),
        ("error.details", None, "type"),
        ("error.agentAction", "panic", "enum"),
        ("error.agentAction", None, "type"),
        ("error.escalationRequired", "no", "type"),
        ("error.suggestedAction", "s" * 513, "maxLength"),
        ("error.docUrl", "/errors/limit", "format"),
        ("error.docUrl", "https://example.org/a b", "format"),
    ],
)
def test_a_broken_rule_of_an_error_is_named_with_its_place(path: str, value: Json, rule: str) -> None:
    check_shape(changed(FAILURE, path, value), ("/" + path.replace(".", "/"), rule))


@pytest.mark.parametrize(
    "timestamp", ["2026-11-15 09:30:00Z", "2026-12-31T23:59:60Z", "2026-11-15T09:30:00+0000"]
)
def test_loose_times_pass_with_an_advisory(timestamp: str) -> None:
    report = check_fails(changed(SUCCESS, "_meta.timestamp", timestamp))

    assert [advisory.name for advisory in report.advisories] == ["loose_time"]
    assert "/_meta/timestamp" in report.advisories[0].detail


def test_an_unregistered_code_fails_even_the_core_tier() -> None:
    report = check_fails(UNREGISTERED, "error_code_registered", tier="core")

    assert '"E_HOME_GROWN"' in report.checks[2].detail


def test_another_action_than_the_registry_has_is_an_advisory() -> None:
    report = check_fails(changed(FAILURE, "error.agentAction", "stop"))

    assert [advisory.name for advisory in report.advisories] == ["error_registry_agent_action"]
    assert check_fails(lacking(FAILURE, "error.agentAction")).advisories == ()


def test_own_extension_keys_are_advised_to_start_with_x() -> None:
    report = check_fails(changed(SUCCESS, "_extensions", {"vendor": 1, "x-ok": 2, "contextLedger": None}))

    assert [(one.name, one.detail) for one in report.advisories] == [
        ("extension_prefix", "1 keys of _extensions do not start with x- (LAFS 6.2).")
    ]


@every_case(
    ("document", "kind"),
    [
        (SUCCESS, "lafs"),
        ({"success": False, "_meta": {"requestId": "r", "contextVersion": 0}}, "lafs"),
        (CLI_SUCCESS, "cli"),
        (CLI_LINE, "cli"),
        (LEDGER, "ledger"),
        (LEDGER_SUMMARY, "ledger"),
        (DISCOVERY, "discovery"),
        (CARD, "card"),
        ({"human_flag": True}, "flags"),
        ({"jsonFlag": True, "humanFlag": False}, "flags"),
        ({"human_flag": True, "other": 1}, "lafs"),
        ({}, "lafs"),
        ([SUCCESS], "lafs"),
    ],
)
def test_a_document_is_known_by_its_keys(document: Json, kind: str) -> None:
    assert kind_of(document) == kind
    assert check(document).kind == kind


def test_a_stated_kind_is_not_guessed() -> None:
    assert check(CLI_SUCCESS, kind="lafs").failed == ("envelope_schema_valid",)
    assert check(SUCCESS, kind="cli").failed == ("cli_schema_valid",)


def test_conformant_document_gives_its_report() -> None:
    assert assert_conformant(SUCCESS).ok
    with pytest.raises(NotConformant) as raised:
        assert_conformant(UNREGISTERED, tier="core", source="tool.json")

    assert raised.value.report.failed == ("error_code_registered",)
    assert str(raised.value) == "lafs document fails error_code_registered at tier core"


CALL = Call(
    operation="run.continue", request_id="req_01jc5q8d", at="2026-11-15T09:30:00.123Z", session_id="ses_1"
)
OWN_ANSWERS: dict[str, Outcome] = {
    **{kind.code: Failure(kind=kind, message="It did not work.") for kind in KINDS.values()},
    "a payload": Success(data={"session_id": "ses_1", "runs": ["run_1"]}),
    "an array": Success(data=[1, 2]),
    "a page": Success(data={"scope": "here"}, page=Page(items=(1,), has_more=True, next_cursor="cu1abc")),
    "an offset page": Success(data={}, page=Page(items=(1,), style="offset", offset=3, total=9)),
    "a run": Success(data={"kind": "ok"}, ledger=LedgerRef(ledger_id="run_1", version=2, previous_version=1)),
    "a notice": Success(data={}, notices=(Notice(type="update", message="A new release is out."),)),
}


@every_case("name", OWN_ANSWERS)
def test_own_rendering_passes_and_a_minimal_one_once_expanded(name: str) -> None:
    outcome = OWN_ANSWERS[name]
    minimal = to_lafs(outcome, CALL, mvi="minimal")

    assert_conformant(to_lafs(outcome, CALL), kind="lafs")
    assert_conformant(to_cli(outcome, CALL, command_line=lambda _: None), kind="cli")
    assert check(minimal).failed == ("envelope_schema_valid",)
    assert_conformant(expand_minimal(minimal, CALL), kind="lafs")
