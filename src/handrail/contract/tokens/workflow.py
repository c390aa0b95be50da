"""Workflow tokens: their keys, how they are minted and verified, and how a pasted text is cleaned. Pure.

A token is a prefix (3 characters), a session body (12), a node tag (8), for all but state and work tokens an
attempt (7), and a MAC (26), which is 130 bits of HMAC-SHA256. Every part is a whole number of base32
characters, so a token has exactly one spelling.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract import ids
from handrail.contract.ids import (
    ATTEMPT_LENGTH,
    NODE_TAG_LENGTH,
    SESSION_BODY_LENGTH,
    SESSION_PREFIX,
    AttemptId,
    SessionId,
    is_session_id,
)

# Purpose keys: derived from a ring key (HKDF-SHA256, RFC 5869), so no key serves two purposes

KEY_LENGTH = 32
"""Bytes of a ring key and of every key derived from it."""

WORKFLOW = "workflow"
CURSOR = "cursor"
CONFIRM = "confirm"

_RING_SALT = b"handrail.keyring"
_SECRET_SALT = b"handrail.secret"


def purpose_key(ring_key: bytes, purpose: str) -> bytes:
    """Return the key of one purpose; it reveals nothing about the ring key or another purpose."""
    assert len(ring_key) == KEY_LENGTH, "a ring key has 32 bytes"
    assert purpose, "a purpose key needs a purpose"
    return hkdf_sha256(ring_key, _RING_SALT, purpose.encode())


def continuation_purpose(repo_root_digest: str, version: int) -> str:
    """Return the purpose that binds continuation tokens to one checkout and one token version (CONT 2.3)."""
    return f"continuation:{repo_root_digest}:{version}"


def ring_key_of_secret(secret: bytes) -> bytes:
    """Return the ring key that an external secret of any length stands for."""
    return hkdf_sha256(secret, _SECRET_SALT, b"ring")


def hkdf_sha256(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """Return the first block of HKDF (RFC 5869, extract then expand), which is a key."""
    # HMAC pads a short key with zeros, so an empty salt is the RFC's default salt.
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\1", "sha256")


# Minting and verifying, strictly

TokenKind: TypeAlias = Literal["state", "ack", "checkpoint", "choice", "work"]

VERSION = 1
PREFIX_LENGTH = 3
MAC_LENGTH = 26
OPTION_LIMIT = 32
"""Most options of a choice step: one base32 character."""

_TAG_START = PREFIX_LENGTH + SESSION_BODY_LENGTH
_ATTEMPT_START = _TAG_START + NODE_TAG_LENGTH
_ATTEMPT_END = _ATTEMPT_START + ATTEMPT_LENGTH
_UNCHOSEN = ids.ALPHABET[0]
"""The attempt id of a choice step has this character in the place that carries the option in a token."""

_MAC_BYTES = 17
_MAC_SPARE_BITS = _MAC_BYTES * 8 - MAC_LENGTH * 5
# int() reads base 32 as 0-9a-v; translating first makes decoding one call into C.
_TO_PYTHON_DIGITS = str.maketrans(ids.ALPHABET, "0123456789abcdefghijklmnopqrstuv")


class StateClaims(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a run: enough to read, never enough to advance."""

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


class WorkClaims(msgspec.Struct, frozen=True, kw_only=True):
    """A delegated run, by its first node: the token leads to its present step, wherever that is."""

    session_id: SessionId
    node_tag: str


Claims: TypeAlias = StateClaims | AckClaims | CheckpointClaims | ChoiceClaims | WorkClaims


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """How the tokens of one kind are written."""

    kind: TokenKind
    prefix: str
    body_length: int
    """Characters before the MAC, including the prefix."""
    field: str
    """The argument in which a caller passes this kind."""

    @property
    def length(self) -> int:
        return self.body_length + MAC_LENGTH

    @property
    def mac_domain(self) -> bytes:
        """Return what the MAC covers before the payload; it separates kinds and versions."""
        return f"handrail.token\0{self.kind}\0{VERSION}\0".encode()


LAYOUTS: dict[TokenKind, Layout] = {
    "state": Layout(kind="state", prefix="st1", body_length=_ATTEMPT_START, field="stateToken"),
    "ack": Layout(kind="ack", prefix="ak1", body_length=_ATTEMPT_END, field="ackToken"),
    "checkpoint": Layout(kind="checkpoint", prefix="ck1", body_length=_ATTEMPT_END, field="checkpointToken"),
    "choice": Layout(kind="choice", prefix="ch1", body_length=_ATTEMPT_END, field="ackToken"),
    "work": Layout(kind="work", prefix="wk1", body_length=_ATTEMPT_START, field="stateToken"),
}
LAYOUT_BY_PREFIX = {layout.prefix: layout for layout in LAYOUTS.values()}


