"""The leaves about source code: each command under `code`, and a workflow file step by step."""

from __future__ import annotations

from tests.conformance import damage
from tests.conformance.leaf_forms import Leaf, Way, says, words, wrong

RESUME = "js-tools --workflow-resume RESUME_TOKEN --notes another"

CODE_LEAVES: dict[str, Leaf] = {
    "js-tools": Leaf(
        line=words("js-tools --workflow my-refactor.json"),
        key=("--request-id", "mine-in-code"),
        further=(
            (
                *words("js-tools --workflow my-refactor.json --checkpoint-mode --request-id more --context"),
                '{"scope":"src"}',
            ),
            words("js-tools --workflow-resume RESUME_TOKEN --notes done --refresh"),
        ),
        once=(words("js-tools --workflow-resume WRITE_TOKEN --fix"),),
        ways={
            "WORKFLOW_NOT_FOUND": says("js-tools --workflow wr.nope"),
            "WORKFLOW_INVALID": says("js-tools --workflow broken.json"),
            "WORKFLOW_ID_RESERVED": wrong(damage.reserved_id, "js-tools --workflow wr.mine"),
            "CONTEXT_BUDGET_EXCEEDED": says("js-tools --workflow my-refactor.json --context @LARGE_FILE"),
            "WORK_LIMIT_EXCEEDED": says("js-tools --workflow project.far --context @FAR_FILE --timeout 3600"),
            "E_CONFIRMATION_REQUIRED": says("js-tools --workflow-resume WRITE_TOKEN"),
            "INVALID_TOKEN": says("js-tools --workflow-resume nonsense"),
            "TOKEN_EXPIRED": says("js-tools --workflow-resume RESUME_TOKEN", plant="later"),
            "ACTION_NOT_ALLOWED": Way(line=("js-tools", "--workflow-resume", "SCAN_TOKEN")),
            "E_CONFLICT": Way(
                line=(*words(damage.BEGUN), "--context", '{"scope":"src"}'), damage=damage.begun_once
            ),
            "SESSION_LOCKED": wrong(damage.locked_file_start, damage.BEGUN, "impatient"),
            "TOKEN_UNKNOWN_NODE": wrong(damage.no_session, RESUME),
            "TOKEN_SESSION_LOCKED": wrong(damage.locked, RESUME, "impatient"),
            "SESSION_NOT_HEALTHY": wrong(
                damage.changed_notes, "js-tools --workflow-resume FORMER_TOKEN --notes another"
            ),
            "STORE_HISTORY_LOST": wrong(damage.older_file_run, RESUME),
            "STORE_CORRUPT": wrong(damage.changed_blobs, RESUME),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event, RESUME),
        },
    ),
}

RUN_FILE = {
    "run file": Leaf(
        line=words("run file my-refactor.json"),
        key=("--request-id", "mine-in-code"),
        further=(
            (
                *words("run file my-refactor.json --checkpoint-mode --request-id more --context"),
                '{"scope":"src"}',
            ),
            words("run file --resume RESUME_TOKEN --notes done --refresh"),
        ),
        once=(words("run file --resume WRITE_TOKEN --fix"),),
        ways=CODE_LEAVES["js-tools"].ways,
    ),
}

EVERY_HASH = "0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f"


def leaves_under_code(scan: Leaf, edit: Leaf) -> dict[str, Leaf]:
    """The commands under `code` are the modes of the two scripts, so what provokes a refusal is theirs."""
    asked = {
        "search": (
            "code search greet",
            "code search greet --scope src --kind function,class --exported --limit 5 --ai-mode",
            f"code search gre --text --hash {EVERY_HASH} --languages javascript",
        ),
        "outline": ("code outline src/app.js", "code outline src/app.js --scope src --limit 5"),
        "explain": ("code explain polish", f"code explain polish --scope src --limit 5 --hash {EVERY_HASH}"),
        "trace": ("code trace polish --depth 2", f"code trace greet --down --limit 5 --hash {EVERY_HASH}"),
        "ripple": ("code ripple polish", f"code ripple polish --scope src --limit 5 --hash {EVERY_HASH}"),
        "deps": ("code deps src/main.js", "code deps src/main.js --scope src --limit 5"),
    }
    changed = {
        "explain --locate": ("code explain greet --locate --file src/app.js",),
        "explain --context": (
            "code explain greet --context --file src/app.js",
            "code explain greet --context --file src/app.js --ai-mode",
        ),
        "rename": (
            "code rename greet --to welcome --file src/app.js",
            "code rename greet --to welcome --file src/app.js --public keep",
            "code rename begin --to play --file src/player.js --also src/player.js:5:3 "
            "--not src/player.js:6:3 --accept 80d3a1fa7df81f76",
        ),
        "move": ("code move polish --to-module src/polish.js --export-needs",),
        "extract": ("code extract polish --to-module src/polish.js",),
        "replace": ("code replace greet --with-file greet.txt --file src/app.js",),
    }
    return {
        f"code {verb}": Leaf(
            line=words(lines[0]),
            further=tuple(words(line) for line in lines[1:]),
            ways=of.ways,
        )
        for of, verbs in ((scan, asked), (edit, changed))
        for verb, lines in verbs.items()
    }
