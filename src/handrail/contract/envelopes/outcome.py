"""An Outcome as one program of ours hands it to another: whole, for every surface to spell. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import E_SERVER, KINDS
from handrail.contract.outcome import (
    HINT_LIMIT,
    MESSAGE_LIMIT,
    Failure,
    Json,
    NextCall,
    Outcome,
    Success,
    make_from,
)


class _Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A Failure by the code of its row."""

    code: str
    message: str
    details: dict[str, Json] = {}
    hint: str = ""
    next_call: NextCall | None = None
    retry_after_ms: int | None = None


class _Encoded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    success: Success | None = None
    failure: _Trouble | None = None


def describe_outcome(outcome: Outcome) -> dict[str, Json]:
    """The outcome as plain values."""
    if isinstance(outcome, Success):
        encoded = _Encoded(success=outcome)
    else:
        encoded = _Encoded(failure=make_from(_Trouble, outcome, code=outcome.kind.code))
    plain: dict[str, Json] = msgspec.to_builtins(encoded)
    return plain


def read_outcome(plain: Json) -> Outcome:
    """The outcome again. A code that this version does not know is trouble of the server.

    Raises msgspec.ValidationError for anything else.
    """
    held = msgspec.convert(plain, _Encoded)
    if held.success is not None:
        return held.success
    if held.failure is None:
        raise msgspec.ValidationError("neither a success nor a failure")
    given = held.failure
    kind = KINDS.get(given.code, E_SERVER)
    return make_from(
        Failure,
        given,
        kind=kind,
        message=given.message[:MESSAGE_LIMIT] or kind.code,
        details={name: value for name, value in given.details.items() if name in kind.details},
        hint=given.hint[:HINT_LIMIT],
    )
