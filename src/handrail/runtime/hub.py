"""One call from start to finish, in two phases: decide and commit, then answer.

The first phase makes every refusal: input, fields, permission, and the operation's own reasons. From the
commit on (`Commits`) the call has succeeded: disclosure, cursor and audit can only add a warning. If the
reply cannot be built, the answer says so and how to read what was done. This is the only place where an
exception becomes an outcome.
"""

# ruff: noqa: PLC0415 - the traceback, the cursor and the field types are loaded by the few calls that need them

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from handrail.contract import outcome as outcomes
from handrail.contract.catalogue import BUDGET_EXCEEDED, INTERNAL_ERROR
from handrail.contract.disclosure.disclose import disclose, refuse_ask
from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import (
    HINT_LIMIT,
    MESSAGE_LIMIT,
    Commits,
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
    make_stand_in,
)
from handrail.contract.parameters import list_paths
from handrail.contract.redaction import (
    redact_credentials,
    redact_named_secrets,
    redact_secrets,
    redact_shapes,
)
from handrail.contract.wording import make_prompt_json, make_readable_json
from handrail.ports.process import CallNote
from handrail.ports.workspace import Settings
from handrail.runtime.operation import (
    AckVerdict,
    Effect,
    Operation,
    StreamItem,
    effect_of,
    find_misplaced_work,
    shape_of,
)
from handrail.runtime.permission import (
    Caller,
    add_request_key,
    require_key,
    require_permission,
    settings_or_defaults,
    write_audit_line,
)
from handrail.runtime.runtime import NO_OBSERVER, ReadPorts, Runtime, WritePorts

if TYPE_CHECKING:
    from handrail.contract.disclosure.named_fields import Declared
    from handrail.ports.server import Team


# Performing a call

DEFAULT_ASK = Ask()
LIBRARY = Caller()
_T = TypeVar("_T")


