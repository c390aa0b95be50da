"""Why a text is not the workflow token that was wanted, as a Fault that says what to do next. Pure.

No message and no detail holds a whole token: a reader of logs must not be able to act with one.
"""

from __future__ import annotations

from handrail.contract import catalogue
from handrail.contract.ids import SESSION_BODY_LENGTH, SESSION_PREFIX, is_session_id
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.tokens.workflow import (
    BAD_CHARACTER,
    INPUT_LIMIT,
    LAYOUT_BY_PREFIX,
    LAYOUTS,
    PREFIX_LENGTH,
    VERSION,
    Claims,
    Layout,
    TokenKind,
    is_base32,
    kind_of,
)

_COPY_AGAIN = "Copy it whole from the newest reply; if it is lost, resume the session."
_SEND_THE_RIGHT_ONE = "Send the token of the newest reply; if it is lost, resume the session."
_LOOK_AROUND = NextCall(operation="session.resume", params={})
"""The way back when a text does not name its session."""

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


def explain_too_long(expected: tuple[TokenKind, ...], length: int) -> Fault:
    message = f"The {_field(expected)} has {length} characters; at most {INPUT_LIMIT} are read. {_COPY_AGAIN}"
    details = {"token_kind": expected[0], "length": length, "found": "too much text"}
    return Fault(catalogue.TOKEN_INVALID_FORMAT, message, details=details, next_call=_LOOK_AROUND)


def explain_several(expected: tuple[TokenKind, ...], count: int) -> Fault:
    message = f"The {_field(expected)} holds {count} different tokens. Send only the one of the newest reply."
    details = {"token_kind": expected[0], "found": f"{count} tokens"}
    return Fault(catalogue.TOKEN_INVALID_FORMAT, message, details=details, next_call=_LOOK_AROUND)


def explain_wrong_field(expected: tuple[TokenKind, ...], claims: Claims) -> Fault:
    """The token is genuine, but reading and advancing differ, so its purpose is never guessed."""
    kind = kind_of(claims)
    found = f"{'an' if kind == 'ack' else 'a'} {kind} token"
    message = (
        f"{found.capitalize()} was sent as {_field(expected)}; nothing was done. "
        f"Send it as {LAYOUTS[kind].field}, or send the {_field(expected)} of the same reply."
    )
    details = {"token_kind": kind, "session_id": claims.session_id, "found": found}
    return Fault(catalogue.TOKEN_SCOPE_MISMATCH, message, details=details)


def explain_other_thing(expected: tuple[TokenKind, ...], original: str) -> Fault | None:
    """A thing of ours that is no workflow token, or a token that someone shortened for display."""
    text = original.strip(" \t\r\n\"'`").lower()
    for start, name in _OTHER_THINGS.items():
        if text.startswith(start):
            message = f"The {_field(expected)} holds {name}. {_SEND_THE_RIGHT_ONE}"
            details = {"token_kind": expected[0], "found": name}
            next_call = _resume(text) if is_session_id(text) else _LOOK_AROUND
            return Fault(catalogue.TOKEN_INVALID_FORMAT, message, details=details, next_call=next_call)
    if "…" in text or ".." in text.rstrip("."):
        message = f"The {_field(expected)} was shortened. {_COPY_AGAIN}"
        details = {"token_kind": expected[0], "found": "a shortened token"}
        return Fault(catalogue.TOKEN_INVALID_FORMAT, message, details=details, next_call=_LOOK_AROUND)
    return None


def is_of_another_version(cleaned: str) -> bool:
    """Whether a whole token names a version that this program does not know.

    It is not repaired, because the meaning of a newer version cannot be guessed.
    """
    layout = _LAYOUT_BY_LETTERS.get(cleaned[: PREFIX_LENGTH - 1])
    version = cleaned[PREFIX_LENGTH - 1 : PREFIX_LENGTH]
    return layout is not None and len(cleaned) == layout.length and version in _OTHER_VERSIONS


def explain_refused(expected: tuple[TokenKind, ...], cleaned: str) -> Fault:
    """What is wrong with a cleaned text that neither verifies nor can be repaired."""
    if not cleaned:
        return _malformed(expected, cleaned, "nothing", "holds no token")
    layout = LAYOUT_BY_PREFIX.get(cleaned[:PREFIX_LENGTH])
    if layout is None:
        return _unknown_prefix(expected, cleaned)
    if len(cleaned) != layout.length:
        found = _length_difference(layout, len(cleaned))
        says = f"has {len(cleaned)} characters and should have {layout.length}: {found}"
        return _malformed(expected, cleaned, found, says)
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
    expected: tuple[TokenKind, ...], cleaned: str, found: str, says: str, position: int | None = None
) -> Fault:
    details: dict[str, Json] = {"token_kind": expected[0], "length": len(cleaned), "found": found}
    if position is not None:
        details["position"] = position
    message = f"The {_field(expected)} {says}. {_COPY_AGAIN}"
    return _with_session(catalogue.TOKEN_INVALID_FORMAT, message, details, cleaned)


def _with_session(kind: catalogue.Kind, message: str, details: dict[str, Json], cleaned: str) -> Fault:
    """Adds the way back: the session that the text names, which is not proven."""
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
