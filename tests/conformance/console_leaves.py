"""The leaves that read what the Console shows."""

from __future__ import annotations

from tests.conformance import damage
from tests.conformance.leaf_forms import NOWHERE, Leaf, paged, says, words, wrong

CONSOLE_LEAVES: dict[str, Leaf] = {
    "session show --graph": Leaf(
        line=words("session show --graph SESSION_ID"),
        further=(words("session show --graph SESSION_ID --run RUN_ID"),),
        ways={
            "SESSION_NOT_FOUND": says(f"session show --graph {NOWHERE}"),
            "RUN_NOT_FOUND": says("session show --graph SESSION_ID --run run_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "session show --node": Leaf(
        line=words("session show SESSION_ID NODE_ID"),
        ways={
            "SESSION_NOT_FOUND": says(f"session show {NOWHERE} NODE_ID"),
            "NODE_NOT_FOUND": says("session show SESSION_ID nod_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "session show --compare": Leaf(
        line=words("session show SESSION_ID NODE_ID --compare OTHER_NODE_ID"),
        further=(words("session show SESSION_ID --node NODE_ID --compare OTHER_NODE_ID"),),
        ways={
            "SESSION_NOT_FOUND": says(f"session show {NOWHERE} NODE_ID --compare OTHER_NODE_ID"),
            "NODE_NOT_FOUND": says("session show SESSION_ID NODE_ID --compare nod_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "session inbox": Leaf(
        line=words("session inbox"),
        further=(words("session inbox --limit 1 --cursor CURSOR"), words("session inbox --assigned me")),
        ways=paged("session inbox"),
    ),
    "session show --timeline": Leaf(
        line=words("session show --timeline SESSION_ID"),
        further=(
            words("session show --timeline SESSION_ID --before 20 --limit 5"),
            words("session show --timeline SESSION_ID --limit 1 --cursor CURSOR"),
        ),
        ways={
            **paged("session show --timeline SESSION_ID"),
            "SESSION_NOT_FOUND": says(f"session show --timeline {NOWHERE}"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
}
