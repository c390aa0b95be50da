"""The machine contract as published, beside a copy typed in from the CLI specification."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from handrail.contract.catalogue import KINDS
from tests.house.tree import ROOT
from tests.surfaces.cli.tool import CORE_CODES

ENVELOPE = {
    "success": ["ok", "schema_version", "data", "meta"],
    "failure": ["ok", "schema_version", "error", "meta"],
    "error": ["code", "message", "details", "retryable"],
    "meta": {"required": ["duration_ms"], "optional": ["notices"]},
    "stream_line": ["ok", "schema_version", "type"],
}
SELF_DESCRIPTION = {
    "reference": {"tool", "version", "release_readiness", "commands", "schemas", "exit_codes"},
    "reference_command": {"path", "type", "description", "params", "output_schema", "examples"},
    "reference_schema": {"shape", "fields", "untrusted_fields"},
    "release_readiness": {
        *("level", "fcc_required", "fcc_status", "mock_upstream_required", "mock_upstream_status"),
        *("live_smoke_required_for_stable", "live_smoke_status", "reason", "required_evidence"),
    },
    "context": {"version", "env", "account", "config", "credentials"},
    "doctor": {"checks"},
    "doctor_check": {"check", "status", "fix"},
    "changelog": {"current_version", "since", "entries"},
    "changelog_entry": {"version", "date", "changes"},
}


def published(name: str) -> Any:
    with open(os.path.join(ROOT, "schemas", name), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.promise("cli.core-frozen")
def test_the_core_codes_are_those_of_the_specification() -> None:
    core = published("contract.json")["error_codes"]["core"]

    assert {code: (row["exit"], row["retryable"]) for code, row in core.items()} == CORE_CODES


@pytest.mark.promise("cli.contract-published")
def test_the_envelope_is_that_of_the_specification() -> None:
    contract = published("contract.json")

    assert contract["schema_version"] == "1.0"
    assert contract["envelope"] == ENVELOPE
    assert contract["untrusted_key"] == "_untrusted"


@pytest.mark.promise("cli.contract-published")
def test_self_description_keys_are_those_of_the_specification() -> None:
    keys = published("contract.json")["self_description"]

    assert {name: set(listed) for name, listed in keys.items()} == SELF_DESCRIPTION


@pytest.mark.promise("cli.contract-published")
def test_pages_and_batches_are_those_of_the_specification() -> None:
    contract = published("contract.json")

    assert contract["pagination"]["cursor"] == ["items", "count", "next_cursor", "has_more"]
    assert contract["pagination"]["offset"] == ["items", "count", "offset", "next_offset", "has_more"]
    assert contract["batch"] == {
        "result": ["items", "summary"],
        "item": ["target", "ok"],
        "item_error": ["code", "retryable"],
        "summary": ["total", "succeeded", "failed"],
    }


def test_every_exit_status_in_use_has_a_meaning() -> None:
    meanings = published("contract.json")["exit_codes"]

    assert set(meanings) == {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130"}
    assert {str(kind.exit_status) for kind in KINDS.values()} <= set(meanings)


@pytest.mark.promise("cli.extension")
def test_an_extension_never_redefines_the_core() -> None:
    """CLI 3.1: `E_`, with exit and retryable, no core code, and exit 9 only where a person must act."""
    extension = published("contract-ext.json")

    for code, row in extension["error_codes"].items():
        assert re.fullmatch("E_[A-Z_]+", code)
        assert code not in CORE_CODES
        assert set(row) == {"exit", "retryable"}
        assert (row["exit"] == 9) == (code == "E_HUMAN_REQUIRED")


@pytest.mark.promise("cli.core-frozen")
def test_domain_code_behaves_as_its_native_code() -> None:
    extension = published("contract-ext.json")
    natives = CORE_CODES | {
        code: (row["exit"], row["retryable"]) for code, row in extension["error_codes"].items()
    }

    assert extension["domain_codes"]
    for code, row in extension["domain_codes"].items():
        assert not code.startswith("E_")
        assert row["exit"] == natives[row["code"]][0], code
