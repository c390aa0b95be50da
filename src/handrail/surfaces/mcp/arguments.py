"""Check a tool call's arguments by name before an operation reads them. Pure.

Lossy agents invent argument names and send objects as text. Every refusal here contains the
caller's own call with the fault repaired, so one copied retry is enough.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from handrail.contract.catalogue import REQUEST_TOO_LARGE, VALIDATION_ERROR
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Failure, Fault, Json, NextCall
from handrail.contract.suggest import count_edits, find_nearest
from handrail.contract.wording import quote
from handrail.runtime.operation import OFFERED_CALL_BYTES
from handrail.surfaces.mcp.tools import Tool, fields_of

# Limits of one call, measured before the content is read

MAX_BYTES = 4 * 1024 * 1024
"""Limit of all names and texts together; punctuation hardly counts."""
MAX_DEPTH = 64
MAX_MEMBERS = 100_000


def check_size(arguments: dict[str, Json]) -> Failure | None:
    """Return the refusal of arguments over a limit. It walks level by level, so depth cannot exhaust the
    stack.
    """
    size_bytes = members = depth = 0
    level: list[Json] = [arguments]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return _refusal("nested levels", depth, MAX_DEPTH)
        deeper: list[Json] = []
        for container in level:
            members += len(container)
            values = container
            if isinstance(container, dict):
                size_bytes += sum(map(_text_bytes, container))
                values = container.values()
            size_bytes += sum(_text_bytes(value) for value in values if isinstance(value, str))
            deeper.extend(value for value in values if isinstance(value, dict | list))
        if members > MAX_MEMBERS:
            return _refusal("members", members, MAX_MEMBERS)
        if size_bytes > MAX_BYTES:
            return _refusal("bytes", size_bytes, MAX_BYTES)
        level = deeper
    return None


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _refusal(what: str, measured: int, limit: int) -> Failure:
    return Failure(
        kind=REQUEST_TOO_LARGE,
        message=f"The arguments have {measured} {what}, {limit} at most; nothing was stored.",
        details={"what": what, "measured": measured, "limit": limit},
        hint="Send less: shorten the notes, and put references instead of content into context.",
    )


# Objects and lists that an agent sent as JSON text

_LIST, _OBJECT = "a list of objects", "an object"


def read_texts(fields: dict[str, Any], given: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the arguments with JSON texts decoded, and where: dotted name to expected type.

    Only declared fields are decoded; text inside context or an artifact's body is content.
    """
    found: dict[str, str] = {}
    return _object(fields, given, "", found), found


def _object(
    fields: dict[str, Any], given: dict[str, Json], above: str, found: dict[str, str]
) -> dict[str, Json]:
    read = dict(given)
    for name, schema in fields.items():
        if name not in read:
            continue
        place = f"{above}{name}"
        kind = schema.get("type")
        if kind == "object":
            read[name] = _read(read[name], "{", place, _OBJECT, found)
            if isinstance(read[name], dict):
                read[name] = _object(schema.get("properties", {}), read[name], f"{place}.", found)
        elif kind == "array":
            read[name] = _list(schema["items"], read[name], place, found)
    return read


def _list(item: dict[str, Any], value: Json, place: str, found: dict[str, str]) -> Json:
    if isinstance(value, str):
        value = _read(value, "[{", place, _LIST, found)
        return [value] if isinstance(value, dict) else value  # one item alone in place of a list
    if isinstance(value, list) and item.get("type") == "object":
        return [_read(part, "{", place, _LIST, found) for part in value]
    return value


def _read(value: Json, openings: str, place: str, meant: str, found: dict[str, str]) -> Json:
    if not isinstance(value, str) or not value.lstrip().startswith(tuple(openings)):
        return value
    try:
        read = decode_json(value, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)
    except Fault:  # not JSON after all; the flaw is reported with the field
        return value
    found[place] = meant
    return read


# Optional parameters without a value


