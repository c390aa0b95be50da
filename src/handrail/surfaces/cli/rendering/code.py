"""How people see code: names with their places, who uses them, what a change touches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    ago,
    cut,
    format_table,
    lines_of,
    one_line,
    spell_step,
    text_of,
    wrap,
)

_MOST_DOUBTS = 5
_FEW = 20
"""Callers, files and trees that are named one by one."""


def scan_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What a search, an outline or a look at one definition found."""
    if "results" in payload:
        lines = _found(payload, page)
    elif "tree" in payload:
        more = [f"{INDENT}and {payload['left_out']} more"] if payload["left_out"] else []
        lines = [*_headline(payload, page), *_tree(payload["tree"], page), *more]
    elif "layers" in payload:
        lines = [*_headline(payload, page), *_ripple(payload, page)]
    elif "importers" in payload:
        lines = _module(payload, page)
    elif "callers" in payload:
        lines = [*_headline(payload, page), *_uses(payload, page)]
    else:
        return text_of(payload, page)
    return [*lines, *_doubts(payload, page)]


def edit_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """A definition in its file, what an edit would change, or what it wrote."""
    if "location" in payload:
        lines = _located(payload, page)
    elif "changes" in payload:
        lines = _planned(payload, page)
    elif "files_modified" in payload:
        written = format_count(len(payload["files_modified"]), "file")
        lines = [f"Written: {written}.", *(INDENT + one_line(file) for file in payload["files_modified"])]
    else:
        return text_of(payload, page)
    return [*lines, *_doubts(payload, page)]


def _located(payload: dict[str, Json], page: Page) -> list[str]:
    several = payload.get("locations") or ()
    places = [payload["location"]] if payload["location"] else several
    text = ["", *_numbered(payload["text"], payload["first_line"])] if payload.get("text") else []
    return [*(_place(one, page) for one in places), *text]


def _planned(payload: dict[str, Json], page: Page) -> list[str]:
    """The diff, what it leaves alone, and how it is written."""
    lines: list[str] = []
    for change in payload["changes"]:
        lines += lines_of(change["hunks"].rstrip("\n")) if change["hunks"] else [one_line(change["file"])]
        lines += wrap(one_line(change["note"]), page.width, INDENT) if change["note"] else []
    edits, files = format_count(payload["edit_count"], "edit"), format_count(payload["file_count"], "file")
    lines += ["", f"{edits} in {files}; nothing is written yet."]
    for item in payload["items"]:
        lines += wrap(one_line(item["note"]), page.width) if item["note"] else []
    if payload["untouched_count"]:
        left = [_at(one) for one in payload["untouched"][:_MOST_DOUBTS]]
        lines += wrap(f"Left as they are: {_named(left, payload['untouched_count'])}.", page.width)
    token = payload["continuation_tokens"].get("apply", "")
    line = f"{page.program} code {one_line(payload['action'])} --continuation {one_line(token)} --fix"
    how = f"Write it: {line}" if token else "Write it: the same line with --ai-mode shows the command."
    return [*lines, how]


def status_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """The files now beside those of a step, then the steps that have files to compare with."""
    if payload["reason"]:
        lines = wrap(f"The files cannot be compared: {one_line(payload['reason'])}.", page.width)
    else:
        lines = [f"{format_count(payload['differing'], 'file')} changed since the step."]
    lines += _changed(payload["files"], payload["differing"])
    if payload["is_unfinished"]:
        lines += wrap("A restore was interrupted; the next `code restore` finishes it first.", page.width)
    trees = payload["trees"][:_FEW]
    rows = [
        [one_line(one["node_id"]), spell_step(one_line(one["step_id"])), ago(one["at"], page)]
        for one in trees
    ]
    if rows:
        lines += ["", "Steps to compare with, the latest first:"]
        lines += [INDENT + line for line in format_table(rows, page.width - len(INDENT), (1,))]
        session = one_line(payload["session_id"])
        lines.append(f"What changed: {page.program} code diff NODE --session {session} --human")
    return lines


def diff_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """The diff itself, then the files without lines."""
    if not payload["differing"]:
        return ["No file differs."]
    lines = lines_of(payload["diff"].rstrip("\n")) if payload["diff"] else []
    for file in payload["files"]:
        if file["note"]:
            lines += wrap(f"{one_line(file['path'])}: {one_line(file['note'])}", page.width)
    return [*lines, "", f"{format_count(payload['differing'], 'file')} changed."]


# Names and places


def _found(payload: dict[str, Json], page: Page) -> list[str]:
    results: Sequence[Mapping[str, Json]] = payload["results"]
    if not results:
        return wrap(one_line(payload.get("message") or "Nothing was found."), page.width)
    asked = one_line(payload.get("message") or "")  # which of them is meant: an id is the answer
    rows = [
        [
            one_line(one["id"]) if asked else _at(one),
            one_line(one.get("match") or one["kind"]),
            one_line(one["signature"] or one["name"]),
        ]
        for one in results
    ]
    places = format_count(payload["total"], "place")
    told = f"{payload['count']} of {places}; --limit shows more." if payload["has_more"] else f"{places}."
    if asked:
        told = f"{payload['count']} of {places}. {asked}" if payload["has_more"] else asked
    return [*format_table(rows, page.width, (2,)), "", *wrap(told, page.width)]


def _at(one: Mapping[str, Json]) -> str:
    return f"{one_line(one['file'])}:{one['line']}"


