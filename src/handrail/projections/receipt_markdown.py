"""A receipt as Markdown for a pull request: result, table, approvals and key. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from handrail.contract.wording import format_count
from handrail.evidence.proof import LABELS
from handrail.evidence.rendering import escape_markdown, render_table, spell_code
from handrail.projections.receipt_statement import CAVEAT, Approval, StatedStep, TreeReceipt, name_proof

_MOST_APPROVALS = 5
"""Rows above the fold; the others are below it."""
_MOST_NAMES = 10


def write_markdown(receipt: TreeReceipt, key_id: str, place: str) -> str:
    """Return the receipt as Markdown. `place` is the path of the signed file; empty if unknown."""
    run = receipt.run
    lines = [f"### Receipt: {LABELS[run.word]}", "", f"{escape_markdown(run.sentence)}.", ""]
    for one in run.proofs:
        table = render_table(one.proof.cells)
        if len(run.proofs) > 1:
            lines += [f"**{spell_named(name_proof(one))}** – {escape_markdown(one.sentence)}", ""]
        lines += [*table, ""] if table else []
    lines += _list_approvals(run.approvals[:_MOST_APPROVALS])
    signed = f"the [signed receipt](<{place}>) is" if place else "the file of `handrail receipt export` is"
    lines += [f"Key: `{key_id}`. This Markdown is not signed; {signed}.", ""]
    return "\n".join([*lines, *_fold(receipt, place)]) + "\n"


def spell_named(name: str) -> str:
    """Return a name as code in Markdown."""
    return f"`{spell_code(name)}`"


def describe_approval(one: Approval) -> str:
    """Return who approved what, where they were asked, and what they wrote."""
    child = f" of {one.child}" if one.child else ""
    note = f": “{one.note}”" if one.note else ""
    return f"{one.who} ({one.source}) {one.what}{child}{note}"


def _list_approvals(approvals: Sequence[Approval]) -> list[str]:
    if not approvals:
        return ["Approved by: nobody", ""]
    return [*(f"- {escape_markdown(describe_approval(one))}" for one in approvals), ""]


def _fold(receipt: TreeReceipt, place: str) -> list[str]:
    run = receipt.run
    named = "FILE" if not place or "://" in place else place
    parts = (
        ("Files", f"tree {spell_named(receipt.tree)}, of commit {spell_named(run.commit)}"),
        ("Verify", spell_named(f"handrail receipt verify {named} --commit {run.commit[:12]} --key PUB")),
        ("Run", f"{spell_named(run.workflow.id)}, {run.status}, session {spell_named(run.session)}"),
    )
    proven = chain.from_iterable(_list_names(one.proof.names) for one in run.proofs)
    executed = [
        f"- Executed: {spell_named(one.proof.command or name_proof(one))}"
        + (f" on {escape_markdown(one.machine)}" if one.machine else "")
        + ("" if one.is_since_start else ", for a part of the change")
        for one in run.proofs
    ]
    more = [f"- {escape_markdown(describe_approval(one))}" for one in run.approvals[_MOST_APPROVALS:]]
    gaps = [f"- Open: {escape_markdown(one)}" for one in run.open_gaps]
    stated = [_write_step(one) for one in run.steps if one.stated]
    heading = [f"- Stated by the agent, in {format_count(len(stated), 'report')}:"] if stated else []
    return [
        "<details><summary>Files, run, tests and statements</summary>",
        "",
        *(f"- {label}: {text}" for label, text in parts),
        *executed,
        *proven,
        *more,
        *gaps,
        *heading,
        *stated,
        f"- {CAVEAT}",
        "",
        "</details>",
    ]


def _list_names(names: Sequence[str]) -> list[str]:
    rows = [f"- Test or file: {spell_named(name)}" for name in names[:_MOST_NAMES]]
    more = len(names) - _MOST_NAMES
    return [*rows, *([f"- and {more} more"] if more > 0 else [])]


def _write_step(one: StatedStep) -> str:
    name = f"{one.child}: {one.step}" if one.child else one.step
    elsewhere = " (in another store)" if one.is_imported else ""
    return f"  - {spell_named(name)}{elsewhere}: “{escape_markdown(one.stated)}”"
