"""The conformance checker: is this document what LAFS (or the CLI contract) promises. Pure.

It works on decoded JSON. Read the text with `decode_json` of `contract/json/strict.py`, which refuses
duplicate keys and NaN.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.conformance.cli_document import CLI_DOCUMENT, FLAG_KEYS, Resolver, flag_profile
from handrail.contract.conformance.envelope import ENVELOPE
from handrail.contract.conformance.ledger_document import CARD, DISCOVERY, LEDGER_DOCUMENT
from handrail.contract.conformance.rules import (
    TIERS,
    Advisory,
    Check,
    DocumentKind,
    Profile,
    Report,
    SchemaError,
    Tier,
    judge,
)
from handrail.contract.envelopes.format import FlagInput, resolve_format
from handrail.contract.outcome import Json

__all__ = [
    "KINDS_OF_DOCUMENT",
    "TIERS",
    "Advisory",
    "AnyKind",
    "Check",
    "DocumentKind",
    "FlagInput",
    "NotConformant",
    "Report",
    "SchemaError",
    "Tier",
    "assert_conformant",
    "check",
    "check_flags",
    "kind_of",
]

AnyKind: TypeAlias = Literal["auto"] | DocumentKind

_PROFILES: dict[DocumentKind, Profile] = {
    profile.kind: profile
    for profile in (
        ENVELOPE,
        CLI_DOCUMENT,
        LEDGER_DOCUMENT,
        flag_profile(resolve_format),
        DISCOVERY,
        CARD,
    )
}
KINDS_OF_DOCUMENT: tuple[AnyKind, ...] = ("auto", *_PROFILES)

_SIGNS: tuple[tuple[DocumentKind, tuple[str, ...]], ...] = (
    ("lafs", ("_meta", "success")),
    ("cli", ("ok", "schema_version")),
    ("ledger", ("ledgerId",)),
    ("discovery", ("lafs_version", "endpoints")),
    ("card", ("skills", "defaultInputModes", "defaultOutputModes")),
)
"""Keys by which each kind is known, tried in this order."""


class NotConformant(Exception):
    """A document failed a check of its tier; `report` says which."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.kind} document fails {', '.join(report.failed)} at tier {report.tier}")
        self.report = report


def check(doc: Json, kind: AnyKind = "auto", tier: Tier = "complete", source: str = "") -> Report:
    """The verdict on one decoded document. `source` is echoed in the report."""
    assert kind in KINDS_OF_DOCUMENT, (
        "a document kind is one of auto, lafs, cli, ledger, flags, discovery, card"
    )
    assert tier in TIERS, "a tier is one of core, standard, complete"
    return judge(doc, _PROFILES[kind_of(doc) if kind == "auto" else kind], tier, source)


def check_flags(
    flags: FlagInput, tier: Tier = "complete", source: str = "", resolve: Resolver = resolve_format
) -> Report:
    """The verdict on how formats are resolved; pass your own `resolve` to have it checked."""
    return judge(msgspec.to_builtins(flags), flag_profile(resolve), tier, source)


def assert_conformant(doc: Json, kind: AnyKind = "auto", tier: Tier = "complete", source: str = "") -> Report:
    """The report of a document that passes; for the tests of a tool.

    Raises: NotConformant with the report when a check fails.
    """
    report = check(doc, kind, tier, source)
    if not report.ok:
        raise NotConformant(report)
    return report


def kind_of(doc: Json) -> DocumentKind:
    """What a document means to be, by its keys; anything else is checked as an envelope."""
    if not isinstance(doc, dict):
        return "lafs"
    for kind, signs in _SIGNS:
        if any(sign in doc for sign in signs):
            return kind
    return "flags" if doc and doc.keys() <= FLAG_KEYS else "lafs"
