"""The second closed set of tools: questions about source code, and edits of it. Pure.

It is for agents without a shell. Four tools ask one operation and one edits; each offers a part of the
operation's fields under their own names. Every answer carries tokens: picking is safer than writing.
The operations speak of flags and of the two scripts; here an answer has tools and arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from handrail.contract.catalogue import ACTION_NOT_ALLOWED, E_USAGE
from handrail.contract.fence import fence_text, flatten_text
from handrail.contract.outcome import UNTRUSTED, Failure, Json, NextCall
from handrail.contract.tokens.continuation import Continuation, read_unproven
from handrail.contract.tokens.workflow import unwrap
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.runtime.operation import Operation
from handrail.surfaces.mcp.reply_text import call_text
from handrail.surfaces.mcp.tools import Tool, Wording, annotations_of, fields_of, input_schema
from handrail_code.operations.edit_code import OPERATION as EDIT
from handrail_code.operations.scan_code import OPERATION as SCAN

# Tokens and their tools


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
        description="Tree of callers of a definition, or of what it calls (down). Unproven uses listed.",
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
        description="Locate, show or edit a definition. "
        "A preview writes nothing; its apply token with fix: true writes it, once.",
        fields={
            "locate": "Name or id",
            "context": "",
            "rename": "",
            "to": "",
            "public": "",
            "also": "",
            "not": "",
            "accept": "",
            "extract": "",
            "move": "",
            "toModule": "",
            "exportNeeds": "",
            "replace": "",
            "withText": "",
            "changes": "",
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
    wording = Wording(refuse=respell_failure, respell=name_tools, text=code_text, spell_call=spell_code_call)
    return Tool(name=row.name, operation=row.operation, definition=definition, adds=ADDED, wording=wording)


def _slim(schema: Any) -> Any:
    """Without descriptions, bounds and items: the operation refuses what is wrong, with a sentence."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "object":
        return {"type": "object"}
    return {key: _slim(held) for key, held in schema.items() if key not in _UNREAD}


_EDIT_TOOL, _SEARCH_TOOL = "code_edit", "code_search"
_TOOL_OF_ACTION = {field: row.name for row in CODE_TOOLS for field in row.fields}
_LACKING = {"rename_preview": "to", "move_preview": "toModule", "replace_preview": "withText"}
"""What an action cannot do without and its token does not hold."""
_SUBJECTS = (
    *("search", "analyze", "outline", "deps", "trace", "ripple"),
    *("locate", "context", "rename", "extract", "move", "replace", "changes", "continuation"),
)
"""What a call is about: it has one of them."""
_RECOVERY_TOKENS = ("reissue_token", "refresh_token", "recovery_token")


def spell_code_call(call: NextCall) -> dict[str, Json] | None:
    """A call with a token, as a call of the tool that the token is for, or an edit; None for another call."""
    token = call.params.get("continuation")
    held = _read(token) if isinstance(token, str) else None
    if token is None and call.operation == "code.edit":
        return {
            "tool": _EDIT_TOOL,
            "params": {key: call.params[key] for key in call.params if key != "aiMode"},
        }
    return None if held is None else {"tool": _tool_of(held), "params": call.params}


def _tool_of(held: Continuation) -> str:
    if held.command == "js-edit":
        return _EDIT_TOOL
    action = held.next_actions[0].id.partition(":")[0] if held.next_actions else ""
    return _TOOL_OF_ACTION.get(action, _SEARCH_TOOL)


def _read(token: str) -> Continuation | None:
    return read_unproven(unwrap(token))


# Command-line words as arguments

_WORDS = re.compile(
    r'"(?:[^"\\]|\\.)*"'  # what a caller wrote stays as it is
    r"|`?(?:js-)?scan --search`?"
    r"|\bjs-(?P<script>scan|edit)\b"
    r"|(?<!\S)--with-file(?: FILE)?\b"
    r"|(?<!\S)--(?P<flag>[a-z]+(?:-[a-z]+)*)\b"
)


def respell(text: str) -> str:
    """`--to-module` becomes `toModule`, and a script the tool that does the same."""
    return _WORDS.sub(_respell_word, text)


def _respell_word(match: re.Match[str]) -> str:
    word = match[0]
    if word.startswith('"'):
        return word
    if word.startswith("--with-file"):  # who has no shell sends the text itself
        return "`withText`"
    if flag := match["flag"]:
        first, *others = flag.split("-")
        return f"`{first}{''.join(other.capitalize() for other in others)}`"
    return _EDIT_TOOL if match["script"] == "edit" else _SEARCH_TOOL


def respell_failure(tool: Tool, params: dict[str, Json], failure: Failure) -> Failure:
    """The refusal in the words of the tools; a token that helps becomes the call that is offered."""
    details = {
        name: respell(value) if isinstance(value, str) else value
        for name, value in failure.details.items()
        if name not in ("usage", "recovery")
    }
    message, hint, call = respell(failure.message), failure.hint and respell(failure.hint), failure.next_call
    recovery = failure.details.get("recovery", {})
    for name in _RECOVERY_TOKENS:
        if call is None and name in recovery:
            call = NextCall(operation="code.scan", params={"continuation": recovery[name]})
            hint = "Make the call offered here; it gets the answer of now, with new tokens."
    token = params.get("continuation")
    held = _read(token) if isinstance(token, str) else None
    if failure.kind is E_USAGE and params.keys().isdisjoint(_SUBJECTS) and "fix" not in params:
        offered = [name for name in _SUBJECTS if name in fields_of(tool)]
        message, hint = f"{tool.name} needs one of {', '.join(offered)}.", "Add it to the call."
    if failure.kind is ACTION_NOT_ALLOWED and held is not None and _tool_of(held) != tool.name:
        message = f"This token belongs to {_tool_of(held)}, not to {tool.name}."
        hint = "Make the call offered here."
        call = NextCall(operation="code.scan", params={"continuation": token})
    return msgspec.structs.replace(failure, message=message, hint=hint, details=details, next_call=call)


