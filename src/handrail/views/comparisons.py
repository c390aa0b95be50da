"""Two nodes side by side. Pure."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import Answer
from handrail.views.nodes import NodeAnswer
from handrail.views.runs import ProofRow


class ComparedArtifact(Answer, frozen=True, kw_only=True):
    """An artifact of one of the two."""

    kind: str
    digest: str
    body: dict[str, Any]


class ComparedStep(Answer, frozen=True, kw_only=True):
    """What one of the two did at a step."""

    node_id: str
    kind: str
    title: str
    at: str
    notes: str
    is_cut: bool
    artifacts: list[ComparedArtifact]
    gaps: list[str]
    option: str
    """What was chosen there; empty: nothing was."""
    answer: NodeAnswer | None
    """What a person answered about it."""


class ComparedRow(Answer, frozen=True, kw_only=True):
    """One step of both ways, or of one of them."""

    step_id: str
    one: ComparedStep | None
    other: ComparedStep | None


class ComparedEnd(Answer, frozen=True, kw_only=True):
    """How it stands at one of the two nodes."""

    node_id: str
    run_id: str
    kind: str
    title: str
    pending_title: str
    status: str
    at: str
    step_count: int
    """Since the ways parted."""
    preferences: dict[str, str]
    evidence: dict[str, int]
    evidence_caveat: str
    """What is true of these counts: who recorded them, where that was another store."""
    open_gaps: list[str]
    tree_id: str
    proofs: list[ProofRow]
    """The newest of each check on the way."""


class Comparison(Answer, frozen=True, kw_only=True):
    """Two nodes, from where their ways parted."""

    session_id: str
    goal: str
    health: str
    banner: str
    """What a reader of a damaged session must know; empty when it is sound."""
    ancestor: str
    """The last node that both ways have; empty: they have none."""
    ancestor_title: str
    shared_steps: int
    one: ComparedEnd
    other: ComparedEnd
    rows: list[ComparedRow]
    rows_omitted: int
