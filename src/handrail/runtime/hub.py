"""One call from start to finish: decode, perform, disclose. Here alone an exception becomes an outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from handrail.contract.catalogue import INTERNAL_ERROR
from handrail.contract.disclosure import disclose
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success, failure_of
from handrail.contract.shape import Ask
from handrail.contract.tokens.cursor import LIFETIME_SECONDS, CursorClaims, mint_cursor
from handrail.contract.tokens.purpose_keys import CURSOR
from handrail.runtime.inputs import decode_input
from handrail.runtime.misplaced_token import with_token_moved
from handrail.runtime.operation import Operation
from handrail.runtime.paging import list_scope
from handrail.runtime.registry import operation
from handrail.runtime.runtime import Runtime

DEFAULT_ASK = Ask()


def perform(
    runtime: Runtime,
    name: str,
    params: dict[str, Json],
    ask: Ask = DEFAULT_ASK,
    measure: Callable[[Success], int] | None = None,
) -> Outcome:
    """The outcome of one operation, disclosed as asked. Never raises for trouble of any kind."""
    try:
        called = operation(name)
        request = decode_input(called, params)
        success = _as_success(called.perform(runtime, request))
        outcome = disclose(success, called.shape, ask, measure or _unmeasured)
        return _with_cursor(runtime, called, request, outcome)
    except Fault as fault:
        return with_token_moved(failure_of(fault), name, params)
    except Exception:  # noqa: BLE001 - the one place where an unforeseen exception becomes an outcome
        import traceback  # noqa: PLC0415 - dear to load, and only a defect needs it

        incident = runtime.incidents.record(traceback.format_exc())
        return Failure(
            kind=INTERNAL_ERROR,
            message="Handrail met an error that it does not know.",
            details={"incident": incident} if incident else {},
        )


def _as_success(result: Any) -> Success:
    return result if isinstance(result, Success) else Success(data=msgspec.to_builtins(result))


def _unmeasured(success: Success) -> int:
    """The size of the bare payload, for callers that send no document."""
    items = [] if success.page is None else list(success.page.items)
    return len(msgspec.json.encode([success.data, items]))


def _with_cursor(runtime: Runtime, called: Operation, request: Any, outcome: Outcome) -> Outcome:
    """Mint the cursor last: only now is it known which item is the last one sent."""
    if not isinstance(outcome, Success) or outcome.page is None or not outcome.page.has_more:
        return outcome
    claims = CursorClaims(
        operation=called.name,
        scope=list_scope(called, request),
        after=outcome.page.sort_keys[-1],
        expires_at=runtime.clock.unix_seconds() + LIFETIME_SECONDS,
    )
    cursor = mint_cursor(runtime.keys.signing_key(CURSOR), claims)
    page = msgspec.structs.replace(outcome.page, next_cursor=cursor)
    return msgspec.structs.replace(outcome, page=page)