def drop_absent(schema: dict[str, Any], given: dict[str, Json]) -> dict[str, Json]:
    """Return the arguments without the optional ones that are null or an empty text.

    Only declared parameters are checked, so a null inside `context` still deletes a fact.
    """
    required = schema.get("required", ())
    kept: dict[str, Json] = {}
    for name, value in given.items():
        field = schema.get("properties", {}).get(name)
        if field is None:
            kept[name] = value
            continue
        whole = value
        if isinstance(value, dict) and "properties" in field:
            value = drop_absent(field, value)
        is_emptied = value in (None, "") or (value == {} and whole != {})
        if name in required or not is_emptied:
            kept[name] = value
    return kept


# Names, choices and repairs

MOST_FLAWS = 20
"""Most flaws of a call that is repaired."""
MOST_SLIPS = 2
"""Wrong letters that are corrected in a word of a closed set, if the call changes something."""
_HANDLES = frozenset({"ackToken", "stateToken", "checkpointToken"})
"""Tokens that identify what a call is about."""
_INPUT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

_SYMBOL = ("search", "analyze", "trace", "ripple", "locate")
"""Parameters of the code tools that take a name."""

_MEANT: tuple[tuple[str, str], ...] = (
    ("output.notesMarkdown", "notes note markdown summary result text message content comment"),
    ("output", "outputs"),
    ("output.artifacts", "artefact artefacts artifact attachments"),
    ("ackToken", "token ack continuetoken retryacktoken choicetoken optiontoken"),
    ("checkpointToken", "token checkpoint"),
    ("continuation", "token continuetoken continuationtoken applytoken"),
    ("stateToken", "state resumetoken"),
    ("outline", "file"),
    ("scope", "directory folder path file"),
    ("file", "path filename"),
    ("outline", "path filename"),
    ("project", "workspacepath workspace workingdirectory projectpath directory cwd path repo"),
    ("workflowId", "workflow id name"),
    ("query", "text search q"),
    ("search", "text"),
    *((place, "id name symbol target function definition identifier query pattern q") for place in _SYMBOL),
    ("to", "newname"),
    ("toModule", "module"),
    ("fix", "apply confirm write"),
    ("kind", "kinds"),
    ("depth", "maxdepth"),
    ("limit", "maxresults"),
    ("context", "inputs variables parameters params"),
    ("goal", "objective task title"),
    ("requestId", "idempotencykey"),
    ("session", "sessionid sessiontoken"),
    ("query", "sessionid"),
    ("cursor", "page nextcursor"),
    ("part", "mode view section"),
    ("preferences.autonomy", "mode autonomylevel"),
)
"""Where a value belongs, and the folded names under which agents send it."""
SYNONYMS: dict[str, tuple[str, ...]] = {
    name: tuple(place for place, others in _MEANT if name in others.split())
    for _, names in _MEANT
    for name in names.split()
}
"""Places by name: the first one that the tool has is meant. They take precedence over similar spelling."""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments with known names, and warnings about what was repaired."""

    params: dict[str, Json]
    warnings: tuple[dict[str, Json], ...] = ()


class Flaw(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong argument and how to correct it."""

    path: tuple[str, ...]
    problem: str
    fix: str
    to: tuple[str, ...] | None = None
    """Where the value belongs; empty if nowhere. None if only the caller knows, so that it must not be
    dropped.
    """
    value: Json = None
    """The corrected value."""

    @property
    def is_moved(self) -> bool:
        return bool(self.to) and self.to != self.path


def read_arguments(tool: Tool, arguments: dict[str, Json]) -> Accepted | Failure:
    """Return the params for the tool's operation, or the refusal with the repaired call.

    The operation checks types; this checks names, narrowed choices and size.
    """
    refusal = check_size(arguments)
    if refusal is not None:
        return refusal
    params, read_as_text = read_texts(fields_of(tool), arguments)
    params = drop_absent(tool.definition["inputSchema"], params)
    refusal = check_size(params) if read_as_text else None
    if refusal is not None:
        return refusal
    flaws = list(islice(_flaws(tool, fields_of(tool), params, ()), MOST_FLAWS + 1))
    if flaws:
        return _refuse(tool, params, flaws)
    message = "{} was sent as text and read as JSON; send it as {} next time."
    warnings: list[dict[str, Json]] = [
        {"code": "INPUT_REPAIRED", "message": message.format(name, meant)}
        for name, meant in read_as_text.items()
    ]
    return Accepted(params=params, warnings=tuple(warnings))


