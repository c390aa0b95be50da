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
    Promise(
        "clock.deletes-nothing",
        source="hardening, H5",
        says="No call deletes anything because of its clock: the newest files of the audit are kept by their "
        "number, and sessions age from the newest commit of the store.",
    ),
    Promise(
        "clock.refused-stays-refused",
        source="hardening, H5",
        says="A confirm token that was refused as expired stays refused when the clock is set back.",
    ),
    Promise(
        "store.killed-start",
        source="hardening, H4",
        says="What a killed start or import left is named with the command that shows it, and the token of "
        "that preview removes all of it, counted like any other target.",
    ),
    Promise(
        "store.home-is-told",
        source="truth, R25",
        says="A home or project that is no directory is told as that, and not as something else.",
    ),
    Promise(
        "store.half-removed",
        source="hardening, H4; truth, R22",
        says="Files of a removed session that could not be deleted are not counted as freed, and are told by "
        "the delete, by `store verify` and by the next collection, which clears them.",
    ),
    Promise(
        "store.one-unreadable",
        source="hardening, H4",
        says="One session that cannot be read stops neither the listing nor the sizes nor the collection of "
        "the others.",
    ),
)
