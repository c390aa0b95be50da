"""The checker on discovery documents and agent cards."""

from __future__ import annotations

import pytest

from handrail.contract.conformance.check import check
from tests.cases import every_case
from tests.contract.conformance.documents import CARD, DISCOVERY, Document, changed, lacking


def check_shape(document: Document, *broken: tuple[str, str]) -> None:
    report = check(document)
    assert [(error.pointer, error.rule) for error in report.schema_errors] == list(broken)
    assert report.ok is (not broken)
    assert [one.name for one in report.checks] == [f"{report.kind}_schema_valid"]


@pytest.mark.parametrize("document", [DISCOVERY, CARD, changed(DISCOVERY, "extensions", {"x": 1})])
def test_a_sound_document_passes(document: Document) -> None:
    check_shape(document)


@pytest.mark.parametrize("key", ["$schema", "service", "capabilities", "endpoints"])
def test_a_discovery_document_has_all_its_keys_and_no_other(key: str) -> None:
    check_shape(lacking(DISCOVERY, key), (f"/{key}", "required"))
    check_shape(changed(DISCOVERY, "more", 1), ("/more", "additionalProperties"))


@every_case(
    ("path", "value", "rule"),
    [
        ("$schema", "discovery.schema.json", "format"),
        ("lafs_version", "1.0", "pattern"),
        ("service.name", "", "minLength"),
        ("service.version", "0.1.0.dev1", "pattern"),
        ("service.description", "d" * 501, "maxLength"),
        ("service.owner", "me", "additionalProperties"),
        ("capabilities", [], "minItems"),
        ("capabilities.0.operations", [], "minItems"),
        ("capabilities.0.operations.0", "o" * 51, "maxLength"),
        ("capabilities.0.optional", "no", "type"),
        ("endpoints.discovery", "", "minLength"),
        ("endpoints.health", "/health", "additionalProperties"),
    ],
)
def test_a_broken_rule_of_discovery_is_named(path: str, value: object, rule: str) -> None:
    check_shape(changed(DISCOVERY, path, value), ("/" + path.replace(".", "/"), rule))


@every_case(
    "key",
    ["name", "description", "version", "url", "capabilities", "defaultInputModes", "defaultOutputModes"],
)
def test_an_agent_card_has_the_required_keys_and_may_have_others(key: str) -> None:
    check_shape(lacking(CARD, key), (f"/{key}", "required"))
    check_shape(changed(CARD, "protocolVersion", "1.0"))


@every_case(
    ("path", "value", "rule"),
    [
        ("url", "/a2a", "format"),
        ("description", "", "minLength"),
        ("version", "0.1", "pattern"),
        ("skills", [], "minItems"),
        ("skills.0.tags", [], "minItems"),
        ("skills.0.tags.0", 1, "type"),
        ("skills.0.id", "", "minLength"),
        ("capabilities.streaming", 1, "type"),
        ("capabilities.extensions.0.uri", "lafs", "format"),
        ("provider.url", "example.org", "format"),
        ("defaultInputModes", [], "minItems"),
        ("securitySchemes.bearer.type", "basic", "enum"),
        ("security.0.bearer", "all", "type"),
    ],
)
def test_a_broken_rule_of_a_card_is_named(path: str, value: object, rule: str) -> None:
    check_shape(changed(CARD, path, value), ("/" + path.replace(".", "/"), rule))
