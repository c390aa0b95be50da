"""Workflow tokens, strictly: what they say, how they are minted and when one verifies. Pure.

Text: prefix (3), session body (12), node tag (8), then for all but the state token an attempt (7),
then a MAC of 26 characters, which is 130 bits of HMAC-SHA256. Every part is a whole number of base32
characters, so a token has exactly one spelling.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Literal, TypeAlias, assert_never

import msgspec

from handrail.contract import base32
from handrail.contract.ids import (
    ATTEMPT_LENGTH,
    NODE_TAG_LENGTH,
    SESSION_BODY_LENGTH,
    SESSION_PREFIX,
    AttemptId,
    SessionId,
    is_session_id,
)

TokenKind: TypeAlias = Literal["state", "ack", "checkpoint", "choice"]

VERSION = 1
PREFIX_LENGTH = 3
MAC_LENGTH = 26
OPTION_LIMIT = 32
"""A choice step offers at most this many options: one base32 character."""

_TAG_START = PREFIX_LENGTH + SESSION_BODY_LENGTH
_ATTEMPT_START = _TAG_START + NODE_TAG_LENGTH
_ATTEMPT_END = _ATTEMPT_START + ATTEMPT_LENGTH
_UNCHOSEN = base32.ALPHABET[0]
"""Where a choice token carries its option, the attempt id of a choice step has this character."""

_MAC_BYTES = 17
_MAC_SPARE_BITS = _MAC_BYTES * 8 - MAC_LENGTH * 5
# int() reads base 32 as 0-9a-v; translating first makes decoding one call into C.
_TO_PYTHON_DIGITS = str.maketrans(base32.ALPHABET, "0123456789abcdefghijklmnopqrstuv")


class StateClaims(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands: enough to read, never enough to advance."""

    session_id: SessionId
    node_tag: str


class AckClaims(msgspec.Struct, frozen=True, kw_only=True):
    """One chance to acknowledge one node."""

    session_id: SessionId
    node_tag: str
    attempt_id: AttemptId


class CheckpointClaims(msgspec.Struct, frozen=True, kw_only=True):
    """One chance to save progress at one node."""

    session_id: SessionId
    node_tag: str
    attempt_id: AttemptId


class ChoiceClaims(msgspec.Struct, frozen=True, kw_only=True):
    """One chance to acknowledge one node with one of the offered options."""

    session_id: SessionId
    node_tag: str
    attempt_id: AttemptId
    option: int


Claims: TypeAlias = StateClaims | AckClaims | CheckpointClaims | ChoiceClaims


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """How the tokens of one kind are written."""

    kind: TokenKind
    prefix: str
    body_length: int
    """Characters before the MAC, prefix included."""
    field: str
    """The argument in which a caller passes this kind."""

    @property
    def length(self) -> int:
        return self.body_length + MAC_LENGTH

    @property
    def mac_domain(self) -> bytes:
        """What the MAC covers before the payload; keeps kinds and versions apart."""
        return f"handrail.token\0{self.kind}\0{VERSION}\0".encode()


LAYOUTS: dict[TokenKind, Layout] = {
    "state": Layout(kind="state", prefix="st1", body_length=_ATTEMPT_START, field="stateToken"),
    "ack": Layout(kind="ack", prefix="ak1", body_length=_ATTEMPT_END, field="ackToken"),
    "checkpoint": Layout(kind="checkpoint", prefix="ck1", body_length=_ATTEMPT_END, field="checkpointToken"),
    "choice": Layout(kind="choice", prefix="ch1", body_length=_ATTEMPT_END, field="ackToken"),
}
LAYOUT_BY_PREFIX = {layout.prefix: layout for layout in LAYOUTS.values()}


def mint(key: bytes, claims: Claims) -> str:
    layout = LAYOUTS[kind_of(claims)]
    body = layout.prefix + _payload(claims)
    return body + base32.of_digest(mac(key, layout, body), MAC_LENGTH)


