"""Reading a workflow token as an agent sends it: strict first, then forgiving, then one repair. Pure.

The problem: a model copies 49 or 56 characters from a reply into its next call. It adds labels, quotes or
line breaks, changes case, writes o for 0, pastes two tokens as one, and sometimes gets one character wrong.
Refusing all of that costs a turn or the whole run; guessing could act on the wrong node.

The idea: three steps, each taken only if the one before it fails.
Strict: `verify` takes the text as it came, which is almost every call.
Forgiving: `split_glued` removes what stands around the tokens, folds case and look-alikes, and takes pasted
tokens apart; then `verify` decides again.
Repair: `repair` tries every single edit (a character replaced, dropped or added, or two neighbours swapped)
and accepts the result if exactly one verifies. An error in the MAC costs one HMAC per key, because the body
says what the MAC should be. An error in the body costs at most about 900, one for each corrected body.

The invariant: the MAC alone decides. Cleaning and repair only propose texts; no claim is read before the MAC
verifies, so a repaired token is as hard to forge as a copied one, less the factor of the tries. The reply
to a repaired token carries its correct spelling, so that the agent stops sending the wrong one.

What would break it: two edits instead of one, which squares the tries that any caller can ask for; taking the
first of several repairs, which guesses; comparing MACs faster where they differ early, which tells a forger
the right characters one by one; repairing a token of another version, whose meaning is not known here; using
a genuine token of another kind, because reading and advancing differ; a whole token in a refusal, because
whoever reads a log could act with it.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import msgspec

from handrail.contract import base32
from handrail.contract.outcome import Fault
from handrail.contract.tokens import diagnosis
from handrail.contract.tokens.workflow import (
    BAD_CHARACTER,
    INPUT_LIMIT,
    LAYOUTS,
    MAC_LENGTH,
    PREFIX_LENGTH,
    Claims,
    Layout,
    TokenKind,
    is_base32,
    kind_of,
    mac,
    mac_bytes,
    split_glued,
    verify,
)

# Reading

ANY_KIND: tuple[TokenKind, ...] = tuple(LAYOUTS)


class ReadToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that verified."""

    claims: Claims
    text: str
    """The canonical spelling, which is not always what was sent."""
    repaired: bool
    """A character was wrong; the reply should carry the corrected token."""
    key_index: int
    """0: the current key. 1: the previous one."""


def read_token(keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]) -> ReadToken:
    """The one token in `text`, which must be of an expected kind.

    Raises:
        Fault TOKEN_INVALID_FORMAT, TOKEN_UNSUPPORTED_VERSION, TOKEN_BAD_SIGNATURE, or
        TOKEN_SCOPE_MISMATCH for a genuine token of another kind. None of them holds a whole token.
    """
    tokens = _read_all(keys, text, expected)
    if len(tokens) > 1:
        raise diagnosis.explain_several(expected, len(tokens))
    if kind_of(tokens[0].claims) not in expected:
        raise diagnosis.explain_wrong_field(expected, tokens[0].claims)
    return tokens[0]


def read_tokens(
    keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]
) -> dict[TokenKind, ReadToken]:
    """Every token in `text`, by kind; more than one when an agent pasted, say, state and ack together.

    Exactly one of them must be of an expected kind. Raises as `read_token`.
    """
    tokens = _read_all(keys, text, expected)
    by_kind = {kind_of(token.claims): token for token in tokens}
    matching = [kind for kind in by_kind if kind in expected]
    if len(by_kind) < len(tokens) or len(matching) > 1:
        raise diagnosis.explain_several(expected, len(tokens))
    if not matching:
        raise diagnosis.explain_wrong_field(expected, tokens[0].claims)
    return by_kind


def _read_all(keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]) -> list[ReadToken]:
    """The different tokens in the text, at least one, at most one per kind of token."""
    verified = verify(keys, text)
    if verified is not None:
        return [ReadToken(claims=verified[0], text=text, repaired=False, key_index=verified[1])]
    if len(text) > INPUT_LIMIT:
        raise diagnosis.explain_too_long(expected, len(text))
    pieces = list(dict.fromkeys(split_glued(text)))
    if len(pieces) > len(LAYOUTS):
        raise diagnosis.explain_several(expected, len(pieces))
    tokens = {token.text: token for token in (_read(keys, piece, text, expected) for piece in pieces)}
    return list(tokens.values())


def _read(keys: Sequence[bytes], cleaned: str, original: str, expected: tuple[TokenKind, ...]) -> ReadToken:
    canonical, verified = cleaned, verify(keys, cleaned)
    if verified is None and not diagnosis.is_of_another_version(cleaned):
        canonical = repair(keys, cleaned) or cleaned
        verified = verify(keys, canonical)
    if verified is None:
        raise _refusal(cleaned, original, expected)
    claims, key_index = verified
    return ReadToken(claims=claims, text=canonical, repaired=canonical != cleaned, key_index=key_index)


def _refusal(cleaned: str, original: str, expected: tuple[TokenKind, ...]) -> Fault:
    return diagnosis.explain_other_thing(expected, original) or diagnosis.explain_refused(expected, cleaned)


# Repair

_BLOCK_BYTES = 64
_HEAD_BYTES = 16


