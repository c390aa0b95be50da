"""The checker on flag semantics, with our resolver and with resolvers that get it wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handrail.contract.catalogue import E_USAGE, FORMAT_CONFLICT
from handrail.contract.conformance.check import check, check_flags
from handrail.contract.envelopes.cli import FlagInput, ResolvedFormat, resolve_format
from handrail.contract.outcome import Fault, Json
from tests.cases import every_case

NAMES = ["flags_schema_valid", "json_protocol_default", "config_override_respected", "flag_conflict_rejected"]
CONFLICT = FlagInput(human_flag=True, json_flag=True)


def always_text(_: FlagInput) -> ResolvedFormat:
    return ResolvedFormat(format="text", source="default")


def always_json(_: FlagInput) -> ResolvedFormat:
    return ResolvedFormat(format="json", source="default")


def refuses_everything(_: FlagInput) -> ResolvedFormat:
    raise Fault(FORMAT_CONFLICT, "No.")


def refuses_otherwise(_: FlagInput) -> ResolvedFormat:
    raise Fault(E_USAGE, "No.")


@every_case(
    "flags",
    [
        FlagInput(),
        FlagInput(json_flag=True),
        FlagInput(human_flag=True, project_default="json"),
        FlagInput(project_default="human"),
        FlagInput(user_default="raw"),
        FlagInput(environment="text", project_default="json"),
        FlagInput(environment="", project_default="text"),
        FlagInput(project_default="xml"),
        FlagInput(requested_format="xml"),
        FlagInput(requested_format="text", human_flag=True),
        CONFLICT,
    ],
)
def test_our_resolver_passes_whatever_is_asked(flags: FlagInput) -> None:
    report = check_flags(flags, source="flags.json")

    assert (report.ok, report.kind, report.source) == (True, "flags", "flags.json")
    assert [one.name for one in report.checks] == NAMES


@every_case(
    ("resolve", "flags", "failed"),
    [
        (always_text, FlagInput(), ("json_protocol_default",)),
        (refuses_everything, FlagInput(), ("json_protocol_default", "flag_conflict_rejected")),
        (refuses_otherwise, FlagInput(), ("json_protocol_default",)),
        (always_json, FlagInput(project_default="human"), ("config_override_respected",)),
        (always_json, FlagInput(environment="text", user_default="json"), ("config_override_respected",)),
        (refuses_otherwise, FlagInput(user_default="text"), ("config_override_respected",)),
        (always_json, FlagInput(user_default="xml"), ("config_override_respected",)),
        (always_json, CONFLICT, ("flag_conflict_rejected",)),
        (refuses_otherwise, CONFLICT, ("flag_conflict_rejected",)),
        (always_json, FlagInput(json_flag=True, requested_format="raw"), ("flag_conflict_rejected",)),
        (refuses_everything, FlagInput(json_flag=True), ("flag_conflict_rejected",)),
        (always_json, FlagInput(json_flag=True, user_default="text"), ()),
    ],
)
def test_a_resolver_that_breaks_a_rule_is_found_out(
    resolve: Callable[[FlagInput], ResolvedFormat], flags: FlagInput, failed: tuple[str, ...]
) -> None:
    assert check_flags(flags, resolve=resolve).failed == failed


def test_the_standard_tier_asks_for_the_default_alone() -> None:
    assert [one.name for one in check_flags(FlagInput(), tier="standard").checks] == NAMES[:2]
    assert [one.name for one in check_flags(FlagInput(), tier="core").checks] == NAMES[:1]


@pytest.mark.parametrize(
    "document",
    [
        {"human_flag": True, "json_flag": False, "requested_format": None, "environment": "json"},
        {"jsonFlag": True, "humanFlag": False},
        {"humanFlag": True, "jsonFlag": True},
        {"projectDefault": "human", "userDefault": "json"},
    ],
)
def test_flag_documents_take_both_spellings(document: Json) -> None:
    report = check(document)

    assert (report.kind, report.ok) == ("flags", True)


def test_a_flag_document_of_the_wrong_shape_is_reported() -> None:
    report = check({"human_flag": "yes", "tty": True}, kind="flags")

    assert [(error.pointer, error.rule) for error in report.schema_errors] == [
        ("/human_flag", "type"),
        ("/tty", "additionalProperties"),
    ]
    assert [one.passed for one in report.checks] == [False, None, None, None]


def test_the_checker_uses_the_resolver_of_the_command_line() -> None:
    assert resolve_format(FlagInput()).format == "json"
    with pytest.raises(Fault):
        resolve_format(CONFLICT)