def _flaws(
    tool: Tool, fields: dict[str, Any], given: dict[str, Json], above: tuple[str, ...]
) -> Iterator[Flaw]:
    for name, value in given.items():
        path = (*above, name)
        schema = fields.get(name)
        if schema is None:
            yield _unknown(tool, fields, path, value)
        elif value is None:
            yield Flaw(path=path, problem="null is not a value here", fix="leave it out", to=())
        elif schema.get("type") == "object" and not isinstance(value, dict):
            yield _not_an_object(schema, path, value)
        elif _belongs_in_list(schema, value):
            yield Flaw(path=path, problem="not a list", fix="send it in a list", to=path, value=[value])
        elif "properties" in schema:
            yield from _flaws(tool, schema["properties"], value, path)
        elif isinstance(value, str) and "enum" in schema and value not in schema["enum"]:
            yield _not_offered(tool, schema["enum"], path, value)


def _belongs_in_list(schema: dict[str, Any], value: Json) -> bool:
    """Whether it is one item alone in place of a list of such items."""
    item = schema.get("items", {}).get("type")
    return isinstance(value, dict) if item == "object" else isinstance(value, str) and item == "string"


def _unknown(tool: Tool, siblings: dict[str, Any], path: tuple[str, ...], value: Json) -> Flaw:
    problem = "unknown name"
    meant = _find_place(tool, path[-1], value)
    if meant is None and len(path) > 1:
        fix = f"{_dotted(path[:-1])} takes {', '.join(siblings)}"
        return Flaw(path=path, problem=problem, fix=fix)
    if meant is None:
        fix = f"leave it out; {tool.name} takes {', '.join(fields_of(tool))}"
        return Flaw(path=path, problem=problem, fix=fix, to=())
    schema = _schema_at(tool, meant)
    fix = f"send it as {_dotted(meant)}"
    if not _is_offered(schema, value):
        fix += f", one of {', '.join(schema['enum'])}"
        return Flaw(path=path, problem=problem, fix=fix)
    as_list = schema.get("type") == "array" and isinstance(value, dict)
    return Flaw(path=path, problem=problem, fix=fix, to=meant, value=[value] if as_list else value)


