"""What the rules promise of writes, disclosure and declarations of commands (truth, section 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_AFTER = "truth, R22; hardening, H13"

PROMISES: tuple[Promise, ...] = (
    Promise(
        "commit.every-write-is-tried",
        source=_AFTER,
        says="Every operation of the registry that writes is tried with trouble after its commit.",
    ),
    Promise(
        "commit.never-a-failure",
        source=_AFTER,
        says="Nothing that breaks after a commit makes a failure of it, at any door.",
    ),
    Promise(
        "commit.reply-lost-is-told",
        source=_AFTER,
        says="Where the reply cannot be built, the answer says that it is committed and how to read it.",
    ),
    Promise(
        "commit.refused-before",
        source="truth, R22",
        says="What can be refused is refused before the store is touched; nothing is used up by it.",
    ),
    Promise(
        "commit.budget-warns",
        source="truth, R22",
        says="A budget never refuses a write: its reply shrinks to the minimal level with a notice.",
    ),
)
