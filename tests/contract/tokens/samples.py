"""One token of each workflow kind under a fixed key, made with OpenSSL and coreutils, not with our code.

printf 'handrail.token\\0ack\\0001\\0PAYLOAD' | openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY -binary |
base32 -w0 | tr 'A-Z2-7' '0-9a-hjkmnp-tv-z' | cut -c1-26
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.catalogue import Kind
from handrail.contract.ids import AttemptId, SessionId
from handrail.contract.outcome import Fault, failure_of
from handrail.contract.tokens.workflow import (
    AckClaims,
    CheckpointClaims,
    ChoiceClaims,
    Claims,
    StateClaims,
    TokenKind,
    WorkClaims,
)

KEY = bytes(range(32))
OTHER_KEY = bytes(range(32, 64))

SESSION = SessionId("ses_0123456789ab")
TAG = "cdefghjk"
ATTEMPT = AttemptId("mnpqrst")

TOKENS: dict[TokenKind, str] = {
    "state": "st10123456789abcdefghjke55a13f22w2zd2ebsc3kzrmrax",
    "ack": "ak10123456789abcdefghjkmnpqrste5ncf5qy7eev8ccjsg786ftdev",
    "checkpoint": "ck10123456789abcdefghjkmnpqrst71hagqg9eadhcy48fmyh1jkc9j",
    "choice": "ch10123456789abcdefghjkmnpqrs3pvn5pnb57dwy3hn7pf92bzs80f",
    "work": "wk10123456789abcdefghjkd32b7atptdrdy2pmxjwexmkyck",
}
CLAIMS: dict[TokenKind, Claims] = {
    "state": StateClaims(session_id=SESSION, node_tag=TAG),
    "ack": AckClaims(session_id=SESSION, node_tag=TAG, attempt_id=ATTEMPT),
    "checkpoint": CheckpointClaims(session_id=SESSION, node_tag=TAG, attempt_id=ATTEMPT),
    "choice": ChoiceClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("mnpqrs0"), option=3),
    "work": WorkClaims(session_id=SESSION, node_tag=TAG),
}
KINDS = tuple(TOKENS)
STATE, ACK, CHECKPOINT, CHOICE, WORK = TOKENS.values()


def check_refusal(raised: pytest.ExceptionInfo[Fault], kind: Kind, says: str, **details: Any) -> None:
    """The fault is of this kind, says this, has these details, and gives no token away."""
    fault = raised.value
    failure = failure_of(fault)
    shown = json.dumps([fault.message, fault.details, fault.hint])
    assert fault.kind is kind
    assert says in fault.message
    assert fault.details.items() >= details.items()
    assert failure.message[-1] == "."
    assert not any(token[10:40] in shown for token in TOKENS.values())
