"""What somebody else does to a team between the check of a token and its write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from tests.team.team_server import Server


class Team:
    """An owner, a second one, and a member with a token."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.workspace = server.workspace("main")
        self.owner = server.join(self.workspace, "Ana", "owner")
        self.second = server.join(self.workspace, "Bea", "owner")
        self.member = server.join(self.workspace, "Cleo", "member")
        self.token: str = self.owner.data("team.new_token", name="builder", requestId="builder")["id"]

    def account(self, name: str) -> str:
        (found,) = [one for one in self.owner.data("team.members")["items"] if one["name"] == name]
        return str(found["id"])

    def state(self) -> Any:
        """Members, tokens and what each is worth."""
        directory, main = self.server.door.directory, self.workspace
        held = directory.credentials(main, ("agent", "page", "invitation"), "")
        return directory.members(main), sorted((one.id, one.ended_at) for one in held)


class TeamRace(NamedTuple):
    """A call of the owner, and what the other one does before it writes."""

    params: dict[str, Any]
    change: Callable[[], object]


Make: TypeAlias = Callable[[Team], TeamRace]


def _role(team: Team) -> TeamRace:
    cleo = team.account("Cleo")
    return TeamRace(
        {"member": cleo, "role": "viewer"},
        lambda: team.second.gated("team.set_member", member=cleo, role="admin"),
    )


def _removal(team: Team) -> TeamRace:
    cleo = team.account("Cleo")
    return TeamRace(
        {"member": cleo, "remove": True},
        lambda: team.second.gated("team.set_member", member=cleo, role="admin"),
    )


def _last_owner(team: Team) -> TeamRace:
    bea, ana = team.account("Bea"), team.account("Ana")
    return TeamRace(
        {"member": bea, "role": "member"},
        lambda: team.second.gated("team.set_member", member=ana, role="member"),
    )


def _reset_of_another(team: Team) -> TeamRace:
    """The name that was shown is another person's now, or has another role."""
    cleo = team.account("Cleo")
    return TeamRace(
        {"member": "Cleo", "requestId": "reset"},
        lambda: team.second.gated("team.set_member", member=cleo, role="admin"),
    )


TEAM_RACES: dict[str, tuple[Make, ...]] = {
    "team.set_member": (_role, _removal, _last_owner),
    "team.reset": (_reset_of_another,),
}
MADE_ONCE = frozenset(
    {"team.init", "team.invite", "team.new_workspace", "team.new_token", "team.revoke_token"}
)
"""These rely on nothing that somebody could change: they add one thing under the key of their request, which
another call with that key finds made, or end what may be ended twice."""
