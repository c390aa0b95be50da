"""Notes in a session by its id: at the step where its latest run stands, or of the session itself."""

from __future__ import annotations

from msgspec import UnsetType

from handrail.contract.ids import AttemptId, attempt_for_new
from handrail.contract.outcome import Success
from handrail.contract.tokens.workflow import WORKFLOW, CheckpointClaims, mint
from handrail.engine.history import History
from handrail.operations.checkpoints import CheckpointRun, checkpoint_run
from handrail.operations.report import Output
from handrail.projections.overview import latest_run
from handrail.projections.run_graph import run_graph
from handrail.runtime.runtime import WritePorts
from handrail.runtime.sessions import Session


def keep_notes(rt: WritePorts, session: Session, notes: str, key: str, project: str | UnsetType) -> Success:
    """A checkpoint, once for each key: the same key again gets the recorded reply.

    Raises what a checkpoint raises.
    """
    history = session.history
    attempt = attempt_for_new(f"{history.session_id} note {key}")
    claims = CheckpointClaims(
        session_id=history.session_id, node_tag=_find_place(history, attempt), attempt_id=attempt
    )
    token = mint(rt.keys.signing_key(WORKFLOW), claims)
    kept = checkpoint_run(
        rt, CheckpointRun(checkpoint_token=token, output=Output(notes_markdown=notes), project=project)
    )
    assert isinstance(kept, Success), "nobody asked for a dry run"
    return kept


def _find_place(history: History, attempt: AttemptId) -> str:
    """Where the key was used before, because its own checkpoint moved the tip; else where the work stands."""
    for node_id, used in history.checkpoints:
        if used == attempt:
            return history.nodes[node_id].tag
    run_id = latest_run(history)
    if run_id is not None:
        return history.nodes[run_graph(history, run_id).preferred_tip].tag
    assert history.opening is not None, "a session without a run was begun"
    return history.opening.tag
