"""One call from start to finish: decode, permit, perform, disclose, account for it.

Here alone an exception becomes an outcome.
"""

# ruff: noqa: PLC0415 - a defect needs the traceback, a page with more behind it needs a cursor, others neither

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from handrail.contract.catalogue import INTERNAL_ERROR
from handrail.contract.disclosure import disclose
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Page, Success, failure_of
from handrail.contract.redaction import without_named_secrets
from handrail.contract.shape import Ask
from handrail.contract.wording import make_readable_json, make_safe_json
from handrail.runtime.accounting import account_for, settings_or_defaults
from handrail.runtime.inputs import decode_input
from handrail.runtime.misplaced_token import with_call_corrected
from handrail.runtime.operation import Operation, StreamItem, effect_of
from handrail.runtime.permission import Caller, require_key, require_permission
from handrail.runtime.registry import operation
from handrail.runtime.runtime import Runtime

DEFAULT_ASK = Ask()
LIBRARY = Caller()
_T = TypeVar("_T")


def perform(
    runtime: Runtime,
    name: str,
    params: dict[str, Json],
    ask: Ask = DEFAULT_ASK,
    measure: Callable[[Success], int] | None = None,
    caller: Caller = LIBRARY,
) -> Outcome:
    """The outcome of one operation of the registry, by its name."""
    return perform_operation(runtime, operation(name), params, ask, measure, caller)


def perform_operation(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    ask: Ask = DEFAULT_ASK,
    measure: Callable[[Success], int] | None = None,
    caller: Caller = LIBRARY,
) -> Outcome:
    """The outcome of one operation, disclosed as asked. Never raises for trouble of any kind."""
    started_ms = runtime.clock.monotonic_ms()

    def work() -> Outcome:
        request = _permitted(runtime, called, params, caller)
        success = _as_success(called, called.perform(runtime, request))
        outcome = disclose(success, called.shape, ask, measure or _unmeasured)
        return _with_cursor(runtime, called, request, outcome)

    outcome = _caught(runtime, called.name, params, work)
    account(runtime, called, params, outcome, caller, started_ms)
    return outcome


def perform_stream(
    runtime: Runtime, name: str, params: dict[str, Json], ask: Ask, caller: Caller
) -> Iterator[StreamItem | Outcome]:
    """The items of an operation that can stream, as they come, then its outcome."""
    started_ms = runtime.clock.monotonic_ms()
    called = operation(name)
    lines: Iterator[StreamItem | Success] | None = None

    def next_line() -> StreamItem | Outcome:
        nonlocal lines
        if lines is None:
            request = _permitted(runtime, called, params, caller)
            assert called.stream is not None, f"{name} offers no stream"
            lines = iter(called.stream(runtime, request))
        return _disclosed_line(called, next(lines), ask)

    line = _caught(runtime, name, params, next_line)
    while isinstance(line, StreamItem):
        yield line
        line = _caught(runtime, name, params, next_line)
    account(runtime, called, params, line, caller, started_ms)
    yield line


def account(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    outcome: Outcome,
    caller: Caller,
    started_ms: int,
) -> None:
    """The audit line of a call, also of one that a signal ended."""
    effect = effect_of(called, params)
    settings = settings_or_defaults(runtime)
    account_for(runtime, settings, caller, called.name, effect, params, outcome, started_ms)


def _permitted(runtime: Runtime, called: Operation, params: dict[str, Json], caller: Caller) -> Any:
    """The input, once it is valid and this caller may ask for it."""
    request = decode_input(called, params)
    effect = effect_of(called, params)
    if effect != "read":
        require_permission(runtime.settings.of(), effect)
    if effect == "create" and caller.needs_key:
        require_key(runtime, called, request)
    return request


def _caught(runtime: Runtime, name: str, params: dict[str, Json], work: Callable[[], _T]) -> _T | Failure:
    try:
        return work()
    except Fault as fault:
        return _safe(with_call_corrected(failure_of(fault), name, params))
    except Exception:  # noqa: BLE001 - the one place where an unforeseen exception becomes an outcome
        import traceback

        incident = runtime.incidents.record(traceback.format_exc())
        return Failure(
            kind=INTERNAL_ERROR,
            message="Handrail met an error that it does not know.",
            details={"incident": incident} if incident else {},
        )


def _safe(failure: Failure) -> Failure:
    """Without what a caller sent under a telling name; the next call then says that it was left out."""
    following = failure.next_call
    if following is not None:
        params = without_named_secrets(following.params)
        following = msgspec.structs.replace(following, params=params)
        following = msgspec.structs.replace(following, params=make_readable_json(following.params))
    details = _prompt_json(without_named_secrets(failure.details))
    return msgspec.structs.replace(failure, details=details, next_call=following)


def _as_success(called: Operation, result: Any) -> Success:
    success = result if isinstance(result, Success) else Success(data=msgspec.to_builtins(result))
    clean = _prompt_json if called.tool else make_readable_json
    page = success.page
    if page is not None:
        page = msgspec.structs.replace(page, items=tuple(clean(page.items)))
    return msgspec.structs.replace(success, data=clean(success.data), page=page)


def _prompt_json(value: Json) -> Json:
    """What an agent reads: a path may hold bytes that are no text, and any text may hold escapes."""
    return make_safe_json(make_readable_json(value))


def _disclosed_line(called: Operation, line: StreamItem | Success, ask: Ask) -> StreamItem | Outcome:
    """A line of a list is disclosed as an item of its page would be."""
    if isinstance(line, Success):
        whole = Ask(mvi=ask.mvi)  # fields were picked from the items; a summary has its own
        return disclose(line, None if called.item is not None else called.shape, whole, _unmeasured)
    if called.item is None:
        return line
    page = Success(data={}, page=Page(items=(line.data,)))
    match disclose(page, called.shape, msgspec.structs.replace(ask, budget=None), _unmeasured):
        case Success(page=Page(items=(data,))):
            return msgspec.structs.replace(line, data=data)
        case trouble:
            return trouble


def _unmeasured(success: Success) -> int:
    """The size of the bare payload, for callers that send no document."""
    items = [] if success.page is None else list(success.page.items)
    return len(msgspec.json.encode([success.data, items]))


def _with_cursor(runtime: Runtime, called: Operation, request: Any, outcome: Outcome) -> Outcome:
    """Mint the cursor last: only now is it known which item is the last one sent."""
    if not isinstance(outcome, Success) or outcome.page is None or not outcome.page.has_more:
        return outcome
    if outcome.page.style != "cursor":
        return outcome
    from handrail.contract.tokens.cursor import LIFETIME_SECONDS, CursorClaims, mint_cursor
    from handrail.contract.tokens.purpose_keys import CURSOR
    from handrail.runtime.paging import list_scope

    claims = CursorClaims(
        operation=called.name,
        scope=list_scope(called, request),
        after=outcome.page.sort_keys[-1],
        expires_at=runtime.clock.unix_seconds() + LIFETIME_SECONDS,
    )
    cursor = mint_cursor(runtime.keys.signing_key(CURSOR), claims)
    page = msgspec.structs.replace(outcome.page, next_cursor=cursor)
    return msgspec.structs.replace(outcome, page=page)
