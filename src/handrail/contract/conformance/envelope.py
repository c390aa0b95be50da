"""The shape of the LAFS envelope, as its schema has it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.contract.catalogue import KINDS
from handrail.contract.conformance.report import SchemaError
from handrail.contract.conformance.rules import (
    ANY_ARRAY,
    ANY_OBJECT,
    Either,
    Finding,
    Items,
    Members,
    Null,
    Text,
    Truth,
    Whole,
    findings,
)
from handrail.contract.lafs_envelope import SCHEMA_URI
from handrail.contract.outcome import Json

LEVELS = ("minimal", "standard", "full", "custom")
TRANSPORTS = ("cli", "http", "grpc", "sdk")
CATEGORIES = tuple(sorted({kind.category for kind in KINDS.values()}))
AGENT_ACTIONS = tuple(sorted({kind.agent_action for kind in KINDS.values()}))

_VERSION = Text(pattern=re.compile(r"[0-9]+\.[0-9]+\.[0-9]+"))
_WARNING = Members(
    required={"code": Text(), "message": Text()},
    optional={"deprecated": Text(), "replacement": Text(), "removeBy": Text()},
)
_META = Members(
    required={
        "specVersion": _VERSION,
        "schemaVersion": _VERSION,
        "timestamp": Text(form="date-time"),
        "operation": Text(least=1, most=128),
        "requestId": Text(least=3, most=128),
        "transport": Text(choices=TRANSPORTS),
        "strict": Truth(),
        "mvi": Text(choices=LEVELS),
        "contextVersion": Whole(least=0),
    },
    optional={"sessionId": Text(least=1, most=256), "warnings": Items(of=_WARNING)},
    is_closed=True,
)
_ERROR = Members(
    required={
        "code": Text(pattern=re.compile(r"E_[A-Z0-9]+_[A-Z0-9_]+")),
        "message": Text(least=1, most=1024),
        "category": Text(choices=CATEGORIES),
        "retryable": Truth(),
        "retryAfterMs": Either(rules=(Whole(least=0), Null())),
        "details": ANY_OBJECT,
    },
    optional={
        "agentAction": Text(choices=AGENT_ACTIONS),
        "escalationRequired": Truth(),
        "suggestedAction": Text(most=512),
        "docUrl": Text(form="uri"),
    },
)
_PAGE = Members(
    required={"mode": Text(choices=("offset", "cursor", "none"))},
    optional={
        "limit": Whole(least=1, most=1000),
        "offset": Whole(least=0),
        "nextCursor": Either(rules=(Text(most=2048), Null())),
        "hasMore": Truth(),
        "total": Either(rules=(Whole(least=0), Null())),
    },
    is_closed=True,
)
_PAGE_NEEDS = {"cursor": ("nextCursor", "hasMore"), "offset": ("limit", "offset", "hasMore")}


def _envelope(*, is_closed: bool) -> Members:
    return Members(
        required={
            "$schema": Text(choices=(SCHEMA_URI,)),
            "_meta": _META,
            "success": Truth(),
            "result": Either(rules=(ANY_OBJECT, ANY_ARRAY, Null())),
        },
        optional={
            "error": Either(rules=(_ERROR, Null())),
            "page": Either(rules=(_PAGE, Null())),
            "_extensions": ANY_OBJECT,
        },
        is_closed=is_closed,
    )


_STRICT = _envelope(is_closed=True)
_LENIENT = _envelope(is_closed=False)


def envelope_findings(doc: Json) -> Iterator[Finding]:
    """Every rule of the envelope schema that the document breaks."""
    yield from findings(doc, _STRICT if _is_strict(doc) else _LENIENT)
    if isinstance(doc, dict):
        yield from _error_findings(doc)
        yield from _page_findings(doc.get("page"))


def _is_strict(doc: Json) -> bool:
    meta = doc.get("_meta") if isinstance(doc, dict) else None
    return isinstance(meta, dict) and meta.get("strict", True) is True


def _error_findings(doc: dict[str, Json]) -> Iterator[Finding]:
    """`error` belongs to a failure, and only to a failure."""
    error = doc.get("error")
    if doc.get("success") is True and isinstance(error, dict):
        message = "A success has no error; leave the key out."
        yield SchemaError(pointer="/error", rule="type", message=message)
    if doc.get("success") is False and "error" not in doc:
        yield SchemaError(pointer="/error", rule="required", message="A failure needs an error object.")
    if doc.get("success") is False and "error" in doc and error is None:
        yield SchemaError(pointer="/error", rule="type", message="The error of a failure cannot be null.")


def _page_findings(page: Json) -> Iterator[Finding]:
    """What each paging mode needs; what it must not have is a check of its own."""
    mode = page.get("mode") if isinstance(page, dict) else None
    for key in _PAGE_NEEDS.get(mode, ()) if isinstance(mode, str) else ():
        if key not in page:
            message = f"A page of mode {mode} needs {key}."
            yield SchemaError(pointer=f"/page/{key}", rule="required", message=message)