def repair(keys: Sequence[bytes], text: str) -> str | None:
    """The one token that a single edit of `text` makes and that verifies; None when none or several do.

    `text` is cleaned: base32, with `?` for every other character. The cheap side is tried first: a body
    whose own MAC is one edit away is the token, for any other would need a collision of 130 bits.
    """
    if text.count(BAD_CHARACTER) > 1:
        return None
    layouts = [layout for layout in LAYOUTS.values() if abs(len(text) - layout.length) <= 1]
    for side in (_with_right_body, _with_right_mac):
        found = {token for layout in layouts for token in side(keys, layout, text)}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _with_right_body(keys: Sequence[bytes], layout: Layout, text: str) -> Iterator[str]:
    """The error is in the MAC: the body says what the MAC should have been."""
    body, given = text[: layout.body_length], text[layout.body_length :]
    if body.startswith(layout.prefix) and is_base32(body):
        for key in keys:
            right = base32.encode_digest(mac(key, layout, body), MAC_LENGTH)
            if _is_one_edit_apart(right, given):
                yield body + right


def _is_one_edit_apart(right: str, given: str) -> bool:
    """Every way is compared, each in constant time, so the answer's timing tells nothing about `right`."""
    if len(given) == len(right):
        pairs = [(_drop(right, at), _drop(given, at)) for at in range(len(right))]
        pairs += [(right, _swap(given, at)) for at in range(len(right) - 1)]
    elif len(given) < len(right):
        pairs = [(_drop(right, at), given) for at in range(len(right))]
    else:
        pairs = [(right, _drop(given, at)) for at in range(len(given))]
    return sum([hmac.compare_digest(one, other) for one, other in pairs]) > 0


def _with_right_mac(keys: Sequence[bytes], layout: Layout, text: str) -> Iterator[str]:
    """The error is in the body: each corrected body is tried against the MAC at the end."""
    head, given = text[:-MAC_LENGTH], text[-MAC_LENGTH:]
    if is_base32(given):
        yield from _find_matching(keys, layout, _payloads(layout, head), given)
    if len(head) == layout.body_length and is_base32(text):
        # The last character of the body and the first of the MAC may have changed places.
        body = head[:-1] + given[0]
        if body.startswith(layout.prefix):
            yield from _find_matching(keys, layout, {body[PREFIX_LENGTH:]}, head[-1] + given[1:])


def _find_matching(
    keys: Sequence[bytes], layout: Layout, payloads: Iterable[str], given: str
) -> Iterator[str]:
    wanted = mac_bytes(given)
    encoded = [payload.encode() for payload in payloads]
    for key in keys:
        for payload in _with_digest_head(key, layout, encoded, wanted[:_HEAD_BYTES]):
            body = layout.prefix + payload.decode()
            if hmac.compare_digest(mac(key, layout, body), wanted):
                yield body + given


def _with_digest_head(key: bytes, layout: Layout, payloads: list[bytes], head: bytes) -> Iterator[bytes]:
    """The payloads whose HMAC begins like this; HMAC (RFC 2104) with both key blocks hashed only once."""
    assert len(key) <= _BLOCK_BYTES, "a longer key would have to be hashed first"
    block = key.ljust(_BLOCK_BYTES, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block) + layout.mac_domain)
    outer = sha256(bytes(byte ^ 0x5C for byte in block))
    for payload in payloads:
        inside, outside = inner.copy(), outer.copy()
        inside.update(payload)
        outside.update(inside.digest())
        if hmac.compare_digest(outside.digest()[:_HEAD_BYTES], head):
            yield payload


def _payloads(layout: Layout, head: str) -> set[str]:
    """Every payload that one edit of `head` gives under this prefix."""
    missing = layout.body_length - len(head)
    bad = head.find(BAD_CHARACTER)
    if missing == 0:
        edited = _substitute(layout, head, bad)
    elif missing == 1:
        edited = _complete(layout, head) if bad < 0 else iter(())
    else:
        edited = (_drop(head, at) for at in (range(len(head)) if bad < 0 else (bad,)))
    return {body[PREFIX_LENGTH:] for body in edited if body.startswith(layout.prefix)}


def _substitute(layout: Layout, head: str, bad: int) -> Iterator[str]:
    if head.startswith(layout.prefix):
        for at in range(PREFIX_LENGTH, len(head)) if bad < 0 else (bad,):
            yield from (head[:at] + character + head[at + 1 :] for character in base32.ALPHABET)
    elif bad < PREFIX_LENGTH and _is_prefix_with_one_wrong(layout, head):
        yield layout.prefix + head[PREFIX_LENGTH:]
    if bad < 0:
        yield from (_swap(head, at) for at in range(len(head) - 1))


def _complete(layout: Layout, head: str) -> Iterator[str]:
    if head[: PREFIX_LENGTH - 1] in [_drop(layout.prefix, at) for at in range(PREFIX_LENGTH)]:
        yield layout.prefix + head[PREFIX_LENGTH - 1 :]
    if head.startswith(layout.prefix):
        for at in range(PREFIX_LENGTH, len(head) + 1):
            yield from (head[:at] + character + head[at:] for character in base32.ALPHABET)


def _is_prefix_with_one_wrong(layout: Layout, head: str) -> bool:
    return sum(one != other for one, other in zip(head, layout.prefix, strict=False)) == 1


def _drop(text: str, at: int) -> str:
    return text[:at] + text[at + 1 :]


def _swap(text: str, at: int) -> str:
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