def verify(keys: Sequence[bytes], text: str) -> tuple[Claims, int] | None:
    """The claims of a token in its canonical spelling and the index of its key, or None.

    Nothing of the payload is read before the MAC is known to be right.
    """
    layout = LAYOUT_BY_PREFIX.get(text[:PREFIX_LENGTH])
    if layout is None or len(text) != layout.length or not is_base32(text):
        return None
    body, given = text[: layout.body_length], mac_bytes(text[layout.body_length :])
    for index, key in enumerate(keys):
        if hmac.compare_digest(mac(key, layout, body), given):
            return _claims(layout.kind, body), index
    return None


def kind_of(claims: Claims) -> TokenKind:
    match claims:
        case StateClaims():
            return "state"
        case AckClaims():
            return "ack"
        case CheckpointClaims():
            return "checkpoint"
        case ChoiceClaims():
            return "choice"
        case never:
            assert_never(never)


def choice_attempt(attempt_id: AttemptId) -> AttemptId:
    """The attempt of a choice step: its last character is fixed, because the token puts the option there.

    All options of a step share the attempt, so only the first choice is recorded.
    """
    return AttemptId(attempt_id[:-1] + _UNCHOSEN)


def is_base32(text: str) -> bool:
    return not text.strip(base32.ALPHABET)


def mac(key: bytes, layout: Layout, body: str) -> bytes:
    """The 130 bits that end a token with this body, in 17 bytes whose last six bits are zero."""
    digest = hmac.digest(key, layout.mac_domain + body[PREFIX_LENGTH:].encode(), "sha256")
    last = digest[_MAC_BYTES - 1] >> _MAC_SPARE_BITS << _MAC_SPARE_BITS
    return digest[: _MAC_BYTES - 1] + bytes((last,))


def mac_bytes(characters: str) -> bytes:
    """The MAC that these 26 base32 characters spell, in 17 bytes."""
    number = int(characters.translate(_TO_PYTHON_DIGITS), 32)
    return (number << _MAC_SPARE_BITS).to_bytes(_MAC_BYTES, "big")


def _payload(claims: Claims) -> str:
    assert is_session_id(claims.session_id), "a token names its session by a session id"
    place = claims.session_id.removeprefix(SESSION_PREFIX) + _whole(claims.node_tag, NODE_TAG_LENGTH)
    match claims:
        case StateClaims():
            return place
        case AckClaims(attempt_id=attempt_id) | CheckpointClaims(attempt_id=attempt_id):
            return place + _whole(attempt_id, ATTEMPT_LENGTH)
        case ChoiceClaims(attempt_id=attempt_id, option=option):
            assert attempt_id[-1:] == _UNCHOSEN, "the attempt of a choice step comes from choice_attempt"
            assert 0 <= option < OPTION_LIMIT, "a choice step has at most 32 options"
            return place + _whole(attempt_id, ATTEMPT_LENGTH)[:-1] + base32.ALPHABET[option]
        case never:
            assert_never(never)


def _whole(part: str, length: int) -> str:
    assert len(part) == length, "a claim does not have the length of its place in the token"
    assert is_base32(part), "a claim is base32, like the token"
    return part


def _claims(kind: TokenKind, body: str) -> Claims:
    session_id = SessionId(SESSION_PREFIX + body[PREFIX_LENGTH:_TAG_START])
    node_tag = body[_TAG_START:_ATTEMPT_START]
    attempt_id = AttemptId(body[_ATTEMPT_START:])
    match kind:
        case "state":
            return StateClaims(session_id=session_id, node_tag=node_tag)
        case "ack":
            return AckClaims(session_id=session_id, node_tag=node_tag, attempt_id=attempt_id)
        case "checkpoint":
            return CheckpointClaims(session_id=session_id, node_tag=node_tag, attempt_id=attempt_id)
        case "choice":
            return ChoiceClaims(
                session_id=session_id,
                node_tag=node_tag,
                attempt_id=choice_attempt(attempt_id),
                option=base32.ALPHABET.index(body[-1]),
            )
        case never:
            assert_never(never)
