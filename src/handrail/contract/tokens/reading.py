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
from operator import ne

import msgspec

from handrail.contract import catalogue, ids
from handrail.contract.ids import SESSION_BODY_LENGTH, SESSION_PREFIX, is_session_id
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.tokens.workflow import (
    BAD_CHARACTER,
    INPUT_LIMIT,
    LAYOUT_BY_PREFIX,
    LAYOUTS,
    MAC_LENGTH,
    PREFIX_LENGTH,
    VERSION,
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
    """The canonical spelling, which can differ from what was sent."""
    repaired: bool
    """Whether a character was wrong; the reply then carries the corrected token."""


def read_token(keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]) -> ReadToken:
    """The one token in `text`, which must be of an expected kind.

    Raises:
        Fault TOKEN_INVALID_FORMAT, TOKEN_UNSUPPORTED_VERSION, TOKEN_BAD_SIGNATURE, or
        TOKEN_SCOPE_MISMATCH for a genuine token of another kind. None of them holds a whole token.
    """
    tokens = _read_all(keys, text, expected)
    if len(tokens) > 1:
        raise explain_several(expected, len(tokens))
    if kind_of(tokens[0].claims) not in expected:
        raise explain_wrong_field(expected, tokens[0].claims)
    return tokens[0]


def read_tokens(
    keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]
) -> dict[TokenKind, ReadToken]:
    """Return every token in `text`, by kind; several if an agent pasted, for example, state and ack
    together.

    Exactly one of them must be of an expected kind. Raises as `read_token`.
    """
    tokens = _read_all(keys, text, expected)
    by_kind = {kind_of(token.claims): token for token in tokens}
    matching = [kind for kind in by_kind if kind in expected]
    if len(by_kind) < len(tokens) or len(matching) > 1:
        raise explain_several(expected, len(tokens))
    if not matching:
        raise explain_wrong_field(expected, tokens[0].claims)
    return by_kind


def _read_all(keys: Sequence[bytes], text: str, expected: tuple[TokenKind, ...]) -> list[ReadToken]:
    """Return the different tokens in the text, at least one, at most one per kind of token."""
    verified = verify(keys, text)
    if verified is not None:
        return [ReadToken(claims=verified, text=text, repaired=False)]
    if len(text) > INPUT_LIMIT:
        predicate = f"has {len(text)} characters; at most {INPUT_LIMIT} are read. {_COPY_AGAIN}"
        raise explain_text(expected, "too much text", predicate, length=len(text))
    pieces = list(dict.fromkeys(split_glued(text)))
    if len(pieces) > len(LAYOUTS):
        raise explain_several(expected, len(pieces))
    tokens = {token.text: token for token in (_read(keys, piece, text, expected) for piece in pieces)}
    return list(tokens.values())


def _read(keys: Sequence[bytes], cleaned: str, original: str, expected: tuple[TokenKind, ...]) -> ReadToken:
    canonical, verified = cleaned, verify(keys, cleaned)
    if verified is None and not is_of_another_version(cleaned):
        canonical = repair(keys, cleaned) or cleaned
        verified = verify(keys, canonical)
    if verified is None:
        raise explain_other_thing(expected, original) or explain_refused(expected, cleaned)
    return ReadToken(claims=verified, text=canonical, repaired=canonical != cleaned)


# Repair

_BLOCK_BYTES = 64
_HEAD_BYTES = 16


