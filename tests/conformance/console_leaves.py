"""The leaves that read what the Console shows."""

from __future__ import annotations

from tests.conformance import damage
from tests.conformance.leaf_forms import NOWHERE, Leaf, says, words, wrong

CONSOLE_LEAVES: dict[str, Leaf] = {
    "run graph": Leaf(
        line=words("run graph SESSION_ID"),
        further=(words("run graph SESSION_ID --run RUN_ID"),),
        ways={
            "SESSION_NOT_FOUND": says(f"run graph {NOWHERE}"),
            "RUN_NOT_FOUND": says("run graph SESSION_ID --run run_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "run node": Leaf(
        line=words("run node SESSION_ID NODE_ID"),
        ways={
            "SESSION_NOT_FOUND": says(f"run node {NOWHERE} NODE_ID"),
            "NODE_NOT_FOUND": says("run node SESSION_ID nod_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "run compare": Leaf(
        line=words("run compare SESSION_ID NODE_ID OTHER_NODE_ID"),
        ways={
            "SESSION_NOT_FOUND": says(f"run compare {NOWHERE} NODE_ID OTHER_NODE_ID"),
            "NODE_NOT_FOUND": says("run compare SESSION_ID NODE_ID nod_000000000000"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
    "session needs": Leaf(line=words("session needs"), further=(words("session needs --limit 5"),)),
    "session search": Leaf(
        line=words("session search done"), further=(words("session search done --limit 5"),)
    ),
    "session timeline": Leaf(
        line=words("session timeline SESSION_ID"),
        further=(words("session timeline SESSION_ID --before 20 --limit 5"),),
        ways={
            "SESSION_NOT_FOUND": says(f"session timeline {NOWHERE}"),
            "STORE_CORRUPT": wrong(damage.changed_blobs),
            "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
        },
    ),
}
