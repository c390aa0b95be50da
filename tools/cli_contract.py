"""The machine contract of CLI 3.1 as data, for `schemas/`.

A test compares it with a copy that was typed from the specification.
"""

from __future__ import annotations

from handrail.contract.catalogue import E_CHECK_FAILED, E_HUMAN_REQUIRED, KINDS
from handrail.contract.conformance.answers import EXITS
from handrail.contract.envelopes.cli import SCHEMA_VERSION
from handrail.contract.outcome import Json

_OWN = (E_HUMAN_REQUIRED, E_CHECK_FAILED)
"""Native codes beside the core: exit 9 is kept for those that ask a person to act (CLI 3.1)."""


def cli_contract() -> dict[str, Json]:
    """The shared part: envelope, codes, self-description, naming, paging, batches, the untrusted mark."""
    core = [kind for kind in KINDS.values() if kind.code == kind.native and kind not in _OWN]
    return {
        "schema_version": SCHEMA_VERSION,
        "envelope": {
            "success": ["ok", "schema_version", "data", "meta"],
            "failure": ["ok", "schema_version", "error", "meta"],
            "error": ["code", "message", "details", "retryable"],
            "meta": {"required": ["duration_ms"], "optional": ["notices"]},
            "stream_line": ["ok", "schema_version", "type"],
        },
        "error_codes": {
            "core": {kind.code: {"exit": kind.exit_status, "retryable": kind.is_retryable} for kind in core}
        },
        "exit_codes": {str(status): row.meaning for status, row in EXITS.items()},
        "human_exit": E_HUMAN_REQUIRED.exit_status,
        "self_description": {
            "reference": ["tool", "version", "release_readiness", "commands", "schemas", "exit_codes"],
            "reference_command": ["path", "type", "description", "params", "output_schema", "examples"],
            "reference_schema": ["shape", "fields", "untrusted_fields"],
            "release_readiness": [
                "level",
                "fcc_required",
                "fcc_status",
                "mock_upstream_required",
                "mock_upstream_status",
                "live_smoke_required_for_stable",
                "live_smoke_status",
                "reason",
                "required_evidence",
            ],
            "context": ["version", "env", "account", "config", "credentials"],
            "doctor": ["checks"],
            "doctor_check": ["check", "status", "fix"],
            "changelog": ["current_version", "since", "entries"],
            "changelog_entry": ["version", "date", "changes"],
        },
        "naming": {"keys": "snake_case", "ids": "string", "times": "ISO 8601 UTC", "error_prefix": "E_"},
        "pagination": {
            "cursor": ["items", "count", "next_cursor", "has_more"],
            "offset": ["items", "count", "offset", "next_offset", "has_more"],
            "capped": "truncated",
        },
        "batch": {
            "result": ["items", "summary"],
            "item": ["target", "ok"],
            "item_error": ["code", "retryable"],
            "summary": ["total", "succeeded", "failed"],
        },
        "untrusted_key": "_untrusted",
    }


def cli_contract_extension() -> dict[str, Json]:
    """Our own part: native codes beside the core, and the domain codes of `details.domain_code`."""
    domain = [kind for kind in KINDS.values() if kind.code != kind.native]
    return {
        "error_codes": {
            kind.code: {"exit": kind.exit_status, "retryable": kind.is_retryable} for kind in _OWN
        },
        "domain_codes": {
            kind.code: {"code": kind.native, "exit": kind.exit_status, "retryable": kind.is_retryable}
            for kind in sorted(domain, key=lambda one: one.code)
        },
    }
