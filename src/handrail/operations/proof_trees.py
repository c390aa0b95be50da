"""The trees that proofs of a run are about: where its changes begin, and the present files."""

from __future__ import annotations

from handrail.contract.ids import NodeId
from handrail.engine.events import TreeCause
from handrail.engine.history import History, Run
from handrail.engine.judge.proofs import NO_CHECK, ProofFacts, name_command
from handrail.engine.navigate import frames_of
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts

_WITHOUT_SHELL = ("claude-ai", "chatgpt", "openai-mcp")
"""How the names of chat applications begin whose agents can start no program."""


def gather_proof_facts(rt: ReadPorts, run: Run, project: str | None) -> ProofFacts:
    """Return the tree of the present files, and why nothing can be proven here."""
    if not run.checks:
        return ProofFacts(untried=NO_CHECK)
    if project is None:
        return ProofFacts(untried="the files of the project are not on this machine")
    taken = rt.trees().take(project)
    if isinstance(taken, Unseen):
        return ProofFacts(untried=taken.reason)
    untried = f"ask a person to run: {name_command(run.run_id)}" if _has_no_shell(rt.client) else ""
    return ProofFacts(head=taken.tree, untried=untried)


def _has_no_shell(client: str) -> bool:
    """Whether a client is known to give its agent no shell."""
    return client.casefold().startswith(_WITHOUT_SHELL)


def take_start_tree(rt: ReadPorts, history: History, node_id: NodeId, project: str, cause: TreeCause) -> str:
    """Return the git tree of the present files if a change that may be proven begins at this node; else none.

    That is the first node of a run, the entry of a round, and where files were brought back.
    """
    node = history.nodes[node_id]
    if not history.runs[node.run_id].checks:
        return ""
    frames = frames_of(node.state)
    before = () if node.parent is None else frames_of(history.nodes[node.parent].state)
    begins = node.parent is None or cause == "restore" or (frames and frames != before[: len(frames)])
    taken = rt.trees().take(project) if begins else None
    return "" if taken is None or isinstance(taken, Unseen) else taken.tree