def repair(keys: Sequence[bytes], text: str) -> str | None:
    """Return the one verified token that a single edit of `text` makes; None if there is none or
    several.

    `text` is cleaned: base32, with `?` for every other character. The cheap side is tried first: a
    body whose own MAC is one edit away is the token, for any other would need a collision of 130
    bits.
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
    """Yield the token if the error is in the MAC; the body determines the right one."""
    body, given = text[: layout.body_length], text[layout.body_length :]
    if body.startswith(layout.prefix) and is_base32(body):
        for key in keys:
            right = ids.encode_digest(mac(key, layout, body), MAC_LENGTH)
            if _is_one_edit_apart(right, given):
                yield body + right


def _is_one_edit_apart(right: str, given: str) -> bool:
    """Whether one edit separates them. Every way is compared in constant time, so timing reveals nothing of
    `right`.
    """
    if len(given) == len(right):
        pairs = [(_drop(right, at), _drop(given, at)) for at in range(len(right))]
        pairs += [(right, _swap(given, at)) for at in range(len(right) - 1)]
    elif len(given) < len(right):
        pairs = [(_drop(right, at), given) for at in range(len(right))]
    else:
        pairs = [(right, _drop(given, at)) for at in range(len(given))]
    return sum([hmac.compare_digest(one, other) for one, other in pairs]) > 0


def _with_right_mac(keys: Sequence[bytes], layout: Layout, text: str) -> Iterator[str]:
    """Yield tokens if the error is in the body: each corrected body is tried against the MAC at the end."""
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
    """Yield payloads whose HMAC begins like this; HMAC (RFC 2104) with both key blocks hashed only once."""
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
    """Return every payload that one edit of `head` makes under this prefix."""
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
            yield from (head[:at] + character + head[at + 1 :] for character in ids.ALPHABET)
    elif bad < PREFIX_LENGTH and sum(map(ne, head, layout.prefix)) == 1:
        yield layout.prefix + head[PREFIX_LENGTH:]
    if bad < 0:
        yield from (_swap(head, at) for at in range(len(head) - 1))


def _complete(layout: Layout, head: str) -> Iterator[str]:
    if head[: PREFIX_LENGTH - 1] in [_drop(layout.prefix, at) for at in range(PREFIX_LENGTH)]:
        yield layout.prefix + head[PREFIX_LENGTH - 1 :]
    if head.startswith(layout.prefix):
        for at in range(PREFIX_LENGTH, len(head) + 1):
            yield from (head[:at] + character + head[at:] for character in ids.ALPHABET)


def _drop(text: str, at: int) -> str:
    return text[:at] + text[at + 1 :]


def _swap(text: str, at: int) -> str:
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


# Why a text is not the expected token. No message and no detail contains a whole token: a reader of logs
# must not be able to act with one.

_COPY_AGAIN = "Copy it whole from the newest reply; if it is lost, resume the session."
_SEND_THE_RIGHT_ONE = "Send the token of the newest reply; if it is lost, resume the session."
_LOOK_AROUND = NextCall(operation="session.resume", params={})
"""What to do if a text does not name its session."""

_LAYOUT_BY_LETTERS = {layout.prefix[:-1]: layout for layout in LAYOUTS.values()}
_OTHER_VERSIONS = frozenset("23456789") - {str(VERSION)}
_OTHER_THINGS = {
    "ct_": "a confirm token",
    "cu1": "a cursor",
    "ses_": "a session id",
    "run_": "a run id",
    "nod_": "a node id",
    "evt_": "an event id",
}


def explain_text(expected: tuple[TokenKind, ...], found: str, predicate: str, **more: Json) -> Fault:
    """Return a Fault for a text that is no token; `predicate` completes the sentence about it."""
    details = {"token_kind": expected[0], "found": found, **more}
    message = f"The {_field(expected)} {predicate}"
    return Fault(catalogue.TOKEN_INVALID_FORMAT, message, details=details, next_call=_LOOK_AROUND)


def explain_several(expected: tuple[TokenKind, ...], count: int) -> Fault:
    predicate = f"holds {count} different tokens. Send only the one of the newest reply."
    return explain_text(expected, f"{count} tokens", predicate)


def explain_wrong_field(expected: tuple[TokenKind, ...], claims: Claims) -> Fault:
    """Return a Fault for a genuine token in the wrong field: reading and advancing differ, so Handrail
    never guesses.
    """
    kind = kind_of(claims)
    found = f"{'an' if kind == 'ack' else 'a'} {kind} token"
    message = (
        f"{found.capitalize()} was sent as {_field(expected)}; nothing was done. "
        f"Send it as {LAYOUTS[kind].field}, or send the {_field(expected)} of the same reply."
    )
    details = {"token_kind": kind, "session_id": claims.session_id, "found": found}
    return Fault(catalogue.TOKEN_SCOPE_MISMATCH, message, details=details)


def explain_other_thing(expected: tuple[TokenKind, ...], original: str) -> Fault | None:
    """Return a Fault for another id or token of Handrail's, or for a token that was shortened for display."""
    text = original.strip(" \t\r\n\"'`").lower()
    for start, name in _OTHER_THINGS.items():
        if text.startswith(start):
            fault = explain_text(expected, name, f"holds {name}. {_SEND_THE_RIGHT_ONE}")
            fault.next_call = _resume(text) if is_session_id(text) else _LOOK_AROUND
            return fault
    if "…" in text or ".." in text.rstrip("."):
        return explain_text(expected, "a shortened token", f"was shortened. {_COPY_AGAIN}")
    return None


