"""Answer a team client's call: perform it with the facts it sent, or ask for the facts that are missing.

Asking records nothing: the operation stops before it changes anything. The state that comes with the order
names the call that it belongs to.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from handrail.contract.catalogue import E_VALIDATION, FEATURE_DISABLED
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.mcp_and_http import describe_outcome
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json, Outcome, failure_of
from handrail.contract.tokens import sealed
from handrail.contract.wording import make_readable_json
from handrail.operations.kept_trees import take_due_tree
from handrail.operations.sessions.resume_session import WORK_HERE
from handrail.ports.server import FactsDue
from handrail.runtime.hub import perform_operation, try_afterwards
from handrail.runtime.operation import Effect, Operation
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime, TreeDue
from handrail.version import __version__
from handrail_team.accounts.forgetting import ON_MACHINE
from handrail_team.client.note_tree import NOTE_TREE
from handrail_team.client.sent_ports import SentTrees, enter_client
from handrail_team.client.wire import (
    PROTOCOL,
    ClientAnswer,
    ClientCall,
    FactsOrder,
    from_wire,
    require_same_major,
    to_wire,
)

DOMAIN: Final = "handrail.team_client"
LIFETIME_SECONDS: Final = 900
"""How long gathering may take: as long as the programs that it starts."""
_MAC_BYTES: Final = 16
_OF_HOOKS: Final = {one.name: one for one in (NOTE_TREE, WORK_HERE)}
"""Operations outside the registry: only a client's hook or the team client sends them."""
_RECORDED: Final[tuple[Effect, ...]] = ("process", "record")


def answer_client(runtime: Runtime, content: bytes) -> bytes:
    """Return the answer to one message. Raises Fault E_VALIDATION if it is not a client's call."""
    try:
        call = from_wire(content, ClientCall)
    except (msgspec.MsgspecError, UnicodeDecodeError) as trouble:
        raise Fault(
            E_VALIDATION,
            "The message is not a call of a team client.",
            details={"param": ""},
            hint="Call the operations of /api directly, or update the team client.",
        ) from trouble
    return to_wire(_answer(runtime, call))


def _answer(runtime: Runtime, call: ClientCall) -> ClientAnswer:
    try:
        require_same_major(call.here.version, "the team client")
        _require_own_facts(runtime, call)
        called = _find_operation(runtime, call)
        ask = _read_ask(call.ask)
    except Fault as fault:
        return _make_answer(failure_of(fault))
    entered = enter_client(runtime, call)
    caller = Caller(
        tool="handrail team-client",
        command=f"{call.operation}{ON_MACHINE}{call.here.machine}",
        needs_key=call.needs_key,
    )
    try:
        outcome = perform_operation(entered, called, call.params, ask, None, caller)
    except FactsDue as due:
        order: FactsOrder = due.order
        state = _mint_state(runtime, call)
        return ClientAnswer(
            version=__version__, facts_first=msgspec.structs.replace(order, request_state=state)
        )
    trees = entered.trees()
    assert isinstance(trees, SentTrees), "a client's call has the trees that it sent"
    trees.may_ask = False
    for due_tree in entered.trees_due or ():
        if isinstance(due_tree, TreeDue):
            try_afterwards(entered, partial(take_due_tree, entered, due_tree, 0))
    return _make_answer(outcome)


def _make_answer(outcome: Outcome) -> ClientAnswer:
    return ClientAnswer(version=__version__, outcome=describe_outcome(outcome))


def _find_operation(runtime: Runtime, call: ClientCall) -> Operation:
    """Return the operation if the server performs it, or records the result of a program on the client."""
    called = _OF_HOOKS.get(call.operation) or runtime.registry.operation(call.operation)
    if called.where != "client":
        return called
    if called.effect in _RECORDED:
        own: Operation = msgspec.structs.replace(called, where="server", effect="record")
        return own
    raise Fault(
        FEATURE_DISABLED,
        "The team client performs this operation itself.",
        hint="Update the team client.",
    )


def _read_ask(given: dict[str, Json]) -> Ask:
    try:
        return msgspec.convert(given, Ask)
    except msgspec.ValidationError as trouble:
        raise Fault(E_VALIDATION, "The call has unknown options for its answer.") from trouble


# The state of an order: which call it belongs to


def _mint_state(runtime: Runtime, call: ClientCall) -> str:
    ends_at = runtime.clock.unix_seconds() + LIFETIME_SECONDS
    return f"{ends_at}.{sealed.encode(_sign(runtime, call, ends_at))}"


def _require_own_facts(runtime: Runtime, call: ClientCall) -> None:
    """Raise Fault E_VALIDATION if the facts were gathered for another call, or too long ago."""
    if not call.request_state:
        return
    ends_at, _, mac = call.request_state.partition(".")
    given = sealed.decode(mac)
    is_fresh = ends_at.isdecimal() and runtime.clock.unix_seconds() < int(ends_at[:15])
    if given is not None and is_fresh and given == _sign(runtime, call, int(ends_at[:15])):
        return
    raise Fault(
        E_VALIDATION,
        "These facts belong to another call or are too old. Handrail did nothing.",
        details={"param": "requestState"},
        hint="Make the call again.",
    )


def _sign(runtime: Runtime, call: ClientCall, ends_at: int) -> bytes:
    principal = runtime.principal
    bound: Any = {
        "v": PROTOCOL,
        "call": call.call_id,
        "operation": call.operation,
        "params": make_readable_json(call.params),
        "credential": "" if principal is None else principal.credential,
        "machine": call.here.machine,
        "ends": ends_at,
    }
    return sealed.sign(runtime.keys.request_key(), DOMAIN, canonical_bytes(bound), _MAC_BYTES)
