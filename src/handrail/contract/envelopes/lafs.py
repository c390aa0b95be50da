"""The LAFS dialect: an Outcome as a strict LAFS envelope, its minimal rendering and the way back. Pure."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.catalogue import CONTEXT_MISSING, CONTEXT_STALE, KINDS, Kind
from handrail.contract.deprecations import DEPRECATED
from handrail.contract.envelopes.cli import (
    PLACE_KEYS,
    domain_code_of,
    hint_of,
    operation_call,
    payload_of,
    wait_ms_of,
)
from handrail.contract.outcome import UNTRUSTED, Call, Failure, Json, Notice, Outcome, Page, Success
from handrail.contract.registered import BUDGET_TRUNCATED_WARNING, REGISTRY


def deprecation_warning(notice: Notice) -> dict[str, Json]:
    """Return the notice in the form of LAFS."""
    facts = notice.extra
    return {
        "code": "W_DEPRECATED_" + re.sub("[._-]", "_", facts["id"]).upper(),
        "message": notice.message,
        "severity": notice.severity,
        "deprecated": facts["what"],
        "replacement": facts["replacement"],
        "removeBy": facts["remove_by"],
    }


# The envelope

Document: TypeAlias = dict[str, Json]
Mvi: TypeAlias = Literal["minimal", "standard", "full"]

SCHEMA_URI = "https://lafs.dev/schemas/v1/envelope.schema.json"
VERSION = "1.0.0"
"""Value of both `specVersion` and `schemaVersion`."""

CONTEXT_REQUIRED_OPERATIONS = frozenset({"run.continue", "run.checkpoint"})
"""Operations that need the session's context, which must not be lost (LAFS section 8)."""

_CONTEXT_CODES = frozenset({CONTEXT_MISSING.lafs_code, CONTEXT_STALE.lafs_code})
_RENAMED_DETAILS = {"estimated_tokens": "estimatedTokens", "excess_tokens": "excessTokens"}
"""LAFS 9.5.3 names these two; every other detail keeps its name."""

_MINIMAL_META = ("requestId", "contextVersion", "sessionId", "warnings")
_MINIMAL_ERROR = ("code", "agentAction", "escalationRequired", "retryAfterMs", "details")


def to_lafs(outcome: Outcome, call: Call, *, mvi: Mvi = "standard") -> Document:
    """Return the envelope of one call; schema-complete unless `mvi` asks for the minimal rendering."""
    envelope: Document = {"$schema": SCHEMA_URI, "_meta": _meta(outcome, call, mvi)}
    match outcome:
        case Success():
            envelope |= {"success": True, "result": _result(outcome)}
            if outcome.page is not None:
                envelope["page"] = _page(outcome.page)
        case Failure():
            envelope |= {"success": False, "result": None, "error": _error(outcome)}
        case never:
            assert_never(never)
    envelope["_extensions"] = _extensions(outcome, call)
    # Picked fields make the level custom, and only the minimal one leaves out its own name (LAFS 9.1, 9.2).
    is_minimal = mvi == "minimal" and not (isinstance(outcome, Success) and outcome.disclosure == "custom")
    return _minimal(envelope) if is_minimal else envelope


def about_session(outcome: Outcome, call: Call) -> Call:
    """Return the call with the one session that its answer is about; an answer that lists several
    has none.
    """
    facts = outcome.details if isinstance(outcome, Failure) else outcome.data
    held = facts if isinstance(facts, dict) else {}
    inner = held.get("session")
    named = [held.get(name) for name in ("sessionId", "session_id", "id")]
    named += [inner.get("sessionId")] if isinstance(inner, dict) else []
    found = (one for one in named if isinstance(one, str) and one.startswith("ses_"))
    return msgspec.structs.replace(call, session_id=next(found, call.session_id))


def expand_minimal(document: Document, call: Call) -> Document:
    """Return a schema-complete envelope from a minimal one and from what its caller knows about the
    call.

    Constants come back as they were. Category and retry rule come from the catalogue row that the
    details name, or else from the registry. The message is lost, so the title of the code replaces
    it. What the document itself contains is kept, so a complete envelope comes back unchanged.
    """
    known = _known_meta(call)
    restored: Document = {"$schema": SCHEMA_URI, "_meta": known}
    if "success" in document:
        restored |= {"success": document["success"], "result": None}
    restored |= document
    if isinstance(document.get("_meta"), dict):
        restored["_meta"] = known | document["_meta"]
    if isinstance(document.get("error"), dict):
        restored["error"] = _restored_error(document["error"])
    return restored


def _meta(outcome: Outcome, call: Call, mvi: Mvi) -> Document:
    meta = _known_meta(call) | {"mvi": mvi}
    notices = call.notices if isinstance(outcome, Failure) else (*outcome.notices, *call.notices)
    if notices:
        meta["warnings"] = [_warning(notice) for notice in notices]
    if isinstance(outcome, Failure):
        return meta
    if outcome.disclosure != "standard":
        meta["mvi"] = outcome.disclosure
    if outcome.ledger is not None:
        meta["contextVersion"] = outcome.ledger.version
    return meta


def _known_meta(call: Call) -> Document:
    """Return what every caller knows: the constants and the facts of the call."""
    meta: Document = {
        "specVersion": VERSION,
        "schemaVersion": VERSION,
        "timestamp": call.at,
        "operation": call.operation,
        "requestId": call.request_id,
        "transport": call.transport,
        "strict": True,
        "mvi": "minimal",
        "contextVersion": 0,
    }
    if call.session_id:
        meta["sessionId"] = call.session_id
    return meta


