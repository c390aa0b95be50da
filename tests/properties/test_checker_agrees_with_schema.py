"""Law: the hand-written checker and the published JSON Schemas judge the same documents the same way.

Thousands of mutated documents go through `jsonschema` with its format checker and through our walk; the
checks beyond shape are compared with a second, short statement of LAFS 12.1. Where the two may differ is
listed in `SETTLED`, with the reason, and each point has a document that shows it.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # the package ships no stubs

from handrail.contract.conformance.check import check
from handrail.contract.conformance.rules import Tier
from handrail.contract.outcome import Json
from tests.cases import every_case
from tests.contract.conformance.documents import (
    FAILURE,
    LEDGER,
    LEDGER_DELTA,
    LEDGER_SUMMARY,
    SUCCESS,
    Document,
    changed,
)

SCHEMAS = os.path.join(os.path.dirname(__file__), "..", "..", "schemas")
TIERS: tuple[Tier, ...] = ("core", "standard", "complete")
SEEDS = range(8)
DOCUMENTS_PER_SEED = 400

LENIENT = changed(changed(SUCCESS, "_meta.strict", False), "extra", 1)
WITH_LEDGER = changed(
    changed(SUCCESS, "_meta.contextVersion", 3),
    "_extensions",
    {"contextLedger": {"version": 3, "previousVersion": 2}, "lafsContextRequired": True},
)
STALE = changed(
    changed(FAILURE, "error.code", "E_CONTEXT_STALE"),
    "_extensions",
    {"context": {"required": True, "version": 0, "stale": True}},
)
ENVELOPES = (SUCCESS, FAILURE, LENIENT, WITH_LEDGER, STALE)
LEDGERS = (LEDGER, LEDGER_DELTA, LEDGER_SUMMARY)

VALUES: tuple[Json, ...] = (
    *(None, True, False, 0, 1, 2, 3, -1, 1000, 1001, 1.0, 1.5, -0.0, 10**20),
    *("", "a", "abc", "x" * 129, "x" * 257, "x" * 513, "x" * 1025, "x" * 2049),
    *(
        "1.0.0",
        "1.0",
        "01.2.3",
        "cli",
        "sdk",
        "http",
        "minimal",
        "custom",
        "cursor",
        "offset",
        "none",
        "delta",
    ),
    *("E_CONTEXT_MISSING", "E_CONTEXT_STALE", "E_OWN_CODE", "E_RATE_LIMITED", "AUTH", "MIGRATION", "wait"),
    *("2026-11-15T09:30:00Z", "2026-11-15T09:30:00.5+02:00", "2026-11-15T09:30:00", "2026-13-15T09:30:00Z"),
    *("https://example.org/x", "urn:a:b", "/relative", "no uri"),
    *([], [1], [{}], {}, {"a": 1}, {"required": True}, {"version": 3}, {"code": "W", "message": "m"}),
)
KEYS = (
    *("$schema", "_meta", "success", "result", "error", "page", "_extensions", "extra", "strict", "mvi"),
    *("sessionId", "warnings", "agentAction", "docUrl", "suggestedAction", "escalationRequired", "version"),
    *("mode", "limit", "offset", "nextCursor", "hasMore", "total", "entryCount", "checksum", "requestId"),
    *("contextLedger", "context", "lafsContextRequired", "required", "stale", "removedConstraints"),
)

CODES = ("E_OWN_CODE", "E_OWN_OTHER_CODE", "E_0_1", "E_CONTEXT_STALE", "E_CONTEXT_MISSING", "E_RATE_LIMITED")
# Changes that leave the shape right, or nearly so, and aim at one of the checks beyond it.
AIMED: tuple[tuple[str, Json], ...] = (
    *(("error.code", code) for code in CODES),
    *(("_meta.transport", transport) for transport in ("cli", "http", "grpc", "sdk")),
    *(("_meta.contextVersion", version) for version in (0, 1, 2, 3.0, 4)),
    ("_meta.sessionId", "ses_1"),
    ("_meta.strict", False),
    ("error", None),
    ("page", None),
    ("page", {"mode": "none"}),
    ("page", {"mode": "none", "total": 1}),
    ("page", {"mode": "cursor", "nextCursor": None, "hasMore": False}),
    ("page.offset", 0),
    ("page", {"mode": "offset", "limit": 5, "offset": 0, "hasMore": True}),
    ("page", {"mode": "offset", "limit": 5, "offset": 0, "hasMore": True, "nextCursor": None}),
    ("_extensions", {}),
    ("_extensions", {"lafsContextRequired": True}),
    ("_extensions", {"lafs": {"contextRequired": True}}),
    ("_extensions", {"context": {"required": True, "version": 0}}),
    ("_extensions.contextLedger", {"version": 3}),
    ("_extensions.contextLedger", {"version": 0}),
    ("_extensions.contextLedger", []),
    ("_extensions.contextLedger", "text"),
    ("_extensions.contextLedger", None),
    ("_extensions.contextLedger", {"version": 0, "required": True}),
    ("_extensions.contextLedger", {"version": 0, "required": True, "stale": True}),
    ("_extensions.contextLedger", {"version": 3, "previousVersion": 4}),
    ("_extensions.contextLedger", {"version": 3, "removedConstraints": ["c"]}),
    ("_extensions.contextLedger", {"version": 0, "removedConstraints": ["c"]}),
)


def validator(name: str) -> Draft202012Validator:
    with open(os.path.join(SCHEMAS, f"{name}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


REACHED = {
    *("nothing", "envelope_schema_valid", "error_code_registered", "transport_mapping_consistent"),
    *("strict_mode_behavior", "pagination_mode_consistent"),
    *("context_mutation_failure", "context_preservation_valid"),
}
"""The other checks cannot fail on a document of the right shape."""

ENVELOPE_SCHEMA = validator("lafs-envelope")
LEDGER_SCHEMA = validator("context-ledger")


def holders(value: Json) -> Iterator[dict[str, Json] | list[Json]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from holders(inner)
    elif isinstance(value, list):
        yield value
        for inner in value:
            yield from holders(inner)


def mutate(document: Document, chance: random.Random) -> Document:
    """One to three random changes: a value replaced, a key removed, a key added."""
    mutant = deepcopy(document)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        holder = chance.choice(list(holders(mutant)))
        value = deepcopy(chance.choice(VALUES))
        if isinstance(holder, list):
            if holder and chance.random() < 0.7:
                holder[chance.randrange(len(holder))] = value
            else:
                holder.append(value)
            continue
        action = chance.choice(("replace", "replace", "remove", "add"))
        if action == "add" or not holder:
            holder[chance.choice(KEYS)] = value
        elif action == "remove":
            del holder[chance.choice(list(holder))]
        else:
            holder[chance.choice(list(holder))] = value
    return mutant


def aim(document: Document, chance: random.Random) -> Document:
    for path, value in chance.sample(AIMED, chance.choice((1, 1, 2, 3))):
        if isinstance(document.get(path.split(".")[0], {}), dict):
            document = changed(document, path, value)
    return document


def mutants(
    bases: tuple[Document, ...], seed: int, *ways: Callable[[Document, random.Random], Document]
) -> Iterator[Document]:
    chance = random.Random(seed)
    for _ in range(DOCUMENTS_PER_SEED):
        yield chance.choice(ways)(chance.choice(bases), chance)


def failures_by_hand(document: Document, tier: Tier) -> list[str]:
    """LAFS 12.1 beyond shape, stated a second time for documents whose shape is right."""
    meta, error, page = document["_meta"], document.get("error"), document.get("page")
    extensions = document.get("_extensions") or {}
    code = error["code"] if error else None
    registered = {
        *("E_FORMAT_CONFLICT", "E_FIELD_CONFLICT", "E_CONTEXT_MISSING", "E_CONTEXT_STALE"),
        *("E_VALIDATION_SCHEMA", "E_DISCLOSURE_UNKNOWN_FIELD", "E_MVI_BUDGET_EXCEEDED"),
        *("E_NOT_FOUND_RESOURCE", "E_CONFLICT_VERSION", "E_RATE_LIMITED", "E_TRANSIENT_UPSTREAM"),
        *("E_INTERNAL_UNEXPECTED", "E_MIGRATION_UNSUPPORTED_VERSION"),
    }
    unregistered = code is not None and code not in registered
    nulls = [key for key in ("error", "page") if key in document and document[key] is None]
    failed = {
        "error_code_registered": unregistered,
        "transport_mapping_consistent": unregistered and meta["transport"] != "sdk" and tier != "core",
        "strict_mode_behavior": bool(meta["strict"] and nulls) and tier != "core",
        "pagination_mode_consistent": page is not None and mixes_modes(page) and tier != "core",
        "context_mutation_failure": tier == "complete" and loses_context(document, extensions, code),
        "context_preservation_valid": tier == "complete" and breaks_ledger(document, extensions, code),
    }
    return [name for name, is_failed in failed.items() if is_failed]


def mixes_modes(page: Document) -> bool:
    return bool(
        set(page)
        & {
            "cursor": {"offset"},
            "offset": {"nextCursor"},
            "none": {"limit", "offset", "nextCursor", "hasMore", "total"},
        }[page["mode"]]
    )


def member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def loses_context(document: Document, extensions: Document, code: str | None) -> bool:
    claims = [
        extensions.get("lafsContextRequired"),
        member(extensions.get("context"), "required"),
        member(extensions.get("lafs"), "contextRequired"),
    ]
    if not any(claim is True for claim in claims):
        return False
    if document["success"]:
        return not (document["_meta"]["contextVersion"] > 0 or document["_meta"].get("sessionId"))
    return code not in ("E_CONTEXT_MISSING", "E_CONTEXT_STALE")


def breaks_ledger(document: Document, extensions: Document, code: str | None) -> bool:
    ledger = extensions.get("contextLedger")
    ledger = extensions.get("context") if ledger is None else ledger
    if not isinstance(ledger, dict | list):
        return False
    version, previous = member(ledger, "version"), member(ledger, "previousVersion")
    if type(version) not in (int, float) or version != document["_meta"]["contextVersion"]:
        return True
    if type(previous) in (int, float) and version < previous:
        return True
    removed = member(ledger, "removedConstraints")
    if document["success"]:
        return isinstance(removed, list) and len(removed) > 0
    if member(ledger, "required") is not True:
        return False
    if member(ledger, "stale") is True:
        return code != "E_CONTEXT_STALE"
    return code not in ("E_CONTEXT_STALE", "E_CONTEXT_MISSING")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS)
def test_envelopes_are_judged_alike_at_every_tier(seed: int) -> None:
    failed: Counter[str] = Counter()
    for document in mutants(ENVELOPES, seed, mutate, aim):
        expected = ["envelope_schema_valid"] if not ENVELOPE_SCHEMA.is_valid(document) else []
        for tier in TIERS:
            report = check(document, kind="lafs", tier=tier)
            wanted = expected or failures_by_hand(document, tier)
            assert list(report.failed) == wanted, (seed, document, report)
            assert report.ok is (not wanted)
            failed.update(wanted or ["nothing"])

    assert set(failed) == REACHED, "the mutations must reach every check that can fail"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS)
def test_ledgers_are_judged_alike_by_the_schema(seed: int) -> None:
    verdicts = set()
    for document in mutants(LEDGERS, seed, mutate):
        report = check(document, kind="ledger")
        is_valid = "ledger_schema_valid" not in report.failed
        assert is_valid == LEDGER_SCHEMA.is_valid(document), (seed, document, report)
        verdicts.add(is_valid)

    assert verdicts == {True, False}


@every_case("document", [*ENVELOPES])
def test_the_untouched_envelopes_are_valid(document: Document) -> None:
    assert ENVELOPE_SCHEMA.is_valid(document)
    assert check(document, kind="lafs").schema_errors == ()


def test_the_format_checker_really_checks_times_and_addresses() -> None:
    """`jsonschema` skips both silently when their validators are not installed."""
    assert not ENVELOPE_SCHEMA.is_valid(changed(SUCCESS, "_meta.timestamp", "not-a-date"))
    assert not ENVELOPE_SCHEMA.is_valid(changed(FAILURE, "error.docUrl", "not a uri"))


SETTLED: dict[str, tuple[Document, bool, Callable[[Document], bool]]] = {
    # reason: (document, what the checker says, what jsonschema says)
    "Python's $ also matches before a final newline; ECMAScript's, which JSON Schema means, does not": (
        changed(SUCCESS, "_meta.specVersion", "1.0.0\n"),
        False,
        ENVELOPE_SCHEMA.is_valid,
    ),
    "the reference checker takes a space as separator": (
        changed(SUCCESS, "_meta.timestamp", "2026-11-15 09:30:00Z"),
        True,
        lambda document: not ENVELOPE_SCHEMA.is_valid(document),
    ),
    "RFC 3339 has leap seconds, and the reference checker takes them; rfc3339-validator does not": (
        changed(SUCCESS, "_meta.timestamp", "2026-12-31T23:59:60Z"),
        True,
        lambda document: not ENVELOPE_SCHEMA.is_valid(document),
    ),
    "the reference checker takes an offset without a colon": (
        changed(SUCCESS, "_meta.timestamp", "2026-11-15T09:30:00+0000"),
        True,
        lambda document: not ENVELOPE_SCHEMA.is_valid(document),
    ),
    "what stands between the brackets of an IP literal is not looked into": (
        changed(FAILURE, "error.docUrl", "http://[zz::1]/"),
        True,
        lambda document: not ENVELOPE_SCHEMA.is_valid(document),
    ),
}


@every_case("reason", SETTLED)
def test_the_settled_points_are_the_only_differences(reason: str) -> None:
    document, is_accepted, by_the_schema = SETTLED[reason]

    assert (check(document, kind="lafs").schema_errors == ()) is is_accepted
    assert by_the_schema(document), "the point is settled no more; remove it"
