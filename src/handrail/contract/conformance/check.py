"""The conformance checker: does a document, or a server, keep LAFS and the CLI contract. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.conformance.answers import CLI_DOCUMENT, ENVELOPE, FLAG_KEYS, Resolver, flag_profile
from handrail.contract.conformance.rules import (
    ANY_ARRAY,
    ANY_OBJECT,
    TIERS,
    Advisory,
    Check,
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
from handrail.contract.json.strict import decode_json
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


# A server: its documents, and how HTTP carries them

MOST_ANSWER_BYTES = 4_194_304
LAFS_MEDIA_TYPE = "application/vnd.lafs.envelope+json"
PROBLEM_TYPE = "application/problem+json"
_CARD_TYPES = ("application/json", "application/a2a+json")
_JSON_TYPES = ("application/json", LAFS_MEDIA_TYPE)
_NOT_JSON = "The answer is not JSON."


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request, and what came back. Header names are in lower case."""

    method: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class DiscoveryExchanges(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the address of a discovery document."""

    get: Exchange
    again: Exchange
    """The same with the tag of the first answer."""
    head: Exchange
    post: Exchange


def judge_discovery(asked: DiscoveryExchanges, tier: Tier) -> Report:
    """The document, and the rules of the address that it is served from."""
    get, tag = asked.get, asked.get.headers.get("etag", "")
    rows = (
        ("http_status", get.status == 200, f"GET answered with {get.status} instead of 200."),
        ("http_content_type", _media(get) == "application/json", f"The content type is {_media(get)!r}."),
        ("http_etag", len(tag) > 2 and tag[0] == tag[-1] == '"', "There is no quoted ETag."),
        (
            "http_not_modified",
            asked.again.status == 304 and not asked.again.body,
            f"GET with If-None-Match answered with {asked.again.status} instead of 304.",
        ),
        (
            "http_head",
            asked.head.status == get.status
            and not asked.head.body
            and asked.head.headers.get("etag", "") == tag,
            "HEAD does not answer as GET does, without a body.",
        ),
        (
            "http_method_refused",
            asked.post.status == 405 and "GET" in asked.post.headers.get("allow", ""),
            f"POST answered with {asked.post.status} instead of 405 with Allow.",
        ),
    )
    return _judge(get, "discovery", tier, rows)


def judge_envelope(asked: Exchange, tier: Tier) -> Report:
    """An envelope as HTTP carries it: media type, status and transport agree with what it says."""
    held = _members_of(_decode(asked))
    is_success = held.get("success") is True
    transport = _members_of(held.get("_meta")).get("transport")
    names_wait = isinstance(_members_of(held.get("error")).get("retryAfterMs"), int)
    rows = (
        ("http_content_type", _media(asked) in _JSON_TYPES, f"The content type is {_media(asked)!r}."),
        (
            "http_status_agrees",
            (200 <= asked.status < 300) == is_success,
            f"The status {asked.status} does not agree with success.",
        ),
        ("http_transport", transport in (None, "http"), f"_meta.transport is {transport!r}."),
        (
            "http_retry_after",
            not names_wait or "retry-after" in asked.headers,
            "The error says how long to wait, and there is no Retry-After.",
        ),
    )
    return _judge(asked, "lafs", tier, rows)


def judge_problem(asked: Exchange, tier: Tier) -> Report:
    """Problem details (RFC 9457), as a caller gets them that asks for no envelope."""
    document = _decode(asked)
    held = _members_of(document)
    rows = (
        ("http_content_type", _media(asked) == PROBLEM_TYPE, f"The content type is {_media(asked)!r}."),
        ("http_status", asked.status >= 400, f"An address that cannot exist answered with {asked.status}."),
        ("problem_status", held.get("status") == asked.status, "`status` is not the status of the answer."),
        *(
            (f"problem_{name}", isinstance(held.get(name), str), f"`{name}` is missing.")
            for name in ("type", "title")
        ),
    )
    checks = tuple(_own_checks(document, rows))
    failed = tuple(one.name for one in checks if not one.passed)
    return Report(source=asked.url, kind="problem", tier=tier, ok=not failed, checks=checks, failed=failed)


def judge_card(asked: Exchange, tier: Tier) -> Report:
    """The agent card, where it is served as JSON."""
    row = ("http_content_type", _media(asked) in _CARD_TYPES, f"The content type is {_media(asked)!r}.")
    return _judge(asked, "card", tier, (row,))


def first_operation(asked: Exchange) -> str:
    """The first operation that a discovery document names; empty where it names none."""
    offered = _members_of(_decode(asked)).get("capabilities")
    for one in offered if isinstance(offered, list) else ():
        named = _members_of(one).get("operations")
        if isinstance(named, list) and named and isinstance(named[0], str):
            return named[0]
    return ""


def is_envelope(asked: Exchange) -> bool:
    """Whether the answer claims to be a LAFS envelope; problem details and pages do not."""
    return _media(asked) == LAFS_MEDIA_TYPE or "_meta" in _members_of(_decode(asked))


def endpoints_of(asked: Exchange) -> Mapping[str, str]:
    """The addresses that a discovery document names; none where it cannot be read."""
    named = _members_of(_members_of(_decode(asked)).get("endpoints"))
    return {name: address for name, address in named.items() if isinstance(address, str)}


def _judge(asked: Exchange, kind: DocumentKind, tier: Tier, rows: Sequence[tuple[str, bool, str]]) -> Report:
    document = _decode(asked)
    judged = check(document, kind=kind, tier=tier, source=asked.url)
    own = tuple(_own_checks(document, rows))
    failed = tuple(one.name for one in own if one.passed is False)
    return msgspec.structs.replace(
        judged, ok=judged.ok and not failed, checks=(*own, *judged.checks), failed=(*failed, *judged.failed)
    )


def _own_checks(document: Json, rows: Sequence[tuple[str, bool, str]]) -> Iterator[Check]:
    is_json = document is not None
    yield Check(name="http_json", passed=is_json, detail="" if is_json else _NOT_JSON)
    for name, passed, why_not in rows:
        yield Check(name=name, passed=passed, detail="" if passed else why_not)


def _decode(asked: Exchange) -> Json:
    """The document; None where the body is no JSON."""
    try:
        return decode_json(asked.body, max_bytes=MOST_ANSWER_BYTES)
    except Fault:
        return None


def _media(asked: Exchange) -> str:
    return asked.headers.get("content-type", "").partition(";")[0].strip().lower()


def _members_of(value: Json) -> dict[str, Json]:
    """The members of an object; anything else has none."""
    return value if isinstance(value, dict) else {}
