"""Text for people about what a write would change, about the result for each target, or why it
failed. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from handrail.contract.fence import fence_text
from handrail.contract.outcome import Failure, Json
from handrail.contract.wording import escape_hidden, format_count
from handrail.surfaces.cli.reading.spelling import command_line
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_aligned,
    format_cell,
    format_table,
    lines_of,
    moment_text,
    one_line,
    repeat_line,
    size_text,
    spell_for_people,
    value_lines,
    wrap,
)

_DIGEST = r"(?:sha256:)?[0-9a-f]{64}"
_NAMED = {"size_bytes": "size", "bytes": "size"}
_VERBS = {"none": "leave"}
_APART = frozenset({"steps", "steps_total", "next_offset"})
"""Fields of a preview that are shown as text below it."""


def preview_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return what would change, one block each, and the command that does it."""
    preview = payload["preview"]
    changes = preview.get("changes", [])
    if preview["unchanged"]:
        reasons = [line for change in changes for line in _change(change, page)]
        return [f"Nothing to do: {one_line(preview['action'])}.", *reasons, *_texts(changes, page)]
    lines = [f"Would {one_line(preview['action'])}:"]
    for change in changes:
        lines += _change(change, page)
    rows = [
        ("Reach", one_line(preview["blast_radius"])),
        ("Until", moment_text(one_line(payload.get("expires_at", "")))),
    ]
    confirm = one_line(payload.get("confirm_token", ""))
    return [
        *lines,
        *_texts(changes, page),
        "",
        *format_aligned(rows, page.width),
        "",
        "To do it:",
        INDENT + repeat_line(_plain(page), without="--dry-run", confirm=confirm),
    ]


def _texts(changes: list[dict[str, Json]], page: Page) -> list[str]:
    """Return the texts that would be added, each fenced as data."""
    lines: list[str] = []
    for after in (change.get("after") for change in changes):
        if not isinstance(after, dict) or "steps" not in after:
            continue
        for text in after["steps"]:
            named = " ".join(one_line(text[name]) for name in ("workflow_id", "kind", "id"))
            prompt = text.get("prompt", "")
            if text.get("more"):
                prompt += "\n\n" + escape_hidden(
                    json.dumps(text["more"], ensure_ascii=False, indent=2, sort_keys=True)
                )
            lines += ["", *lines_of(fence_text(prompt.strip(), f"{named}: {text.get('title', '')}"))]
        lines += ["", f"{len(after['steps'])} of {format_count(after['steps_total'], 'text')} shown."]
        if "next_offset" in after:
            lines.append(f"More: {repeat_line(page, offset=str(after['next_offset']))}")
    return lines


def _plain(page: Page) -> Page:
    return msgspec.structs.replace(page, typed=tuple(_plain_words(page.typed)))


def _plain_words(typed: Sequence[str]) -> Iterator[str]:
    """Yield the words without those that only choose what a preview shows."""
    skips = False
    for word in typed:
        if skips or word.startswith(("--part=", "--offset=")):
            skips = False
        elif word in ("--part", "--offset"):
            skips = True
        else:
            yield word


def _change(change: dict[str, Json], page: Page) -> list[str]:
    verb = _VERBS.get(change["action"], change["action"])
    name, resource = one_line(change["id"]), one_line(change["resource"])
    what = resource if name == resource else f"new {resource}" if name == "new" else f"{resource} {name}"
    head = f"{INDENT}{verb} {what}"
    lines = [head]
    for text in _differences(change):
        is_prose = text.count(" ") > text.partition(": ")[0].count(" ") + 1
        lines += wrap(text, page.width, INDENT * 3) if is_prose else [INDENT * 3 + text]
    hunks = (change.get("diff") or {}).get("hunks", [])
    return [
        *lines,
        *(INDENT * 3 + one_line(text) for hunk in hunks for text in hunk.rstrip("\n").split("\n")),
    ]


def _differences(change: dict[str, Json]) -> list[str]:
    """Return the parts that differ, as `name: before -> after`."""
    before, after = change.get("before"), change.get("after")
    if not isinstance(after, dict):
        return [_part(name, value) for name, value in (before or {}).items() if not _is_digest(value)]
    held: Mapping[str, Json] = before if isinstance(before, dict) else {}
    return [
        _part(name, value, held[name]) if name in held else _part(name, value)
        for name, value in after.items()
        if held.get(name) != value and not _is_digest(value) and name not in _APART
    ]


def _part(name: str, value: Json, before: Json = None) -> str:
    label = _NAMED.get(name, one_line(name).replace("_", " "))
    shown = _text_of(name, value)
    return f"{label}: {shown}" if before is None else f"{label}: {_text_of(name, before)} -> {shown}"


def _text_of(name: str, value: Json) -> str:
    if name.endswith("bytes") and isinstance(value, int):
        return size_text(value)
    if name == "pinned" and isinstance(value, list):
        return (
            "; ".join(f"{one_line(one['workflow_id'])} {one['prompts_digest'][:19]}" for one in value) or "-"
        )
    if isinstance(value, list):
        return " ".join(one_line(str(one)) for one in value) or "-"
    return format_cell(value)


