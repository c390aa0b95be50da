"""What Handrail executed for the work of a run, as rows that it fills into a report. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.engine.history import History, Node, list_proofs, list_receipts
from handrail.engine.judge.computed import Computed
from handrail.engine.receipts import describe_outcome, has_passed, write_line
from handrail.evidence.proof import LABELS, Proof
from handrail.evidence.rendering import describe

if TYPE_CHECKING:
    from handrail.engine.events import ReceiptRecorded
    from handrail.engine.judge.places import Sighting
    from handrail.engine.judge.proofs import ProofFacts


def compute_results(
    history: History, node: Node, sighting: Sighting, facts: ProofFacts | None = None
) -> Computed:
    """Return what changed, the last result of each check of the run, and what was proven on these files."""
    head = "" if facts is None else facts.head
    return Computed(
        changes=sighting.changes,
        checks=_list_checks(history, node, sighting.tree) if history.receipts else (),
        proofs=_list_proofs(history, node, head) if head and history.proofs else (),
    )


def _list_checks(history: History, node: Node, tree: str) -> tuple[dict[str, Any], ...]:
    last: dict[str, ReceiptRecorded] = {}
    for held in list_receipts(history, node.run_id):
        if held.fact.by == "client_hook":
            continue  # only the agent's client reports it
        name = held.fact.check or write_line(held.fact.argv, held.fact.by)
        last.pop(name, None)
        last[name] = held.fact
    return tuple(_describe_check(name, one, tree) for name, one in reversed(last.items()))


def _describe_check(name: str, one: ReceiptRecorded, tree: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "check": name,
        "passed": has_passed(one.outcome, one.counts, one.uncounted),
        "result": describe_outcome(one.outcome),
    }
    if one.counts is not None:
        row["tests"] = {"passed": one.counts.passed, "failed": one.counts.failed + one.counts.errors}
    if tree and one.tree_after:
        row["onTheseFiles"] = one.tree_after == tree and not one.changed_meanwhile
    return row


def _list_proofs(history: History, node: Node, head: str) -> tuple[dict[str, Any], ...]:
    newest: dict[str, Proof] = {}
    for held in list_proofs(history, node.run_id):
        if held.fact.proof.head == head:
            newest[held.fact.proof.check] = held.fact.proof
    return tuple(
        {"check": name, "word": LABELS[proof.word], "sentence": describe(proof)}
        for name, proof in newest.items()
    )
