"""What happened since the pending step began, for an agent that lost its context.

Nothing is stored and no tree is taken: one child process compares the times of the files with the index of
the tree that was taken when the step began.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contract.printed_text import strip_escapes
from handrail.contract.wording import format_count, list_names, make_readable
from handrail.engine.history import History, Node, instance_of, kept_in_instance
from handrail.engine.navigate import Running
from handrail.engine.receipts import describe_outcome
from handrail.evidence.proof import LABELS
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import RehydratePorts

MOST_RUNS_NAMED = 5
_NOT_COMPARED = "files not compared"


def describe_step_so_far(rt: RehydratePorts, history: History, node: Node, project: str | None) -> str:
    """Return the changed files, the checks that ran and the checkpoints since the step at a node began;
    empty if the run is over, or nothing is known.
    """
    if not isinstance(node.state, Running):
        return ""
    began = instance_of(history, node.node_id)
    kept = kept_in_instance(history, began)
    saved = sum(one.kind == "checkpoint" for one in kept)
    parts = [
        *_describe_files(rt, history, began, project),
        *_describe_runs(history, (began, *kept)),
        *([format_count(saved, "checkpoint")] if saved else []),
    ]
    return f"Since this step began: {'; '.join(parts)}." if parts else ""


def _describe_files(rt: RehydratePorts, history: History, began: Node, project: str | None) -> Iterator[str]:
    if not any(history.nodes[node_id].run_id == began.run_id for node_id in history.trees):
        return  # no file snapshot of this run was ever taken
    trees = [one.fact.git_tree for one in history.trees.get(began.node_id, ()) if one.fact.git_tree]
    if not trees or project is None:
        yield _NOT_COMPARED
        return
    changed = rt.trees().list_changed(project, trees[0])
    if isinstance(changed, Unseen):
        yield _NOT_COMPARED
    elif changed:
        names = list_names([make_readable(path) for path in changed])
        yield f"{format_count(len(changed), 'file')} changed ({names})"
    else:
        yield "no file changed"


def _describe_runs(history: History, nodes: tuple[Node, ...]) -> Iterator[str]:
    """Yield the last result of each check and command, and the last proof of each check, newest last."""
    ran: dict[str, str] = {}
    for node in nodes:
        for receipt in history.receipts.get(node.node_id, ()):
            name = receipt.fact.check or strip_escapes(" ".join(receipt.fact.argv))[:60]
            ran[f"check {name}"] = describe_outcome(receipt.fact.outcome)
        for proven in history.proofs.get(node.node_id, ()):
            ran[f"proof {proven.fact.proof.check}".rstrip()] = LABELS[proven.fact.proof.word]
    yield from (f"{name}: {result}" for name, result in list(ran.items())[-MOST_RUNS_NAMED:])
