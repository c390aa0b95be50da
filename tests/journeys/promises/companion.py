"""What a project of a team, and whoever looks for it, is promised."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    team, section 4
      companion.told-people: After its answer, a local call starts the user's command for what happened,
          without texts.
    team, section 3
      companion.one-project: Clones and worktrees of one repository are one project for request ids, resume
          and looking.
    """
)
