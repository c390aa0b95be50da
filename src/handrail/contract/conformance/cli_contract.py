"""The machine contract of the CLI dialect as data: what every tool of the family shares, and our own. Pure.

CLI 3.1. `tools/generate.py` writes both documents to `schemas/`; a test compares them with a copy that was
typed from the specification.
from the specification.
"""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import E_HUMAN_REQUIRED, KINDS
from handrail.contract.envelopes.cli import SCHEMA_VERSION
from handrail.contract.outcome import Json

# Exit statuses (CLI section 6)


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of exit statuses."""

    meaning: str
    agent: str


# fmt: off
EXITS: dict[int, Exit] = {
    0: Exit(meaning="Success.", agent="Continue."),
    1: Exit(meaning="Something failed that no other status names.", agent="Read the error to decide."),
    2: Exit(meaning="The call is wrong.", agent="Do not retry; correct the arguments."),
    3: Exit(meaning="What was named does not exist.", agent="Do not retry; look for the right name."),
    4: Exit(meaning="Permission, sign-in or configuration.", agent="Do not retry; tell the user."),
    5: Exit(meaning="A confirmation is missing.", agent="Run next_command, then retry with its token."),
    6: Exit(meaning="The state moved on, or a token is invalid.", agent="Read the state, then decide."),
    7: Exit(meaning="A temporary network or server problem.", agent="Wait, then retry."),
    8: Exit(meaning="The deadline passed.", agent="Wait, then retry, with more time if the work is large."),
    9: Exit(meaning="A person must act.", agent="Tell the user what to do; run resume afterwards."),
    130: Exit(meaning="A signal ended the call.", agent="Retry; nothing is half applied."),
}
"""Every exit status by its number."""
# fmt: on


_OWN = (E_HUMAN_REQUIRED,)
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
