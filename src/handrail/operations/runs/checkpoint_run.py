"""`run.checkpoint`: keep notes at a node without moving the run."""

from __future__ import annotations

from handrail.engine.reply import Reply
from handrail.operations.checkpoints import CheckpointRun, checkpoint_run
from handrail.operations.handles import WORKER_RULE
from handrail.operations.replies import RUN_SHAPE
from handrail.runtime.operation import Operation

OPERATION = Operation(
    name="run.checkpoint",
    effect="ack",
    summary="Save progress at the pending step without finishing it.",
    input=CheckpointRun,
    output=Reply,
    perform=checkpoint_run,
    shape=RUN_SHAPE,
    tool="checkpoint_workflow",
    tool_description=(
        "Save notes in the middle of a step, which stays pending. Repeating the call adds nothing."
    ),
    tool_fields=("checkpointToken", "stateToken", "output", "project", "worker"),
    value_rules={"worker": WORKER_RULE},
    errors=("TOKEN_SCOPE_MISMATCH", "STORE_CORRUPT"),
)
