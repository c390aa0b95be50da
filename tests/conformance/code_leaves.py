"""The leaf that runs a workflow file step by step."""

from __future__ import annotations

from tests.conformance import damage
from tests.conformance.leaf_forms import Leaf, Way, says, words, wrong

RESUME = "tools --workflow-resume RESUME_TOKEN --notes another"

CODE_LEAVES: dict[str, Leaf] = {
    "tools": Leaf(
        line=words("tools --workflow my-refactor.json"),
        key=("--request-id", "mine"),
        further=(
            (
                *words("tools --workflow my-refactor.json --checkpoint-mode --request-id more --context"),
                '{"scope":"src"}',
            ),
            words("tools --workflow-resume RESUME_TOKEN --notes done --refresh"),
        ),
        once=(words("tools --workflow-resume WRITE_TOKEN --fix"),),
        ways={
            "WORKFLOW_NOT_FOUND": says("tools --workflow wr.nope"),
            "WORKFLOW_INVALID": says("tools --workflow broken.json"),
            "WORKFLOW_ID_RESERVED": wrong(damage.reserved_id, "tools --workflow wr.mine"),
            "CONTEXT_BUDGET_EXCEEDED": says("tools --workflow my-refactor.json --context @LARGE_FILE"),
            "WORK_LIMIT_EXCEEDED": says("tools --workflow project.far --context @FAR_FILE --timeout 3600"),
            "E_CONFIRMATION_REQUIRED": says("tools --workflow-resume WRITE_TOKEN"),
            "INVALID_TOKEN": says("tools --workflow-resume nonsense"),
            "TOKEN_EXPIRED": says("tools --workflow-resume RESUME_TOKEN", plant="later"),
            "ACTION_NOT_ALLOWED": Way(line=("tools", "--workflow-resume", "SCAN_TOKEN")),
            "SESSION_LOCKED": wrong(damage.locked_file_start, damage.BEGUN, "impatient"),
            "TOKEN_UNKNOWN_NODE": wrong(damage.no_session, RESUME),
            "TOKEN_SESSION_LOCKED": wrong(damage.locked, RESUME, "impatient"),
            "SESSION_NOT_HEALTHY": wrong(
                damage.changed_notes, "tools --workflow-resume FORMER_TOKEN --notes another"
            ),
            "STORE_HISTORY_LOST": wrong(damage.older_file_run, RESUME),
            "STORE_CORRUPT": wrong(damage.changed_blobs, RESUME),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event, RESUME),
        },
    ),
}
