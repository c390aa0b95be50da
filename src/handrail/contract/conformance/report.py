"""What a conformance check says about one document. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

DocumentKind: TypeAlias = Literal["lafs", "cli", "ledger", "flags", "discovery", "card"]
Tier: TypeAlias = Literal["core", "standard", "complete"]


class SchemaError(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule of shape. `rule` is the JSON Schema keyword that says the same."""

    pointer: str
    """JSON Pointer (RFC 6901) to the value, or to where a missing key belongs."""
    rule: str
    message: str


class Advisory(msgspec.Struct, frozen=True, kw_only=True):
    """Allowed, but worth knowing."""

    name: str
    detail: str


class Check(msgspec.Struct, frozen=True, kw_only=True, rename={"passed": "pass"}):
    """One named check; `pass` is null when an earlier failure left nothing to check."""

    name: str
    passed: bool | None
    detail: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one document. `ok`: every check of the tier passed."""

    source: str
    kind: DocumentKind
    tier: Tier
    ok: bool
    checks: tuple[Check, ...]
    failed: tuple[str, ...]
    advisories: tuple[Advisory, ...] = ()
    schema_errors: tuple[SchemaError, ...] = ()
