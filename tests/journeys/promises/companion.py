"""What a project of a team, and whoever looks for it, is promised."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "companion.told-people",
        source="team, section 4",
        says="After its answer, a local call starts the user's command for what happened, without texts.",
    ),
    Promise(
        "companion.one-project",
        source="team, section 3",
        says="Clones and worktrees of one repository are one project for request ids, resume and looking.",
    ),
)
