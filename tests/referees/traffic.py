"""Recorded requests with their answers, and what must hold of every one, whatever a fuzzer made of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

ECHO_LIMIT = 80
"""How much of the caller's own text an answer may quote."""
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what came back; `answer` is None when nothing did."""

    request: dict[str, Any]
    answer: dict[str, Any] | None


def read_stdio(lines: list[str]) -> tuple[list[Exchange], list[str]]:
    """The exchanges by their ids, and what is odd about the lines themselves."""
    sent: dict[str, dict[str, Any]] = {}
    heard: dict[str, dict[str, Any]] = {}
    counted: Counter[str] = Counter()
    odd = []
    for line in lines:
        entry = json.loads(line)
        if entry["way"] == "ended":
            odd += [] if entry["line"] == "0" else [f"the server ended with {entry['line']}"]
            continue
        message = _decoded(entry["line"])
        if message is None:
            odd += [f"not JSON on stdout: {entry['line'][:80]!r}"] if entry["way"] == "heard" else []
        elif "id" in message and message["id"] is not None:
            key = json.dumps(message["id"])
            (sent if entry["way"] == "sent" else heard)[key] = message
            counted[entry["way"] + key] += 1
    odd += [f"{key} {times} times" for key, times in counted.items() if times > 1]
    return [Exchange(request=each, answer=heard.get(key)) for key, each in sent.items()], odd


def read_http(lines: list[str]) -> tuple[list[Exchange], list[str]]:
    """As `read_stdio`, for one line per request with its status and body."""
    exchanges, odd = [], []
    for line in lines:
        entry = json.loads(line)
        if entry["status"] >= 500:
            odd.append(f"HTTP {entry['status']} to {entry['sent'][:80]!r}")
        message, answer = _decoded(entry["sent"]), _decoded(entry["heard"])
        if message is not None and message.get("id") is not None:
            exchanges.append(Exchange(request=message, answer=answer))
    return exchanges, odd


def unanswered(exchanges: list[Exchange]) -> list[str]:
    return [
        f"no answer to {json.dumps(each.request)[:120]}"
        for each in exchanges
        if each.answer is None or not {"result", "error"} & set(each.answer)
    ]


def crashes(exchanges: list[Exchange]) -> list[str]:
    """Our own code for a defect, or the protocol's."""
    return [
        f"{_code(each.answer)} to {json.dumps(each.request)[:160]}"
        for each in exchanges
        if _code(each.answer) in ("INTERNAL_ERROR", -32603)
    ]


def reflections(exchanges: list[Exchange]) -> list[str]:
    """A refusal quotes little of what was sent, and nothing that hides."""
    found = []
    for each in exchanges:
        told = _refusal_text(each.answer)
        if told is None:
            continue
        text, offered = told
        if hidden := UNPRINTABLE.search(text + offered):
            found.append(f"{hidden.group()!r} in the refusal of {each.request.get('method')}")
        found += [
            f"{len(own)} characters of the request in the refusal of {each.request.get('method')}"
            for own in _texts({key: value for key, value in each.request.items() if key != "id"})
            if len(own) > ECHO_LIMIT and own[: ECHO_LIMIT + 1] in text
        ]
    return found


def wrongly_accepted(
    exchanges: list[Exchange], tools: Mapping[str, dict[str, Any]], protocol: dict[str, Any]
) -> list[str]:
    """Successes whose request the published schemas reject: the tool's own, and the protocol's."""
    found = []
    for each in exchanges:
        result = (each.answer or {}).get("result")
        if result is None or result.get("isError"):
            continue
        method = each.request.get("method")
        if problem := _protocol_problem(each.request, protocol):
            found.append(f"{method}: {problem}")
        params = each.request.get("params") or {}
        schema = tools.get(params.get("name", "")) if method == "tools/call" else None
        if schema and (problem := _first_error(_unfolded(params.get("arguments") or {}, schema), schema)):
            found.append(f"{params['name']}: {problem}")
    return found


def _protocol_problem(request: dict[str, Any], protocol: dict[str, Any]) -> str:
    for name, definition in protocol["$defs"].items():
        if definition.get("properties", {}).get("method", {}).get("const") == request.get("method"):
            return _first_error(request, {"$ref": f"#/$defs/{name}", "$defs": protocol["$defs"]})
    return ""


def _unfolded(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Documented leniency: an object sent as its JSON text is read once, with a warning in the reply."""
    unfolded = dict(arguments)
    for name, value in arguments.items():
        wanted = schema["properties"].get(name, {}).get("type")
        if isinstance(value, str) and wanted in ("object", "array"):
            unfolded[name] = json.loads(value)
    return unfolded


def _first_error(document: Any, schema: dict[str, Any]) -> str:
    errors = sorted(Draft202012Validator(schema).iter_errors(document), key=str)
    return errors[0].message[:160] if errors else ""


def _code(answer: dict[str, Any] | None) -> object:
    if answer is None:
        return None
    if "error" in answer:
        return answer["error"].get("code")
    result = answer.get("result") or {}
    return (result.get("structuredContent") or {}).get("code") if result.get("isError") else None


def _refusal_text(answer: dict[str, Any] | None) -> tuple[str, str] | None:
    """What a refusal says, and the corrected call that it offers back as text; None for a success.

    The offered call holds the caller's own arguments whole, or it could not be made as it stands.
    """
    if answer is None:
        return None
    if "error" in answer:
        return "\n".join(_texts(answer["error"])), ""
    result = answer.get("result") or {}
    if not result.get("isError"):
        return None
    structured = result.get("structuredContent") or {}
    details = dict(structured.get("details") or {})
    offered = details.pop("next_call", None)
    lines = result["content"][0]["text"].splitlines()
    last = lines.pop() if offered else ""
    return "\n".join([*_texts({**structured, "details": details}), *lines]), last


def _texts(document: Any) -> Iterator[str]:
    match document:
        case str():
            yield document
        case dict():
            for key, value in document.items():
                yield key
                yield from _texts(value)
        case list():
            for value in document:
                yield from _texts(value)
        case _:
            pass


def _decoded(text: str) -> dict[str, Any] | None:
    try:
        message = json.loads(text)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
