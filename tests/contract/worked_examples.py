"""Examples A to E of the response contract: the outcome, its call, and both documents, typed in by hand."""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import TOKEN_BAD_SIGNATURE
from handrail.contract.outcome import Call, Failure, NextCall, Notice, Outcome, Page, Success

META = (
    '"specVersion":"1.0.0","schemaVersion":"1.0.0","timestamp":"2026-11-15T09:30:00.123Z",'
    '"operation":"%s","requestId":"req_01jc5q8d","transport":"cli","strict":true,"mvi":"%s","contextVersion":0'
)
SCHEMA = '"$schema":"https://lafs.dev/schemas/v1/envelope.schema.json"'


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome and what each dialect makes of it, in compact form without the final newline."""

    name: str
    outcome: Outcome
    call: Call
    cli: str
    lafs: str


def call_of(operation: str, duration_ms: int = 4) -> Call:
    return Call(
        operation=operation,
        request_id="req_01jc5q8d",
        at="2026-11-15T09:30:00.123Z",
        duration_ms=duration_ms,
    )


def command_line(call: NextCall) -> str | None:
    """How the command line would spell the only next call in here."""
    assert call.operation == "session.resume", "the examples name no other operation"
    return f"handrail session resume {call.params['query']} --compact"


A_DATA = '{"session_id":"ses_7k2","status":"in_progress","runs":["run_01"]}'
A = Example(
    name="A, success",
    outcome=Success(data={"session_id": "ses_7k2", "status": "in_progress", "runs": ["run_01"]}),
    call=call_of("session.show"),
    cli='{"ok":true,"schema_version":"1.0","data":' + A_DATA + ',"meta":{"duration_ms":4}}',
    lafs="{" + SCHEMA + ',"_meta":{' + META % ("session.show", "standard") + '},"success":true,"result":'
    '{"session_id":"ses_7k2","status":"in_progress","runs":["run_01"]},'
    '"_extensions":{"x-timing":{"executionMs":4}}}',
)

B_ITEMS = '[{"id":"ses_7k2","status":"in_progress"},{"id":"ses_6f0","status":"complete"}]'
B = Example(
    name="B, list with paging and an unknown field",
    outcome=Success(
        data={},
        page=Page(
            items=({"id": "ses_7k2", "status": "in_progress"}, {"id": "ses_6f0", "status": "complete"}),
            limit=2,
            has_more=True,
            next_cursor="cu1abc",
        ),
        notices=(
            Notice(
                type="unknown_fields",
                message="1 unknown field name ignored",
                extra={"names": ["colour"], "valid": ["id", "status", "title"]},
            ),
        ),
        disclosure="custom",
    ),
    call=call_of("session.list"),
    cli='{"ok":true,"schema_version":"1.0","data":{"items":' + B_ITEMS + ',"count":2,"next_cursor":"cu1abc",'
    '"has_more":true},"meta":{"duration_ms":4,"notices":[{"type":"unknown_fields","severity":"info",'
    '"message":"1 unknown field name ignored","names":["colour"],"valid":["id","status","title"]}]}}',
    lafs="{" + SCHEMA + ',"_meta":{' + META % ("session.list", "custom") + ',"warnings":[{"code":'
    '"W_UNKNOWN_FIELDS","message":"1 unknown field name ignored","severity":"info","names":["colour"],'
    '"valid":["id","status","title"]}]},"success":true,"result":{"items":' + B_ITEMS + ',"count":2},'
    '"page":{"mode":"cursor","nextCursor":"cu1abc","hasMore":true,"limit":2},'
    '"_extensions":{"x-timing":{"executionMs":4}}}',
)

C_OUTCOME = Failure(
    kind=TOKEN_BAD_SIGNATURE,
    message="The ackToken was not minted by this server or was changed.",
    details={"token_kind": "ack"},
    hint="Resume the session to get fresh tokens.",
    next_call=NextCall(operation="session.resume", params={"query": "ses_7k2"}),
)
C = Example(
    name="C, failure",
    outcome=C_OUTCOME,
    call=call_of("run.continue"),
    cli='{"ok":false,"schema_version":"1.0","error":{"code":"E_CONFLICT","message":"The ackToken was not '
    'minted by this server or was changed.","details":{"token_kind":"ack",'
    '"domain_code":"TOKEN_BAD_SIGNATURE","agent_action":"refresh_context",'
    '"hint":"Resume the session to get fresh tokens.","next_command":'
    '"handrail session resume ses_7k2 --compact"},"retryable":false},"meta":{"duration_ms":4}}',
    lafs="{"
    + SCHEMA
    + ',"_meta":{'
    + META % ("run.continue", "standard")
    + '},"success":false,"result":null,'
    '"error":{"code":"E_CONTEXT_STALE","message":"The ackToken was not minted by this server or was '
    'changed.",'
    '"category":"CONFLICT","retryable":true,"retryAfterMs":null,"details":{"token_kind":"ack","native_code":'
    '"E_CONFLICT","domain_code":"TOKEN_BAD_SIGNATURE","next_call":{"operation":"session.resume","params":'
    '{"query":"ses_7k2"}}},"agentAction":"refresh_context","suggestedAction":"Resume the session to get '
    'fresh tokens."},"_extensions":{"x-timing":{"executionMs":4},"lafsContextRequired":true}}',
)
C_MCP_LINES = [
    "TOKEN_BAD_SIGNATURE: The ackToken was not minted by this server or was changed.",
    "fix: Resume the session to get fresh tokens.",
    "retry: not_retryable",
    'resume_session {"query":"ses_7k2"}',
]

D_DATA = (
    '{"preview":{"action":"delete","total":2,"targets":["ses_7k2","ses_6f0"],"changes":[{"action":"delete",'
    '"resource":"session","id":"ses_7k2"},{"action":"delete","resource":"session","id":"ses_6f0"}]},'
    '"confirm_token":"ct_9f2a","expires_at":"2026-11-15T09:45:00.000Z"}'
)
D = Example(
    name="D, dry run",
    outcome=Success(
        data={
            "preview": {
                "action": "delete",
                "total": 2,
                "targets": ["ses_7k2", "ses_6f0"],
                "changes": [
                    {"action": "delete", "resource": "session", "id": "ses_7k2"},
                    {"action": "delete", "resource": "session", "id": "ses_6f0"},
                ],
            },
            "confirm_token": "ct_9f2a",
            "expires_at": "2026-11-15T09:45:00.000Z",
        }
    ),
    call=call_of("session.delete"),
    cli='{"ok":true,"schema_version":"1.0","data":' + D_DATA + ',"meta":{"duration_ms":4}}',
    lafs="{"
    + SCHEMA
    + ',"_meta":{'
    + META % ("session.delete", "standard")
    + '},"success":true,"result":'
    + D_DATA
    + ',"_extensions":{"x-timing":{"executionMs":4}}}',
)

E_DATA = (
    '{"items":[{"target":"ses_7k2","ok":true},{"target":"ses_6f0","ok":false,"error":{"code":"E_TIMEOUT",'
    '"retryable":true,"domain_code":"SESSION_LOCKED"}}],"summary":{"total":2,"succeeded":1,"failed":1}}'
)
E = Example(
    name="E, batch with one failed item",
    outcome=Success(
        data={
            "items": [
                {"target": "ses_7k2", "ok": True},
                {
                    "target": "ses_6f0",
                    "ok": False,
                    "error": {"code": "E_TIMEOUT", "retryable": True, "domain_code": "SESSION_LOCKED"},
                },
            ],
            "summary": {"total": 2, "succeeded": 1, "failed": 1},
        }
    ),
    call=call_of("session.delete", duration_ms=9),
    cli='{"ok":true,"schema_version":"1.0","data":' + E_DATA + ',"meta":{"duration_ms":9}}',
    lafs="{"
    + SCHEMA
    + ',"_meta":{'
    + META % ("session.delete", "standard")
    + '},"success":true,"result":'
    + E_DATA
    + ',"_extensions":{"x-timing":{"executionMs":9}}}',
)

EXAMPLES = [A, B, C, D, E]
