"""What a caller may do at all: the permission ceiling, and the key that makes a creation repeatable."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.canonical import digest
from handrail.contract.catalogue import E_CONFIRMATION_REQUIRED, E_FORBIDDEN
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.vocabulary import MaxEffect
from handrail.contract.wording import make_readable, make_readable_json
from handrail.ports import Settings
from handrail.runtime.operation import Effect, Operation
from handrail.runtime.runtime import Runtime

NEEDED: dict[Effect, MaxEffect] = {
    "read": "read",
    "record": "write",
    "create": "write",
    "ack": "write",
    "gated": "write",
    "dangerous": "dangerous",
    "update": "write",
}
"""The ceiling that each effect asks for."""

KEY = "requestId"
_ORDER: tuple[MaxEffect, ...] = ("read", "write", "dangerous")
_KEY_LENGTH = 16


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, as the audit names it."""

    tool: str = "handrail library"
    command: str = ""
    """How the surface calls the operation; empty: by its name."""
    needs_key: bool = False
    """Whether a creation must bring its idempotency key, because the caller may repeat a lost call."""


def require_permission(settings: Settings, effect: Effect) -> None:
    """Refuse what lies above the ceiling, before anything is resolved or shown; a read never does.

    Raises Fault E_FORBIDDEN.
    """
    ceiling, needed = settings.max_effect, NEEDED[effect]
    if _ORDER.index(needed) <= _ORDER.index(ceiling):
        return
    raise Fault(
        E_FORBIDDEN,
        f"This call needs the permission {needed!r}, and max_effect allows {ceiling!r}. Nothing was done.",
        details={"setting": "max_effect", "needed": needed, "given": ceiling},
        hint="Ask the user. They raise maxEffect in config.json of the home, or unset HANDRAIL_MAX_EFFECT.",
    )


def require_key(rt: Runtime, called: Operation, request: Any) -> None:
    """Refuse a creation that could not be repeated safely; the next call carries a key made from it.

    A dry run, or the confirm token of one, does as well. What the creation would be refused for comes
    first: the call that is offered shall work. Raises Fault E_CONFIRMATION_REQUIRED.
    """
    params: dict[str, Json] = make_readable_json(msgspec.to_builtins(request))
    if _has_key(params):
        return
    if called.foresee is not None:
        called.foresee(rt, request)
    raise Fault(
        E_CONFIRMATION_REQUIRED,
        "This command creates something and needs a request id, so that a repeat does not create it twice.",
        details={"missing": "request_id", "effect": called.effect},
        next_call=keyed(rt, NextCall(operation=called.name, params=params)),
    )


def keyed(rt: Runtime, call: NextCall) -> NextCall:
    """The call of a creation with a key that is made from it, where it has none.

    Raises Fault when there is no project for it.
    """
    if _has_key(call.params):
        return call
    # The same arguments in another project are another start.
    where = make_readable(rt.workspace.project(call.params.get("project", "")))
    content = digest({"operation": call.operation, "params": call.params, "project": where})
    derived = "auto-" + content.removeprefix("sha256:")[:_KEY_LENGTH]
    return msgspec.structs.replace(call, params=call.params | {KEY: derived})


def _has_key(params: dict[str, Json]) -> bool:
    return KEY in params or params.get("dryRun") is True or "confirm" in params
