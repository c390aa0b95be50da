"""Receipts as text for a terminal."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.evidence.proof import LABELS
from handrail.projections.receipt_markdown import describe_approval
from handrail.projections.receipt_statement import StatedRun, TreeReceipt, name_proof, read_statement
from handrail.surfaces.cli.rendering.text import Page, lines_of, one_line, repeat_line, typed_line

_FROM = {"given": "given with --key", "pinned": "pinned on this machine", "own": "your own"}


def export_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return the Markdown itself, or what the signed statement says and how to get it."""
    if payload["as"] == "markdown" and isinstance(payload.get("content"), str):
        return lines_of(str(payload["content"]).rstrip("\n"))
    commit, tree = one_line(payload["commit"]), one_line(payload["tree"])
    lines = [
        f"{_label(payload['word'])}: {one_line(payload['sentence'])}.",
        f"Files: tree {tree}.",
        f"Commit: {commit}.",
    ]
    if "path" not in payload:
        return [*lines, f"Into a file: {repeat_line(page, out='FILE')}"]
    place = one_line(payload["path"])
    return [
        *lines,
        f"Verify: {typed_line(f'handrail receipt verify {place} --commit {commit} --key PUB', page)}",
    ]


def verified_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return an authentic receipt in eight lines; the former form has no proofs and no statements to list."""
    del page
    receipt = read_statement(payload["statement"])
    run = receipt.run if isinstance(receipt, TreeReceipt) else None
    word = payload["result"] if payload["word"] is None else _label(payload["word"])
    first = one_line(payload["made_for"])
    made_for = "" if first == payload["commit"] else f", made for {first[:12]}"
    rows = [
        f"{one_line(word)}: {one_line(payload['sentence'])}.",
        f"Files: tree {one_line(payload['tree'])}.",
        f"Commit: {one_line(payload['commit'])} has exactly these files{made_for}.",
        f"Key: {one_line(payload['key_id'])}, {_FROM.get(payload['key_from'], '')}.",
        f"Run: {_describe_run(payload['statement'], run)}.",
        f"Executed: {_describe_proofs(run)}.",
        f"Approved: {_describe_approvals(run)}.",
        f"Stated by the agent: {_describe_stated(run)}; a receipt does not vouch for it.",
    ]
    return [one_line(row) for row in rows]


def _label(word: Any) -> str:
    return LABELS.get(word, one_line(str(word)))


def _describe_run(statement: dict[str, Any], run: StatedRun | None) -> str:
    held = statement["predicate"]["handrailRun"]
    workflow = held["workflow"]["id"] if run is None else run.workflow.id
    return f"{workflow}, {held['status']}, session {held['session']}"


def _describe_proofs(run: StatedRun | None) -> str:
    if run is None:
        return "checks by the rules of that version; see --format json"
    rows = []
    for one in run.proofs:
        where = f" on {one.machine}" if one.machine else ""
        command = f" ({one.proof.command})" if one.proof.check and one.proof.command else ""
        rows.append(f"{name_proof(one)}{command}{where}, {LABELS[one.proof.word]}")
    return "; ".join(rows) or "nothing on these files"


def _describe_approvals(run: StatedRun | None) -> str:
    if run is None:
        return "see --format json"
    return "; ".join(map(describe_approval, run.approvals)) or "by nobody"


def _describe_stated(run: StatedRun | None) -> str:
    if run is None:
        return "see --format json"
    return format_count(sum(bool(one.stated) for one in run.steps), "report")