def is_of_another_version(cleaned: str) -> bool:
    """Whether a whole token names a version that this program does not know.

    It is not repaired, because the meaning of a newer version cannot be guessed.
    """
    layout = _LAYOUT_BY_LETTERS.get(cleaned[: PREFIX_LENGTH - 1])
    version = cleaned[PREFIX_LENGTH - 1 : PREFIX_LENGTH]
    return layout is not None and len(cleaned) == layout.length and version in _OTHER_VERSIONS


def explain_refused(expected: tuple[TokenKind, ...], cleaned: str) -> Fault:
    """Return a Fault that explains a cleaned text that neither verifies nor can be repaired."""
    if not cleaned:
        return _malformed(expected, cleaned, "nothing", "holds no token")
    layout = LAYOUT_BY_PREFIX.get(cleaned[:PREFIX_LENGTH])
    if layout is None:
        return _unknown_prefix(expected, cleaned)
    if len(cleaned) != layout.length:
        found = _length_difference(layout, len(cleaned))
        predicate = f"has {len(cleaned)} characters and should have {layout.length}: {found}"
        return _malformed(expected, cleaned, found, predicate)
    bad = cleaned.find(BAD_CHARACTER)
    if bad >= 0:
        found = "a character that no token has"
        return _malformed(expected, cleaned, found, f"has {found}, at place {bad + 1}", position=bad + 1)
    message = (
        f"The {_field(expected)} was not minted here, or more than one of its characters was changed. "
        f"{_COPY_AGAIN}"
    )
    details: dict[str, Json] = {"token_kind": layout.kind}
    return _with_session(catalogue.TOKEN_BAD_SIGNATURE, message, details, cleaned)


def _unknown_prefix(expected: tuple[TokenKind, ...], cleaned: str) -> Fault:
    layout = _LAYOUT_BY_LETTERS.get(cleaned[: PREFIX_LENGTH - 1])
    version = cleaned[PREFIX_LENGTH - 1 : PREFIX_LENGTH]
    if layout is not None and version.isdigit() and len(cleaned) > 2 * SESSION_BODY_LENGTH:
        message = (
            f"The {_field(expected)} is of version {version}; this program reads version {VERSION}. "
            "Resume the session to get tokens of this version."
        )
        details = {"token_kind": layout.kind, "found": f"version {version}"}
        return Fault(catalogue.TOKEN_UNSUPPORTED_VERSION, message, details=details, next_call=_LOOK_AROUND)
    starts = " or ".join(LAYOUTS[kind].prefix for kind in expected)
    return _malformed(expected, cleaned, "an unknown prefix", f"does not start with {starts}", position=1)


def _malformed(
    expected: tuple[TokenKind, ...], cleaned: str, found: str, predicate: str, position: int | None = None
) -> Fault:
    details: dict[str, Json] = {"token_kind": expected[0], "length": len(cleaned), "found": found}
    if position is not None:
        details["position"] = position
    message = f"The {_field(expected)} {predicate}. {_COPY_AGAIN}"
    return _with_session(catalogue.TOKEN_INVALID_FORMAT, message, details, cleaned)


def _with_session(kind: catalogue.Kind, message: str, details: dict[str, Json], cleaned: str) -> Fault:
    """Return the Fault with the session that the text names, which is not proven."""
    body = cleaned[PREFIX_LENGTH : PREFIX_LENGTH + SESSION_BODY_LENGTH]
    is_named = cleaned[:PREFIX_LENGTH] in LAYOUT_BY_PREFIX and len(body) == SESSION_BODY_LENGTH
    if not (is_named and is_base32(body)):
        return Fault(kind, message, details=details, next_call=_LOOK_AROUND)
    session_id = SESSION_PREFIX + body
    return Fault(kind, message, details=details | {"session_id": session_id}, next_call=_resume(session_id))


def _resume(session_id: str) -> NextCall:
    return NextCall(operation="session.resume", params={"query": session_id})


def _length_difference(layout: Layout, length: int) -> str:
    difference = abs(layout.length - length)
    some = "1 character is" if difference == 1 else f"{difference} characters are"
    return f"{some} {'missing' if length < layout.length else 'too many'}"


def _field(expected: tuple[TokenKind, ...]) -> str:
    return LAYOUTS[expected[0]].field
