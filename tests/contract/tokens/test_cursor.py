"""Cursor tokens: one list, one hour, no changes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import msgspec
import pytest

from handrail.contract import catalogue
from handrail.contract.outcome import Fault
from handrail.contract.tokens.cursor import (
    LENGTH_LIMIT,
    LIFETIME_SECONDS,
    CursorClaims,
    cursor_scope,
    mint_cursor,
    read_cursor,
)
from tests.contract.tokens.samples import KEY, OTHER_KEY, check_refusal

NOW = 1_763_200_000
SCOPE = cursor_scope({"status": "open", "limit": 2}, ["last_activity", "id"])
CLAIMS = CursorClaims(
    operation="session.list", scope=SCOPE, after=("0042", "ses_é"), expires_at=NOW + LIFETIME_SECONDS
)
CURSOR = mint_cursor(KEY, CLAIMS)


def read(
    text: str, *, keys: tuple[bytes, ...] = (KEY,), scope: str = SCOPE, now: int = NOW
) -> tuple[str, ...]:
    return read_cursor(keys, text, operation="session.list", scope=scope, now=now)


def test_a_cursor_is_a_payload_and_its_mac_in_base64url() -> None:
    data = base64.urlsafe_b64decode(CURSOR[3:] + "=" * (-len(CURSOR[3:]) % 4))
    payload, mac = data[:-16], data[-16:]

    assert CURSOR.startswith("cu1")
    assert json.loads(payload) == {
        "after": ["0042", "ses_é"],
        "expires_at": NOW + 3600,
        "operation": "session.list",
        "scope": SCOPE,
    }
    assert mac == hmac.new(KEY, b"handrail.cursor\0" + payload, hashlib.sha256).digest()[:16]


@pytest.mark.parametrize(
    "text", [f'"{CURSOR}"', f" {CURSOR}\n", f"`{CURSOR}`,", f"{CURSOR[:40]}\n{CURSOR[40:]}"]
)
def test_wrapping_is_forgiven(text: str) -> None:
    assert read(text) == ("0042", "ses_é")


def test_the_previous_key_still_reads() -> None:
    assert read(CURSOR, keys=(OTHER_KEY, KEY)) == ("0042", "ses_é")


def test_a_signed_payload_of_another_shape_is_invalid() -> None:
    payload = b'{"after":"0042"}'
    mac = hmac.new(KEY, b"handrail.cursor\0" + payload, hashlib.sha256).digest()[:16]
    text = "cu1" + base64.urlsafe_b64encode(payload + mac).decode().rstrip("=")

    with pytest.raises(Fault) as raised:
        read(text)

    check_refusal(raised, catalogue.INVALID_TOKEN, "Repeat the query")


def test_the_scope_is_the_filters_and_the_order() -> None:
    scopes = {
        cursor_scope({}, []),
        cursor_scope({"status": "open"}, ["id"]),
        cursor_scope({"status": "done"}, ["id"]),
        cursor_scope({"status": "open"}, ["name", "id"]),
        cursor_scope({"status": "open"}, ["id", "name"]),
    }

    assert len(scopes) == 5
    assert cursor_scope({"a": 1, "b": 2}, ["id"]) == cursor_scope({"b": 2, "a": 1}, ["id"])


def test_cursor_has_at_most_2048_characters() -> None:
    fits = mint_cursor(KEY, msgspec.structs.replace(CLAIMS, after=("x" * 1300, "ses_1")))

    assert len(fits) <= LENGTH_LIMIT
    with pytest.raises(AssertionError):
        mint_cursor(KEY, msgspec.structs.replace(CLAIMS, after=("x" * 1500, "ses_1")))
