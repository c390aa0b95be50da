"""What the store of teams brings to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_team",
    requirement="handrail[team]",
    adapters={"team_store": "handrail_team.store.open_store:TeamStore"},
)
