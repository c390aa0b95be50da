"""The conformance checker: whether a document or a server keeps LAFS and the CLI contract. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.conformance.answers import CLI_DOCUMENT, ENVELOPE, FLAG_KEYS, Resolver, flag_profile
from handrail.contract.conformance.rules import (
    ANY_ARRAY,
    ANY_OBJECT,
    TIERS,
    Advisory,
    DocumentKind,
    Finding,
    Items,
    Members,
    NamedCheck,
    Profile,
    Report,
    Rule,
    Text,
    Tier,
    Truth,
    Whole,
    findings,
    judge,
)
from handrail.contract.envelopes.cli import FlagInput, resolve_format
from handrail.contract.ledger import extend_checksum, start_checksum
from handrail.contract.outcome import Fault, Json

# The documents beside the envelope: the context ledger, LAFS discovery and the agent card.


# The context ledger: full, delta or summary (LAFS 8.1)

_MOMENT = Text(form="date-time")
_VERSION = Whole(least=0)
_ENTRY = Members(
    required={"entryId": Text(), "timestamp": _MOMENT, "operation": Text(), "contextDelta": ANY_OBJECT},
    optional={"version": Whole(least=1), "requestId": Text()},
)
_FULL = Members(
    required={
        "ledgerId": Text(),
        "version": _VERSION,
        "createdAt": _MOMENT,
        "updatedAt": _MOMENT,
        "entries": Items(of=_ENTRY),
        "checksum": Text(),
        "maxEntries": Whole(least=1),
    },
    is_closed=True,
)
_DELTA = Members(
    required={
        "ledgerId": Text(),
        "mode": Text(choices=("delta",)),
        "fromVersion": _VERSION,
        "toVersion": _VERSION,
        "entries": Items(of=_ENTRY),
        "removedConstraints": ANY_ARRAY,
    },
    optional={"checksum": Text()},
    is_closed=True,
)
_SUMMARY = Members(
    required={"ledgerId": Text(), "version": _VERSION, "entryCount": Whole(least=0)},
    optional={"checksum": Text()},
    is_closed=True,
)


def ledger_findings(doc: Json) -> Iterator[Finding]:
    """Return every broken rule of the document's form, which its own keys identify."""
    if isinstance(doc, dict) and "mode" in doc:
        return findings(doc, _DELTA)
    if isinstance(doc, dict) and "entryCount" in doc:
        return findings(doc, _SUMMARY)
    return findings(doc, _FULL)


def _versions_rise(doc: dict[str, Json]) -> str:
    """Check that versions rise; filters and paging leave entries out, so gaps are allowed."""
    first, last = doc.get("fromVersion", 0), doc.get("toVersion", doc.get("version", 0))
    if first > last:
        return "fromVersion is above toVersion."
    reached = first
    for entry in doc.get("entries", ()):
        version = entry.get("version", reached)
        if "version" in entry and not reached < version <= last:
            return "The versions of the entries do not rise inside the range of the document."
        reached = version
    return ""


def _entries_distinct(doc: dict[str, Json]) -> str:
    ids = [entry["entryId"] for entry in doc.get("entries", ())]
    return "" if len(ids) == len(set(ids)) else "Two entries have the same entryId."


def _entries_bounded(doc: dict[str, Json]) -> str:
    is_within = len(doc.get("entries", ())) <= doc.get("maxEntries", len(doc.get("entries", ())))
    return "" if is_within else "There are more entries than maxEntries allows."


def _advice(doc: dict[str, Json]) -> Iterator[Advisory]:
    """Yield advice: LAFS leaves the checksum to the producer, but Handrail's can be recomputed if the
    ledger is whole.
    """
    entries = doc.get("entries", [])
    versions = [entry.get("version") for entry in entries]
    if not entries or versions != list(range(1, len(entries) + 1)) or doc.get("version") != len(entries):
        return
    if _chain(doc["ledgerId"], entries) != doc["checksum"]:
        detail = "The checksum is not the chain over these entries as Handrail computes it."
        yield Advisory(name="ledger_checksum", detail=detail)


def _chain(ledger_id: str, entries: list[Json]) -> str:
    """Return the checksum of the entries; empty if one of them has no canonical form."""
    try:
        checksum = start_checksum(ledger_id)
        for entry in entries:
            checksum = extend_checksum(checksum, entry)
    except Fault:
        return ""
    return checksum


LEDGER_DOCUMENT = Profile(
    kind="ledger",
    shape_check="ledger_schema_valid",
    shape=ledger_findings,
    checks=(
        NamedCheck(name="ledger_versions_rise", tier="core", why_not=_versions_rise),
        NamedCheck(name="ledger_entries_distinct", tier="standard", why_not=_entries_distinct),
        NamedCheck(name="ledger_entries_bounded", tier="standard", why_not=_entries_bounded),
    ),
    advice=_advice,
)