def mint(key: bytes, claims: Claims) -> str:
    layout = LAYOUTS[kind_of(claims)]
    body = layout.prefix + _payload(claims)
    return body + ids.encode_digest(mac(key, layout, body), MAC_LENGTH)


def verify(keys: Sequence[bytes], text: str) -> Claims | None:
    """Return the claims of a token in its canonical spelling, or None.

    Nothing of the payload is read before the MAC is known to be right.
    """
    layout = LAYOUT_BY_PREFIX.get(text[:PREFIX_LENGTH])
    if layout is None or len(text) != layout.length or not is_base32(text):
        return None
    body, given = text[: layout.body_length], mac_bytes(text[layout.body_length :])
    if any(hmac.compare_digest(mac(key, layout, body), given) for key in keys):
        return _claims(layout.kind, body)
    return None


_CLAIMS: dict[TokenKind, type[Claims]] = {
    "state": StateClaims,
    "ack": AckClaims,
    "checkpoint": CheckpointClaims,
    "choice": ChoiceClaims,
    "work": WorkClaims,
}
_KINDS = {claims: kind for kind, claims in _CLAIMS.items()}


def kind_of(claims: Claims) -> TokenKind:
    return _KINDS[type(claims)]


def choice_attempt(attempt_id: AttemptId) -> AttemptId:
    """Return the attempt of a choice step. Its last character is fixed, because the token puts the option
    there.

    All options of a step share the attempt, so only the first choice is recorded.
    """
    return AttemptId(attempt_id[:-1] + _UNCHOSEN)


def is_base32(text: str) -> bool:
    return not text.strip(ids.ALPHABET)


def mac(key: bytes, layout: Layout, body: str) -> bytes:
    """Return the 130 bits that end a token with this body, in 17 bytes whose last six bits are zero."""
    digest = hmac.digest(key, layout.mac_domain + body[PREFIX_LENGTH:].encode(), "sha256")
    last = digest[_MAC_BYTES - 1] >> _MAC_SPARE_BITS << _MAC_SPARE_BITS
    return digest[: _MAC_BYTES - 1] + bytes((last,))


def mac_bytes(characters: str) -> bytes:
    """Return the MAC that these 26 base32 characters spell, in 17 bytes."""
    number = int(characters.translate(_TO_PYTHON_DIGITS), 32)
    return (number << _MAC_SPARE_BITS).to_bytes(_MAC_BYTES, "big")


def _payload(claims: Claims) -> str:
    assert is_session_id(claims.session_id), "a token names its session by a session id"
    place = claims.session_id.removeprefix(SESSION_PREFIX) + _whole(claims.node_tag, NODE_TAG_LENGTH)
    if isinstance(claims, StateClaims | WorkClaims):
        return place
    attempt_id = _whole(claims.attempt_id, ATTEMPT_LENGTH)
    if not isinstance(claims, ChoiceClaims):
        return place + attempt_id
    assert attempt_id[-1] == _UNCHOSEN, "the attempt of a choice step comes from choice_attempt"
    assert 0 <= claims.option < OPTION_LIMIT, "a choice step has at most 32 options"
    return place + attempt_id[:-1] + ids.ALPHABET[claims.option]


def _whole(part: str, length: int) -> str:
    assert len(part) == length, "a claim does not have the length of its place in the token"
    assert is_base32(part), "a claim is base32, like the token"
    return part


def _claims(kind: TokenKind, body: str) -> Claims:
    attempt_id = AttemptId(body[_ATTEMPT_START:])
    held: dict[str, Any] = {
        "session_id": SessionId(SESSION_PREFIX + body[PREFIX_LENGTH:_TAG_START]),
        "node_tag": body[_TAG_START:_ATTEMPT_START],
    }
    if kind == "choice":
        held |= {"attempt_id": choice_attempt(attempt_id), "option": ids.ALPHABET.index(body[-1])}
    elif attempt_id:
        held["attempt_id"] = attempt_id
    return _CLAIMS[kind](**held)


# Cleaning: labels, quotes, punctuation and line breaks around a token

INPUT_LIMIT = 1024
"""Longest input; longer ones are rejected unread. Four tokens in a JSON object need about 350."""

BAD_CHARACTER = "?"
"""Replaces any character that is not base32, so that cleaned text is ASCII."""

