"""Two nodes compared with each other. Pure."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import Answer
from handrail.views.nodes import NodeAnswer
from handrail.views.runs import ProofRow


class ComparedArtifact(Answer, frozen=True, kw_only=True):
    """An artifact of one of the two nodes."""

    kind: str
    digest: str
    body: dict[str, Any]


class ComparedStep(Answer, frozen=True, kw_only=True):
    """What one of the two paths did at a step."""

    node_id: str
    kind: str
    title: str
    at: str
    notes: str
    is_cut: bool
    artifacts: list[ComparedArtifact]
    gaps: list[str]
    option: str
    """The option that was chosen there; empty if none was."""
    answer: NodeAnswer | None
    """What a person answered about the step."""


class ComparedRow(Answer, frozen=True, kw_only=True):
    """One step that is on both paths, or on one of them."""

    step_id: str
    one: ComparedStep | None
    other: ComparedStep | None


class ComparedEnd(Answer, frozen=True, kw_only=True):
    """The state at one of the two nodes."""

    node_id: str
    run_id: str
    kind: str
    title: str
    pending_title: str
    status: str
    at: str
    step_count: int
    """Number of steps since the paths parted."""
    preferences: dict[str, str]
    evidence: dict[str, int]
    evidence_caveat: str
    """A caveat about these counts if another store recorded them; it names that store."""
    open_gaps: list[str]
    tree_id: str
    proofs: list[ProofRow]
    """The newest proof of each check on the path."""


class Comparison(Answer, frozen=True, kw_only=True):
    """Two nodes, compared from the point where their paths parted."""

    session_id: str
    goal: str
    health: str
    banner: str
    """A warning about a damaged session; empty if the session is intact."""
    ancestor: str
    """The last node that both paths share; empty if they share none."""
    ancestor_title: str
    shared_steps: int
    one: ComparedEnd
    other: ComparedEnd
    rows: list[ComparedRow]
    rows_omitted: int
