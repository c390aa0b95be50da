"""A proof as text for a terminal: its sentence and its table, or what to run first."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.outcome import Json
from handrail.evidence.proof import Proof
from handrail.evidence.rendering import render_text
from handrail.surfaces.cli.rendering.text import Page, format_aligned, one_line, typed_line, width_of, wrap

_KNOWN = frozenset(field.encode_name for field in msgspec.structs.fields(Proof))


def proof_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return each check with its table; if none is declared, the commands that declare and prove one."""
    lines: list[str] = []
    for row in payload["checks"]:
        lines += ["", *_describe_check(row, page, is_named=len(payload["checks"]) > 1)]
    if payload.get("runId"):
        step = f" for the step {one_line(payload['stepId'])}" if payload.get("stepId") else ""
        lines += ["", *wrap(f"Recorded in {one_line(payload['runId'])}{step}.", page.width)]
    found = payload.get("suggestions", ())
    if found:
        lines += ["", "Found in the project's files:"]
        rows = [(one_line(one["because"]), typed_line(one_line(one["line"]), page)) for one in found]
        lines += format_aligned(rows, page.width)
        lines += wrap("Run a line, or declare a check under `checks` in .handrail/config.json.", page.width)
    return lines[1:]


def _describe_check(row: dict[str, Any], page: Page, *, is_named: bool) -> list[str]:
    known = {name: value for name, value in row.items() if name in _KNOWN}
    try:
        proof = msgspec.convert(known, Proof)
    except msgspec.ValidationError as trouble:  # a budget left a part out
        raise KeyError("checks") from trouble
    name = f"{one_line(proof.check)}: " if is_named and proof.check else ""
    first, *rest = map(one_line, render_text(proof))
    lines = wrap(name + first, page.width)
    for line in rest:
        label, mark, text = line.partition(": ")
        is_long = bool(mark) and width_of(line) > page.width
        if not is_long:
            lines.append(line)
            continue
        begun, *more = wrap(text, page.width - width_of(label) - 2)
        lines += [f"{label}: {begun}", *(" " * (width_of(label) + 2) + one for one in more)]
    return lines
