"""One audit line per change or refused change: who asked for what, and what came of it.

What a caller wrote (notes, context, artifacts, goals, files) is told by size and digest only.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from handrail import __version__
from handrail.contract.ids import is_session_id
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success
from handrail.contract.redaction import REDACTED, is_secret_name, without_shapes
from handrail.contract.wording import make_readable
from handrail.ports import AuditLine, Settings
from handrail.runtime.operation import Effect
from handrail.runtime.permission import KEY, Caller
from handrail.runtime.runtime import Runtime

_CONTENT = frozenset(
    {"context", "notesMarkdown", "artifacts", "goal", "document", "documents", "replay", "bundle", "query"}
)
_TOKENS = ("confirm", "ackToken", "checkpointToken")
"""What authorised a call, the strongest first."""
_LONGEST_ARGUMENT = 256
_MOST_ITEMS = 50
_FINGERPRINT_LENGTH = 16


def account_for(
    rt: Runtime,
    settings: Settings,
    caller: Caller,
    operation: str,
    effect: Effect,
    params: dict[str, Json],
    outcome: Outcome,
    started_ms: int,
) -> None:
    """Write the line of one call, unless it is a read that nobody wants to know of. Never fails."""
    if effect == "read" and not settings.audit_reads:
        return
    kind = outcome.kind if isinstance(outcome, Failure) else None
    line = AuditLine(
        at=rt.clock.now(),
        tool=caller.tool,
        version=__version__,
        command=caller.command or operation,
        args={_text(name): _told(name, value) for name, value in params.items()},
        account=rt.workspace.account(),
        workspace=_workspace(rt, params),
        effect=effect,
        dry_run=params.get("dryRun") is True,
        code=None if kind is None else kind.code,
        exit=0 if kind is None else kind.exit_status,
        duration_ms=rt.clock.monotonic_ms() - started_ms,
        targets_count=_targets(params, outcome),
        token_fingerprint=_fingerprint(params),
        request_id=_text(params.get(KEY, ""))[:128],
    )
    rt.audit.record(line, settings.audit_months)


def account_for_start(rt: Runtime, caller: Caller) -> None:
    """The line of a server that begins to listen."""
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


def settings_or_defaults(rt: Runtime) -> Settings:
    """For what must go on: broken settings do not turn the audit off."""
    try:
        return rt.settings.of()
    except Fault:
        return Settings()


def _workspace(rt: Runtime, params: dict[str, Json]) -> str:
    asked = params.get("project", "")
    try:
        return make_readable(rt.workspace.project(asked if isinstance(asked, str) else ""))
    except Fault:
        return ""


def _told(name: str, value: Json) -> Json:
    """An argument as the log may know it."""
    if name in _CONTENT:
        return _measured(value)
    if name in ("confirm", "cursor") or is_secret_name(name):
        return REDACTED
    match value:
        case str() if name == "session" and not is_session_id(value):
            return REDACTED
        case str() if len(value) > _LONGEST_ARGUMENT:
            return _measured(value)
        case dict():
            return {_text(inner): _told(_text(inner), held) for inner, held in value.items()}
        case list() if len(value) > _MOST_ITEMS:
            return _measured(value)
        case list():
            return [_told("", held) for held in value]
        case str():
            return _text(value)
        case None | bool() | int() | float():
            return value
        case _:
            return _not_json(value)


def _measured(value: Json) -> dict[str, Json]:
    """How much it was, and a digest to compare by; a value that is no JSON is accounted for by its type."""
    if isinstance(value, str):
        encoded = value.encode("utf-8", "surrogatepass")
    else:
        try:
            encoded = msgspec.json.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return _not_json(value)
    return {"bytes": len(encoded), "sha256": sha256(encoded).hexdigest()}


def _text(value: Any) -> str:
    """Whatever its field is called: a token in the wrong one is a token all the same."""
    return without_shapes(make_readable(str(value)))


def _not_json(value: Any) -> dict[str, Json]:
    return {"not_json": type(value).__name__}


def _fingerprint(params: dict[str, Json]) -> str:
    """Which token was used, without the token. Of a confirm token it begins the name of its claim."""
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
