"""One call from start to finish, in two phases: decide and commit, then tell.

First everything that can be refused is: input, fields, permission, and whatever the operation finds. From
the commit on (`Commits`) the call has succeeded: disclosing, the cursor and the audit can add a warning, and
an answer that cannot be made says so and how to read what was done. Here alone an exception becomes an
outcome.
"""

# ruff: noqa: PLC0415 - a defect needs the traceback, a page with more behind it needs a cursor, others neither

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from handrail.contract.catalogue import BUDGET_EXCEEDED, INTERNAL_ERROR
from handrail.contract.commits import Commits, unseen
from handrail.contract.disclosure import disclose, refused_ask
from handrail.contract.outcome import (
    HINT_LIMIT,
    MESSAGE_LIMIT,
    Failure,
    Fault,
    Json,
    Notice,
    Outcome,
    Page,
    PartlyDone,
    Success,
    failure_of,
    failure_of_defect,
)
from handrail.contract.redaction import (
    without_credentials,
    without_named_secrets,
    without_shapes,
    without_told_secrets,
)
from handrail.contract.shape import Ask
from handrail.contract.wording import make_readable_json, make_safe_json
from handrail.runtime.accounting import account_for, settings_or_defaults
from handrail.runtime.inputs import decode_input
from handrail.runtime.misplaced_token import with_call_corrected
from handrail.runtime.operation import AckVerdict, Operation, StreamItem, effect_of, shape_of
from handrail.runtime.permission import Caller, keyed, require_key, require_permission
from handrail.runtime.registry import operation
from handrail.runtime.runtime import Runtime

if TYPE_CHECKING:  # only calls that name fields pay for it
    from handrail.contract.declared_fields import Declared

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
    commits: Commits | None = None,
) -> Outcome:
    """The outcome of one operation of the registry, by its name."""
    return perform_operation(runtime, operation(name), params, ask, measure, caller, commits)


def perform_operation(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    ask: Ask = DEFAULT_ASK,
    measure: Callable[[Success], int] | None = None,
    caller: Caller = LIBRARY,
    commits: Commits | None = None,
) -> Outcome:
    """The outcome of one operation, disclosed as asked. Never raises for trouble of any kind.

    A surface that has something to do after it hands in its own `commits`, to know whether it may still fail.
    """
    started_ms = runtime.clock.monotonic_ms()
    own = msgspec.structs.replace(runtime, commits=Commits() if commits is None else commits)
    declared = None if ask.fields is None and ask.field is None else declared_of(called)

    def work() -> Outcome:
        request = _permitted(own, called, params, caller, ask, declared)
        success = _as_success(called, called.perform(own, request))
        outcome = _disclosed(own, called, params, request, success, ask, measure or _unmeasured, declared)
        return _with_cursor(own, called, request, outcome)

    outcome = _caught(own, called.name, params, work)
    if isinstance(outcome, Failure) and caller.needs_key and called.effect == "create":
        outcome = _with_key(own, called, outcome)
    return _accounted(own, called, params, outcome, caller, started_ms)


def _with_key(runtime: Runtime, called: Operation, failure: Failure) -> Failure:
    """The refusal of a creation whose corrected call can be sent as it stands."""
    call = failure.next_call
    if call is None or call.operation != called.name:
        return failure
    try:
        return msgspec.structs.replace(failure, next_call=keyed(runtime, call))
    except Fault:  # no project to make a key for: that is what the refusal is about
        return failure


def perform_chunked(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    keep: Callable[[Iterator[bytes]], dict[str, Json]],
    caller: Caller = LIBRARY,
    commits: Commits | None = None,
) -> Outcome:
    """The outcome of an operation whose long field goes elsewhere in parts: `keep` says what to tell of it.

    `keep` may raise Fault; it gets nothing before everything that can be refused is.
    """
    started_ms = runtime.clock.monotonic_ms()
    own = msgspec.structs.replace(runtime, commits=Commits() if commits is None else commits)

    def work() -> Outcome:
        request = _permitted(own, called, params, caller, DEFAULT_ASK, None)
        assert called.chunked is not None, f"{called.name} offers no chunks"
        answered = called.chunked(own, request)
        return Success(data=make_readable_json(answered.facts | keep(answered.chunks)))

    outcome = _caught(own, called.name, params, work)
    return _accounted(own, called, params, outcome, caller, started_ms)


def declared_of(called: Operation) -> Declared:
    """The names that answers of this operation can have, its dry runs included."""
    from handrail.contract.declared_fields import declared_by

    types = [called.output, *called.variants]
    if called.effect == "ack":
        types.append(AckVerdict)
    elif called.effect in ("create", "gated", "dangerous"):
        from handrail.runtime.write_gate import DryRun

        types.append(DryRun)
    return declared_by(types, called.item, called.shape)


def perform_stream(
    runtime: Runtime, name: str, params: dict[str, Json], ask: Ask, caller: Caller
) -> Iterator[StreamItem | Outcome]:
    """The items of an operation that can stream, as they come, then its outcome."""
    started_ms = runtime.clock.monotonic_ms()
    called = operation(name)
    declared = None if ask.fields is None else declared_of(called)
    lines: Iterator[StreamItem | Success] | None = None

    def next_line() -> StreamItem | Outcome:
        nonlocal lines
        if lines is None:
            request = _permitted(runtime, called, params, caller, ask, declared)
            assert called.stream is not None, f"{name} offers no stream"
            lines = iter(called.stream(runtime, request))
        return _disclosed_line(called, next(lines), ask, declared)

    line = _caught(runtime, name, params, next_line)
    while isinstance(line, StreamItem):
        yield line
        line = _caught(runtime, name, params, next_line)
    yield _accounted(runtime, called, params, line, caller, started_ms)


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


