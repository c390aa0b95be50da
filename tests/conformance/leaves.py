"""Every leaf as data: lines that succeed, and for each code that only some commands have, how to get it."""

from __future__ import annotations

from tests.conformance import damage
from tests.conformance.code_leaves import CODE_LEAVES, RUN_FILE, leaves_under_code
from tests.conformance.console_leaves import CONSOLE_LEAVES
from tests.conformance.leaf_forms import (
    BAD_ACK,
    NOWHERE,
    Leaf,
    Way,
    of_one_session,
    paged,
    says,
    token_driven,
    words,
    wrong,
)
from tests.conformance.team_leaves import TEAM_LEAVES
from tests.conformance.workflow_leaves import WORKFLOW_LEAVES

DELTA = "ledger show RUN_ID --mode delta --since-version 0"

OTHER_KEY = f"ed25519:{'A' * 43}="
"""A public key that signed nothing."""
CHECK = "check run tests --session SESSION_ID --quiet"

LEAVES: dict[str, Leaf] = {
    **CONSOLE_LEAVES,
    **CODE_LEAVES,
    **RUN_FILE,
    **WORKFLOW_LEAVES,
    **TEAM_LEAVES,
    "run start": Leaf(
        line=words("run start wr.small_change --goal Tidy"),
        key=("--request-id", "mine"),
        further=(
            (
                *words("run start wr.small_change --request-id more --session SESSION_ID"),
                *("--autonomy", "guided", "--risk-policy", "balanced", "--context", '{"scope":"src"}'),
            ),
            words("run start wr.small_change --request-id named --preset full_auto"),
        ),
        ways={
            "WORKFLOW_NOT_FOUND": says("run start wr.nope --request-id k"),
            "WORKFLOW_INVALID": says("run start project.broken --request-id k"),
            "WORKFLOW_ID_RESERVED": Way(
                line=words("run start wr.mine --request-id k"), damage=damage.reserved_id
            ),
            "CONTEXT_BUDGET_EXCEEDED": says("run start wr.small_change --request-id k --context @LARGE_FILE"),
            "WORK_LIMIT_EXCEEDED": says(
                "run start project.far --request-id k --context @FAR_FILE --timeout 3600"
            ),
            "SESSION_NOT_FOUND": says(f"run start wr.small_change --request-id k --session {NOWHERE}"),
            "SESSION_LOCKED": wrong(
                damage.locked, "run start wr.small_change --request-id k --session SESSION_ID", "impatient"
            ),
            "SESSION_NOT_HEALTHY": wrong(
                damage.changed_notes, "run start wr.small_change --request-id k --session SESSION_ID"
            ),
            "STORE_UNSUPPORTED_VERSION": wrong(
                damage.newer_event, "run start wr.small_change --request-id k --session SESSION_ID"
            ),
            "STORE_CORRUPT": wrong(damage.started_on_changed_blobs, damage.STARTED),
            "STORE_HISTORY_LOST": wrong(
                damage.older_session, "run start wr.small_change --request-id k --session STATE_TOKEN"
            ),
        },
    ),
    "run continue": Leaf(
        line=("run", "continue", "--ack", "ACK_TOKEN", "--notes", "The second is done."),
        further=(
            words("run continue --state STATE_TOKEN"),
            words("run continue --state WORK_TOKEN"),
            words("run continue --ack ACK_TOKEN --notes done --worker helper-1"),
            (
                *words("run continue --ack ACK_TOKEN --notes-file notes.md --artifacts [] --context"),
                '{"scope":"src"}',
            ),
        ),
        ways={
            "CONTEXT_MISSING": says("run continue"),
            "CONTEXT_BUDGET_EXCEEDED": says("run continue --ack ACK_TOKEN --context @LARGE_FILE"),
            "WORK_LIMIT_EXCEEDED": says(
                "run continue --ack FAR_ACK --notes done --context @FAR_FILE --timeout 3600"
            ),
            "TOKEN_INVALID_FORMAT": says("run continue --ack nonsense"),
            "TOKEN_UNSUPPORTED_VERSION": says("run continue --ack ak9" + "0" * 53),
            "TOKEN_BAD_SIGNATURE": says(f"run continue --ack {BAD_ACK}"),
            "TOKEN_SCOPE_MISMATCH": says("run continue --ack STATE_TOKEN"),
            "STEP_WAITS": says("run continue --ack WAITING_ACK --notes early"),
            **token_driven("run continue --ack OLD_ACK --notes another"),
        },
    ),
    "run checkpoint": Leaf(
        line=words("run checkpoint --checkpoint CHECKPOINT_TOKEN --notes half"),
        further=(
            words("run checkpoint --checkpoint CHECKPOINT_TOKEN --state STATE_TOKEN --notes-file notes.md"),
            words("run checkpoint --checkpoint CHECKPOINT_TOKEN --notes half --worker helper-1"),
        ),
        ways={
            "TOKEN_INVALID_FORMAT": says("run checkpoint --checkpoint ck1nonsense --notes x"),
            "TOKEN_UNSUPPORTED_VERSION": says(f"run checkpoint --notes x --checkpoint ck9{'0' * 53}"),
            "TOKEN_BAD_SIGNATURE": says(f"run checkpoint --notes x --checkpoint ck1{'0' * 53}"),
            "TOKEN_SCOPE_MISMATCH": says("run checkpoint --notes x --checkpoint STATE_TOKEN"),
            **token_driven("run checkpoint --checkpoint OLD_CHECKPOINT --notes another"),
        },
    ),
    "run close": Leaf(
        line=words("run close --state STATE_TOKEN --reason abandoned"),
        further=(
            words("run close SESSION_ID --reason superseded --note twice --request-id k-1"),
            words("run close STATE_TOKEN --reason done_elsewhere"),
        ),
        ways={
            "CONTEXT_MISSING": says("run close --reason abandoned"),
            "E_CONFLICT": wrong(damage.closed_once, f"{damage.CLOSED} --note another"),
            "SESSION_NOT_FOUND": says(f"run close {NOWHERE} --reason abandoned"),
            "SESSION_LOCKED": wrong(damage.locked, "run close SESSION_ID --reason abandoned", "impatient"),
            "TOKEN_INVALID_FORMAT": says("run close --state nonsense --reason abandoned"),
            "TOKEN_UNSUPPORTED_VERSION": says(f"run close --reason abandoned --state st9{'0' * 46}"),
            "TOKEN_BAD_SIGNATURE": says(f"run close --reason abandoned --state st1{'0' * 46}"),
            "TOKEN_UNKNOWN_NODE": wrong(damage.no_session),
            "TOKEN_SESSION_LOCKED": wrong(damage.locked, plant="impatient"),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_notes, "run close SESSION_ID --reason abandoned"),
            "STORE_HISTORY_LOST": wrong(damage.older_session),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "check run": Leaf(
        line=words(CHECK),
        further=(
            words(
                "check run --state STATE_TOKEN --directory . --time-limit 60 --pass-status --quiet -- true"
            ),
        ),
        ways={
            "CONTEXT_MISSING": says("check run --session SESSION_ID"),
            "SESSION_NOT_FOUND": says(f"check run tests --session {NOWHERE}"),
            "SESSION_LOCKED": wrong(damage.locked, plant="impatient"),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_notes),
            "TOKEN_INVALID_FORMAT": says("check run tests --state nonsense"),
            "TOKEN_UNSUPPORTED_VERSION": says(f"check run tests --state st9{'0' * 46}"),
            "TOKEN_BAD_SIGNATURE": says(f"check run tests --state st1{'0' * 46}"),
            "TOKEN_SCOPE_MISMATCH": says("check run tests --state ACK_TOKEN"),
            "TOKEN_UNKNOWN_NODE": wrong(damage.no_session, "check run tests --state STATE_TOKEN"),
            "TOKEN_SESSION_LOCKED": wrong(
                damage.locked, "check run tests --quiet --state STATE_TOKEN", "impatient"
            ),
            "STORE_HISTORY_LOST": wrong(damage.older_session, "check run tests --state STATE_TOKEN"),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "check list": Leaf(line=words("check list")),
    "prove": Leaf(
        project="repository",
        line=words("prove"),
        further=(
            words("prove --base HEAD --as markdown --expect not_tried -- git --version"),
            words("prove --head HEAD --fresh -- git --version"),
            words("prove --in-place --expect not_tried -- git --version"),
            words("prove tests --project SEED_PROJECT --run RUN_ID"),
        ),
        ways={
            "E_CHECK_FAILED": says("prove --expect proved -- git --version"),
            "E_CONFLICT": wrong(damage.uncommitted, "prove --in-place -- git --version"),
            "SESSION_NOT_FOUND": says("prove --run run_0000000000aa"),
            "SESSION_LOCKED": wrong(
                damage.locked, "prove tests --project SEED_PROJECT --run RUN_ID --quiet", "impatient"
            ),
        },
    ),
    "receipt export": Leaf(
        project="repository",
        line=words("receipt export --session SESSION_ID"),
        further=(
            words("receipt export --session SESSION_ID --commit HEAD --as markdown"),
            words(
                "receipt export --session SESSION_ID --as markdown --link https://example.org/receipt.json"
            ),
        ),
        ways={
            "CONTEXT_MISSING": says("receipt export"),
            "SESSION_NOT_FOUND": says(f"receipt export --session {NOWHERE}"),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_notes),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
            "KEYRING_INVALID": wrong(damage.receipt_keys),
            "E_CONFLICT": says("receipt export --session SESSION_ID --out receipt.json"),
        },
    ),
    "receipt verify": Leaf(
        project="repository",
        line=words("receipt verify receipt.json --commit HEAD"),
        further=(words("receipt verify receipt.json --key RECEIPT_KEY --expect not_tried"),),
        ways={
            "KEYRING_INVALID": wrong(damage.receipt_keys),
            "RECEIPT_REFUSED": says(f"receipt verify receipt.json --commit HEAD --key {OTHER_KEY}"),
            "E_CHECK_FAILED": says("receipt verify receipt.json --expect proved"),
        },
    ),
    "receipt key": Leaf(
        project="repository",
        line=words("receipt key"),
        ways={
            "KEYRING_INVALID": wrong(damage.receipt_keys),
            "E_HUMAN_REQUIRED": says(f"receipt key --rotate --trust {OTHER_KEY}"),
        },
    ),
    "code status": Leaf(
        line=words("code status --session SESSION_ID"),
        further=(words("code status NODE_ID"), words("code status --state STATE_TOKEN")),
        ways={
            "CONTEXT_MISSING": says("code status"),
            "SESSION_NOT_FOUND": says(f"code status --session {NOWHERE}"),
            "E_NOT_FOUND": says("code status nod_000000000000 --session SESSION_ID"),
            "TOKEN_INVALID_FORMAT": says("code status --state nonsense"),
            "TOKEN_UNSUPPORTED_VERSION": says(f"code status --state st9{'0' * 46}"),
            "TOKEN_BAD_SIGNATURE": says(f"code status --state st1{'0' * 46}"),
            "TOKEN_SCOPE_MISMATCH": says("code status --state ACK_TOKEN"),
            "TOKEN_UNKNOWN_NODE": wrong(damage.no_session, "code status --state STATE_TOKEN"),
            "STORE_HISTORY_LOST": wrong(damage.older_session, "code status --state STATE_TOKEN"),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "code diff": Leaf(
        line=words("code diff NODE_ID --session SESSION_ID"),
        further=(words("code diff OTHER_NODE_ID NODE_ID"),),
        ways={
            "CONTEXT_MISSING": says("code diff t1:0"),
            "SESSION_NOT_FOUND": says(f"code diff NODE_ID --session {NOWHERE}"),
            "E_NOT_FOUND": says("code diff nod_000000000000"),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "code restore": Leaf(
        line=words("code restore NODE_ID --session SESSION_ID"),
        ways={
            "CONTEXT_MISSING": says("code restore t1:0 --dry-run"),
            "SESSION_NOT_FOUND": says(f"code restore NODE_ID --session {NOWHERE} --dry-run"),
            "E_NOT_FOUND": says("code restore nod_000000000000 --dry-run"),
            "SESSION_LOCKED": wrong(
                damage.locked,
                "code restore NODE_ID --session SESSION_ID --confirm CONFIRM_TOKEN",
                "impatient",
            ),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_notes),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "js-scan": Leaf(
        line=words("js-scan --search greet"),
        further=(
            words("js-scan --search greet --scope src --kind function,class --exported --limit 5 --ai-mode"),
            words("js-scan --search gre --text --hash 0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f"),
            words("js-scan --analyze polish"),
            words("js-scan --trace polish --depth 2"),
            words("js-scan --trace greet --down"),
            words("js-scan --ripple polish"),
            words("js-scan --outline src/app.js --languages javascript"),
            words("js-scan --deps src/main.js"),
            ("js-scan", "--continuation", "SCAN_TOKEN", "--refresh", "--refetch"),
        ),
        ways={
            "E_NOT_FOUND": says("js-scan --analyze nowhere"),
            "INVALID_TOKEN": says("js-scan --continuation nonsense"),
            "TOKEN_EXPIRED": Way(line=("js-scan", "--continuation", "SCAN_TOKEN"), plant="later"),
            "ACTION_NOT_ALLOWED": Way(line=("js-scan", "--continuation", "APPLY_TOKEN")),
            "KEYRING_INVALID": wrong(damage.keyring, "js-scan --search greet --ai-mode"),
            "E_CONFLICT": says("js-scan --search greet", plant="restless"),
        },
    ),
    "js-edit": Leaf(
        line=words("js-edit --file src/app.js --locate greet"),
        further=(
            words("js-edit --file src/app.js --context greet --ai-mode"),
            words("js-edit --file src/app.js --rename greet --to welcome"),
            words("js-edit --file src/app.js --names greet,polish --languages javascript,python"),
            words("js-edit --extract polish --to-module src/polish.js"),
            words("js-edit --move polish --to-module src/polish.js --export-needs"),
            words("js-edit --file src/app.js --replace greet --with-file greet.txt"),
            words("js-edit --span 0:60 --file src/app.js --hash 0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f"),
            words("js-edit --changes changes.json"),
        ),
        once=(("js-edit", "--continuation", "APPLY_TOKEN", "--fix", "--refresh", "--refetch"),),
        ways={
            "E_NOT_FOUND": says("js-edit --file src/app.js --locate nowhere"),
            "EDIT_REFUSED": says("js-edit --file src/app.js --rename greet --to 9"),
            "E_CONFIRMATION_REQUIRED": says("js-edit --file src/app.js --rename greet --to welcome --fix"),
            "INVALID_TOKEN": says("js-edit --continuation nonsense"),
            "TOKEN_EXPIRED": Way(line=("js-edit", "--continuation", "APPLY_TOKEN", "--fix"), plant="later"),
            "ACTION_NOT_ALLOWED": Way(line=("js-edit", "--continuation", "SCAN_TOKEN")),
            "RESULTS_STALE": Way(
                line=("js-edit", "--continuation", "APPLY_TOKEN", "--fix"), damage=damage.changed_source
            ),
            "KEYRING_INVALID": wrong(damage.keyring, "js-edit --file src/app.js --locate greet --ai-mode"),
            "E_CONFLICT": says("js-edit --file src/app.js --locate greet", plant="restless"),
        },
    ),
    "session list": Leaf(
        line=words("session list"),
        further=(
            words("session list --workflow wr.small_change --status in_progress --limit 500"),
            ("session", "list", "--limit", "1", "--cursor", "CURSOR"),
            words("session list --needs --account acc_0123456789abcdef --agent claude"),
            words("session list --branch main --project-name project --silence idle"),
            words("session list --damaged --stated --sort title --group state --values"),
            words("session list --since 2020-01-01T00:00:00Z --until 2999-01-01T00:00:00Z --query change"),
        ),
        ways=paged("session list"),
    ),
    "session inbox --gaps": Leaf(
        line=words("session inbox --gaps"),
        further=(
            words("session inbox --gaps --only open --severity warning --workflow wr.small_change --limit 1"),
            words("session inbox --gaps --session SESSION_ID --limit 1"),
            ("session", "inbox", "--gaps", "--limit", "1", "--cursor", "CURSOR"),
        ),
        ways=paged("session inbox --gaps"),
    ),
    "session show": Leaf(
        line=words("session show SESSION_ID"),
        further=(words("session show SESSION_ID --run RUN_ID"),),
        ways={
            "SESSION_NOT_FOUND": says(f"session show {NOWHERE}"),
            "RUN_NOT_FOUND": says("session show SESSION_ID --run run_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "session events": Leaf(
        line=words("session events SESSION_ID"),
        further=(
            words("session events SESSION_ID --after 1 --kinds node_created,run_started --limit 2"),
            ("session", "events", "SESSION_ID", "--limit", "1", "--cursor", "CURSOR"),
        ),
        ways={"SESSION_NOT_FOUND": says(f"session events {NOWHERE}"), **paged("session events SESSION_ID")},
    ),
    "session export": Leaf(
        line=words("session export SESSION_ID"),
        further=(
            words("session export SESSION_ID --as markdown --salvage"),
            words("session export SESSION_ID --with-code"),
        ),
        once=(
            words("session export SESSION_ID --out scratch/bundle.json"),
            words("session export SESSION_ID --as html --out scratch/report.html"),
        ),
        ways={
            "SESSION_NOT_FOUND": says(f"session export {NOWHERE}"),
            "E_CONFLICT": says("session export SESSION_ID --out work.handrail.json"),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_notes),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
            "BUNDLE_TOO_LARGE": wrong(damage.deep_event),
        },
    ),
    "session import": Leaf(
        line=words("session import bundle.json"),
        further=(
            words("session import work.handrail.json --as-new --dry-run"),
            words("session import bundle.json --dry-run --part steps --offset 0"),
        ),
        ways={
            **{
                code: Way(line=words("session import bundle.json --dry-run"), damage=made)
                for code, made in damage.BUNDLES.items()
            },
            "SESSION_LOCKED": wrong(
                damage.locked_import, "session import bundle.json --confirm CONFIRM_TOKEN", "impatient"
            ),
        },
    ),
    "session resume": Leaf(
        line=words("session resume SESSION_ID"),
        page=words("session resume wr"),
        further=(
            words(f"session resume --branch main --head {'0' * 40}"),
            ("session", "resume", "wr", "--limit", "1", "--cursor", "CURSOR"),
        ),
        ways={
            **paged("session resume wr"),
            "STORE_IO_ERROR": says("session resume", plant="disk error"),
            "STORE_PERMISSION_DENIED": says("session resume", plant="disk denied"),
        },
    ),
    "session note": Leaf(
        line=("session", "note", "--goal", "Look around first"),
        key=("--request-id", "chat-7"),
        further=(
            words("session note --session SESSION_ID --notes half --request-id k-1"),
            words("session note --notes-file notes.md --request-id k-2"),
        ),
        ways={
            "SESSION_NOT_FOUND": says(f"session note --session {NOWHERE} --notes half --request-id k"),
            "SESSION_LOCKED": wrong(damage.locked_start, "session note --request-id began", "impatient"),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_start, "session note --request-id began"),
        },
    ),
    "session delete": Leaf(
        line=words("session delete --ids SESSION_ID,OTHER_ID"),
        dangerous=("--dangerous",),
        ways={
            "E_NOT_FOUND": says(f"session delete --ids {NOWHERE} --dangerous --dry-run"),
            "SESSION_LOCKED": wrong(
                damage.locked,
                "session delete --ids SESSION_ID --dangerous --confirm CONFIRM_TOKEN",
                "impatient",
            ),
        },
    ),
    "ledger show": Leaf(
        line=words("ledger show RUN_ID"),
        further=(
            words("ledger show RUN_ID --mode delta --since-version 1 --without-checksum --view entries"),
            words("ledger show RUN_ID --filter-by-operation run.start --limit 1 --offset 0"),
            (*words(DELTA), "--limit", "1", "--cursor", "CURSOR"),
        ),
        ways={
            "RUN_NOT_FOUND": says("ledger show run_000000000000"),
            "LEDGER_VERSION_AHEAD": says("ledger show RUN_ID --mode delta --since-version 99"),
            "SESSION_NOT_HEALTHY": wrong(damage.changed_notes),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "WORK_LIMIT_EXCEEDED": says("ledger show RUN_ID", plant="small ledgers"),
            **paged(DELTA),
        },
        page=words(DELTA),
    ),
    "settings show --preferences": Leaf(
        line=words("settings show --preferences"),
        further=(words("settings show --preferences --session SESSION_ID"),),
        ways={
            "SESSION_NOT_FOUND": says(f"settings show --preferences --session {NOWHERE}"),
            **of_one_session("settings show --preferences --session SESSION_ID"),
        },
    ),
    "settings set --preferences": Leaf(
        line=words("settings set --autonomy guided"),
        further=(
            words("settings set --session SESSION_ID --risk-policy balanced --dry-run"),
            words("settings set --preset full_auto_with_stops --dry-run"),
        ),
        ways={
            "SESSION_NOT_FOUND": says(f"settings set --session {NOWHERE} --autonomy guided --dry-run"),
            "SESSION_LOCKED": wrong(
                damage.locked,
                "settings set --session SESSION_ID --autonomy guided --confirm CONFIRM_TOKEN",
                "impatient",
            ),
            "SESSION_NOT_HEALTHY": wrong(
                damage.changed_notes,
                "settings set --session SESSION_ID --autonomy guided --confirm CONFIRM_TOKEN",
            ),
            **of_one_session("settings set --session SESSION_ID --autonomy guided --dry-run"),
        },
    ),
    "settings set": Leaf(
        line=words("settings set retentionDays 30"),
        ways={"E_HUMAN_REQUIRED": says("settings set code.snapshots off --confirm CONFIRM_TOKEN")},
    ),
    "settings show": Leaf(line=words("settings show")),
    "keys rotate": Leaf(line=words("keys rotate")),
    "store verify": Leaf(
        line=words("store verify"),
        further=(words("store verify --ids SESSION_ID,OTHER_ID --report-only"),),
        ways={
            "SESSION_NOT_FOUND": says(f"store verify --ids {NOWHERE}"),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event, "store verify --ids SESSION_ID"),
            "E_INTEGRITY": wrong(damage.changed_notes),
        },
    ),
    "store du": Leaf(line=words("store du")),
    "store selftest": Leaf(
        line=words("store selftest --kills 1 --seed 7"),
        further=(words("store selftest --dir scratch --report-only"),),
        plant="sound proof",
        ways={"E_INTEGRITY": Way(plant="unsound proof")},
    ),
    "store copy": Leaf(
        line=words("store copy --to elsewhere"),
        further=(words("store copy --from HOME --to elsewhere2 --ids SESSION_ID --dry-run"),),
        ways={
            "E_HUMAN_REQUIRED": says("store copy --from OTHER_HOME --adopt --confirm CONFIRM_TOKEN"),
        },
    ),
    "store gc": Leaf(
        line=words("store gc --older-than 90"),
        dangerous=("--dangerous",),
        ways={
            "SESSION_LOCKED": wrong(
                damage.locked, "store gc --older-than 0 --dangerous --confirm CONFIRM_TOKEN", "impatient"
            ),
        },
    ),
    "lafs check": Leaf(
        line=words("lafs check answer.json"),
        further=(
            words("lafs check answer.json --kind lafs --tier core --ndjson"),
            words("lafs check bad.json --expand-minimal --report-only"),
        ),
        ways={
            "NOT_CONFORMANT": says("lafs check bad.json"),
        },
    ),
    "reference": Leaf(
        line=words("reference"),
        further=(
            ("reference", "--command", "run continue"),
            words("reference --domain session"),
            words("reference --schema dry_run"),
        ),
    ),
    "context": Leaf(line=words("context")),
    "doctor": Leaf(line=words("doctor --offline"), further=(words("doctor --checks store,keyring"),)),
    "version": Leaf(line=words("version")),
    "changelog": Leaf(line=words("changelog"), further=(words("changelog --since 0.0.1"),)),
    "completion": Leaf(line=words("completion --shell bash")),
    "setup": Leaf(
        line=words("setup --clients cursor"),
        further=(
            words("setup --clients claude-code --hooks --scope project --dry-run"),
            words("setup --clients cursor --remove --dry-run"),
            words("setup --clients cursor --set code --dry-run"),
            words("setup --checks --dry-run"),
        ),
    ),
    "update": Leaf(
        line=words("update --check"),
        further=(
            words("update"),
            words("update --dry-run"),
            words("update --check --target-version 0.1.0"),
            words("update --dry-run --verify"),
        ),
        plant="index",
        ways={
            "E_INTEGRITY": Way(line=("update",), plant="tampered index"),
            **{
                code: Way(plant=f"index says {code}")
                for code in ("E_AUTH", "E_CONFLICT", "E_NETWORK", "E_RATE_LIMITED", "E_SERVER")
            },
        },
    ),
}
LEAVES |= leaves_under_code(LEAVES["js-scan"], LEAVES["js-edit"])
NO_DOCUMENT = ("console", "demo", "hook", "mcp", "serve")
"""Protocols and a show: their own tests stand for what they write."""
