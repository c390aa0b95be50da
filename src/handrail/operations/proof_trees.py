"""The git trees of a run: those at its nodes, and the present files."""

from __future__ import annotations

from handrail.contract.ids import NodeId
from handrail.engine.events import TreeCause
from handrail.engine.history import History, Run
from handrail.engine.judge.proofs import NO_CHECK, ProofFacts, name_command
from handrail.engine.navigate import Complete, frames_of
from handrail.engine.tips import open_gaps
from handrail.ports.trees import TAKE_SECONDS, TakenTree
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts

_WITHOUT_SHELL = ("claude-ai", "chatgpt", "openai-mcp")
"""Prefixes of the names of chat applications whose agents cannot start a program."""


def take_present(rt: ReadPorts, project: str, seconds: float = TAKE_SECONDS) -> TakenTree | Unseen:
    """Return the present files; outside of a repository only if the user asked for it."""
    is_anywhere = rt.settings.of(project).looking == "always"
    return rt.trees().take(project, seconds, is_anywhere=is_anywhere)


def gather_proof_facts(rt: ReadPorts, run: Run, project: str | None) -> ProofFacts:
    """Return the tree of the present files, and why nothing can be proven here."""
    if not run.checks:
        return ProofFacts(untried=NO_CHECK)
    if project is None:
        return ProofFacts(untried="the files of the project are not on this machine")
    taken = take_present(rt, project)
    if isinstance(taken, Unseen):
        return ProofFacts(untried=taken.reason)
    untried = f"ask a person to run: {name_command(run.run_id)}" if _has_no_shell(rt.client) else ""
    return ProofFacts(head=taken.tree, untried=untried)


def _has_no_shell(client: str) -> bool:
    """Whether a client is known to give its agent no shell."""
    return client.casefold().startswith(_WITHOUT_SHELL)


def may_begin_change(history: History, node_id: NodeId, cause: TreeCause) -> bool:
    """Whether a change that may be proven begins at a node: the start, the entry of a round, or a restore.

    Its tree is kept until the run ends, however long that takes; other trees may be gone after two weeks.
    """
    node = history.nodes[node_id]
    if not history.runs[node.run_id].checks:
        return False
    frames = frames_of(node.state)
    before = () if node.parent is None else frames_of(history.nodes[node.parent].state)
    return node.parent is None or cause == "restore" or bool(frames and frames != before[: len(frames)])


def drop_kept_trees(rt: ReadPorts, history: History, node_id: NodeId, project: str) -> None:
    """Stop keeping the trees of a run that ended here, unless an open gap may still need its proof."""
    node = history.nodes[node_id]
    if isinstance(node.state, Complete) and not open_gaps(history, node_id):
        rt.trees().drop(project, f"{node.run_id}/")
