"""The CLI envelope and its stream lines: exact keys, frozen codes (CLI sections 3, 5, 6). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.contract.catalogue import KINDS
from handrail.contract.conformance.profile import NamedCheck, Profile
from handrail.contract.conformance.report import Advisory, SchemaError
from handrail.contract.conformance.rules import (
    ANY_ARRAY,
    ANY_OBJECT,
    Either,
    Finding,
    Items,
    Members,
    Text,
    Truth,
    Whole,
    findings,
)
from handrail.contract.outcome import Json
from handrail.contract.wording import quoted

SCHEMA_VERSION = "1.0"
_CORE = {kind.code: kind for kind in KINDS.values() if kind.code == kind.native}

_ERROR = Members(
    required={
        "code": Text(pattern=re.compile("E_[A-Z0-9_]+")),
        "message": Text(least=1),
        "details": ANY_OBJECT,
        "retryable": Truth(),
    },
    is_closed=True,
)
_NOTICE = Members(required={"severity": Text(choices=("info", "warning"))}, optional={"type": Text(least=1)})
_META = Members(
    required={"duration_ms": Whole(least=0)},
    optional={"notices": Items(of=_NOTICE, least=1)},
    is_closed=True,
)
_DOCUMENT = Members(
    required={"ok": Truth(), "schema_version": Text(choices=(SCHEMA_VERSION,))},
    optional={
        "type": Text(least=1),
        "data": Either(rules=(ANY_OBJECT, ANY_ARRAY)),
        "error": _ERROR,
        "meta": _META,
    },
    is_closed=True,
)


def cli_findings(doc: Json) -> Iterator[Finding]:
    """Every broken rule of the envelope; a stream line is known by its `type` and may leave `meta` out."""
    yield from findings(doc, _DOCUMENT)
    if isinstance(doc, dict) and "type" not in doc and "meta" not in doc:
        message = "The key meta is missing; only a stream line may leave it out."
        yield SchemaError(pointer="/meta", rule="required", message=message)


def _invariants(doc: dict[str, Json]) -> str:
    wanted, unwanted = ("data", "error") if doc["ok"] else ("error", "data")
    if wanted in doc and unwanted not in doc:
        return ""
    return f"When ok is {str(doc['ok']).lower()}, the document has {wanted} and never {unwanted}."


def _retryable_frozen(doc: dict[str, Json]) -> str:
    error = doc.get("error") or {}
    core = _CORE.get(error.get("code", ""))
    if core is None or error["retryable"] == core.is_retryable:
        return ""
    return f"{core.code} is always retryable {str(core.is_retryable).lower()}."


def _advice(doc: dict[str, Json]) -> Iterator[Advisory]:
    error = doc.get("error")
    if error is not None and error["code"] not in _CORE:
        detail = f"{quoted(error['code'])} is no core code; the tool must declare it with its exit status."
        yield Advisory(name="cli_extension_code", detail=detail)


CLI_DOCUMENT = Profile(
    kind="cli",
    shape_check="cli_schema_valid",
    shape=cli_findings,
    checks=(
        NamedCheck(name="cli_invariants", tier="core", why_not=_invariants),
        NamedCheck(name="cli_retryable_frozen", tier="standard", why_not=_retryable_frozen),
    ),
    advice=_advice,
)
