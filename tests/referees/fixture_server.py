"""The product's door and adapter with the official suite's named tools, prompts and resources laid over it.

Every request passes through the door that the product uses, and every answer through its adapter; what the
suite does not name is answered by the product. The suite's tools look at more of a client than the product
does, so each request gets an adapter that knows its params.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from handrail.contract.outcome import Json
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import INVALID_PARAMS, Asking, Refusal, ResultOrRefusal
from handrail.surfaces.mcp.questions import ToolCall, Waiting
from handrail_serve.mcp_over_http import HttpAnswer, McpOverHttp
from tests.referees.suite_fixtures.pages import (
    PROMPTS,
    prompt_definitions,
    prompt_messages,
    resource_contents,
    resource_definitions,
    template_definitions,
)
from tests.referees.suite_fixtures.questions import ASKING, PROMPT, answer_or_ask, prompt_or_ask
from tests.referees.suite_fixtures.tools import EMPTY, TOOLS

_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class FixtureOverHttp:
    """The product's door, with an adapter of its own for every request."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def answer(
        self, headers: Sequence[tuple[bytes, bytes]], body: bytes, runtime: Runtime | None = None
    ) -> HttpAnswer:
        del runtime
        return McpOverHttp(FixtureAdapter(self._runtime, _params_of(body))).answer(headers, body)


def _params_of(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except ValueError:
        return {}
    params = message.get("params") if isinstance(message, dict) else None
    return params if isinstance(params, dict) else {}


class FixtureAdapter(Adapter):
    """What the suite names, in front of what the product offers."""

    def __init__(self, runtime: Runtime, params: dict[str, Any]) -> None:
        super().__init__(runtime)
        self._params = params
        meta = params.get("_meta")
        declared = meta.get(_CAPABILITIES) if isinstance(meta, dict) else None
        self._declared: dict[str, Any] = declared if isinstance(declared, dict) else {}

    def list_tools(self, cursor: str | None) -> ResultOrRefusal:
        own = super().list_tools(cursor)
        schemas = {name: schema for name, (schema, _) in TOOLS.items()} | dict.fromkeys(ASKING, EMPTY)
        mine = [
            {"name": name, "description": f"The suite's {name}.", "inputSchema": schema}
            for name, schema in schemas.items()
        ]
        return own if isinstance(own, Refusal) else {"tools": [*own["tools"], *mine]}

    def call_tool(self, runtime: Runtime, call: ToolCall, asking: Asking) -> ResultOrRefusal | Waiting:
        if call.name in ASKING:
            return answer_or_ask(self._declared, call)
        if call.name in TOOLS:
            return TOOLS[call.name][1](self._declared)
        return super().call_tool(runtime, call, asking)

    def list_prompts(self, _: Runtime, __: str | None) -> ResultOrRefusal:
        return {"prompts": prompt_definitions()}

    def get_prompt(self, _: Runtime, name: str, arguments: dict[str, str]) -> ResultOrRefusal:
        if name == PROMPT:
            return prompt_or_ask(self._params)
        missing = set(PROMPTS.get(name, ("name",))) - set(arguments)
        if missing:
            return Refusal(code=INVALID_PARAMS, message=f"Give {', '.join(sorted(missing))}.")
        return {"messages": prompt_messages(name, arguments)}

    def list_resources(self, _: Runtime, __: str | None) -> ResultOrRefusal:
        return {"resources": resource_definitions()}

    def list_templates(self, _: str | None) -> ResultOrRefusal:
        return {"resourceTemplates": template_definitions()}

    def read_resource(self, _: Runtime, uri: str, __: int) -> ResultOrRefusal:
        contents = resource_contents(uri)
        if contents is None:
            return Refusal(code=INVALID_PARAMS, message="Resource not found", data={"uri": uri})
        return {"contents": [contents]}

    def complete(self, _: Runtime, __: dict[str, str], ___: str, typed: str) -> ResultOrRefusal:
        values: list[Json] = [each for each in ("test-one", "test-two") if each.startswith(typed)]
        return {"completion": {"values": values, "total": len(values)}}