def _warning(notice: Notice) -> Document:
    if notice.type == DEPRECATED:
        return deprecation_warning(notice)
    code = "W_" + re.sub("[^A-Z0-9]+", "_", notice.type.upper())
    if notice.type == "budget_truncated":
        code = BUDGET_TRUNCATED_WARNING
    own = {"code": code, "message": notice.message, "severity": notice.severity}
    return {**own, **notice.extra, **own}  # an extra key cannot change what the warning is


def _result(success: Success) -> Json:
    payload = payload_of(success)
    if success.page is None or isinstance(payload, list):
        return payload
    left_out = PLACE_KEYS if success.page.list_key == "items" else (*PLACE_KEYS, UNTRUSTED)
    return {key: value for key, value in payload.items() if key not in left_out}


def _page(page: Page) -> Document:
    described: Document
    match page.style:
        case "cursor":
            described = {
                "mode": "cursor",
                "nextCursor": page.next_cursor if page.has_more else None,
                "hasMore": page.has_more,
                "limit": page.limit,
            }
        case "offset":
            described = {
                "mode": "offset",
                "limit": page.limit,
                "offset": page.offset,
                "hasMore": page.has_more,
            }
        case "none":
            return {"mode": "none"}
        case never:
            assert_never(never)
    return described if page.total is None else described | {"total": page.total}


def _error(failure: Failure) -> Document:
    kind = failure.kind
    details = {_RENAMED_DETAILS.get(name, name): value for name, value in failure.details.items()}
    details |= {"native_code": kind.native, **domain_code_of(failure)}
    if failure.next_call is not None:
        details["next_call"] = operation_call(failure.next_call)
    error: Document = {
        "code": kind.lafs_code,
        "message": failure.message,
        "category": kind.category,
        "retryable": kind.is_lafs_retryable,
        "retryAfterMs": wait_ms_of(failure),
        "details": details,
        "agentAction": kind.agent_action,
    }
    if kind.needs_escalation:
        error["escalationRequired"] = True
    return error | {"suggestedAction": hint_of(failure)}


def _marks_beside(success: Success) -> list[Json]:
    """Return the dotted names of outside text in a LAFS document, whose own keys are a closed set."""
    is_closed = success.page is not None and success.page.list_key != "items"
    marks: list[Json] = (
        success.data.get(UNTRUSTED, []) if is_closed and isinstance(success.data, dict) else []
    )
    return marks


def _extensions(outcome: Outcome, call: Call) -> Document:
    extensions: Document = {"x-timing": {"executionMs": call.duration_ms}}
    if isinstance(outcome, Success):
        if marks := _marks_beside(outcome):
            extensions["x-untrusted"] = marks
        if outcome.ledger is not None:
            extensions["contextLedger"] = {
                "ledgerId": outcome.ledger.ledger_id,
                "version": outcome.ledger.version,
                "previousVersion": outcome.ledger.previous_version,
            }
        extensions |= outcome.extensions
    if _is_context_required(outcome, call):
        extensions["lafsContextRequired"] = True
    return extensions


def _is_context_required(outcome: Outcome, call: Call) -> bool:
    """Whether the required context can be proven; an answer without proof would fail the check that it asks
    for.
    """
    if call.operation not in CONTEXT_REQUIRED_OPERATIONS:
        return False
    if isinstance(outcome, Failure):
        return outcome.kind.lafs_code in _CONTEXT_CODES
    return outcome.ledger is not None or bool(call.session_id)


def _minimal(envelope: Document) -> Document:
    """Return the minimal envelope (LAFS 9.1.1 to 9.1.3) without constants, echoes and registry facts;
    `page` stays.
    """
    minimal: Document = {
        "_meta": {name: value for name, value in envelope["_meta"].items() if name in _MINIMAL_META},
        "success": envelope["success"],
    }
    if envelope["result"] is not None:
        minimal["result"] = envelope["result"]
    if "error" in envelope:
        error = envelope["error"]
        kept = {name: error[name] for name in _MINIMAL_ERROR if error.get(name) not in (None, {})}
        minimal["error"] = kept
    if "page" in envelope:
        minimal["page"] = envelope["page"]
    return minimal


def _restored_error(error: Document) -> Document:
    code = error.get("code")
    registered = REGISTRY.get(code) if isinstance(code, str) else None
    if registered is None:  # an unknown code, which the checker will report
        return error
    restored: Document = {
        "code": code,
        "message": registered.title,
        "category": registered.category,
        "retryable": registered.is_retryable,
        "retryAfterMs": None,
        "details": {},
        "agentAction": registered.agent_action,
    }
    row = _row_named_in(error.get("details"))
    if row is None or row.lafs_code != code:
        return restored | error
    restored |= {
        "category": row.category,
        "retryable": row.is_lafs_retryable,
        "agentAction": row.agent_action,
    }
    suggested = {} if "message" in error else {"suggestedAction": row.hint}
    return restored | error | suggested


def _row_named_in(details: Json) -> Kind | None:
    if not isinstance(details, dict):
        return None
    names = (details.get("domain_code"), details.get("native_code"))
    return next((KINDS[name] for name in names if isinstance(name, str) and name in KINDS), None)
