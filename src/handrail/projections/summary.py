"""What a finished run did, what was proven, and what a person must look at. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.fence import flatten_text
from handrail.contract.ids import NodeId
from handrail.contract.wording import format_count, list_names, name_person
from handrail.engine.code_trees import find_changed
from handrail.engine.events import ChangeSum, GapRecorded, ReceiptRecorded
from handrail.engine.history import (
    History,
    RecordedProof,
    list_confirmations,
    list_receipts,
    not_run_at,
    way_to,
)
from handrail.engine.judge.proofs import GAP_NAME, NO_CHECK, choose_for_step
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.owners import is_imported
from handrail.engine.receipts import describe_outcome, has_passed
from handrail.engine.tips import open_gaps
from handrail.evidence.proof import LABELS
from handrail.evidence.rendering import describe
from handrail.projections.evidence import list_statements, sum_evidence
from handrail.workflows.compiled import CompiledWorkflow, Leaf, Step, list_leaves

MOST_CHARACTERS = 300
_SEVERITIES = ("critical", "warning", "info")
_MOST_PEOPLE = 3


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the last reply, `session show`, the report and the Console say about a finished run."""

    steps: int
    skipped: int = 0
    changed: ChangeSum | None = None
    """How many files and lines changed; None if Handrail did not count them."""
    label: str = ""
    """The result word of the proof, such as PROVED; empty if the workflow wants no proof and none was made.
    """
    proof: str = ""
    """The sentence that explains the word."""
    sources: int = 0
    """Places of the project that reports name and that exist."""
    approvals: int = 0
    approved_by: tuple[str, ...] = ()
    statements: int = 0
    """What the agent stated and Handrail did not verify."""
    origin: str = ""
    """The other store that recorded the run; empty for this one."""
    review: tuple[str, ...] = ()
    """What a person must review, the worst first."""

    @property
    def text(self) -> str:
        """Return the summary in at most 300 characters."""
        review = "; ".join(self.review) or "nothing"
        if len(self.review) > 1:
            review = f"{len(self.review)} points, the first: {self.review[0]}"
        return _fit(f"{self._describe_work()}{self._describe_proof()} ", review)

    def _describe_work(self) -> str:
        parts = [format_count(self.steps, "step"), f"{self.skipped} skipped" if self.skipped else ""]
        if (changed := self.changed) is not None:
            lines = f" (+{changed.added} −{changed.removed})" if changed.added or changed.removed else ""
            parts.append(format_count(changed.files, "file") + lines)
        return f"Done: {', '.join(filter(None, parts))}{self.origin}."

    def _describe_proof(self) -> str:
        if self.label:
            return f" {self.label}: {self.proof}."
        by = f" by {list_names(self.approved_by[:_MOST_PEOPLE])}" if self.approved_by else ""
        parts = [
            f"{format_count(self.sources, 'named place')} found" if self.sources else "",
            f"{format_count(self.approvals, 'approval')}{by}" if self.approvals else "",
            format_count(self.statements, "statement") + " by the agent" if self.statements else "",
        ]
        text = ", ".join(filter(None, parts))
        return f" {text[:1].upper()}{text[1:]}." if text else ""


def summarize_run(
    history: History, workflow: CompiledWorkflow, node_id: NodeId, *, at_end: bool = False
) -> RunSummary:
    """Return what the run that ends at a node did and what is left to review.

    `at_end` leaves out later proofs and counts, so that a recorded reply never changes.
    """
    until = history.nodes[node_id].index if at_end else history.head
    gaps = sorted(open_gaps(history, node_id), key=lambda gap: _SEVERITIES.index(gap.severity))
    changed = _find_judged(history, node_id) if at_end else find_changed(history, node_id)
    label, proof = _find_proof(history, workflow, node_id, gaps, until)
    total = sum_evidence(history, node_id)
    way = {node.node_id for node in way_to(history, node_id)}
    people = [
        held
        for held in list_confirmations(history, history.nodes[node_id].run_id)
        if held.fact.answer == "confirmed" and held.fact.node_id in way
    ]
    return RunSummary(
        steps=history.nodes[node_id].steps_done,
        skipped=not_run_at(history, node_id).total,
        changed=changed,
        label=label,
        proof=proof,
        sources=0 if total is None else total.found,
        approvals=len(people),
        approved_by=tuple(dict.fromkeys(name_person(one.fact.who) for one in people)),
        statements=0 if total is None else total.stated,
        origin=", recorded by another store" if is_imported(history, history.nodes[node_id].index) else "",
        review=(
            *(explain_gap(gap).removesuffix(".") for gap in gaps),
            *_list_failing(history, node_id),
            *_list_unseen_approvals(history, node_id),
        ),
    )


