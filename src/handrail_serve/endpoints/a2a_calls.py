"""A2A calls: one task per call of an operation, by JSON-RPC, with the LAFS envelope as its artifact.

The library reads and writes the protocol; this file hands it the call and keeps the last tasks. A call has
ended when it is answered, so nothing streams and nothing can be cancelled. The library keeps JSON in protobuf
values, which know neither integers nor an order of keys; so it gets an empty part, and the envelope is put
into the finished answer. The only file that imports `a2a`.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2 as wire
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from google.protobuf.json_format import ParseDict
from starlette.requests import Request

from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Failure, Json
from handrail.surfaces.mcp.results import run_guarded
from handrail_serve.calls import LAFS_TYPE, Served
from handrail_serve.endpoints.lafs import (
    A2A,
    LONGEST_ID,
    SHAPE,
    TASK_BYTES_KEPT,
    TASKS_KEPT,
    InThread,
    perform_for_agent,
    read_call,
)
from handrail_serve.exchange import JSON_TYPE, HttpRequest, Response
from handrail_serve.limits import MOST_BODY_BYTES, refuse_members

ARTIFACT = "lafs_response"
_PARSE_ERROR = -32700


class Calls:
    """The calls of A2A clients, and the tasks that they made."""

    def __init__(self, served: Served, in_thread: InThread) -> None:
        # The library logs what clients send, and a traceback for each request that it cannot read.
        logging.getLogger("a2a").setLevel(logging.CRITICAL + 1)
        self.served = served
        self.in_thread = in_thread
        self.kept = KeptCalls()

    async def answer(self, request: HttpRequest, body: bytes) -> Response:
        """The JSON-RPC answer to one request."""
        decoded = run_guarded(self.served.runtime, lambda: _decode(body))
        if isinstance(decoded, Failure):
            return _respond(_parse_error(decoded))

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        scope = {"type": "http", "method": "POST", "path": A2A, "headers": list(request.headers)}
        handler = Handler(self, request, decoded)
        answered = await JsonRpcDispatcher(handler).handle_requests(Request(scope, receive))
        return _respond(self.kept.fill_in(json.loads(bytes(answered.body)), handler.made))


class KeptCalls:
    """The last tasks and their envelopes, within their bounds. Only the event loop touches them."""

    def __init__(self) -> None:
        self.store = InMemoryTaskStore(use_copying=False)
        self._envelopes: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    async def keep(self, task: wire.Task, body: bytes, context: ServerCallContext) -> None:
        self._size += len(body) - len(self._envelopes.pop(task.id, b""))
        self._envelopes[task.id] = body
        await self.store.save(task, context)
        while len(self._envelopes) > TASKS_KEPT or self._size > TASK_BYTES_KEPT:
            oldest, gone = self._envelopes.popitem(last=False)
            self._size -= len(gone)
            await self.store.delete(oldest, context)

    def fill_in(self, document: Any, made: dict[str, bytes]) -> Any:
        """The answer with the envelope in each of its artifacts. One just made may be too large to keep."""
        result = document.get("result")
        if isinstance(result, dict):
            for task in (result, result.get("task"), *result.get("tasks", ())):
                for artifact in task.get("artifacts", ()) if isinstance(task, dict) else ():
                    kept = made.get(task["id"]) or self._envelopes[task["id"]]
                    artifact["parts"][0]["data"] = msgspec.Raw(kept)
        return document


class Handler(RequestHandler):
    """What the library asks of an agent, for one request."""

    def __init__(self, calls: Calls, request: HttpRequest, document: Any) -> None:
        self._calls = calls
        self._request = request
        self._document = document
        self.made: dict[str, bytes] = {}

    @validate_request_params
    async def on_message_send(
        self, params: wire.SendMessageRequest, context: ServerCallContext
    ) -> wire.Task | wire.Message:
        """Perform the call of the message. One to a task that waits for input answers that task."""
        validate_history_length(params.configuration)
        operation, given = _read_parts(self._document)
        message = params.message
        if len(message.task_id) > LONGEST_ID or len(message.context_id) > LONGEST_ID:
            raise InvalidParamsError(message=f"An id has at most {LONGEST_ID} characters.")
        earlier = await self._find_waiting(message, context) if message.task_id else None
        done = await self._calls.in_thread(
            lambda: perform_for_agent(self._calls.served, self._request.id, operation, given)
        )
        runtime = self._calls.served.runtime
        task_id = earlier.id if earlier else "task_" + runtime.randomness.bytes(10).hex()
        context_id = earlier.context_id if earlier else message.context_id
        task = ParseDict(
            {
                "id": task_id,
                "contextId": context_id or "ctx_" + runtime.randomness.bytes(10).hex(),
                "status": {"state": f"TASK_STATE_{done.state}", "timestamp": runtime.clock.now()},
                "artifacts": [
                    {
                        "artifactId": ARTIFACT,
                        "name": ARTIFACT,
                        "parts": [{"data": {}, "mediaType": LAFS_TYPE.decode()}],
                    }
                ],
            },
            wire.Task(),
        )
        self.made[task.id] = done.body
        await self._calls.kept.keep(task, done.body, context)
        return task

    async def _find_waiting(self, message: wire.Message, context: ServerCallContext) -> wire.Task:
        found = await self._calls.kept.store.get(message.task_id, context)
        if found is None:
            raise TaskNotFoundError
        if message.context_id and message.context_id != found.context_id:
            raise InvalidParamsError(message="The task belongs to another context.")
        if found.status.state != wire.TaskState.TASK_STATE_INPUT_REQUIRED:
            raise UnsupportedOperationError(message="The task has ended; send the message without its id.")
        return found

    @validate_request_params
    async def _get(self, params: wire.GetTaskRequest, context: ServerCallContext) -> wire.Task | None:
        validate_history_length(params)
        found = await self._calls.kept.store.get(params.id, context)
        if found is None:
            raise TaskNotFoundError
        return apply_history_length(found, params)

    @validate_request_params
    async def _list(
        self, params: wire.ListTasksRequest, context: ServerCallContext
    ) -> wire.ListTasksResponse:
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        return await self._calls.kept.store.list(params, context)

    @validate_request_params
    async def _cancel(self, params: wire.CancelTaskRequest, context: ServerCallContext) -> wire.Task | None:
        if await self._calls.kept.store.get(params.id, context) is None:
            raise TaskNotFoundError
        raise TaskNotCancelableError

    # The names under which the library looks for these; "task" is its word, not ours
    on_get_task, on_list_tasks, on_cancel_task = _get, _list, _cancel

    # What the card does not claim

    async def _refuse_stream(self, *_: Any) -> AsyncGenerator[Any]:
        raise UnsupportedOperationError(message="This agent does not stream; use SendMessage and GetTask.")
        yield  # makes it a generator, as the library expects

    async def _refuse_push(self, *_: Any) -> Any:
        raise PushNotificationNotSupportedError

    async def on_get_extended_agent_card(self, *_: Any) -> Any:
        raise ExtendedAgentCardNotConfiguredError

    on_message_send_stream = on_subscribe_to_task = _refuse_stream
    on_create_task_push_notification_config = on_get_task_push_notification_config = _refuse_push
    on_list_task_push_notification_configs = on_delete_task_push_notification_config = _refuse_push


def _decode(body: bytes) -> Json:
    decoded = decode_json(body, max_bytes=MOST_BODY_BYTES)
    refuse_members(decoded)
    return decoded


def _read_parts(document: Any) -> tuple[str, dict[str, Json]]:
    """The call, from what was sent: the library's copy of it has no integers."""
    parts = document["params"]["message"].get("parts", ())
    call = read_call([part.get("data") for part in parts])
    if call is None:
        raise InvalidParamsError(message=SHAPE)
    return call


def _parse_error(failure: Failure) -> dict[str, Json]:
    error: dict[str, Json] = {"code": _PARSE_ERROR, "message": failure.message}
    return {"jsonrpc": "2.0", "id": None, "error": error}


def _respond(document: Any) -> Response:
    return Response(headers=((b"content-type", JSON_TYPE),), body=msgspec.json.encode(document))