def _permitted(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    caller: Caller,
    ask: Ask,
    declared: Declared | None,
) -> Any:
    """The input, once it is valid, can be answered as asked, and this caller may ask for it."""
    request = decode_input(called, params)
    refusal = refused_ask(ask, called.shape, declared)
    if refusal is not None:
        raise Fault(refusal.kind, refusal.message, details=refusal.details, hint=refusal.hint)
    effect = effect_of(called, params)
    if effect != "read":
        require_permission(runtime.settings.of(), effect)
    if effect == "create" and caller.needs_key:
        require_key(runtime, called, request)
    return request


def _disclosed(
    rt: Runtime,
    called: Operation,
    params: dict[str, Json],
    request: Any,
    success: Success,
    ask: Ask,
    measure: Callable[[Success], int],
    declared: Declared | None,
) -> Outcome:
    """What is shown of it. Nothing that a write answers is held back: too small a budget gets a warning."""
    shape = shape_of(called, params)
    is_write = effect_of(called, params) != "read"

    def narrower(count: int) -> Success:
        return _as_success(called, called.perform(rt, msgspec.structs.replace(request, limit=count)))

    can_narrow = not is_write and success.page is not None and success.page.is_whole
    outcome = disclose(
        success, shape, ask, measure, declared=declared, narrower=narrower if can_narrow else None
    )
    if not is_write or not isinstance(outcome, Failure) or outcome.kind is not BUDGET_EXCEEDED:
        return outcome
    smallest = disclose(success, shape, Ask(mvi="minimal"), measure)
    assert isinstance(smallest, Success), "the minimal level is always there"
    notice = Notice(
        type="budget_not_met", message=outcome.message, severity="warning", extra=dict(outcome.details)
    )
    return msgspec.structs.replace(smallest, notices=(*smallest.notices, notice))


def _caught(runtime: Runtime, name: str, params: dict[str, Json], work: Callable[[], _T]) -> _T | Outcome:
    """What the work gives. Trouble is a failure, unless something was committed before it came."""
    done = _tried(work, lambda: _recorded(runtime))
    match done:
        case _Trouble(fault=PartlyDone() as fault):
            return _safe(failure_of(fault))
        case _Trouble(fault=fault, incident=incident) if runtime.commits.is_made:
            cause = INTERNAL_ERROR if fault is None else fault.kind
            return unseen(runtime.commits, cause=cause.code, incident=incident)
        case _Trouble(defect=Exception() as defect, incident=incident):
            return failure_of_defect(defect, incident)
        case _Trouble(fault=fault):
            assert fault is not None, "trouble is a fault or a defect"
            return _safe(with_call_corrected(failure_of(fault), name, params))
        case _:
            return done


def _accounted(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    outcome: Outcome,
    caller: Caller,
    started_ms: int,
) -> Outcome:
    """The outcome, whose audit line is written; that it could not be is told beside it."""
    done = _tried(
        lambda: account(runtime, called, params, outcome, caller, started_ms), lambda: _recorded(runtime)
    )
    if not isinstance(done, _Trouble) or isinstance(outcome, Failure):
        return outcome
    message = "The call is not in the audit log: its line could not be written."
    notice = Notice(type="audit_not_written", message=message, severity="warning")
    return msgspec.structs.replace(outcome, notices=(*outcome.notices, notice))


class _Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What kept a piece of work from its end."""

    fault: Fault | None = None
    defect: Exception | None = None
    incident: str = ""


def _tried(work: Callable[[], _T], record: Callable[[], str]) -> _T | _Trouble:
    try:
        return work()
    except Fault as fault:
        return _Trouble(fault=fault)
    except Exception as defect:  # noqa: BLE001 - the one place where an unforeseen exception becomes a value
        # Keeping the traceback may fail for the same reason: no memory, no descriptor.
        incident = _tried(record, str)
        return _Trouble(defect=defect, incident=incident if isinstance(incident, str) else "")


def _recorded(runtime: Runtime) -> str:
    import traceback

    return runtime.incidents.record(traceback.format_exc())


def _safe(failure: Failure) -> Failure:
    """Without what a caller sent under a telling name; the next call then says that it was left out.

    A hint may hold a token to go on with; a login in an address is never needed.
    """
    following = failure.next_call
    if following is not None:
        params = without_named_secrets(following.params)
        following = msgspec.structs.replace(following, params=params)
        following = msgspec.structs.replace(following, params=make_readable_json(following.params))
    return msgspec.structs.replace(
        failure,
        message=without_shapes(failure.message)[:MESSAGE_LIMIT],
        hint=without_credentials(failure.hint)[:HINT_LIMIT],
        details=_prompt_json(without_told_secrets(failure.details)),
        next_call=following,
    )


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


def _disclosed_line(
    called: Operation, line: StreamItem | Success, ask: Ask, declared: Declared | None
) -> StreamItem | Outcome:
    """A line of a list is disclosed as an item of its page would be."""
    if isinstance(line, Success):
        whole = Ask(mvi=ask.mvi)  # fields were picked from the items; a summary has its own
        return disclose(line, None if called.item is not None else called.shape, whole, _unmeasured)
    if called.item is None:
        return line
    page = Success(data={}, page=Page(items=(line.data,)))
    unbounded = msgspec.structs.replace(ask, budget=None)
    match disclose(page, called.shape, unbounded, _unmeasured, declared=declared):
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