# fmt: off
_LABELS = frozenset({
    "ack", "acktoken", "and", "checkpoint", "checkpointtoken", "choice", "choicetoken", "is", "my", "retry",
    "retryack", "retryacktoken", "session", "sessiontoken", "state", "statetoken", "the", "token", "tokens",
    "work", "worktoken", "your",
})
# fmt: on
_LABELS_IN_A_ROW = 6
_SHORTEST_LABEL = 3
_ESCAPES = ("\\n", "\\r", "\\t")
_INVISIBLE = dict.fromkeys(
    (
        *(0x00AD, 0x034F, 0x061C, 0x180E, 0xFEFF),
        *range(0x200B, 0x2010),  # zero width, direction marks
        *range(0x202A, 0x202F),  # direction embeddings
        *range(0x2060, 0x2070),  # word joiner, isolates
        *range(0xFE00, 0xFE10),  # variation selectors
    )
)


def clean(text: str) -> str:
    """Return the token as it was meant: no label, no wrapping, lower case, look-alikes folded.

    Only the outside is stripped, and only white space is removed from the inside. A wrong character
    in the middle stays, as `?`, because the repair needs its position.
    """
    return fold(_after_labels(drop_zero_width(text)))


def fold(text: str) -> str:
    """Return the text without white space, stripped to letters and digits at the ends, with look-alikes
    folded.
    """
    joined = "".join(text.split())
    start, end = _next(joined, 0, is_word=True), len(joined)
    while start < end and (not joined[end - 1].isalnum() or joined[end - 2 : end] in _ESCAPES):
        end -= 1
    forgiven = ids.forgive(joined[start:end])
    if not forgiven.strip(ids.ALPHABET):
        return forgiven
    return "".join(character if character in ids.ALPHABET else BAD_CHARACTER for character in forgiven)


def drop_zero_width(text: str) -> str:
    """Return the text without zero-width and direction characters."""
    return text.translate(_INVISIBLE)


def unwrap(text: str) -> str:
    """Return a token that keeps its case, without white space and without quotes or punctuation around it."""
    return "".join(drop_zero_width(text).split()).strip("\"'`<>()[]{}.,;:!?")


def is_label(word: str) -> bool:
    return word.lower() in _LABELS


def _after_labels(text: str) -> str:
    """Return the text after `ackToken:`, `--ack `, `"ackToken": ` and the like.

    A label has three letters or more, no digit, and ends before a separator; a token has a digit at its
    third place.
    """
    position = 0
    for _ in range(_LABELS_IN_A_ROW):
        start = _next(text, position, is_word=True)
        end = _next(text, start, is_word=False)
        word, mark = text[start:end], text[end:].lstrip("\"'` \t")[:1]
        is_named = len(word) >= _SHORTEST_LABEL and word.isalpha() and mark in (":", "=")
        if not (is_named or is_label(word)):
            return text[start:]
        position = end
    return text[position:]


def _next(text: str, position: int, *, is_word: bool) -> int:
    """Return the first place from `position` on that is inside a word, or outside one."""
    while position < len(text) and text[position].isalnum() != is_word:
        position += 1
    return position


# Taking pasted tokens apart by their prefixes and lengths


def split_glued(text: str) -> list[str]:
    """Return each token in its cleaned spelling; the whole text as one element if it cannot be
    taken apart.

    Nothing is verified here. A piece may be one character short or long; the repair handles that.
    """
    assert len(text) <= INPUT_LIMIT, "the caller refuses longer input"
    whole = clean(text)
    pieces: list[str] = []
    for fragment in _fragments(text):
        found = _cut(fragment)
        if not found and fragment[:PREFIX_LENGTH] in LAYOUT_BY_PREFIX:
            return _cut(whole) or [whole]  # a token broken by punctuation; leaving it out would be a guess
        pieces += found
    return pieces or _cut(whole) or [whole]


def _fragments(text: str) -> list[str]:
    """Return the stretches between punctuation, without the words that only name a field."""
    spaced = "".join(
        character if character.isalnum() or character.isspace() else ","
        for character in drop_zero_width(text)
    )
    words = [[word for word in part.split() if not is_label(word)] for part in spaced.split(",")]
    return [fold(" ".join(part)) for part in words if part]


def _cut(text: str) -> list[str]:
    """Return tokens that follow each other without a gap; empty if the text contains anything else."""
    pieces = []
    start = 0
    while start < len(text):
        end = _end_of_token(text, start)
        if end is None:
            return []
        pieces.append(text[start:end])
        start = end
    return pieces


def _end_of_token(text: str, start: int) -> int | None:
    layout = LAYOUT_BY_PREFIX.get(text[start : start + PREFIX_LENGTH])
    if layout is None:
        return None
    for end in (start + layout.length, start + layout.length - 1, start + layout.length + 1):
        if end == len(text) or text[end : end + PREFIX_LENGTH] in LAYOUT_BY_PREFIX:
            return end
    return None
