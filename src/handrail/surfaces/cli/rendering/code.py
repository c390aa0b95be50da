"""How people see the files of a project beside those of a step. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    ago,
    format_table,
    lines_of,
    one_line,
    spell_step,
    wrap,
)

_FEW = 20
"""Trees that are named one by one."""


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


def _changed(files: Sequence[Mapping[str, Json]], total: int) -> list[str]:
    rows = [f"{INDENT}{one_line(one['change']):<9} {one_line(one['path'])}" for one in files]
    return [*rows, *([f"{INDENT}and {total - len(files)} more"] if total > len(files) else [])]
