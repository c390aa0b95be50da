"""Reading a workflow token as an agent sends it: forgiving about spelling, strict about the MAC. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.outcome import Fault
from handrail.contract.tokens import diagnosis
from handrail.contract.tokens.cleaning import INPUT_LIMIT
from handrail.contract.tokens.repair import repair
from handrail.contract.tokens.splitting import split_glued
from handrail.contract.tokens.workflow import LAYOUTS, Claims, TokenKind, kind_of, verify

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
        raise diagnosis.several(expected, len(tokens))
    if kind_of(tokens[0].claims) not in expected:
        raise diagnosis.wrong_field(expected, tokens[0].claims)
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
        raise diagnosis.several(expected, len(tokens))
    if not matching:
        raise diagnosis.wrong_field(expected, tokens[0].claims)
    return by_kind


def _read_all(keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]) -> list[ReadToken]:
    """The different tokens in the text, at least one, at most one per kind of token."""
    verified = verify(keys, text)
    if verified is not None:
        return [ReadToken(claims=verified[0], text=text, repaired=False, key_index=verified[1])]
    if len(text) > INPUT_LIMIT:
        raise diagnosis.too_long(expected, len(text))
    pieces = list(dict.fromkeys(split_glued(text)))
    if len(pieces) > len(LAYOUTS):
        raise diagnosis.several(expected, len(pieces))
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
    return diagnosis.something_else(expected, original) or diagnosis.refused(expected, cleaned)
