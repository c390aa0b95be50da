"""The tools and the prompt of the official suite that answer with a question first (2026-07-28)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from handrail.contract.outcome import Json
from handrail.surfaces.mcp.messages import INVALID_PARAMS, Refusal, ResultOrRefusal
from handrail.surfaces.mcp.questions import ToolCall
from tests.referees.suite_fixtures.content import text

KEY = secrets.token_bytes(32)


def form(message: str, name: str, kind: str = "string") -> dict[str, Json]:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sampling(words: str) -> dict[str, Json]:
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


ROOTS: dict[str, Json] = {"method": "roots/list"}
NAME = {"user_name": form("What is your name?", "name")}
CONFIRM = {"confirm": form("Please confirm", "ok", "boolean")}
CAPITAL = {"capital_question": sampling("What is the capital of France?")}
SEVERAL = {**NAME, "greeting": sampling("Generate a greeting"), "client_roots": ROOTS}
STEP_1 = {"step1": form("Step 1: What is your name?", "name")}
STEP_2 = {"step2": form("Step 2: What is your favorite color?", "color")}
CONTEXT = {"user_context": form("What context should the prompt use?", "context")}

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


NEEDED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""Only what the client declared may be asked of it."""


def answer_or_ask(declared: dict[str, Any], call: ToolCall) -> ResultOrRefusal:
    rounds, given = ASKING[call.name], call.input_responses
    done = 0 if call.name in STATELESS else _round_of(call.name, call.request_state)
    if done is None:
        return Refusal(code=INVALID_PARAMS, message="This requestState was not issued here.")
    if done < len(rounds) and all(key in given for key in rounds[done]) and given:
        done += 1
    if done == len(rounds):
        return {"content": [text(f"state-ok: heard {', '.join(sorted(given))}")]}
    asked = {key: asks for key, asks in rounds[done].items() if NEEDED[asks["method"]] in declared}
    state = {} if call.name in STATELESS else {"requestState": _signed(call.name, done)}
    return {"inputRequests": asked, **state, "resultType": "input_required"}


def prompt_or_ask(params: dict[str, Any]) -> dict[str, Json]:
    if "user_context" not in (params.get("inputResponses") or {}):
        return {"inputRequests": CONTEXT, "resultType": "input_required"}
    return {"messages": [{"role": "user", "content": text("Use the context that was given.")}]}


def _signed(tool: str, done: int) -> str:
    return f"{done}.{hmac.new(KEY, f'{tool}.{done}'.encode(), hashlib.sha256).hexdigest()}"


def _round_of(tool: str, state: str | None) -> int | None:
    """How many rounds are done; None for a state that we did not sign."""
    if state is None:
        return 0
    signed = [_signed(tool, done).encode() for done in range(len(ASKING[tool]))]
    return next((done for done, one in enumerate(signed) if hmac.compare_digest(state.encode(), one)), None)
