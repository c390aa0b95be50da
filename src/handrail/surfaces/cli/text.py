"""Payload → plain aligned text for people. It may change; programs read the JSON. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from handrail.contract.fence import fenced
from handrail.contract.outcome import Json, NextCall
from handrail.surfaces.cli.spelling import command_line

_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_INDENT = "  "
_HIDDEN = frozenset({"_untrusted"})


def text_of(payload: Json, columns: Sequence[str]) -> str:
    """The whole payload, one newline at the end."""
    if isinstance(payload, dict) and "nextIntent" in payload:
        lines = _reply(payload)
    elif isinstance(payload, dict) and isinstance(payload.get("items"), list):
        lines = _list(payload, columns)
    else:
        lines = _value(payload)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _reply(reply: dict[str, Json]) -> list[str]:
    """A step to do: its title, the prompt as written, and the commands that go on from here."""
    lines = []
    pending = reply.get("pending")
    if isinstance(pending, dict):
        lines += [
            f"Step: {one_line(pending['title'])} ({one_line(pending['stepId'])})",
            "",
            *_lines(pending["prompt"]),
            "",
        ]
    else:
        lines += ["The workflow is complete.", ""]
    lines += _blocked(reply)
    for warning in reply.get("warnings", []):
        lines.append(f"Warning: {one_line(warning['message'])}")
        lines += [f"{_INDENT}{_command(warning['nextCall'])}"] if warning.get("nextCall") else []
    for entry in reply.get("recap", {}).get("entries", []):
        lines += _lines(fenced(entry["notes"], f"notes of {entry['title']}"))
    current = reply.get("recap", {}).get("current")
    if current:
        where = current.get("title") or current["status"]
        lines.append(f"The run went on since this step and stands at: {one_line(where)}")
    calls = [
        ("Go on there", current and current["nextCall"]["params"]),
        *_options(pending),
        ("When done", reply.get("ackToken") and {"ackToken": reply["ackToken"]}),
        ("When corrected", reply.get("retryAckToken") and {"ackToken": reply["retryAckToken"]}),
        ("Lost context", reply.get("stateToken") and {"stateToken": reply["stateToken"]}),
    ]
    rows = [
        (label, command_line(NextCall(operation="run.continue", params=params)) or "")
        for label, params in calls
        if params
    ]
    session = reply.get("session")
    if isinstance(session, dict):
        rows += _session(session)
    return lines + as_aligned(rows)


def _session(session: dict[str, Json]) -> list[tuple[str, str]]:
    """Which work this is."""
    named = [("Session", "sessionId"), ("Run", "runId"), ("Workflow", "workflowId"), ("Goal", "goal")]
    return [(label, one_line(session[key])) for label, key in named if session.get(key)]


def _command(call: Json) -> str:
    return command_line(NextCall(operation="run.continue", params=call["params"])) or ""


def _blocked(reply: dict[str, Json]) -> list[str]:
    """Why the step was not accepted, and an example of what would be."""
    lines = []
    for blocker in reply.get("blockers", []):
        lines.append(f"Blocked: {one_line(blocker['message'])}")
        lines += [f"{_INDENT}Fix: {one_line(blocker['suggestedFix'])}"] if blocker.get("suggestedFix") else []
    if reply.get("example"):
        lines += [
            "Example of an artifact that is accepted:",
            _INDENT + msgspec.json.encode(reply["example"]).decode(),
        ]
    return [*lines, ""] if lines else []


def _options(pending: Json) -> list[tuple[str, Json]]:
    """The calls that answer a choice, one per option."""
    choices = pending.get("choices", []) if isinstance(pending, dict) else []
    return [(f"To choose {one_line(choice['label'])}", {"ackToken": choice["token"]}) for choice in choices]


def _list(payload: dict[str, Json], columns: Sequence[str]) -> list[str]:
    """One row per item, then what the list says about itself."""
    items = payload["items"]
    shown = [name for name in columns if any(isinstance(item, dict) and item.get(name) for item in items)]
    if shown:
        table = [[_heading(name) for name in shown]]
        table += [
            [as_cell(item.get(name)) if isinstance(item, dict) else "" for name in shown] for item in items
        ]
        lines = as_table(table)
    else:
        lines = [line for item in items for line in (*_value(item), "")]
    count = payload.get("count", len(items))
    lines += ["", f"{count} shown."]
    cursor = payload.get("next_cursor")
    if cursor:
        lines.append(f"More with --cursor {one_line(cursor)}")
    return lines + _found_work(payload)


def _found_work(payload: dict[str, Json]) -> list[str]:
    """Of work that was looked for: what was searched, and the command that goes on with each."""
    if not (isinstance(payload.get("scope"), str) and "project" in payload):
        return []
    calls = [
        (f"Go on with {one_line(item['sessionId'])}", _command(item["nextCall"]))
        for item in payload["items"]
        if isinstance(item, dict) and item.get("nextCall") and item.get("sessionId")
    ]
    if calls or not payload["items"]:
        return [f"Searched: {one_line(payload['scope'])}.", *as_aligned(calls)]
    return []


def _heading(name: str) -> str:
    """The name of a column in capitals, its words apart whichever way the payload writes them."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def as_table(rows: list[list[str]]) -> list[str]:
    """Columns as wide as their widest cell."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _value(value: Json) -> list[str]:
    """Any JSON value: objects as aligned names, lists one item after the other."""
    match value:
        case dict():
            return _object({key: inner for key, inner in value.items() if key not in _HIDDEN})
        case list():
            return [line for inner in value for line in _item(inner)]
        case _:
            return _lines(as_cell(value, is_whole=True))


def _object(value: dict[str, Json]) -> list[str]:
    width = max((len(key) for key, inner in value.items() if _is_short(inner)), default=0)
    lines = []
    for key, inner in value.items():
        if _is_short(inner):
            lines.append(f"{one_line(key) + ':':<{width + 1}} {as_cell(inner)}")
        else:
            lines += [f"{one_line(key)}:", *(_INDENT + line for line in _value(inner))]
    return lines


def _item(value: Json) -> list[str]:
    first, *rest = _value(value) or [""]
    return [f"- {first}", *(_INDENT + line for line in rest)]


def as_aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names in one column, values in the next."""
    width = max((len(label) for label, _ in rows), default=0) + 1
    return [f"{label + ':':<{width}} {value}" for label, value in rows]


def _is_short(value: Json) -> bool:
    """Whether it stands on the line of its name."""
    if isinstance(value, dict | list):
        return not value
    return not isinstance(value, str) or "\n" not in value


def as_cell(value: Json, *, is_whole: bool = False) -> str:
    """A value in a few words; a text whole, or on one line."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return _clean(value) if is_whole else one_line(value)
        case dict() | list() if not value:
            return "-"
        case _:
            return msgspec.json.encode(value).decode()


def _lines(text: str) -> list[str]:
    return _clean(text).split("\n")


def one_line(text: str) -> str:
    """Outside text on one line, with nothing that a terminal would obey."""
    return _clean(text).replace("\n", " ")


def _clean(text: str) -> str:
    """Without anything that a terminal would obey."""
    return re.sub(_CONTROL, "\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
