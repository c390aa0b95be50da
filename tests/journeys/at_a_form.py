"""A person at the form of an MCP client, for journeys: what they are shown, and what they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

import mcp_types
from mcp.client import ClientRequestContext

from handrail.runtime.runtime import Runtime
from tests.journeys.interfaces import events_of, of_kind
from tests.surfaces.mcp.protocol_client import run, talking_to, text_of

Answer: TypeAlias = tuple[str, dict[str, Any] | None]
YES: Answer = ("accept", {"confirm": True})
NO: Answer = ("accept", {"confirm": False})
DECLINE: Answer = ("decline", None)
CANCEL: Answer = ("cancel", None)
USERS_REGION = {"reason": "needs_user_choice", "choiceKind": "scope_boundary", "input": "region"}
REPORT = {"notesMarkdown": "The user agreed."}


class Desk:
    """A person at the client's form: gives the answers one after the other, and keeps what was shown."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[mcp_types.ElicitRequestFormParams] = []
        self._answers = list(answers)

    async def answer(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        del context
        assert isinstance(params, mcp_types.ElicitRequestFormParams)
        self.asked.append(params)
        assert self._answers, f"nobody expects the question {params.message}"
        action, content = self._answers.pop(0)
        return mcp_types.ElicitResult(action=cast(Any, action), content=content)


def talk(
    runtime: Runtime, era: str, desk: Desk | None, ask: Callable[[Callable[..., Any]], Awaitable[None]]
) -> None:
    """Let `ask` make calls of tools through a client whose person sits at this desk; None: without forms."""

    async def test() -> None:
        forms = {} if desk is None else {"elicitation_callback": desk.answer}
        async with talking_to(runtime, era, **forms) as client:

            async def call(**params: Any) -> dict[str, Any]:
                result = await client.call_tool("continue_workflow", params)
                assert not result.is_error, text_of(result)
                return {"text": text_of(result), **cast(dict[str, Any], result.structured_content)}

            await ask(call)

    run(test)


def reported(runtime: Runtime, era: str, desk: Desk | None, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """The replies to these calls, each through the same client."""
    replies: list[dict[str, Any]] = []

    async def ask(call: Callable[..., Any]) -> None:
        replies.extend([await call(**params) for params in calls])

    talk(runtime, era, desk, ask)
    return replies


def ack(reply: dict[str, Any], notes: str = "The user agreed.") -> dict[str, Any]:
    token = reply["nextCall"]["params"]["ackToken"]
    return {"ackToken": token, "output": {"notesMarkdown": notes}}


def answers_in(runtime: Runtime, reply: dict[str, Any]) -> list[dict[str, Any]]:
    return [event["data"] for event in of_kind(events_of(runtime, reply), "confirmation_recorded")]
