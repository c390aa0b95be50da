"""In a team: a change between the check of a token and its write is refused, and nothing is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure, Success
from handrail.host.process import ConfirmedTokenFiles
from handrail.ports.process import Claim
from handrail.runtime.hub import perform
from handrail_team.store.beside_the_log import TeamConfirmedTokens
from tests.team.postgres import as_url
from tests.team.team_races import TEAM_RACES, Make, Team
from tests.team.team_server import Server

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    ("operation", "make"), [(name, make) for name, each in TEAM_RACES.items() for make in each]
)
def test_change_after_the_check_is_refused(
    team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, make: Make
) -> None:
    team = Team(Server(team_database, tmp_path))
    race = make(team)
    token = team.owner.data(operation, **race.params, dryRun=True)["confirm_token"]
    seen: list[Any] = []
    claim = TeamConfirmedTokens.claim

    def change_first(self: TeamConfirmedTokens, fingerprint: str, **more: Any) -> Claim:
        monkeypatch.undo()
        race.change()
        seen.append(team.state())
        return claim(self, fingerprint, **more)

    monkeypatch.setattr(TeamConfirmedTokens, "claim", change_first)
    told = team.owner.call(operation, **race.params, confirm=token)

    assert told.status in (403, 409), told.body
    assert [team.state()] == seen


def test_team_with_a_late_first_owner_is_not_made_again(
    team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(team_database, tmp_path)
    rt, asked = server.runtime, {"store": as_url(team_database), "requestId": "mine"}
    shown = perform(rt, "team.init", {**asked, "dryRun": True})
    assert isinstance(shown, Success), shown
    seen: list[Any] = []
    claim = ConfirmedTokenFiles.claim

    def join_first(self: Any, fingerprint: str, **more: Any) -> Claim:
        monkeypatch.undo()
        server.join(server.workspace("main"), "Ana", "owner")
        seen.append(server.accounts.directory.workspaces())
        return claim(self, fingerprint, **more)

    monkeypatch.setattr(ConfirmedTokenFiles, "claim", join_first)
    told = perform(rt, "team.init", {**asked, "confirm": dict(shown.data)["confirm_token"]})

    assert isinstance(told, Failure), told
    assert told.kind.code == "E_CONFLICT"
    directory = server.accounts.directory
    (main,) = directory.workspaces()
    assert [[main]] == seen
    assert len(directory.credentials(main.id, ("invitation",), "")) == 1  # the one that was used


def test_link_is_for_the_shown_account_and_not_its_name(team_database: str, tmp_path: Path) -> None:
    team = Team(Server(team_database, tmp_path))
    params = {"member": "Cleo", "requestId": "reset"}
    token = team.owner.data("team.reset", **params, dryRun=True)["confirm_token"]
    team.second.gated("team.set_member", member=team.account("Cleo"), role="viewer")

    told = team.owner.call("team.reset", **params, confirm=token)

    assert told.status == 409, told.body