def decode_input(called: Operation, params: dict[str, Json]) -> Any:
    """Return the input of an operation.

    Raise Fault VALIDATION_ERROR with every problem. Its `next_call` is the caller's own call, corrected, if
    the only mistakes are names with one nearest known name, or that it was wrapped as replies wrap it.
    """
    try:
        request = msgspec.convert(params, called.input, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the second: half a surrogate pair
        from handrail.runtime.refused_calls import refuse_input

        raise refuse_input(called, params, str(error)) from error
    if called.value_rules.keys() & params.keys():
        from handrail.runtime.refused_calls import refuse_misfits

        refuse_misfits(called, params)
    return request


def perform(
    runtime: Runtime,
    name: str,
    params: dict[str, Json],
    ask: Ask = DEFAULT_ASK,
    measure: Callable[[Success], int] | None = None,
    caller: Caller = LIBRARY,
    commits: Commits | None = None,
) -> Outcome:
    """Return the outcome of one operation of the registry, by its name."""
    try:
        called = runtime.registry.operation(name)
    except Fault as missing:
        return failure_of(missing)
    return perform_operation(runtime, called, params, ask, measure, caller, commits)


def perform_operation(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    ask: Ask = DEFAULT_ASK,
    measure: Callable[[Success], int] | None = None,
    caller: Caller = LIBRARY,
    commits: Commits | None = None,
) -> Outcome:
    """Return the outcome of one operation, disclosed as asked. Never raises for trouble of any kind.

    An interface that has something to do after it passes its own `commits`, to know whether it may still
    fail.
    """
    own = runtime.for_one_call(commits)
    if (sent := _ask_team(own, called, params, ask, caller)) is not None:
        return sent
    started_ms = runtime.clock.monotonic_ms()
    declared = None if ask.fields is None and ask.field is None else declared_of(called)
    settings: Settings | None = None

    def work() -> Outcome:
        nonlocal settings
        request, settings = _admit(own, called, params, caller, ask, declared)
        success = _as_success(called, called.perform(own.narrow(called.perform), request), own.name_people)
        outcome = _disclose_success(
            own, called, params, request, success, ask, measure or _measure_payload, declared
        )
        outcome = _add_cursor(own, called, request, outcome)
        # notices must not use up a budget
        return outcome if ask.budget is not None else _announce_removals(called, params, outcome)

    outcome = _catch_trouble(own, called.name, params, work)
    if isinstance(outcome, Failure) and caller.needs_key and called.effect == "create":
        outcome = _add_key(own, called, outcome)
    return _audit_outcome(own, called, params, outcome, caller, started_ms, settings)


def _announce_removals(called: Operation, params: dict[str, Json], outcome: Outcome) -> Outcome:
    """Return the outcome with a notice for each thing in the call that will be removed."""
    if called.name not in outcomes.WITH_DEPRECATIONS or isinstance(outcome, Failure):
        return outcome
    from handrail.contract.deprecations import find_used, notice_of

    used = find_used(called.name, params)
    return msgspec.structs.replace(outcome, notices=(*outcome.notices, *map(notice_of, used)))


def _add_key(runtime: ReadPorts, called: Operation, failure: Failure) -> Failure:
    """Add a request key to the corrected call of a refused creation, so that it can be sent unchanged."""
    call = failure.next_call
    if call is None or call.operation != called.name:
        return failure
    try:
        return msgspec.structs.replace(failure, next_call=add_request_key(runtime, call))
    except Fault:  # no project to make a key for, which is the reason of the refusal
        return failure


def perform_chunked(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    keep: Callable[[Iterator[bytes]], dict[str, Json]],
    caller: Caller = LIBRARY,
    commits: Commits | None = None,
) -> Outcome:
    """Return the outcome of an operation whose long field is written elsewhere in parts.

    `keep` takes the parts and returns the fields that replace them. It may raise Fault, and it is called only
    after every possible refusal.
    """
    started_ms = runtime.clock.monotonic_ms()
    own = runtime.for_one_call(commits)
    if (sent := _ask_team(own, called, params, DEFAULT_ASK, caller)) is not None:
        return _catch_trouble(own, called.name, params, lambda: _keep_parts(sent, keep))

    def work() -> Outcome:
        request, _ = _admit(own, called, params, caller, DEFAULT_ASK, None)
        assert called.chunked is not None, f"{called.name} offers no chunks"
        answered = called.chunked(own.narrow(called.chunked), request)
        return Success(data=make_readable_json(answered.facts | keep(answered.chunks)))

    outcome = _catch_trouble(own, called.name, params, work)
    return _audit_outcome(own, called, params, outcome, caller, started_ms)


def declared_of(called: Operation) -> Declared:
    """Return the names that answers of this operation can have, its dry runs included."""
    from handrail.contract.disclosure.named_fields import declare_fields

    types = [called.output, *called.variants]
    if called.effect == "ack" and "dry_run" in called.input.__struct_fields__:
        types.append(AckVerdict)
    elif called.effect in ("create", "gated", "dangerous"):
        from handrail.runtime.write_permission import DryRun

        types.append(DryRun)
    return declare_fields(types, called.item, called.shape)


def perform_stream(
    runtime: Runtime, name: str, params: dict[str, Json], ask: Ask, caller: Caller
) -> Iterator[StreamItem | Outcome]:
    """Yield the items of an operation that can stream, as they come, then its outcome."""
    started_ms = runtime.clock.monotonic_ms()
    called = runtime.registry.operation(name)
    own = runtime.for_one_call(None)
    if (sent := _ask_team(own, called, params, ask, caller)) is not None:
        yield from _list_lines(sent)
        return
    declared = None if ask.fields is None else declared_of(called)
    lines: Iterator[StreamItem | Success] | None = None

    def next_line() -> StreamItem | Outcome:
        nonlocal lines
        if lines is None:
            request, _ = _admit(own, called, params, caller, ask, declared)
            assert called.stream is not None, f"{name} offers no stream"
            lines = iter(called.stream(own.narrow(called.stream), request))
        return _disclose_line(called, next(lines), ask, declared)

    line = _catch_trouble(own, name, params, next_line)
    while isinstance(line, StreamItem):
        yield line
        line = _catch_trouble(own, name, params, next_line)
    yield _audit_outcome(own, called, params, line, caller, started_ms)


def audit_call(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    outcome: Outcome,
    caller: Caller,
    started_ms: int,
    settings: Settings | None = None,
) -> None:
    """Write the audit line of a call, even of one that a signal ended; `settings` if it has read them."""
    effect = effect_of(called, params)
    held = settings or settings_or_defaults(runtime)
    write_audit_line(runtime, held, caller, called, effect, params, outcome, started_ms)


def _admit(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    caller: Caller,
    ask: Ask,
    declared: Declared | None,
) -> tuple[Any, Settings | None]:
    """Return the decoded input, if it is valid, can be answered as asked, and is permitted to this caller.

    Also return the settings, which only a write reads.
    """
    if misplaced := find_misplaced_work(called, params):
        from handrail.runtime.refused_calls import refuse_misplaced_work

        refuse_misplaced_work(runtime, misplaced)
    effect = effect_of(called, params)
    if runtime.may is not None:
        runtime.may(called, effect)
    request = decode_input(called, params)
    _confine(runtime, called, params)
    refusal = refuse_ask(ask, called.shape, declared)
    if refusal is not None:
        raise Fault(refusal.kind, refusal.message, details=refusal.details, hint=refusal.hint)
    if effect == "read":
        return request, None
    settings = runtime.settings.of()
    runtime.commits.notify = settings.notify
    _require_effect(runtime, settings, called, effect)
    if effect == "create" and caller.needs_key:
        require_key(runtime, called, request)
    return request, settings


def _require_effect(runtime: Runtime, settings: Settings, called: Operation, effect: Effect) -> None:
    """Raise Fault E_FORBIDDEN for what `maxEffect` forbids programs; it never binds a person."""
    if not (runtime.is_at_console or called.is_persons):
        require_permission(settings, effect)


def _confine(runtime: Runtime, called: Operation, params: dict[str, Json]) -> None:
    """Raise Fault E_FORBIDDEN if a path of the call leads out of the roots of this server."""
    if runtime.roots is not None:
        runtime.roots.require(list_paths(called.input, params))


# A call of a project that belongs to a team goes to the server, within what the user permits on this machine


def _ask_team(
    runtime: Runtime, called: Operation, params: dict[str, Json], ask: Ask, caller: Caller
) -> Outcome | None:
    """Return the answer of the team server; None if there is no team, or the call is not for its server."""
    if runtime.team is None:
        return None
    make = runtime.team

    def work() -> Outcome | None:
        return _send(runtime, make(), called, params, ask, caller)

    return _catch_trouble(runtime, called.name, params, work)


def _send(
    runtime: Runtime, team: Team, called: Operation, params: dict[str, Json], ask: Ask, caller: Caller
) -> Outcome | None:
    from handrail.ports.server import TeamCall

    effect = effect_of(called, params)
    call = TeamCall(
        operation=called.name,
        where=called.where,
        effect=effect,
        params=params,
        ask=ask,
        needs_key=caller.needs_key,
        client=runtime.client,
        can_ask=runtime.can_ask,
    )
    if not team.takes(call):
        return None
    _confine(runtime, called, params)
    if effect != "read":
        _require_effect(runtime, runtime.settings.of(), called, effect)
    runtime.commits.is_sent = effect != "read"
    answer = team.perform(call)
    runtime.commits.is_sent = False  # stays set if a stop comes in between, for the interface to report
    return answer


def _keep_parts(answer: Outcome, keep: Callable[[Iterator[bytes]], dict[str, Json]]) -> Outcome:
    """Return the answer with its long field written elsewhere: the team server sends it as a whole.

    Raise Fault.
    """
    if not isinstance(answer, Success) or not isinstance(answer.data, dict) or "content" not in answer.data:
        return answer
    facts = {name: value for name, value in answer.data.items() if name not in ("content", "_untrusted")}
    content = answer.data["content"]
    whole = content.encode() if isinstance(content, str) else msgspec.json.encode(content)
    return msgspec.structs.replace(answer, data=facts | keep(iter((whole,))))


def _list_lines(outcome: Outcome) -> Iterator[StreamItem | Outcome]:
    """Yield an answer that came as a whole, as the lines of a stream."""
    if isinstance(outcome, Success) and outcome.page is not None:
        yield from (StreamItem(data=item) for item in outcome.page.items)
        outcome = msgspec.structs.replace(outcome, page=None)
    yield outcome


def _disclose_success(
    rt: Runtime,
    called: Operation,
    params: dict[str, Json],
    request: Any,
    success: Success,
    ask: Ask,
    measure: Callable[[Success], int],
    declared: Declared | None,
) -> Outcome:
    """Disclose a success. The answer to a write is never withheld: too small a budget gets a warning."""
    shape = shape_of(called, params)
    is_write = effect_of(called, params) != "read"

    def narrower(count: int) -> Success:
        return _as_success(
            called, called.perform(rt.narrow(called.perform), msgspec.structs.replace(request, limit=count))
        )

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


def _catch_trouble(
    runtime: Runtime, name: str, params: dict[str, Json], work: Callable[[], _T]
) -> _T | Outcome:
    """Return the value of the work. Trouble becomes a failure, unless something was committed before."""
    done = _try_work(work, lambda: _record_incident(runtime))
    match done:
        case _Trouble(fault=PartlyDone() as fault):
            return _redact_failure(failure_of(fault))
        case _Trouble(fault=fault, incident=incident) if runtime.commits.is_made:
            cause = INTERNAL_ERROR if fault is None else fault.kind
            return make_stand_in(runtime.commits, cause=cause.code, incident=incident)
        case _Trouble(defect=Exception() as defect, incident=incident):
            return failure_of_defect(defect, incident)
        case _Trouble(fault=fault):
            assert fault is not None, "trouble is a fault or a defect"
            from handrail.runtime.refused_calls import correct_call

            return _redact_failure(correct_call(failure_of(fault), name, params))
        case _:
            return done


def _audit_outcome(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    outcome: Outcome,
    caller: Caller,
    started_ms: int,
    settings: Settings | None = None,
) -> Outcome:
    """Write the audit line of the outcome; if that fails, add a notice. Watchers get it too."""
    if runtime.observer is not NO_OBSERVER:
        _try_work(
            lambda: runtime.observer.note_call(_note_of(runtime, called.name, outcome, started_ms)),
            lambda: _record_incident(runtime),
        )
    done = _try_work(
        lambda: audit_call(runtime, called, params, outcome, caller, started_ms, settings),
        lambda: _record_incident(runtime),
    )
    if not isinstance(done, _Trouble) or isinstance(outcome, Failure):
        return outcome
    message = "The call is not in the audit log: its line could not be written."
    notice = Notice(type="audit_not_written", message=message, severity="warning")
    return msgspec.structs.replace(outcome, notices=(*outcome.notices, notice))


def _note_of(runtime: ReadPorts, name: str, outcome: Outcome, started_ms: int) -> CallNote:
    duration_ms = runtime.clock.monotonic_ms() - started_ms
    if isinstance(outcome, Failure):
        return CallNote(operation=name, outcome=outcome.kind.code, is_failure=True, duration_ms=duration_ms)
    is_blocked = isinstance(outcome.data, dict) and outcome.data.get("kind") == "blocked"
    return CallNote(
        operation=name,
        outcome="blocked" if is_blocked else "ok",
        is_failure=False,
        duration_ms=duration_ms,
    )


def try_afterwards(runtime: WritePorts, work: Callable[[], str]) -> str:
    """Run work that follows a call; return why it failed, empty if it succeeded.

    Never raises, because the call itself has succeeded.
    """
    done = _try_work(work, lambda: _record_incident(runtime))
    if not isinstance(done, _Trouble):
        return done
    return "an internal error" if done.fault is None else done.fault.message


class _Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why a piece of work did not finish."""

    fault: Fault | None = None
    defect: Exception | None = None
    incident: str = ""


def _try_work(work: Callable[[], _T], record: Callable[[], str]) -> _T | _Trouble:
    try:
        return work()
    except Fault as fault:
        return _Trouble(fault=fault)
    except Exception as defect:  # noqa: BLE001 - the one place where an unforeseen exception becomes a value
        # Keeping the traceback may fail for the same reason: no memory, no descriptor.
        incident = _try_work(record, str)
        return _Trouble(defect=defect, incident=incident if isinstance(incident, str) else "")


def _record_incident(runtime: WritePorts) -> str:
    import traceback

    return runtime.incidents.record(traceback.format_exc())


def _redact_failure(failure: Failure) -> Failure:
    """Return the failure without secrets that the caller sent; its next call shows where one was left out.

    A hint may hold a token to continue with, but never needs the login of an address.
    """
    following = failure.next_call
    if following is not None:
        params = redact_named_secrets(following.params)
        following = msgspec.structs.replace(following, params=params)
        following = msgspec.structs.replace(following, params=make_readable_json(following.params))
    return msgspec.structs.replace(
        failure,
        message=redact_shapes(failure.message)[:MESSAGE_LIMIT],
        hint=redact_credentials(failure.hint)[:HINT_LIMIT],
        details=make_prompt_json(redact_secrets(failure.details)),
        next_call=following,
    )


def _as_success(
    called: Operation, result: Any, name_people: Callable[[str, Json], Json] | None = None
) -> Success:
    success = result if isinstance(result, Success) else Success(data=msgspec.to_builtins(result))

    def clean(value: Any) -> Any:
        readable = make_prompt_json(value) if called.tool else make_readable_json(value)
        return readable if name_people is None else name_people(called.name, readable)

    page = success.page
    if page is not None:
        page = msgspec.structs.replace(page, items=tuple(clean(page.items)))
    return msgspec.structs.replace(success, data=clean(success.data), page=page)


def _disclose_line(
    called: Operation, line: StreamItem | Success, ask: Ask, declared: Declared | None
) -> StreamItem | Outcome:
    """Return a line of a list, disclosed as an item of its page would be."""
    if isinstance(line, Success):
        whole = Ask(mvi=ask.mvi)  # fields were picked from the items; a summary has its own
        return disclose(line, None if called.item is not None else called.shape, whole, _measure_payload)
    if called.item is None:
        return line
    page = Success(data={}, page=Page(items=(line.data,)))
    unbounded = msgspec.structs.replace(ask, budget=None)
    match disclose(page, called.shape, unbounded, _measure_payload, declared=declared):
        case Success(page=Page(items=(data,))):
            return msgspec.structs.replace(line, data=data)
        case trouble:
            return trouble


def _measure_payload(success: Success) -> int:
    """Return the size of the bare payload, for callers that send no document."""
    items = [] if success.page is None else list(success.page.items)
    return len(msgspec.json.encode([success.data, items]))


def _add_cursor(runtime: ReadPorts, called: Operation, request: Any, outcome: Outcome) -> Outcome:
    """Add the cursor last: only now is it known which item is the last one sent."""
    if not isinstance(outcome, Success) or outcome.page is None or not outcome.page.has_more:
        return outcome
    if outcome.page.style != "cursor":
        return outcome
    from handrail.runtime.paging import continue_page

    return msgspec.structs.replace(outcome, page=continue_page(runtime, called, request, outcome.page))
