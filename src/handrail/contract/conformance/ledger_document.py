"""The context ledger as a document: full, delta or summary (LAFS 8.1). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contract.conformance.profile import NamedCheck, Profile
from handrail.contract.conformance.report import Advisory
from handrail.contract.conformance.rules import (
    ANY_ARRAY,
    ANY_OBJECT,
    Finding,
    Items,
    Members,
    Text,
    Whole,
    findings,
)
from handrail.contract.ledger import checksum_next, checksum_start
from handrail.contract.outcome import Fault, Json

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
    """Every broken rule of the form that the document takes; its own keys say which one."""
    if isinstance(doc, dict) and "mode" in doc:
        return findings(doc, _DELTA)
    if isinstance(doc, dict) and "entryCount" in doc:
        return findings(doc, _SUMMARY)
    return findings(doc, _FULL)


def _versions_rise(doc: dict[str, Json]) -> str:
    """Filters and paging leave entries out, so versions may have gaps, but they never stand still."""
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
    """LAFS leaves the checksum to the producer; a whole ledger of ours can be recomputed."""
    entries = doc.get("entries", [])
    versions = [entry.get("version") for entry in entries]
    if not entries or versions != list(range(1, len(entries) + 1)) or doc.get("version") != len(entries):
        return
    if _chain(doc["ledgerId"], entries) != doc["checksum"]:
        detail = "The checksum is not the chain over these entries as Handrail computes it."
        yield Advisory(name="ledger_checksum", detail=detail)


def _chain(ledger_id: str, entries: list[Json]) -> str:
    """The checksum of the entries; empty when one of them has no canonical form."""
    try:
        checksum = checksum_start(ledger_id)
        for entry in entries:
            checksum = checksum_next(checksum, entry)
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
