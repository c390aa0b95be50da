"""How people see the files of a step: what differs from them, and what was brought back. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_table,
    lines_of,
    moment_text,
    one_line,
    wrap,
)


def status_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What differs from the files of a step, and the steps whose files are kept."""
    node, trees = one_line(payload["node_id"]), payload["trees"]
    own = next((tree for tree in trees if tree["tree_id"] == payload["tree_id"]), None)
    step = f"the step {one_line(own['step_id'])}" if own and own["step_id"] else f"the node {node}"
    count = payload["differing"]
    lines: list[str] = []
    if payload["is_unfinished"]:
        lines += wrap("A restore was killed; the next handrail code restore finishes it first.", page.width)
    if payload["reason"]:
        lines += wrap(f"The files cannot be compared: {one_line(payload['reason'])}.", page.width)
    elif not count:
        lines += [f"The files are those that {step} began with."]
    else:
        lines += [f"{_differ(count)} from those that {step} began with:"]
        lines += _rows([[file["change"], file["path"]] for file in payload["files"]], count)
        lines += ["", f"To see the lines: handrail code diff {node} --human"]
        lines += [f"To bring them back: handrail code restore {node} --dry-run --human"]
    kept = [
        [*(one_line(tree[name]) for name in ("node_id", "step_id", "cause")), moment_text(tree["at"])]
        for tree in trees
    ]
    return [*lines, "", "Files are kept of:", *format_table([["NODE", "STEP", "TAKEN AT", "WHEN"], *kept])]


def diff_lines(payload: dict[str, Json], _: Page) -> list[str]:
    """The lines that differ, as every diff shows them; before them how many, after them what has none."""
    files = payload["files"]
    if not files:
        return ["The files are the same."]
    added, removed = (sum(file[what] for file in files) for what in ("added", "removed"))
    first = f"{_differ(payload['differing'])}: {format_count(added, 'line')} added, {removed} removed."
    notes = [[file["path"], file["note"]] for file in files if file["note"]]
    shown = lines_of(payload["diff"].removesuffix("\n")) if payload["diff"] else []
    lines = [first, *(["", *shown] if shown else [])]
    if notes:
        lines += ["", "Without lines:", *_rows(notes, len(notes))]
    missing = payload["differing"] - len(files)
    return [*lines, f"{format_count(missing, 'file')} more."] if missing else lines


def restored_lines(payload: dict[str, Json], _: Page) -> list[str]:
    """What was written and what was left alone, and the way back."""
    changed, left = payload["changed"], payload["left_out"]
    node = one_line(payload["node_id"])
    lines = [f"{format_count(len(changed), 'file')} brought back to how the node {node} had them."]
    lines += [f"{INDENT}{one_line(path)}" for path in changed]
    if left:
        lines += ["Left alone:", *_rows([[one["path"], one["why"]] for one in left], len(left))]
    undo = one_line(payload["undo"])
    return [*lines, "", "To undo it:", f"{INDENT}handrail code restore {undo} --dry-run --human"]


def _differ(count: int) -> str:
    return f"{format_count(count, 'file')} {'differs' if count == 1 else 'differ'}"


def _rows(rows: Sequence[Sequence[str]], count: int) -> list[str]:
    shown = [INDENT + line for line in format_table([[one_line(cell) for cell in row] for row in rows])]
    return [*shown, f"{INDENT}and {count - len(rows)} more"] if count > len(rows) else shown
