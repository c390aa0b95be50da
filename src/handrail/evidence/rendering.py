"""A proof for readers: one sentence, and the table of the four runs as text or Markdown. Pure.

The JSON form is the struct itself. Every sentence is a fact about the runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, assert_never

from handrail.contract.wording import format_count
from handrail.evidence.proof import LABELS, Cell, Cells, Proof, ProofWord

MOST_SHOWN = 10
"""Limit for the names in a text or a comment; the rest is a number."""

_ROWS: Final = ("tests before", "tests after")
_COLUMNS: Final = ("code before", "code after")
_OF_NAMES: Final[dict[ProofWord, str]] = {
    "proved": "proof",
    "kept": "not looked at",
    "rewrote": "fails now",
    "fails": "fails",
    "new_rules": "rules",
    "unseen": "not looked at",
    "flaky": "test",
    "not_tried": "name",
}
"""The text before each name, which says what the name is."""
_PLACES: Final = {
    "bind_mount": "in a copy",
    "linked_folder": "in a linked copy",
    "prepared": "in a prepared copy",
    "in_place": "in place",
}
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>|#~!])")
_MENTION: Final = re.compile(r"@(?=\w)")


def describe(proof: Proof) -> str:
    """Return the sentence of a proof, without its word and without a full stop."""
    total = proof.names_total
    match proof.word:
        case "proved":
            return _describe_proved(proof)
        case "kept":
            return _describe_kept(proof)
        case "rewrote":
            return f"It passes at the end, but {_describe_broken(proof)}{_by_status(proof)}"
        case "fails":
            return _describe_fails(proof)
        case "new_rules":
            files = ", ".join(proof.names[:3]) + (f" and {total - 3} more" if total > 3 else "")
            return f"It passes only with check rules that the change brought: {files}"
        case "unseen":
            return "It passes even with the changed files broken on purpose: the check does not look at them"
        case "flaky":
            return "The same files gave two answers"
        case "not_tried":
            return proof.reason[:1].upper() + proof.reason[1:]
        case never:
            assert_never(never)


def _describe_proved(proof: Proof) -> str:
    total, new, red = proof.names_total, proof.new_tests, proof.red_before
    if proof.by_exit_status:
        was = "failed before the change" if red else "fails without the change"
        return f"The check {was} and passes with it{_by_status(proof)}"
    verbs = "fails without the change and passes with it"
    if total > 1:
        verbs = "fail without the change and pass with it"
    if new == total:
        text = f"{format_count(total, 'new test', 'new tests')} {verbs}"
    elif red == total:
        text = format_count(
            total, "test that was red before passes now", "tests that were red before pass now"
        )
    elif new == red == 0:
        text = f"{format_count(total, 'older test', 'older tests')} {verbs}"
    else:
        parts = ((new, "new"), (red, "red before"), (total - new - red, "older"))
        shown = ", ".join(f"{number} {what}" for number, what in parts if number)
        text = f"{total} tests {verbs}: {shown}"
    return text + (f", {proof.reason}" if proof.reason else "") + _still_red(proof)


def _describe_kept(proof: Proof) -> str:
    was_red = proof.still_red or proof.cells.tests_before_code_after.state == "failed"
    old = "every old test that passed still passes" if was_red else "every old test still passes"
    if proof.by_exit_status:
        old = "the old tests still pass"
    text = f"{old[:1].upper()}{old[1:]}; no test shows the change{_by_status(proof)}{_still_red(proof)}"
    if not proof.names:
        return text
    files = ", ".join(proof.names[:3])
    more = proof.names_total - 3
    return f"{text}; the check does not look at {files}" + (f" and {more} more" if more > 0 else "")


def _describe_broken(proof: Proof) -> str:
    if proof.reason:
        return f"with the old tests and the new code {proof.reason}"
    if not proof.names_total:
        return "the tests of the start fail with the new code"
    tests = format_count(proof.names_total, "test of the start fails", "tests of the start fail")
    return f"{tests} with the new code"


def _describe_fails(proof: Proof) -> str:
    broken = proof.names_total - proof.still_red
    if not proof.names_total:
        status = proof.cells.tests_after_code_after.exit_status
        how = "" if status is None else f" with exit status {status}"
        return f"The check fails at the end{how}" + (f": {proof.reason}" if proof.reason else "")
    if not broken:
        return f"The check fails at the end{_still_red(proof)}"
    which = proof.reason or format_count(broken, "test fails", "tests fail")
    return f"The check fails at the end: {which}{_still_red(proof)}"


def _still_red(proof: Proof) -> str:
    if not proof.still_red:
        return ""
    verbs = "was red before and still is" if proof.still_red == 1 else "were red before and still are"
    return f"; {format_count(proof.still_red, 'test', 'tests')} {verbs}"


def _by_status(proof: Proof) -> str:
    return ", by exit status only" if proof.by_exit_status else ""


# The table


def describe_cell(cell: Cell) -> str:
    """Return one run in a few words; what failed comes first."""
    match cell.state:
        case "not_run":
            return cell.reason or "not needed"
        case "not_started":
            return "did not start"
        case "timed_out":
            return "too slow"
        case "passed" | "failed":
            return _describe_counts(cell)
        case never:
            assert_never(never)


def _describe_counts(cell: Cell) -> str:
    counts = cell.counts
    if counts is None:
        if cell.state == "passed":
            return "pass"
        return "FAIL" if cell.exit_status is None else f"FAIL (exit {cell.exit_status})"
    parts = (
        (counts.failed, "FAIL"),
        (counts.errors, "ERROR"),
        (counts.passed, "pass"),
        (counts.skipped, "skipped"),
    )
    shown = ", ".join(f"{number} {what}" for number, what in parts if number) or "no tests"
    is_hidden = cell.state == "failed" and not counts.failed and not counts.errors
    return f"FAIL (exit {cell.exit_status}), {shown}" if is_hidden and cell.exit_status else shown


def list_rows(cells: Cells) -> tuple[tuple[str, str, str], ...]:
    """Return the table of the four runs in words, headings first; empty if nothing ran."""
    return _list_rows(cells) if _has_run(cells) else ()


def _list_rows(cells: Cells) -> tuple[tuple[str, str, str], ...]:
    before = (cells.tests_before_code_before, cells.tests_before_code_after)
    after = (cells.tests_after_code_before, cells.tests_after_code_after)
    return (
        ("", *_COLUMNS),
        (_ROWS[0], describe_cell(before[0]), describe_cell(before[1])),
        (_ROWS[1], describe_cell(after[0]), describe_cell(after[1])),
    )


def render_text(proof: Proof) -> list[str]:
    """Return the proof as lines for a terminal; names and commands are not escaped."""
    lines = [f"{LABELS[proof.word]}  {describe(proof)}"]
    if _has_run(proof.cells):
        rows = _list_rows(proof.cells)
        widths = [max(len(row[place]) for row in rows) for place in range(3)]
        for row in rows:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"  {'    '.join(padded)}".rstrip())
    if proof.word not in ("kept", "unseen", "new_rules") or proof.names_total > 3:
        lines += [f"  {_OF_NAMES[proof.word]}: {name}" for name in proof.names[:MOST_SHOWN]]
        if proof.names_total > MOST_SHOWN:
            lines.append(f"  and {proof.names_total - MOST_SHOWN} more")
    return [*lines, *(f"  note: {remark}" for remark in (*_list_facts(proof), *proof.remarks))]


def _has_run(cells: Cells) -> bool:
    runs = (
        *(cells.tests_before_code_before, cells.tests_before_code_after),
        *(cells.tests_after_code_before, cells.tests_after_code_after),
    )
    return any(cell.state != "not_run" for cell in runs)


def _list_facts(proof: Proof) -> list[str]:
    """Return what was run, on what, and where."""
    name = f"{proof.check} ({proof.command})" if proof.check and proof.command else proof.command
    ids = f"{proof.base[:12]}..{proof.head[:12]}" if proof.base and proof.head else ""
    place = _PLACES.get(proof.isolation, "")
    seconds = f"{proof.duration_ms / 1000:.1f} s" if proof.duration_ms else ""
    shown = ", ".join(part for part in (name, f"trees {ids}" if ids else "", place, seconds) if part)
    return [shown] if shown else []


def render_markdown(proofs: Sequence[Proof], title: str = "") -> str:
    """Return proofs as a comment on a pull request: word, sentence and table; many names are below a fold."""
    parts = [f"### {title}\n"] if title else []
    return "\n".join([*parts, *(_render_one(proof) for proof in proofs)])


def _render_one(proof: Proof) -> str:
    name = f"`{spell_code(proof.check)}`: " if proof.check else ""
    lines = [f"**{name}{LABELS[proof.word]}** – {escape_markdown(describe(proof))}", ""]
    table = render_table(proof.cells)
    lines += [*table, ""] if table else []
    names = [f"- {_OF_NAMES[proof.word]}: `{spell_code(name)}`" for name in proof.names[:MOST_SHOWN]]
    if proof.names_total > MOST_SHOWN:
        names.append(f"- and {proof.names_total - MOST_SHOWN} more")
    lines += [*names, ""] if names else []
    facts = (*_list_facts(proof), *proof.remarks)
    lines += [f"<sub>{escape_markdown('; '.join(facts))}</sub>", ""] if facts else []
    return "\n".join(lines)


def render_table(cells: Cells) -> list[str]:
    """Return the four runs as a table in Markdown; no line if none of them took place."""
    if not _has_run(cells):
        return []
    head, *rows = _list_rows(cells)
    return [_row(head), "|---|---|---|", *(_row((f"**{row[0]}**", *row[1:])) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    """Return text in which nothing is markup and which notifies no user."""
    return _MENTION.sub("@\u200b", _MARKDOWN.sub(r"\\\1", " ".join(text.split())))


def spell_code(text: str) -> str:
    """Return text for a code span: no backtick ends it, and no line break."""
    return " ".join(text.replace("`", "'").split())
