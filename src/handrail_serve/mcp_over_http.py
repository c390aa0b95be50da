"""The MCP server behind HTTP: one POST is one message, and its answer is one JSON document.

A request of the 2026-07-28 revision says everything about its client, in its envelope and in headers that
must agree with it. One of an older revision names at most its version, and counts as sent after a handshake.
No session is kept in either, so nothing can be asked back, reported or cancelled here, and no request can
reach what belongs to another. Who may connect, by which method, and how much they may send is judged before.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TypeAlias, assert_never

import msgspec
from msgspec import UNSET

from handrail.contract.outcome import Failure
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.eras import (
    HANDSHAKE_VERSIONS,
    STATELESS_VERSIONS,
    Connection,
    Work,
    named_version,
    refuse_version,
)
from handrail.surfaces.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    ClientRequest,
    Id,
    Malformed,
    Notification,
    Refusal,
    Response,
    ResultOrRefusal,
    answer_line,
    read_line,
)
from handrail.surfaces.mcp.questions import Waiting
from handrail.surfaces.mcp.results import refusal_of, run_guarded
from handrail_serve.exchange import JSON_TYPE, read_accept, values_of

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Their names are in small letters."""

_VERSION, _METHOD, _NAME = b"mcp-protocol-version", b"mcp-method", b"mcp-name"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The param that the header `Mcp-Name` repeats."""
_ACCEPTED = frozenset({JSON_TYPE, b"application/*", b"*/*"})
_BEFORE_BASE64, _AFTER_BASE64 = "=?base64?", "?="
"""What stands around a value that a header cannot carry as it is."""
_STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""Of an error in the stateless era, where the status says so too; any other has status 200."""

_NOT_ACCEPTABLE = Refusal(code=INVALID_REQUEST, message="Answers are JSON; send `Accept: application/json`.")
_NO_JSON = Refusal(code=PARSE_ERROR, message="The body is not a JSON-RPC message, or is nested too deep.")
_NOT_ONE = Refusal(code=INVALID_REQUEST, message="Send one message per request, and no list of them.")
_NO_QUESTION = Refusal(code=INVALID_REQUEST, message="Nothing was asked, so nothing can be answered here.")


class HttpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes back: JSON, or nothing for a message that expects no answer."""

    status: int
    body: bytes = b""


class McpOverHttp:
    """One server behind HTTP. It holds nothing that a request changes."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def answer(self, headers: Headers, body: bytes, runtime: Runtime | None = None) -> HttpAnswer:
        """The answer to one message, by the runtime of its caller where callers have accounts.

        Works until the operation is done, so it belongs in a worker thread. A message of the older era counts
        as sent after a handshake, and its client cannot be asked anything.
        """
        if not _accepts_json(headers):
            return _refused(406, _NOT_ACCEPTABLE)
        # An unknown version is refused by the rules of the era that can say which ones there are.
        named = [version.decode("latin-1") for version in values_of(headers, _VERSION)]
        is_older = all(version in HANDSHAKE_VERSIONS for version in named)
        match message := read_line(body.strip()):
            case list():
                return _refused(400, _NOT_ONE)
            case Malformed(refusal=refusal, id=request_id):
                return _refused(400, _NO_JSON if refusal.code == PARSE_ERROR else refusal, request_id)
            case Notification():
                return HttpAnswer(status=202) if is_older else _acknowledge(headers)
            case Response():
                return HttpAnswer(status=202) if is_older else _refused(400, _NO_QUESTION)
            case ClientRequest():
                flaw = None if is_older else _find_header_flaw(message, headers)
                answerer = Connection(self._adapter.tool_set, "handshake" if is_older else "stateless")
                reply = flaw or self._work_out(answerer.answer(message), runtime or self._adapter.runtime)
                status = 200 if is_older or not isinstance(reply, Refusal) else _STATUSES.get(reply.code, 200)
                return HttpAnswer(status=status, body=answer_line(message.id, reply))
            case never:
                assert_never(never)

    def _work_out(self, result: ResultOrRefusal | Work, runtime: Runtime) -> ResultOrRefusal:
        if not isinstance(result, Work):
            return result
        found = run_guarded(runtime, lambda: result.perform(self._adapter, runtime))
        assert not isinstance(found, Waiting), "nobody is asked in the middle of a request"
        return refusal_of(found) if isinstance(found, Failure) else found


def _refused(status: int, refusal: Refusal, request_id: Id | None = None) -> HttpAnswer:
    return HttpAnswer(status=status, body=answer_line(request_id, refusal))


def _acknowledge(headers: Headers) -> HttpAnswer:
    """A notification of this era has nothing to act on; only a version that is not served gets an answer."""
    version = values_of(headers, _VERSION)[0].decode("latin-1")
    return HttpAnswer(status=202) if version in STATELESS_VERSIONS else _refused(400, refuse_version(version))


def _find_header_flaw(request: ClientRequest, headers: Headers) -> Refusal | None:
    """Where the headers contradict the message. Whatever stands between us and the client reads only them.

    An envelope that is not whole is left to the connection, which says what it lacks.
    """
    for name in (_VERSION, _METHOD, _NAME):
        if len(values_of(headers, name)) > 1:
            return _mismatch(f"{name.decode()} header appears more than once")
    version = named_version(request.params)
    if version is UNSET:
        return None
    if _first(headers, _VERSION) != version:
        return _mismatch("mcp-protocol-version header does not match the request envelope's protocol version")
    if _first(headers, _METHOD) != request.method:
        return _mismatch("mcp-method header does not match the request body's method")
    param = _NAMED_BY.get(request.method)
    named = None if param is None else request.params.get(param)
    if named is not None and _decode_value(_first(headers, _NAME)) != named:
        return _mismatch(f"mcp-name header does not match the request body's {param!r} parameter")
    return None


def _mismatch(message: str) -> Refusal:
    return Refusal(code=HEADER_MISMATCH, message=message)


def _decode_value(value: str | None) -> str | None:
    """The text of a header; None if it is none, or encoded in any way but the one that clients use."""
    if value is None or not (value.startswith(_BEFORE_BASE64) and value.endswith(_AFTER_BASE64)):
        return value
    encoded = value.removeprefix(_BEFORE_BASE64).removesuffix(_AFTER_BASE64)
    try:
        decoded = base64.b64decode(encoded, validate=True)
        return decoded.decode() if base64.b64encode(decoded).decode() == encoded else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _accepts_json(headers: Headers) -> bool:
    taken, refused = read_accept(headers)
    return JSON_TYPE not in refused and not _ACCEPTED.isdisjoint(taken)


def _first(headers: Headers, name: bytes) -> str | None:
    return next((value.decode("latin-1") for value in values_of(headers, name)), None)