def _is_digest(value: Json) -> bool:
    """Whether it is a digest: digests bind the preview, and people have no use for them."""
    return isinstance(value, str) and re.fullmatch(_DIGEST, value) is not None


def is_batch(payload: dict[str, Json]) -> bool:
    items = payload.get("items")
    return (
        isinstance(payload.get("summary"), dict)
        and isinstance(items, list)
        and all(isinstance(item, dict) and "target" in item for item in items)
    )


def batch_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return one line per target with its problems below, then the counts and the next step."""
    rows = [["ok" if item.get("ok") else "failed", one_line(item["target"])] for item in payload["items"]]
    table = format_table([*rows, *(["skipped", one_line(one)] for one in payload.get("skipped", []))])
    lines = []
    for place, row in enumerate(table):
        troubles = _troubles(payload["items"][place]) if place < len(payload["items"]) else []
        lines += [row, *(part for text in troubles for part in wrap(text, page.width, INDENT * 2))]
    following = [spell_for_people(one_line(one)) for one in payload.get("next_steps", [])]
    lines += [*[""][: len(lines)], _tally(payload["summary"])]
    return lines + (["", "Next:", *(INDENT + one for one in following)] if following else [])


def _troubles(item: dict[str, Json]) -> list[str]:
    error = item.get("error")
    troubles = (
        [f"{error.get('code', '')}: {one_line(error.get('message', ''))}"] if isinstance(error, dict) else []
    )
    return [*troubles, *(one_line(_describe_problem(problem)) for problem in item.get("problems") or [])]


def _tally(summary: dict[str, Json]) -> str:
    """Return the counts: `2 of 2 ok.` or `1 of 2 ok, 1 failed, 3 skipped.`"""
    total, succeeded = summary["total"], summary["succeeded"]
    if succeeded == total and not summary.get("skipped"):
        return f"{succeeded} of {total} ok." if total else "There was nothing to do."
    rest = [f"{summary[name]} {name}" for name in ("failed", "skipped") if summary.get(name)]
    return f"{succeeded} of {total} ok, {', '.join(rest)}."


# A refusal: what is wrong, everything that is wrong, and what to type next


_SHOWN = {
    "did_you_mean": "Near",
    "valid": "Names",
    "allowed": "Allowed",
    "supported": "Served",
    "minimum": "At least",
    "setting": "Setting",
    "snippet": "Lines",
    "incident": "Incident",
}


def failure_lines(failure: Failure, operation: str, page: Page) -> list[str]:
    """Return everything that a person needs to continue; the code comes last."""
    details = failure.details
    hint = failure.hint or failure.kind.hint
    message = failure.message.removesuffix(hint).rstrip()
    lines = _labelled("Error", message, page)
    problems = [_describe_problem(one) for one in details.get("problems") or []]
    lines += [part for one in problems if not message.startswith(one[:-1]) for part in _item(one, page)]
    lines += _report(details, operation, page)
    lines += _labelled("Fix", hint, page)
    for name, label in _SHOWN.items():
        if details.get(name):
            lines += _labelled(label, _value(details[name]), page)
    following = failure.next_call and command_line(failure.next_call, page.program)
    lines += [f"Next:  {spell_for_people(one_line(following))}"] if following else []
    return [*lines, f"Code:  {failure.kind.code}"]


def _labelled(label: str, text: str, page: Page) -> list[str]:
    """Return a label, and the text beside it in lines that fit."""
    head = f"{label + ':':<6} "
    parts = [part for line in lines_of(text) for part in wrap(line, page.width - len(head))]
    return [head + parts[0], *(" " * len(head) + part for part in parts[1:])]


def _item(text: str, page: Page) -> list[str]:
    first, *rest = wrap(one_line(text), page.width - 4)
    return [f"{INDENT}- {first}", *(INDENT * 2 + line for line in rest)]


def _value(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _describe_problem(problem: dict[str, Json]) -> str:
    """Return one problem of a call or of a workflow file as a sentence."""
    if "message" in problem:
        place = f"{problem['line']}:{problem['column']} " if problem.get("line") else ""
        what = f"{place}{problem['severity']} {problem['code']}: {problem['message']}"
        return f"{what} {problem.get('fix', '')}".rstrip()
    subject = "The command" if problem.get("param") == "command" else problem.get("param") or ""
    got = f' ("{problem["got"]}")' if problem.get("got") else ""
    expected = f"; expected {problem['expected']}" if problem.get("expected") else ""
    return f"{subject} {str(problem.get('problem', '')).removesuffix('.')}{got}{expected}.".strip()


def _report(details: dict[str, Json], operation: str, page: Page) -> list[str]:
    """Return what a verdict says about each of its targets."""
    if is_batch(details):
        return batch_lines(details, page)
    report = details.get("report")
    if isinstance(details.get("reports"), list):
        return value_lines(details["reports"], page.width)
    if not isinstance(report, dict):
        return []
    if operation == "workflow.validate":  # in the format of compilers: file, line, column, message
        return [
            f"{one_line(item.get('source_ref') or item['target'])}:{one_line(_describe_problem(problem))}"
            for item in report.get("items", [])
            for problem in item["problems"]
        ]
    return value_lines(report, page.width)