def _place(symbol: Mapping[str, Json], page: Page) -> str:
    about = one_line(symbol["signature"] or f"{symbol['kind']} {symbol['name']}")
    return cut(f"{_at(symbol)}  {about}", page.width)


def _headline(payload: dict[str, Json], page: Page) -> list[str]:
    return [_place(payload["symbol"], page), ""]


def _numbered(text: str, first: int) -> list[str]:
    shown = lines_of(text.rstrip("\n"))
    room = len(str(first + len(shown)))
    return [f"{number:>{room}}  {line}" for number, line in enumerate(shown, first)]


def _named(names: Sequence[str], total: int) -> str:
    more = total - len(names)
    return ", ".join([*names, *([f"and {more} more"] if more > 0 else [])])


# Who uses it, and what it uses


def _uses(payload: dict[str, Json], page: Page) -> list[str]:
    lines = [*wrap(one_line(payload["doc"]), page.width), ""] if payload.get("doc") else []
    lines += _list("Called by", map(_caller, payload["callers"]), payload["caller_count"])
    lines += _list("Calls", map(_callee, payload["calls"]), payload["call_count"])
    lines += _list("Imported by", map(one_line, payload["imported_by"]), len(payload["imported_by"]))
    lines += _list("Tests", map(one_line, payload["tests"]), len(payload["tests"]))
    return lines or ["Nothing in these files uses it, and it uses nothing of them."]


def _caller(one: Mapping[str, Json]) -> str:
    return f"{_at(one)}  {one_line(one['name']) or 'the module itself'}{_times(one)}"


def _callee(one: Mapping[str, Json]) -> str:
    """Its line is that of the call, in the other file."""
    return f"{one_line(one['file'])}  {one_line(one['name'])}{_times(one)}"


def _times(one: Mapping[str, Json]) -> str:
    return f", {one['count']} times" if one["count"] > 1 else ""


def _list(title: str, rows: Iterable[str], total: int) -> list[str]:
    shown = list(rows)[:_FEW]
    if not shown:
        return []
    more = [f"{INDENT}and {total - len(shown)} more"] if total > len(shown) else []
    return [f"{title}:", *(INDENT + row for row in shown), *more]


def _tree(nodes: Sequence[Mapping[str, Json]], page: Page) -> list[str]:
    """Each caller below what it calls; they come breadth first."""
    below: dict[int, list[Mapping[str, Json]]] = {}
    for node in nodes:
        below.setdefault(node["parent"], []).append(node)
    lines: list[str] = []
    waiting = list(reversed(below.get(-1, [])))
    while waiting:
        node = waiting.pop()
        where = f"{one_line(node['file'])}:{', '.join(map(str, node['lines']))}"
        again = " (again)" if node["repeated"] else ""
        told = f"{one_line(node['name']) or 'the module itself'}  {where}{again}"
        lines.append(cut(INDENT * node["depth"] + told, page.width))
        waiting += reversed(below.get(node["index"], []))
    return lines or ["Nothing was found."]


def _ripple(payload: dict[str, Json], page: Page) -> list[str]:
    lines = [f"Risk of a change: {one_line(payload['risk'])} ({payload['score']} of 100)."]
    for layer in payload["layers"]:
        told = "Reached directly" if layer["distance"] == 1 else f"Reached over {layer['distance']} imports"
        lines += _list(told, map(one_line, layer["files"]), layer["file_count"])
    lines += _list("Where programs start", map(one_line, payload["entry_points"]), 0)
    lines += _list("Tests to run", map(one_line, payload["tests"]), 0)
    return lines if payload["tests"] else [*lines, *wrap("No test reaches it.", page.width)]


def _module(payload: dict[str, Json], page: Page) -> list[str]:
    taken = [
        f"{one_line(one['file'] or one['module'])}  {', '.join(map(one_line, one['names']))}".rstrip()
        + ("" if one["resolved"] else " (not in this project)")
        for one in payload["imports"]
    ]
    lines = [one_line(payload["file"]), ""]
    lines += _list("Imports", (cut(row, page.width) for row in taken), len(taken)) or ["It imports nothing."]
    users = [_at(one) for one in payload["importers"]]
    return [*lines, *(_list("Imported by", users, payload["importer_count"]) or ["Nothing imports it."])]


# Files, and what is not certain


def _changed(files: Sequence[Mapping[str, Json]], total: int) -> list[str]:
    rows = [f"{INDENT}{one_line(one['change']):<9} {one_line(one['path'])}" for one in files]
    return [*rows, *([f"{INDENT}and {total - len(files)} more"] if total > len(files) else [])]


def _doubts(payload: dict[str, Json], page: Page) -> list[str]:
    """What may be missing; nothing where the answer is whole."""
    lines: list[str] = []
    for warning in payload.get("warnings", ()):
        lines += wrap(f"Warning: {one_line(str(warning.get('message', '')))}", page.width)
    unsure = payload.get("unsure_count", 0)
    if unsure:
        places = [_at(one) for one in payload["unsure"][:_MOST_DOUBTS] if one.get("line")]
        lines += wrap(f"Not certain: {_named(places, unsure)}.", page.width)
    if not payload.get("complete", True):
        why = sorted({one_line(one["code"]).replace("_", " ") for one in payload["reasons"]})
        lines += wrap(f"There may be more: {', '.join(why) or 'not everything was read'}.", page.width)
    if passed := payload.get("skipped"):
        told = ", ".join(f"{number} {one_line(why).replace('_', ' ')}" for why, number in passed.items())
        lines += wrap(f"Files that were not looked at: {told}.", page.width)
    return ["", *lines] if lines else []