# Discovery and the agent card

_COMPANION_VERSION = Text(pattern=re.compile(r"[0-9]+\.[0-9]+\.[0-9]+"))
_URI = Text(form="uri")
_FILLED = Text(least=1)
_NAMES = Items(of=Text())

_CAPABILITY = Members(
    required={
        "name": Text(least=1, most=100),
        "version": _COMPANION_VERSION,
        "operations": Items(of=Text(least=1, most=50), least=1),
    },
    optional={"description": Text(most=500), "optional": Truth()},
    is_closed=True,
)
_DISCOVERY = Members(
    required={
        "$schema": _URI,
        "lafs_version": _COMPANION_VERSION,
        "service": Members(
            required={"name": Text(least=1, most=100), "version": _COMPANION_VERSION},
            optional={"description": Text(most=500)},
            is_closed=True,
        ),
        "capabilities": Items(of=_CAPABILITY, least=1),
        "endpoints": Members(
            required={"envelope": _FILLED, "discovery": _FILLED},
            optional={"context": _FILLED},
            is_closed=True,
        ),
    },
    optional={"extensions": ANY_OBJECT},
    is_closed=True,
)

_EXTENSION = Members(
    required={"uri": _URI, "description": Text(), "required": Truth()}, optional={"params": ANY_OBJECT}
)
_SKILL = Members(
    required={"id": _FILLED, "name": _FILLED, "description": _FILLED, "tags": Items(of=Text(), least=1)},
    optional={"examples": _NAMES, "inputModes": _NAMES, "outputModes": _NAMES},
)
_SCHEME = Members(
    required={"type": Text(choices=("http", "apiKey", "oauth2", "openIdConnect"))},
    optional={"description": Text(), "scheme": Text(), "bearerFormat": Text()},
)
_CARD_OPTIONS: dict[str, Rule] = {
    "$schema": _URI,
    "provider": Members(required={"organization": _FILLED, "url": _URI}),
    "securitySchemes": Members(others=_SCHEME),
    "security": Items(of=Members(others=_NAMES)),
    "documentationUrl": _URI,
    "iconUrl": _URI,
}
_CARD = Members(
    required={
        "name": Text(least=1, most=128),
        "description": Text(least=1, most=2048),
        "version": _COMPANION_VERSION,
        "url": _URI,
        "capabilities": Members(
            optional={
                "streaming": Truth(),
                "pushNotifications": Truth(),
                "extendedAgentCard": Truth(),
                "extensions": Items(of=_EXTENSION),
            }
        ),
        "defaultInputModes": Items(of=Text(), least=1),
        "defaultOutputModes": Items(of=Text(), least=1),
        "skills": Items(of=_SKILL, least=1),
    },
    optional=_CARD_OPTIONS,
)

DISCOVERY = Profile(
    kind="discovery", shape_check="discovery_schema_valid", shape=lambda doc: findings(doc, _DISCOVERY)
)
CARD = Profile(kind="card", shape_check="card_schema_valid", shape=lambda doc: findings(doc, _CARD))


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
"""Keys that identify each kind, tried in this order."""


class NotConformant(Exception):
    """Raised when a document failed a check of its tier; `report` says which."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.kind} document fails {', '.join(report.failed)} at tier {report.tier}")
        self.report = report


def check(doc: Json, kind: AnyKind = "auto", tier: Tier = "complete", source: str = "") -> Report:
    """Return the report on one decoded document. `source` is repeated in the report."""
    assert kind in KINDS_OF_DOCUMENT, (
        "a document kind is one of auto, lafs, cli, ledger, flags, discovery, card"
    )
    assert tier in TIERS, "a tier is one of core, standard, complete"
    return judge(doc, _PROFILES[kind_of(doc) if kind == "auto" else kind], tier, source)


def check_flags(
    flags: FlagInput, tier: Tier = "complete", source: str = "", resolve: Resolver = resolve_format
) -> Report:
    """Return the report on how formats are resolved; pass your own `resolve` to have it checked."""
    return judge(msgspec.to_builtins(flags), flag_profile(resolve), tier, source)


def assert_conformant(doc: Json, kind: AnyKind = "auto", tier: Tier = "complete", source: str = "") -> Report:
    """Return the report of a document that passes; for the tests of a tool.

    Raises: NotConformant with the report when a check fails.
    """
    report = check(doc, kind, tier, source)
    if not report.ok:
        raise NotConformant(report)
    return report


def kind_of(doc: Json) -> DocumentKind:
    """Return the kind of a document by its keys; anything unknown is checked as an envelope."""
    if not isinstance(doc, dict):
        return "lafs"
    for kind, signs in _SIGNS:
        if any(sign in doc for sign in signs):
            return kind
    return "flags" if doc and doc.keys() <= FLAG_KEYS else "lafs"
