"""The tools and the prompt of the official suite that answer with a question first (2026-07-28)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tests.referees.suite_fixtures.content import text

KEY = secrets.token_bytes(32)


def form(message: str, name: str, kind: str = "string") -> mcp_types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    params = mcp_types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return mcp_types.ElicitRequest(params=params)


def sampling(words: str) -> mcp_types.CreateMessageRequest:
    message = mcp_types.SamplingMessage(role="user", content=text(words))
    params = mcp_types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    return mcp_types.CreateMessageRequest(params=params)


ROOTS = mcp_types.ListRootsRequest()
NAME = {"user_name": form("What is your name?", "name")}
CONFIRM = {"confirm": form("Please confirm", "ok", "boolean")}
CAPITAL = {"capital_question": sampling("What is the capital of France?")}
SEVERAL = {**NAME, "greeting": sampling("Generate a greeting"), "client_roots": ROOTS}
STEP_1 = {"step1": form("Step 1: What is your name?", "name")}
STEP_2 = {"step2": form("Step 2: What is your favorite color?", "color")}
CONTEXT: mcp_types.InputRequests = {"user_context": form("What context should the prompt use?", "context")}

ASKING: dict[str, tuple[dict[str, Any], ...]] = {
    "test_input_required_result_elicitation": (NAME,),
    "test_input_required_result_sampling": (CAPITAL,),
    "test_input_required_result_list_roots": ({"client_roots": ROOTS},),
    "test_input_required_result_request_state": (CONFIRM,),
    "test_input_required_result_tampered_state": (CONFIRM,),
    "test_input_required_result_multiple_inputs": (SEVERAL,),
    "test_input_required_result_multi_round": (STEP_1, STEP_2),
    "test_input_required_result_capabilities": ({**NAME, **CAPITAL},),
    "test_streaming_elicitation": (NAME,),
}
"""Tool → what it asks, round by round."""
STATELESS = {
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
}
"""The suite answers these without having been asked, so they cannot insist on a state."""
PROMPT = "test_input_required_result_prompt"


def answer_or_ask(
    context: ServerRequestContext[Any], params: mcp_types.CallToolRequestParams
) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
    rounds = ASKING[params.name]
    given = params.input_responses or {}
    done = 0 if params.name in STATELESS else _round_of(params.name, params.request_state)
    if done < len(rounds) and all(key in given for key in rounds[done]) and given:
        done += 1
    if done == len(rounds):
        told = ", ".join(sorted(given))
        return mcp_types.CallToolResult(content=[text(f"state-ok: heard {told}")])
    state = None if params.name in STATELESS else _signed(params.name, done)
    asked = {key: question for key, question in rounds[done].items() if _may_ask(context, question)}
    return mcp_types.InputRequiredResult(input_requests=asked, request_state=state)


def prompt_or_ask(
    params: mcp_types.GetPromptRequestParams,
) -> mcp_types.GetPromptResult | mcp_types.InputRequiredResult:
    if "user_context" not in (params.input_responses or {}):
        return mcp_types.InputRequiredResult(input_requests=CONTEXT)
    message = mcp_types.PromptMessage(role="user", content=text("Use the context that was given."))
    return mcp_types.GetPromptResult(messages=[message])


def _may_ask(context: ServerRequestContext[Any], question: object) -> bool:
    """Only what the client declared may be asked of it."""
    declared = context.session.client_capabilities
    if declared is None:
        return False
    match question:
        case mcp_types.ElicitRequest():
            return declared.elicitation is not None
        case mcp_types.CreateMessageRequest():
            return declared.sampling is not None
        case _:
            return declared.roots is not None


def _signed(tool: str, done: int) -> str:
    return f"{done}.{hmac.new(KEY, f'{tool}.{done}'.encode(), hashlib.sha256).hexdigest()}"


def _round_of(tool: str, state: str | None) -> int:
    """How many rounds are done; a state that we did not sign is refused."""
    if state is None:
        return 0
    for done in range(len(ASKING[tool])):
        if hmac.compare_digest(state.encode(), _signed(tool, done).encode()):
            return done
    raise MCPError(code=mcp_types.INVALID_PARAMS, message="This requestState was not issued here.")
