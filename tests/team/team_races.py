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
        """Workspaces, members, tokens and what each is worth."""
        directory, main = self.server.accounts.directory, self.workspace
        held = directory.credentials(main, ("agent", "page", "invitation"), "")
        tokens = sorted((one.id, one.ended_at) for one in held)
        return directory.workspaces(), directory.members(main), tokens


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


def _caller_falls(params: dict[str, Any]) -> Make:
    """Who asks has a lower role before what they asked for is written."""

    def make(team: Team) -> TeamRace:
        ana = team.account("Ana")
        return TeamRace(params, lambda: team.second.gated("team.set_member", member=ana, role="viewer"))

    return make


def _caller_leaves(params: dict[str, Any]) -> Make:
    """Who asks is no member any more."""

    def make(team: Team) -> TeamRace:
        ana = team.account("Ana")
        return TeamRace(params, lambda: team.second.gated("team.set_member", member=ana, remove=True))

    return make


_INVITED = {"name": "Dora", "role": "owner", "requestId": "invited"}
_TOKEN = {"name": "tester", "requestId": "tester"}
TEAM_RACES: dict[str, tuple[Make, ...]] = {
    "team.set_member": (
        _role,
        _removal,
        _last_owner,
        _caller_falls({"member": "Cleo", "role": "viewer"}),
        _caller_leaves({"member": "Cleo", "erase": True}),
    ),
    "team.reset": (_reset_of_another, _caller_falls({"member": "Cleo", "requestId": "reset"})),
    "team.invite": (_caller_falls(_INVITED), _caller_leaves(_INVITED)),
    "team.new_token": (_caller_falls(_TOKEN), _caller_leaves(_TOKEN)),
}
MADE_ONCE = frozenset({"team.init", "team.new_workspace", "team.revoke_token"})
"""The operator, whom nobody can change, makes a team as long as it has no owner, and workspaces; what is
ended may be ended twice."""
