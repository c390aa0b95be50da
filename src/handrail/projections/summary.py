"""The last reply of a run with a proof: what was done, what it shows, what a person must see. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.fence import flatten_text
from handrail.contract.ids import NodeId
from handrail.contract.wording import format_count
from handrail.engine.children.tips import open_gaps
from handrail.engine.events import GapRecorded
from handrail.engine.history import History, RecordedProof, not_run_at, way_to
from handrail.engine.judge.proofs import GAP_NAME, choose_for_step
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import Running, leaf_at
from handrail.evidence.proof import LABELS
from handrail.evidence.rendering import describe
from handrail.workflows.compiled import CompiledWorkflow, Leaf, Step

MOST_CHARACTERS = 300


def summarize_proven_run(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> str:
    """Return the summary of a finished run in at most 300 characters; empty if nothing was proven on its way.

    A proof stands without its step only where the step wanted it: there it was compared with the files that
    the report left behind.
    """
    proofs = _list_last_proofs(history, node_id)
    if not proofs:
        return ""
    word = choose_for_step([held.fact.proof for held in proofs])
    assert word is not None, "there is a proof"
    shown = next(held for held in proofs if held.fact.proof.word == word)
    not_run, gaps = not_run_at(history, node_id), open_gaps(history, node_id)
    done = format_count(history.nodes[node_id].steps_done, "step")
    skipped = f", {not_run.total} skipped" if not_run.total else ""
    state = history.nodes[shown.fact.node_id].state
    step = leaf_at(workflow, state) if isinstance(state, Running) else None
    during = "" if step is None or _is_compared(step, gaps) else f" during {flatten_text(step.title)}"
    text = f"{flatten_text(workflow.name)} is finished: {done}{skipped}. "
    text += f"{LABELS[word]}{during}: {describe(shown.fact.proof)}. For review: "
    return _fit(text, _describe_review(gaps))


def _list_last_proofs(history: History, node_id: NodeId) -> list[RecordedProof]:
    """The newest proof of each check at the last step that has any before the end of the run."""
    end = history.nodes[node_id].index
    for node in reversed(way_to(history, node_id)):
        if held := [one for one in history.proofs.get(node.node_id, ()) if one.index < end]:
            return list({one.fact.proof.check: one for one in held}.values())
    return []


def _is_compared(step: Leaf | None, gaps: Sequence[GapRecorded]) -> bool:
    """Whether the step compared the proof with its files, and they were the same."""
    is_missing = any(gap.waits_for is not None and gap.waits_for.kind == GAP_NAME for gap in gaps)
    return isinstance(step, Step) and step.proof is not None and not is_missing


def _describe_review(gaps: Sequence[GapRecorded]) -> str:
    if not gaps:
        return "nothing"
    return f"{format_count(len(gaps), 'open gap')}, the first: {explain_gap(gaps[0])}".removesuffix(".")


def _fit(text: str, review: str) -> str:
    """Both in one line; what a person must look at is never cut before what was done."""
    left = MOST_CHARACTERS - len(review) - 1
    if len(text) > left:
        ending = "… For review: "
        text = text[: max(0, left - len(ending))].rstrip() + ending
    whole = f"{text}{review}."
    return whole if len(whole) <= MOST_CHARACTERS else whole[: MOST_CHARACTERS - 1] + "…"
