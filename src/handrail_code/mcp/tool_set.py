"""The second closed set of tools: questions about source code, and edits of it. Pure.

It is for agents without a shell. Four tools ask one operation and one edits; each offers a part of the
operation's fields under their own names. Every answer carries tokens: picking is safer than writing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from handrail.runtime.operation import Operation
from handrail.surfaces.mcp.tools import Tool, Wording, annotations_of, input_schema
from handrail_code.mcp.answer_text import code_text, name_tools, respell_failure, spell_code_call
from handrail_code.operations.edit_code import OPERATION as EDIT
from handrail_code.operations.scan_code import OPERATION as SCAN


class CodeTool(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the set."""

    name: str
    operation: str
    description: str
    fields: dict[str, str]
    """Which fields of the operation it offers, by wire name, each with its description; most need none."""


CODE_TOOLS = (
    CodeTool(
        name="code_search",
        operation="code.scan",
        description="Find definitions and uses of a name. "
        "Returns ids, places and tokens for the next question.",
        fields={
            "search": "Part of a name",
            "scope": "Folder",
            "kind": "",
            "exported": "",
            "text": "Comments too",
            "limit": "",
            "continuation": "Token of an answer",
            "project": "",
        },
    ),
    CodeTool(
        name="code_explain",
        operation="code.scan",
        description="Explain one definition: signature, callers, exports, tests; "
        "or list the definitions (outline) or imports and importers (deps) of a file.",
        fields={
            "analyze": "Name or id",
            "outline": "File",
            "deps": "File",
            "continuation": "",
            "project": "",
        },
    ),
    CodeTool(
        name="code_trace",
        operation="code.scan",
        description="Tree of callers of a definition, or of what it calls (down). Unproven uses are listed.",
        fields={"trace": "Name or id", "down": "", "depth": "", "continuation": "", "project": ""},
    ),
    CodeTool(
        name="code_ripple",
        operation="code.scan",
        description="What may break if a definition changes: files in layers, tests, risk score.",
        fields={"ripple": "Name or id", "continuation": "", "project": ""},
    ),
    CodeTool(
        name="code_edit",
        operation="code.edit",
        description="Locate or show a definition, or preview an edit of it in all files. "
        "A preview writes nothing; its apply token with fix: true writes it, once. Returns tokens.",
        fields={
            "locate": "Name or id",
            "context": "",
            "rename": "",
            "to": "New name",
            "public": "",
            "accept": "",
            "extract": "",
            "move": "",
            "toModule": "",
            "exportNeeds": "",
            "replace": "",
            "withText": "",
            "changes": "Several edits: the same fields",
            "names": "",
            "file": "",
            "continuation": "",
            "refetch": "",
            "fix": "",
            "project": "",
        },
    ),
)
"""The tools in the order in which every process lists them."""

ADDED = {"aiMode": True}
"""Answers of these tools always have tokens."""
_OPERATIONS: dict[str, Operation] = {one.name: one for one in (SCAN, EDIT)}
_UNREAD = frozenset({"description", "minimum", "maximum", "minItems", "maxItems"})
_OUTPUT = {"type": "object", "properties": {"status": {"type": "string"}}}
"""What every answer of the set has; open, and nothing is required, for the structured copies of errors."""


_WORDING = Wording(refuse=respell_failure, tell=name_tools, text=code_text, spell_call=spell_code_call)


@cache
def tools() -> dict[str, Tool]:
    """Every tool of the set by its name, in listing order."""
    return {row.name: _tool(row) for row in CODE_TOOLS}


def code_tool_definitions() -> list[dict[str, Any]]:
    """What `tools/list` answers, as plain data."""
    return [tool.definition for tool in tools().values()]


def _tool(row: CodeTool) -> Tool:
    called = _OPERATIONS[row.operation]
    schema = input_schema(called.input, tuple(row.fields), {})
    described = {
        name: {**({"description": row.fields[name]} if row.fields[name] else {}), **_slim(held)}
        for name, held in schema["properties"].items()
    }
    definition = {
        "name": row.name,
        "description": row.description,
        "inputSchema": {**schema, "properties": described},
        "outputSchema": _OUTPUT,
        "annotations": annotations_of(called.effect, is_overwriting=called.effect != "read"),
    }
    return Tool(name=row.name, operation=row.operation, definition=definition, adds=ADDED, wording=_WORDING)


def _slim(schema: Any) -> Any:
    """Without descriptions, bounds and items: the operation refuses what is wrong, with a sentence."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "object":
        return {"type": "object"}
    return {key: _slim(held) for key, held in schema.items() if key not in _UNREAD}