def _find_judged(history: History, node_id: NodeId) -> ChangeSum | None:
    """Return the file count by which the last report about files was judged."""
    for node in reversed(way_to(history, node_id)) if history.evidence else ():
        judged = history.evidence.get(node.node_id)
        if judged is not None and judged.changed is not None:
            return judged.changed
    return None


def _find_proof(
    history: History, workflow: CompiledWorkflow, node_id: NodeId, gaps: Sequence[GapRecorded], until: int
) -> tuple[str, str]:
    """Return the word and the sentence of the newest proofs; NOT TRIED if one was required and is missing."""
    proofs = _list_last_proofs(history, node_id, until)
    word = choose_for_step([held.fact.proof for held in proofs])
    if word is None:
        wants = any(isinstance(leaf, Step) and leaf.proof is not None for leaf in list_leaves(workflow.steps))
        checks = history.runs[history.nodes[node_id].run_id].checks
        why = "the change was not proven" if checks else NO_CHECK
        executed = _describe_executed(history, node_id, until)
        return (LABELS["not_tried"], f"{why}; {executed}") if wants else ("", "")
    shown = next(held for held in proofs if held.fact.proof.word == word)
    state = history.nodes[shown.fact.node_id].state
    step = leaf_at(workflow, state) if isinstance(state, Running) else None
    during = "" if step is None or _is_compared(step, gaps) else f" during {flatten_text(step.title)}"
    label = LABELS[word] + during
    return label, describe(shown.fact.proof).removesuffix(".")


def _describe_executed(history: History, node_id: NodeId, until: int) -> str:
    """Return what Handrail executed in the run instead of a proof, before an index of the log."""
    ran = [
        one
        for one in list_receipts(history, history.nodes[node_id].run_id)
        if one.index < until and one.fact.by != "client_hook" and not is_imported(history, one.index)
    ]
    if not ran:
        return "no command was executed"
    last = ran[-1].fact
    ended = "passed" if has_passed(last.outcome, last.counts, last.uncounted) else "did not pass"
    many = format_count(len(ran), "command was", "commands were")
    return f"{many} executed" + (f", the last {ended}" if len(ran) > 1 else f" and {ended}")


def _list_last_proofs(history: History, node_id: NodeId, until: int) -> list[RecordedProof]:
    """Return the newest proof of each check at the last step that has any, before an index of the log."""
    for node in reversed(way_to(history, node_id)):
        if held := [one for one in history.proofs.get(node.node_id, ()) if one.index < until]:
            return list({one.fact.proof.check: one for one in held}.values())
    return []


def _is_compared(step: Leaf, gaps: Sequence[GapRecorded]) -> bool:
    """Whether the step compared the proof with its files, and they were the same."""
    is_missing = any(gap.waits_for is not None and gap.waits_for.kind == GAP_NAME for gap in gaps)
    return isinstance(step, Step) and step.proof is not None and not is_missing


def _list_failing(history: History, node_id: NodeId) -> list[str]:
    """Return the declared checks that Handrail ran and whose last run did not pass."""
    last: dict[str, ReceiptRecorded] = {
        held.fact.check: held.fact
        for held in list_receipts(history, history.nodes[node_id].run_id)
        if held.fact.check
    }
    return [
        f"the check `{name}` did not pass the last time it ran ({describe_outcome(one.outcome)})"
        for name, one in last.items()
        if not has_passed(one.outcome, one.counts, one.uncounted)
    ]


def _list_unseen_approvals(history: History, node_id: NodeId) -> list[str]:
    """Return approvals that the agent states but no person gave."""
    stated = [
        one
        for one in list_statements(history, node_id)
        if one.statement.check == "person" and one.statement.verdict == "missing"
    ]
    return [f"{format_count(len(stated), 'approval')} stated by the agent alone"] if stated else []


def _fit(text: str, review: str) -> str:
    """Fit both texts into one line; what a person must review is never cut before what was done."""
    review = f"For review: {review}."
    left = MOST_CHARACTERS - len(review)
    if len(text) > left:
        text = text[: max(0, left - 2)].rstrip() + "… "
    whole = text + review
    return whole if len(whole) <= MOST_CHARACTERS else whole[: MOST_CHARACTERS - 1] + "…"
