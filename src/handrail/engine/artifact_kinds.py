"""Which kinds of artifact a run knows, their contracts, and what a misspelt kind was meant to be. Pure.

A kind is known by its full name: an artifact counts under the kind it carries, never under one like it.
"""

# ruff: noqa: PLC0415 - only an artifact that no contract of the workflow asks for needs the builtin ones

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from handrail.contract.suggest import edits
from handrail.engine.events import Artifact
from handrail.engine.reported import GAP, WORKFLOW_DIVERGENCE
from handrail.workflows.compiled import CompiledWorkflow, Contract

OTHER_NAMES = {"workflow_divergence": WORKFLOW_DIVERGENCE, "gap": GAP}
"""What EXEC itself calls them: taken as the real thing, and checked as such."""
OURS = "wr."
"""The reserved namespace: a kind in it that nobody knows is a mistake, not somebody's own."""


class KindContract(msgspec.Struct, frozen=True, kw_only=True):
    """The contract of a kind; `is_embedded` where the pinned workflow holds it."""

    ref: str
    contract: Contract
    is_embedded: bool = True


class Misnamed(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that looks like a known one and is none; `suggestion` is what was probably meant."""

    kind: str
    suggestion: str = ""


def full_kind(kind: str) -> str:
    """The one name of a kind that has two."""
    return OTHER_NAMES.get(kind, kind)


def contract_for(workflow: CompiledWorkflow, kind: str, asked: str = "") -> KindContract | None:
    """The contract of a kind: the one that the step asks for, else one of the workflow, else a builtin."""
    own = workflow.contracts.get(asked)
    if own is not None and own.artifact_kind == kind:
        return KindContract(ref=asked, contract=own)
    for ref, held in workflow.contracts.items():
        if held.artifact_kind == kind:
            return KindContract(ref=ref, contract=held)
    return _builtin(kind) if kind.startswith(OURS) else None


def misnamed(workflow: CompiledWorkflow, kind: str) -> Misnamed | None:
    """What is wrong with a kind that is nearly a known one; None when it is known, or somebody's own."""
    if contract_for(workflow, full_kind(kind)) is not None:
        return None
    known = {held.artifact_kind for held in workflow.contracts.values()} | _builtin_kinds()
    meant = meant_by(kind, known)
    return Misnamed(kind=kind, suggestion=meant) if meant or kind.lower().startswith(OURS) else None


def misnamed_among(workflow: CompiledWorkflow, artifacts: Iterable[Artifact]) -> tuple[Misnamed, ...]:
    """The misspelt kinds of recorded artifacts, each once; what was found valid has the right one."""
    kinds = {artifact.kind for artifact in artifacts if not artifact.contract_ref}
    found = [misnamed(workflow, kind) for kind in sorted(kinds)]
    return tuple(held for held in found if held is not None)


def meant_by(kind: str, known: Iterable[str]) -> str:
    """The known kind that this one is a misspelling of; empty when it is a name of its own.

    Case, separators, a plural and one wrong letter in five are misspellings. Another namespace is none: a
    kind that has one is compared only with kinds of a namespace that differs by one letter at most. In the
    reserved one nobody has names of their own, so there one wrong letter is a misspelling of any name.
    """
    space, _, bare = kind.rpartition(".")
    scored = []
    for candidate in known:
        its_space, _, its_name = candidate.rpartition(".")
        if space and edits(_first(space), _first(its_space)) > 1:
            continue
        spellings = (its_name,) if space else (its_name, candidate)
        distance = min(edits(_folded(bare), _folded(spelling)) for spelling in spellings)
        if distance <= max(len(_folded(bare)) // 5, 1 if f"{space}." == OURS else 0):
            scored.append((distance, candidate))
    return min(scored)[1] if scored else ""


def _first(namespace: str) -> str:
    return namespace.partition(".")[0].lower()


def _folded(name: str) -> str:
    """A name without what people vary: case, camel humps, separators, the plural."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:64])
    return re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_").removesuffix("s")


def _builtin(kind: str) -> KindContract | None:
    from handrail.workflows.builtins.contracts import CONTRACTS

    for spec in CONTRACTS:
        if spec.artifact_kind == kind:
            held = Contract(
                artifact_kind=kind, schema=spec.schema, example=spec.example, guidance=spec.guidance
            )
            return KindContract(ref=spec.id, contract=held, is_embedded=False)
    return None


def _builtin_kinds() -> set[str]:
    from handrail.workflows.builtins.contracts import CONTRACTS

    return {spec.artifact_kind for spec in CONTRACTS}
