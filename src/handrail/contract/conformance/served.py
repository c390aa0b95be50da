"""Does a server keep the response contract: its documents, and how HTTP carries them. Pure.

It judges exchanges that somebody else made, so it can judge any server, and every rule without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from handrail.contract.conformance.check import check
from handrail.contract.conformance.rules import Check, DocumentKind, Report, Tier
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json

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
    document = _decode(asked)
    meta = document.get("_meta") if isinstance(document, dict) else None
    is_success = isinstance(document, dict) and document.get("success") is True
    transport = meta.get("transport") if isinstance(meta, dict) else None
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
            not _names_wait(document) or "retry-after" in asked.headers,
            "The error says how long to wait, and there is no Retry-After.",
        ),
    )
    return _judge(asked, "lafs", tier, rows)


def judge_problem(asked: Exchange, tier: Tier) -> Report:
    """Problem details (RFC 9457), as a caller gets them that asks for no envelope."""
    document = _decode(asked)
    held = document if isinstance(document, dict) else {}
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
    document = _decode(asked)
    offered = document.get("capabilities") if isinstance(document, dict) else None
    for one in offered if isinstance(offered, list) else ():
        named = one.get("operations") if isinstance(one, dict) else None
        if isinstance(named, list) and named and isinstance(named[0], str):
            return named[0]
    return ""


def is_envelope(asked: Exchange) -> bool:
    """Whether the answer claims to be a LAFS envelope; problem details and pages do not."""
    document = _decode(asked)
    return _media(asked) == LAFS_MEDIA_TYPE or (isinstance(document, dict) and "_meta" in document)


def endpoints_of(asked: Exchange) -> Mapping[str, str]:
    """The addresses that a discovery document names; none where it cannot be read."""
    document = _decode(asked)
    named = document.get("endpoints") if isinstance(document, dict) else None
    return {} if not isinstance(named, dict) else {k: v for k, v in named.items() if isinstance(v, str)}


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


def _names_wait(document: Json) -> bool:
    error = document.get("error") if isinstance(document, dict) else None
    return isinstance(error, dict) and isinstance(error.get("retryAfterMs"), int)