def _schema_at(tool: Tool, place: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a field; empty for anything inside context."""
    schema: dict[str, Any] = {"properties": fields_of(tool)}
    for name in place:
        schema = schema.get("properties", {}).get(name, {})
    return schema


def _find_place(tool: Tool, name: str, value: Json) -> tuple[str, ...] | None:
    places = {_dotted(path): path for path in _places(fields_of(tool), ())}
    for place in SYNONYMS.get(_fold(name), ()):
        if place in places and _is_offered(_schema_at(tool, places[place]), value):
            return places[place]
    by_leaf = {path[-1]: path for path in reversed(places.values())}
    for similar in find_nearest(name, by_leaf, most=1):
        is_same = _fold(similar) == _fold(name)
        if is_same or _is_offered(_schema_at(tool, by_leaf[similar]), value):
            return by_leaf[similar]
    # A start call with a free name almost always means an input of the workflow.
    is_plain = _INPUT_NAME.fullmatch(name) is not None and quote(name) == f'"{name}"'
    return ("context", name) if tool.operation == "run.start" and is_plain else None


def _is_offered(schema: dict[str, Any], value: Json) -> bool:
    return "enum" not in schema or value in schema["enum"]


def _places(fields: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, schema in fields.items():
        yield (*above, name)
        yield from _places(schema.get("properties", {}), (*above, name))


def _not_an_object(schema: dict[str, Any], path: tuple[str, ...], value: Json) -> Flaw:
    problem = "not an object"
    name = _field_for(schema.get("properties", {}), value)
    if name is None:
        return Flaw(path=path, problem=problem, fix="send a JSON object")
    fix = f"send it as {_dotted((*path, name))}"
    return Flaw(path=path, problem=problem, fix=fix, to=path, value={name: value})


def _field_for(fields: dict[str, Any], value: Json) -> str | None:
    """Return the field that a bare value is meant for: the notes, or the one that offers the word."""
    if isinstance(value, str) and "notesMarkdown" in fields:
        return "notesMarkdown"
    if isinstance(value, list) and "artifacts" in fields:
        return "artifacts"
    return next((name for name, schema in fields.items() if value in schema.get("enum", ())), None)


def _not_offered(tool: Tool, choices: list[str], path: tuple[str, ...], value: str) -> Flaw:
    problem = f"{quote(value)} is not offered"
    fix = f"use one of {', '.join(choices)}"
    same = [choice for choice in choices if _fold(choice) == _fold(value)]
    to: tuple[str, ...] | None
    if same or tool.definition["annotations"]["readOnlyHint"]:
        near = same or find_nearest(value, choices, most=1)
        to = path if near else ()
    else:  # what an agent may do is never guessed; a typo with only one reading is no guess
        near = [choice for choice in choices if count_edits(value, choice) <= MOST_SLIPS]
        to = path if len(near) == 1 else None
    return Flaw(path=path, problem=problem, fix=fix, to=to, value=near[0] if near else None)


def _refuse(tool: Tool, params: dict[str, Json], flaws: list[Flaw]) -> Failure:
    repaired = _repair(params, flaws)
    hint, next_call = "Correct what the problems name.", None
    if repaired is not None and _is_whole(tool, params, repaired):
        hint = "Make the call offered here."
        next_call = NextCall(operation=tool.operation, params=repaired)
    elif repaired is not None and not _HANDLES.isdisjoint(fields_of(tool)):
        hint = "Send a token of the newest reply; if it is lost, the call offered here finds the session."
        next_call = NextCall(operation="session.resume", params={})
    first = flaws[0]
    more = "" if len(flaws) == 1 else f" {len(flaws) - 1} more in details.problems."
    stored = "" if tool.definition["annotations"]["readOnlyHint"] else " Nothing was stored."
    problems: list[Json] = [
        {"param": quote(_dotted(flaw.path))[1:-1], "problem": flaw.problem, "fix": flaw.fix} for flaw in flaws
    ]
    meant = [_dotted(flaw.to) for flaw in flaws if flaw.to and flaw.is_moved]
    return Failure(
        kind=VALIDATION_ERROR,
        message=f"{tool.name}, {quote(_dotted(first.path))}: {first.problem}; {first.fix}.{more}{stored}",
        details={"problems": problems} | ({"did_you_mean": meant} if meant else {}),
        hint=hint,
        next_call=next_call,
    )


def _is_whole(tool: Tool, params: dict[str, Json], call: dict[str, Json]) -> bool:
    """Whether the repaired call has everything that the tool requires; otherwise it would be rejected."""
    handles = _HANDLES & fields_of(tool).keys()
    is_about_something = not handles or not handles.isdisjoint(call)
    required = tool.definition["inputSchema"].get("required", ())
    return is_about_something and all(name in call or name not in params for name in required)


def _repair(params: dict[str, Json], flaws: list[Flaw]) -> dict[str, Json] | None:
    """Return the caller's own call without its flaws; None if that would lose a value or is too long."""
    if len(flaws) > MOST_FLAWS:
        return None
    call = copy.deepcopy(params)
    # Moves come last: they may lead into an object that another repair makes.
    for flaw in sorted(flaws, key=lambda flaw: flaw.is_moved):
        holder = call
        for name in flaw.path[:-1]:
            holder = holder[name]
        del holder[flaw.path[-1]]
        if flaw.to is None or (flaw.to and not _place(call, flaw.to, flaw.value)):
            return None
    return call if len(msgspec.json.encode(call)) <= OFFERED_CALL_BYTES else None


def _place(call: dict[str, Json], to: tuple[str, ...], value: Json) -> bool:
    holder: Json = call
    for name in to[:-1]:
        holder = holder.setdefault(name, {})
        if not isinstance(holder, dict):
            return False
    if to[-1] in holder:
        return False
    holder[to[-1]] = value
    return True


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path)