def name_tools(payload: dict[str, Any]) -> dict[str, Any]:
    """The answer with the tool of each next action, and with arguments where it names flags."""
    answer = dict(payload)
    tokens = payload.get("continuation_tokens", {})
    if "next_actions" in payload:
        answer["next_actions"] = [
            {**action, "label": respell(action["label"]), "tool": _tool_of(held)}
            for action in payload["next_actions"]
            if (held := _read(tokens.get(action["id"], ""))) is not None
        ]
    if payload.get("message"):
        answer["message"] = respell(payload["message"])
    if payload.get("warnings"):
        answer["warnings"] = [_respell_warning(warning) for warning in payload["warnings"]]
    return answer


def _respell_warning(warning: dict[str, Any]) -> dict[str, Any]:
    """A token that repeats the query says more than the command line that would do it."""
    recovery = {name: value for name, value in warning.get("recovery", {}).items() if name != "suggestion"}
    kept = {name: value for name, value in warning.items() if name != "recovery"}
    return kept | ({"recovery": recovery} if recovery else {})


# Text

_APART = frozenset({"status", "warnings", "complete", "next_actions", "continuation_tokens", UNTRUSTED})
_LONG = frozenset({"text", "hunks", "diff", "doc"})
"""Pieces of files; they are fenced."""
_HEAD = ("file", "line", "column", "kind", "name")


def code_text(payload: dict[str, Any]) -> str:
    """The answer as text that is complete without its structured copy. Empty fields are left out."""
    lines = [f"{payload['status']}, {_completeness(payload)}"]
    lines.extend(_warning(warning) for warning in payload.get("warnings", ()))
    for name, value in payload.items():
        if name not in _APART:
            lines.extend(_field(name, value))
    lines.extend(_calls(payload))
    return "\n".join(lines)


def _completeness(payload: dict[str, Any]) -> str:
    if payload.get("complete", True):
        return "complete"
    return "complete: false; reasons and unsure places are named"


def _warning(warning: dict[str, Any]) -> str:
    token = warning.get("recovery", {}).get("reissue_token", "")
    held = _read(token)
    again = "" if held is None else f" Repeat it: {call_text(_tool_of(held), {'continuation': token})}"
    mismatch = warning.get("digest_mismatch", {})
    digests = f" ({_pairs(mismatch)})" if mismatch else ""
    return f"Warning {warning['code']}: {flatten_text(warning['message'])}{digests}{again}"


def _field(name: str, value: Any) -> Iterator[str]:
    if _is_empty(value):
        return
    if isinstance(value, dict):
        yield f"{name}: {_row(value)}"
        yield from _long_parts(value)
    elif isinstance(value, list) and isinstance(value[0], dict):
        yield f"{name}:"
        for row in value:
            yield f"- {_row(row)}"
            yield from _long_parts(row)
    elif name in _LONG:
        yield fence_text(value, name)
    else:
        yield f"{name}: {_word(value)}"


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _row(row: dict[str, Any]) -> str:
    """`src/app.js:4:17 function myFunc`, then whatever else it has."""
    place = ":".join(str(row[key]) for key in ("file", "line", "column") if row.get(key))
    head = " ".join(flatten_text(str(part)) for part in (place, row.get("kind"), row.get("name")) if part)
    others = {
        key: value
        for key, value in row.items()
        if key not in (*_HEAD, *_LONG, UNTRUSTED) and value is not False and not _is_empty(value)
    }
    return "; ".join(part for part in (head, _pairs(others)) if part)


def _pairs(held: dict[str, Any]) -> str:
    return "; ".join(f"{flatten_text(key)} {_word(value)}" for key, value in held.items())


def _word(value: Any) -> str:
    if isinstance(value, str):
        return flatten_text(value)
    if isinstance(value, list):
        return ", ".join(_word(part) for part in value)
    if isinstance(value, dict):
        return _pairs(value)
    return msgspec.json.encode(value).decode()


def _long_parts(row: dict[str, Any]) -> Iterator[str]:
    for name in _LONG & row.keys():
        if row[name]:
            yield fence_text(row[name], f"{name} of {row['file']}" if "file" in row else name)


def _calls(payload: dict[str, Any]) -> Iterator[str]:
    tokens: dict[str, str] = payload.get("continuation_tokens", {})
    if tokens:
        yield "Next calls:"
    for name, token in tokens.items():
        held = _read(token)
        assert held is not None, "a token of this answer can be read"
        action = held.next_actions[0]
        params: dict[str, Json] = {"continuation": token}
        if action.guard:
            params["fix"] = True
        if name in _LACKING and _LACKING[name] not in held.parameters:
            params[_LACKING[name]] = TO_FILL_IN
        yield f"- {flatten_text(respell(action.label))}: {call_text(_tool_of(held), params)}"
