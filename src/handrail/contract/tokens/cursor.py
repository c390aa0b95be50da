"""Cursor tokens (`cu1`): a place in one list, valid for that list and for an hour. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract import catalogue
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json
from handrail.contract.tokens import sealed
from handrail.contract.tokens.workflow import unwrap

LIFETIME_SECONDS = 3600
LENGTH_LIMIT = 2048
"""LAFS section 8: `nextCursor` has at most this many characters."""

_PREFIX = "cu1"
_DOMAIN = "handrail.cursor"
_MAC_BYTES = 16
_AGAIN = "Repeat the query without the cursor to start from the first page."


class CursorClaims(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Continue this list after this item; the field names are those of the payload."""

    operation: str
    scope: str
    """Digest from `cursor_scope`: the filters and the order of the list."""
    after: tuple[str, ...]
    """Sort key of the last item that was sent, the id last."""
    expires_at: int


def cursor_scope(filters: dict[str, Json], sort: Sequence[str]) -> str:
    return sealed.scope_digest({"filters": filters, "sort": list(sort)})


def mint_cursor(key: bytes, claims: CursorClaims) -> str:
    content = canonical_bytes(msgspec.to_builtins(claims))
    text = _PREFIX + sealed.encode(content + sealed.sign(key, _DOMAIN, content, _MAC_BYTES))
    assert len(text) <= LENGTH_LIMIT, (
        "sort keys are short; an operation cuts a long title before sorting by it"
    )
    return text


def read_cursor(keys: Sequence[bytes], text: str, *, operation: str, scope: str, now: int) -> tuple[str, ...]:
    """Return the sort key to continue after.

    Raises: Fault INVALID_TOKEN if it is not one of our cursors, TOKEN_SCOPE_MISMATCH if it belongs
    to another list, TOKEN_EXPIRED after an hour.
    """
    payload = _open(keys, text)
    if payload is None:
        message = f"The cursor was not made here or was changed. {_AGAIN}"
        raise Fault(catalogue.INVALID_TOKEN, message, details={"token_kind": "cursor"}, hint=_AGAIN)
    if payload.operation != operation or payload.scope != scope:
        message = f"The cursor belongs to another query: operation, filters or order differ. {_AGAIN}"
        details: dict[str, Json] = {"token_kind": "cursor", "found": "a cursor of another query"}
        raise Fault(catalogue.TOKEN_SCOPE_MISMATCH, message, details=details, hint=_AGAIN)
    if now >= payload.expires_at:
        details = {"token_kind": "cursor", "expired_at": payload.expires_at}
        raise Fault(
            catalogue.TOKEN_EXPIRED, f"The cursor has expired. {_AGAIN}", details=details, hint=_AGAIN
        )
    return payload.after


def _open(keys: Sequence[bytes], text: str) -> CursorClaims | None:
    if len(text) > 2 * LENGTH_LIMIT:
        return None
    unwrapped = unwrap(text)
    if not unwrapped.startswith(_PREFIX):
        return None
    data = sealed.decode(unwrapped[len(_PREFIX) :])
    if data is None or len(data) <= _MAC_BYTES:
        return None
    content, given = data[:-_MAC_BYTES], data[-_MAC_BYTES:]
    return sealed.open_signed(keys, _DOMAIN, content, given, CursorClaims)
