"""Sample documents of every kind that the checker knows, written by hand."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Document = dict[str, Any]

META: Document = {
    "specVersion": "1.0.0",
    "schemaVersion": "1.0.0",
    "timestamp": "2026-11-15T09:30:00.123Z",
    "operation": "session.list",
    "requestId": "req_01jc5q8d",
    "transport": "cli",
    "strict": True,
    "mvi": "standard",
    "contextVersion": 0,
}
ERROR: Document = {
    "code": "E_VALIDATION_SCHEMA",
    "message": "The limit is not a number.",
    "category": "VALIDATION",
    "retryable": False,
    "retryAfterMs": None,
    "details": {"field": "limit"},
    "agentAction": "retry_modified",
    "escalationRequired": False,
    "suggestedAction": "Send a number.",
    "docUrl": "https://example.org/errors#limit",
}
SUCCESS: Document = {
    "$schema": "https://lafs.dev/schemas/v1/envelope.schema.json",
    "_meta": META,
    "success": True,
    "result": {"items": [{"id": "a"}], "count": 1},
    "page": {"mode": "cursor", "nextCursor": "cu1abc", "hasMore": True, "limit": 1, "total": 7},
    "_extensions": {"x-timing": {"executionMs": 4}},
}
FAILURE: Document = {
    "$schema": "https://lafs.dev/schemas/v1/envelope.schema.json",
    "_meta": META,
    "success": False,
    "result": None,
    "error": ERROR,
}
ENTRY: Document = {
    "entryId": "evt_1",
    "version": 1,
    "timestamp": "2026-11-15T09:30:00Z",
    "operation": "run.start",
    "contextDelta": {"objective": "ship"},
}
LEDGER: Document = {
    "ledgerId": "run_1",
    "version": 2,
    "createdAt": "2026-11-15T09:30:00Z",
    "updatedAt": "2026-11-15T09:31:00Z",
    "entries": [ENTRY, {**ENTRY, "entryId": "evt_2", "version": 2, "requestId": "req_2"}],
    "checksum": "sha256:0",
    "maxEntries": 1000,
}
LEDGER_DELTA: Document = {
    "ledgerId": "run_1",
    "mode": "delta",
    "fromVersion": 0,
    "toVersion": 1,
    "entries": [ENTRY],
    "removedConstraints": [],
    "checksum": "sha256:0",
}
LEDGER_SUMMARY: Document = {"ledgerId": "run_1", "version": 2, "checksum": "sha256:0", "entryCount": 2}
CLI_SUCCESS: Document = {
    "ok": True,
    "schema_version": "1.0",
    "data": {"items": []},
    "meta": {"duration_ms": 4, "notices": [{"type": "update", "severity": "info", "current_version": "1"}]},
}
CLI_FAILURE: Document = {
    "ok": False,
    "schema_version": "1.0",
    "error": {"code": "E_TIMEOUT", "message": "Too slow.", "details": {}, "retryable": True},
    "meta": {"duration_ms": 0},
}
CLI_LINE: Document = {"ok": True, "schema_version": "1.0", "type": "item", "data": {"id": 1}}
DISCOVERY: Document = {
    "$schema": "https://lafs.dev/schemas/v1/discovery.schema.json",
    "lafs_version": "1.0.0",
    "service": {"name": "handrail", "version": "0.1.0", "description": "Workflows."},
    "capabilities": [
        {"name": "session", "version": "1.0.0", "operations": ["session.list"], "optional": False}
    ],
    "endpoints": {"envelope": "/api", "context": "/_lafs/context", "discovery": "/.well-known/lafs.json"},
}
CARD: Document = {
    "name": "Handrail",
    "description": "Hands an agent one step at a time.",
    "version": "0.1.0",
    "url": "http://127.0.0.1:8000/a2a",
    "supportedInterfaces": [{"url": "http://127.0.0.1:8000/a2a"}],
    "provider": {"organization": "Handrail", "url": "https://example.org"},
    "capabilities": {
        "streaming": False,
        "extensions": [
            {"uri": "https://lafs.dev/extensions/envelope/v1", "description": "LAFS", "required": False}
        ],
    },
    "defaultInputModes": ["application/json"],
    "defaultOutputModes": ["application/json"],
    "skills": [{"id": "run.start", "name": "Start", "description": "Starts a run.", "tags": ["run"]}],
    "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    "security": [{"bearer": []}],
}


def changed(document: Document, path: str, value: Any) -> Document:
    """A copy with the value at a dotted path set; numbers are list positions."""
    copy = deepcopy(document)
    *parents, last = path.split(".")
    holder: Any = copy
    for part in parents:
        holder = holder[int(part)] if isinstance(holder, list) else holder.setdefault(part, {})
    if isinstance(holder, list):
        holder[int(last)] = value
    else:
        holder[last] = value
    return copy


def lacking(document: Document, path: str) -> Document:
    """A copy without the key at a dotted path."""
    copy = deepcopy(document)
    *parents, last = path.split(".")
    holder: Any = copy
    for part in parents:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    del holder[last]
    return copy
