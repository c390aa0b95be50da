"""The tools that the official suite calls by name, apart from those that ask the client something back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from handrail.contract.outcome import Json
from handrail.surfaces.mcp.messages import MISSING_CAPABILITY, Refusal, ResultOrRefusal
from tests.referees.suite_fixtures.content import AUDIO, IMAGE, embedded, text

Called: TypeAlias = Callable[[dict[str, Any]], ResultOrRefusal]
"""Takes what the client declares."""

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}


def constant(*content: Json, is_error: bool = False) -> Called:
    """A tool that always gives this content."""
    return lambda _: {"content": list(content), "isError": is_error}


def need_sampling(declared: dict[str, Any]) -> ResultOrRefusal:
    if "sampling" not in declared:
        return Refusal(
            code=MISSING_CAPABILITY,
            message="This tool needs a client that declares sampling.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return {"content": [text("The client declares sampling.")]}


EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
MIXED = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
PLAIN = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")

FAILED = text("This tool intentionally returns an error for testing")
NO_QUESTIONS = text("This door carries no questions.")

TOOLS: dict[str, tuple[dict[str, Any], Called]] = {
    "test_simple_text": (EMPTY, constant(text("This is a simple text response for testing."))),
    "test_image_content": (EMPTY, constant(IMAGE)),
    "test_audio_content": (EMPTY, constant(AUDIO)),
    "test_embedded_resource": (EMPTY, constant(PLAIN)),
    "test_multiple_content_types": (EMPTY, constant(text("Multiple content types test:"), IMAGE, MIXED)),
    "test_error_handling": (EMPTY, constant(FAILED, is_error=True)),
    "test_tool_with_logging": (EMPTY, constant(text("This door carries no log."))),
    "test_logging_tool": (EMPTY, constant(text("This door carries no log."))),
    "test_tool_with_progress": (EMPTY, constant(text("This door carries no progress."))),
    "test_missing_capability": (EMPTY, need_sampling),
    "test_trigger_tool_change": (EMPTY, constant(text("This door tells of no changes."))),
    "test_trigger_prompt_change": (EMPTY, constant(text("This door tells of no changes."))),
    "test_sampling": (EMPTY, constant(NO_QUESTIONS, is_error=True)),
    "test_elicitation": (EMPTY, constant(NO_QUESTIONS, is_error=True)),
    "test_elicitation_sep1034_defaults": (EMPTY, constant(NO_QUESTIONS, is_error=True)),
    "test_elicitation_sep1330_enums": (EMPTY, constant(NO_QUESTIONS, is_error=True)),
    "json_schema_2020_12_tool": (SCHEMA_2020_12, constant(text("Took it."))),
    "test_custom_headers": (HEADER_SCHEMA, constant(text("Took it."))),
}
"""Name → input schema and what it does."""
