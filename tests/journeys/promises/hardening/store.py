"""What the rules promise of history that must not vanish (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "store.never-forgets",
        source="hardening, H3",
        says="What was once acknowledged and is not there any more is told by every reader, and nothing is "
        "written over what is left.",
    ),
    Promise(
        "store.token-proves-more",
        source="hardening, H3",
        says="A token that proves more than the log shows refuses its own call, whichever call that is.",
    ),
)
