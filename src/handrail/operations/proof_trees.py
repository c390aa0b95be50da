"""The git trees of a run: those at its nodes, and the present files."""

from __future__ import annotations

from handrail.engine.history import Run
from handrail.engine.judge.proofs import NO_CHECK, ProofFacts, name_command
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


def take_git_tree(rt: ReadPorts, project: str) -> str:
    """Return the git tree of the present files; empty where git cannot tell it.

    A change that is proven begins at such a tree, and a step in progress is compared with it.
    """
    taken = rt.trees().take(project)
    return "" if isinstance(taken, Unseen) else taken.tree
