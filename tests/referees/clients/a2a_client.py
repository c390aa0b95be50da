"""Calls a server with the A2A library's own client; runs in an environment of its own.

Takes one JSON argument, `{url, token, calls}`, and prints `{card, told, kept, listed, refused}`. A call is
the object of a data part; with `again` it goes to the task of the call before, and `next` adds the token of
the last reply to its input.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any

# By name: our own environment does not hold these.
httpx: Any = importlib.import_module("httpx")
a2a_client: Any = importlib.import_module("a2a.client")
wire: Any = importlib.import_module("a2a.types.a2a_pb2")
json_format: Any = importlib.import_module("google.protobuf.json_format")
proto_utils: Any = importlib.import_module("a2a.utils.proto_utils")


async def call_all(asked: dict[str, Any]) -> dict[str, Any]:
    async with httpx.AsyncClient() as anybody:
        card = await a2a_client.A2ACardResolver(anybody, asked["url"]).get_agent_card()
        proto_utils.validate_proto_required_fields(card)
    headers = {"Authorization": f"Bearer {asked['token']}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        config = a2a_client.ClientConfig(httpx_client=http)
        client = a2a_client.ClientFactory(config).create(card)
        told: list[dict[str, Any]] = []
        for number, call in enumerate(asked["calls"]):
            told.append(await send(client, call, number, told[-1] if told else {}))
        tasks = [one for one in told if "id" in one]
        kept = await client.get_task(wire.GetTaskRequest(id=tasks[0]["id"]))
        listed = await client.list_tasks(wire.ListTasksRequest(page_size=2))
        try:
            await client.cancel_task(wire.CancelTaskRequest(id=tasks[0]["id"]))
            refused = ""
        except Exception as trouble:  # noqa: BLE001 - what the library raises is told by name
            refused = type(trouble).__name__
    return {
        "card": json_format.MessageToDict(card),
        "told": told,
        "kept": json_format.MessageToDict(kept),
        "listed": listed.total_size,
        "refused": refused,
    }


async def send(client: Any, call: dict[str, Any], number: int, before: dict[str, Any]) -> dict[str, Any]:
    data = dict(call["data"])
    if call.get("next"):
        reply = before["artifacts"][0]["parts"][0]["data"]["result"]
        data["input"] = {**data["input"], "ackToken": reply["ackToken"]}
    message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"data": data}]}
    if call.get("again"):
        message["taskId"] = before["id"]
    request = json_format.ParseDict({"message": message}, wire.SendMessageRequest())
    try:
        answers = [one async for one in client.send_message(request)]
    except Exception as trouble:  # noqa: BLE001 - what the library raises is told by name
        return {"error": type(trouble).__name__, "message": str(trouble)}
    (answer,) = answers
    document: dict[str, Any] = json_format.MessageToDict(answer.task)
    return document


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(call_all(json.loads(sys.argv[1])))))
