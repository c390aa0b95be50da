"""The payload of a continuation token in few bytes: every character of a token is read and written. Pure.

In front stand the version, which of the digests follow, the time of issue, and those digests as bytes. The
rest is the JSON of CONT 2.2 without what is usual, deflated against a dictionary of the words that such
payloads are made of, so that a token spends its characters on the names and places that it is about.

The dictionary and the lengths are part of the format: whoever changes one of them raises `VERSION`, which is
also in the key, so that tokens of another version are refused and never misread.
"""

from __future__ import annotations

import zlib
from typing import Any, Final, TypeAlias

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json

VERSION = 2
INFLATED_LIMIT = 64 * 1024
"""Largest size of an inflated payload; a larger one is not ours."""
_USUAL_SECONDS = 3600
"""Default lifetime, which a token does not state."""

Document: TypeAlias = dict[str, Any]

_USUAL: Final[dict[str, Json]] = {
    "ttl_seconds": _USUAL_SECONDS,
    "replayable": True,
    "idempotent": True,
    "file_safe": True,
}
_TIME_BYTES = 4
_DIGESTS: Final = (
    ("results_digest", "sha256:", 16),
    ("source_token", "sha256:", 8),
    ("request_id", "req_", 6),
)
"""Bytes of each digest that are carried: 128 bits decide whether results are equal, the others only
identify.
"""
_RAW = -15
_PARAMETERS = (
    *(
        '"changes":[{"',
        '"deps":"',
        '"outline":"',
        '"depth":',
        '"down":true',
        '"exported":true',
        '"text":true',
    ),
    *('"hash":["', '"names":["', '"kind":["function","class","method","variable","type"]'),
    *(
        '"limit":',
        '"offset":',
        '"span":"',
        '"with_text":"',
        '"extract":"',
        '"move":"',
        '"rename":"',
        '"replace":"',
    ),
    *('"to":"', '"to_module":"lib/index.js"', '"scope":"src/', ".tsx#", ".py#", ".ts#", ".js#", "test/"),
)
_ACTIONS = (
    ("show", "Show this step again"),
    ("again", "Make the preview again"),
    ("choice:yes", "Go on"),
    ("outline", "The rest of the file"),
    ("outline", "Its definitions"),
    ("more", "Next results"),
    ("back", "Back to the search"),
    ("context", "Show its text"),
    ("replace_preview", "Preview another text; add --with-file FILE"),
    ("move_preview", "Preview moving all; add --to-module FILE"),
    ("extract_preview", "Preview modules of their own"),
    ("extract_preview", "Preview a module of its own"),
    ("move_preview", "Preview a move; add --to-module FILE"),
    ("rename_preview", "Preview a rename; add --to NEW"),
    ("cancel", "Leave everything as it is"),
    ("show_diff", "Show the full diff"),
    ("analyze", "Analyze it"),
    ("trace", "Trace its callers"),
    ("ripple", "See what may break"),
    ("ripple:0", "See what match #1 may break"),
    ("trace:0", "Trace callers of match #1"),
)
_BEGINNINGS = (
    '{"action":"outline","command":"workflow",',
    '{"action":"deps","command":"js-scan",',
    '{"action":"rename_preview","command":"js-edit","metadata":{"file_safe":true,"idempotent":false,'
    '"replayable":false,"ttl_seconds":3600},"next_actions":[{"guard":true,"id":"apply",'
    '"label":"Write it; add --fix"}],"parameters":{"file":"',
    '{"action":"trace","command":"js-scan","next_actions":[{"id":"back"',
    '{"action":"ripple","command":"js-scan","next_actions":[{"id":"analyze"',
    '{"action":"analyze","command":"js-scan","next_actions":[{"id":"ripple"',
    '{"action":"locate","command":"js-edit","next_actions":[{"id":"rename_preview"',
    '{"action":"locate","command":"js-edit","next_actions":[{"id":"locate:0",'
    '"label":"Locate it with js-edit, to edit it"}],"parameters":{"file":"","locate":"","target":"',
    '{"action":"search","command":"js-scan","next_actions":[{"id":"analyze:0",'
    '"label":"Analyze match #1"}],"parameters":{"search":"","target":"',
)
_WORDS = "".join(
    (
        *_PARAMETERS,
        *(f'[{{"id":"{name}","label":"{label}"}}],"parameters":{{"file":"' for name, label in _ACTIONS),
        *_BEGINNINGS,
    )
).encode()
"""The dictionary. Deflate encodes words near its end in the fewest bits."""


def pack(document: Document) -> bytes:
    """Return the bytes of a whole payload as CONT 2.2 defines it."""
    rest = {name: value for name, value in document.items() if name not in ("version", "issued_at")}
    context = dict(rest.pop("context"))
    flags, digests = 0, b""
    for at, (name, prefix, length) in enumerate(_DIGESTS):
        value = _read_hex(context.get(name, ""), prefix, length)
        if value is not None:
            flags |= 1 << at
            digests += value
            del context[name]
    issued = document["issued_at"]
    if rest["expires_at"] == issued + _USUAL_SECONDS:
        del rest["expires_at"]
    if rest["metadata"] == _USUAL:
        del rest["metadata"]
    if context:
        rest["context"] = context
    deflater = zlib.compressobj(9, zlib.DEFLATED, _RAW, 9, zlib.Z_DEFAULT_STRATEGY, _WORDS)
    body = deflater.compress(canonical_bytes(rest)) + deflater.flush()
    head = bytes((VERSION, flags)) + int(issued).to_bytes(_TIME_BYTES, "big")
    return head + digests + body


def unpack(payload: bytes, *, has_more: bool = False) -> Document | None:
    """Return the whole payload, with digests as long as they were carried; None for anything else.

    With `has_more` other bytes may follow it.
    """
    if len(payload) <= 2 + _TIME_BYTES or payload[0] != VERSION or payload[1] >> len(_DIGESTS):
        return None
    issued = int.from_bytes(payload[2 : 2 + _TIME_BYTES], "big")
    at = 2 + _TIME_BYTES
    context: dict[str, Json] = {}
    for number, (name, prefix, length) in enumerate(_DIGESTS):
        if payload[1] >> number & 1:
            context[name] = prefix + payload[at : at + length].hex()
            at += length
    text = _inflate(payload[at:], has_more=has_more)
    if text is None:
        return None
    try:
        rest = msgspec.json.decode(text, type=dict[str, Any])
        context.update(rest.pop("context", {}))
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError):
        return None
    usual = {"expires_at": issued + _USUAL_SECONDS, "metadata": _USUAL}
    return {**usual, **rest, "version": VERSION, "issued_at": issued, "context": context}


def _read_hex(text: str, prefix: str, length: int) -> bytes | None:
    """Return the first bytes of a digest; None if there is none, or if it would not be read back
    unchanged.
    """
    digits = text.removeprefix(prefix)
    if digits == text or len(digits) < 2 * length or digits.strip("0123456789abcdef"):
        return None
    return bytes.fromhex(digits[: 2 * length])


def _inflate(body: bytes, *, has_more: bool) -> bytes | None:
    inflater = zlib.decompressobj(_RAW, _WORDS)
    try:
        text = inflater.decompress(body, INFLATED_LIMIT)
    except zlib.error:
        return None
    return text if inflater.eof and (has_more or not inflater.unused_data) else None
