"""The leaves about workflows: what there is, what is written and what is tried."""

from __future__ import annotations

from tests.conformance import damage
from tests.conformance.leaf_forms import AWAY, Leaf, Way, paged, says, unusable, words, wrong

DIFF = "workflow inspect project.three_steps --part diff --run RUN_ID"

WORKFLOW_LEAVES: dict[str, Leaf] = {
    "workflow list": Leaf(
        line=words("workflow list"),
        further=(
            words("workflow list --query review --source bundled --kind workflow --limit 1"),
            ("workflow", "list", "--limit", "1", "--cursor", "CURSOR"),
        ),
        ways=paged("workflow list"),
    ),
    "workflow inspect": Leaf(
        line=words("workflow inspect wr.small_change"),
        further=(words(DIFF),),
        ways={
            "WORKFLOW_NOT_FOUND": says("workflow inspect wr.nope"),
            "WORKFLOW_INVALID": says("workflow inspect project.broken"),
            "WORKFLOW_ID_RESERVED": Way(line=words("workflow inspect wr.mine"), damage=damage.reserved_id),
            "SESSION_NOT_FOUND": says("workflow inspect wr.small_change --part diff --run run_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs, DIFF),
            "STORE_IO_ERROR": says(DIFF, plant="disk error"),
            "STORE_PERMISSION_DENIED": says(DIFF, plant="disk denied"),
            "STORE_UNAVAILABLE": says(DIFF, environment=AWAY),
        },
    ),
    "workflow validate": Leaf(
        line=words("workflow validate my_check.json"),
        further=(words("workflow validate broken.json --min-severity error --report-only"),),
        ways=unusable("workflow validate"),
    ),
    "workflow graph": Leaf(
        line=words("workflow graph wr.small_change"),
        further=(words("workflow graph my_check.json --as json"),),
        ways=unusable("workflow graph"),
    ),
    "workflow diff": Leaf(
        line=words("workflow diff wr.small_change my_check.json"),
        ways=unusable("workflow diff wr.small_change"),
    ),
    "workflow simulate": Leaf(
        line=words("workflow simulate my_check.json"),
        further=(
            words("workflow simulate my_check.json --mode guided --max-paths 20 --report-only"),
            words("workflow simulate my_check.json --max-starts 5"),
        ),
        ways={
            **unusable("workflow simulate"),
            "WORK_LIMIT_EXCEEDED": says("workflow simulate many_values.json"),
        },
    ),
    "workflow builtins": Leaf(
        line=words("workflow builtins"),
        further=(
            words("workflow builtins --query loop --kind contract --limit 2"),
            ("workflow", "builtins", "--limit", "1", "--cursor", "CURSOR"),
        ),
        ways=paged("workflow builtins"),
    ),
    "workflow schema": Leaf(line=words("workflow schema")),
    "workflow convert": Leaf(
        line=words("workflow convert my_check.json --to md --out made.md"),
        further=(words("workflow convert wr.small_change --to yaml"),),
        ways=unusable("workflow convert", "--to md"),
    ),
    "workflow fmt": Leaf(
        line=words("workflow fmt my_check.json --out made.json"),
        further=(words("workflow fmt wr.small_change"), words("workflow fmt my_check.json --fix")),
        ways=unusable("workflow fmt"),
    ),
    "workflow new": Leaf(
        line=words("workflow new project.my_new"),
        further=(words("workflow new project.other --to drafts --template loop --as md --dry-run"),),
        ways={
            "WORKFLOW_ID_LEGACY": says("workflow new case --dry-run"),
            "WORKFLOW_ID_RESERVED": says("workflow new wr.case --dry-run"),
        },
    ),
    "workflow save": Leaf(
        line=words("workflow save my_new.json"),
        further=(
            words("workflow save my_check.json --file three_steps.json --dry-run"),
            words("workflow save my_new.json --base absent --dry-run"),
        ),
        ways={
            "WORKFLOW_INVALID": says("workflow save broken.json --dry-run"),
            "WORKFLOW_ID_RESERVED": says("workflow save reserved.json --dry-run"),
        },
    ),
}
