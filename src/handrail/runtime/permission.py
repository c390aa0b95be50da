"""What a caller may do, and the audit line of what it did.

Every change and every refused change gets one audit line: who asked for what, and the result. The line has
the size and a digest of what the caller wrote (`contract.parameters`), not the text.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any, Literal

import msgspec

from handrail.contract.catalogue import E_CONFIRMATION_REQUIRED, E_FORBIDDEN
from handrail.contract.ids import MaxEffect
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Failure, Fault, Json, NextCall, Outcome, Success
from handrail.contract.parameters import describe_params
from handrail.contract.wording import make_readable, make_readable_json
from handrail.ports.process import AuditLine, McpProcess
from handrail.ports.workspace import Settings
from handrail.runtime.operation import Effect, Operation
from handrail.runtime.runtime import ReadPorts, Runtime
from handrail.version import __version__

# Permission: the ceiling, and the key that makes a creation repeatable

NEEDED: dict[Effect, MaxEffect] = {
    "read": "read",
    "record": "write",
    "process": "write",
    "create": "write",
    "ack": "write",
    "gated": "write",
    "dangerous": "dangerous",
    "update": "write",
}
"""The ceiling (`maxEffect`) that each effect needs."""

KEY = "requestId"
_ORDER: tuple[MaxEffect, ...] = ("read", "write", "dangerous")
_KEY_LENGTH = 16


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The caller as the audit names it."""

    tool: str = "handrail library"
    command: str = ""
    """The command of the interface that called the operation; empty for the operation's own name."""
    needs_key: bool = False
    """Whether a creation must have an idempotency key, because the caller may repeat a lost call."""


def require_permission(settings: Settings, effect: Effect) -> None:
    """Refuse an effect above the ceiling, before anything is resolved or shown; a read is never above it.

    Raise Fault E_FORBIDDEN.
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
    """Refuse a creation that could not be repeated safely; the next call has a key made from it.

    A dry run, or the confirm token of one, is accepted too. Other reasons to refuse the creation come first,
    so that the offered call works. Raise Fault E_CONFIRMATION_REQUIRED.
    """
    params: dict[str, Json] = make_readable_json(msgspec.to_builtins(request))
    if _has_key(params):
        return
    if called.foresee is not None:
        called.foresee(rt.narrow(called.foresee), request)
    raise Fault(
        E_CONFIRMATION_REQUIRED,
        "This command creates something and needs a request id, so that a repeat does not create it twice.",
        details={"missing": "request_id", "effect": called.effect},
        next_call=add_request_key(rt, NextCall(operation=called.name, params=params)),
    )


def add_request_key(rt: ReadPorts, call: NextCall) -> NextCall:
    """Return the call of a creation with a key that is made from it, if it has none.

    Raise Fault if there is no project for it.
    """
    if _has_key(call.params):
        return call
    # The same arguments in another project start another session.
    where = make_readable(rt.workspace.project(call.params.get("project", "")))
    content = digest({"operation": call.operation, "params": call.params, "project": where})
    derived = "auto-" + content.removeprefix("sha256:")[:_KEY_LENGTH]
    return msgspec.structs.replace(call, params=call.params | {KEY: derived})


def _has_key(params: dict[str, Json]) -> bool:
    return KEY in params or params.get("dryRun") is True or "confirm" in params


# Audit

_IN_THE_LOG: frozenset[Effect] = frozenset({"ack", "create", "process", "record"})
"""The effects for which a session keeps an event, with its actor and its time."""
_TOKENS = ("confirm", "ackToken", "checkpointToken")
"""The arguments that can authorise a call, the strongest first."""
_FINGERPRINT_LENGTH = 16


def write_audit_line(
    rt: Runtime,
    settings: Settings,
    caller: Caller,
    called: Operation,
    effect: Effect,
    params: dict[str, Json],
    outcome: Outcome,
    started_ms: int,
) -> None:
    """Write the audit line of one call.

    A read has none, unless reads are audited. A step that an agent of an account took has none either: the
    log of its session says who did what, and a line of its own would be a second commit.
    """
    if effect == "read" and not settings.audit_reads:
        return
    if _is_step_of_agent(rt, effect, outcome):
        return
    kind = outcome.kind if isinstance(outcome, Failure) else None
    args = describe_params(called.input, params)
    key = args.get(KEY)
    line = AuditLine(
        at=rt.clock.now(),
        tool=caller.tool,
        version=__version__,
        command=caller.command or called.name,
        args=args,
        account=rt.workspace.account(),
        workspace=_workspace(rt, params),
        effect=effect,
        dry_run=params.get("dryRun") is True,
        code=None if kind is None else kind.code,
        exit=0 if kind is None else kind.exit_status,
        duration_ms=rt.clock.monotonic_ms() - started_ms,
        targets_count=_targets(params, outcome),
        token_fingerprint=_fingerprint(params),
        request_id=key if isinstance(key, str) else "",
    )
    rt.audit.record(line, settings.audit_months)


def _is_step_of_agent(rt: Runtime, effect: Effect, outcome: Outcome) -> bool:
    is_agent = rt.principal is not None and rt.principal.kind == "agent"
    return is_agent and effect in _IN_THE_LOG and isinstance(outcome, Success)


def write_server_start_line(rt: Runtime, caller: Caller) -> None:
    """Write the audit line of a server that begins to listen."""
    line = AuditLine(
        at=rt.clock.now(),
        tool=caller.tool,
        version=__version__,
        command=caller.command,
        account=rt.workspace.account(),
        workspace=_workspace(rt, {}),
        effect="server",
    )
    rt.audit.record(line, settings_or_defaults(rt).audit_months)


def announce_process(rt: Runtime, transport: Literal["stdio", "http"], tools: tuple[str, ...]) -> None:
    """Add a server that begins to listen to the list of running ones."""
    server = McpProcess(
        pid=os.getpid(),
        version=__version__,
        transport=transport,
        project=_workspace(rt, {}),
        tools=tools,
        started_at=rt.clock.now(),
    )
    rt.mcp_processes().announce(server)


def settings_or_defaults(rt: ReadPorts) -> Settings:
    """Return the settings, or the defaults if they cannot be read: broken ones stop neither the audit nor a
    read.
    """
    try:
        return rt.settings.of()
    except Fault:
        return Settings()


def _workspace(rt: ReadPorts, params: dict[str, Json]) -> str:
    asked = params.get("project", "")
    try:
        return make_readable(rt.workspace.project(asked if isinstance(asked, str) else ""))
    except Fault:
        return ""


def _fingerprint(params: dict[str, Json]) -> str:
    """Return which token was used, without the token.

    For a confirm token it is the start of its fingerprint.
    """
    used: Any = next((params[name] for name in _TOKENS if isinstance(params.get(name), str)), "")
    return sha256(used.encode("utf-8", "surrogatepass")).hexdigest()[:_FINGERPRINT_LENGTH] if used else ""


def _targets(params: dict[str, Json], outcome: Outcome) -> int:
    if isinstance(outcome, Success) and isinstance(outcome.data, dict):
        for name in ("summary", "preview"):
            held = outcome.data.get(name)
            if isinstance(held, dict) and isinstance(held.get("total"), int):
                return int(held["total"])
    named = params.get("ids")
    return len(named) if isinstance(named, list) else 1
