"""The home, the settings and the disk of a server are its operator's: nobody who calls it reads or changes
them, whatever their role and at whichever door.

The operations come from the registry, so a new one is refused here until somebody says whose it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from handrail import __version__
from handrail.contract.catalogue import E_VALIDATION, FEATURE_DISABLED
from handrail.contract.envelopes.mcp_and_http import read_outcome
from handrail.contract.outcome import Failure, Outcome
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime, registry
from handrail_team.accounts.roles import NEEDS
from handrail_team.client.answer import _OF_HOOKS
from handrail_team.client.wire import ClientAnswer, ClientCall, Surroundings, from_wire, to_wire
from tests.journeys.conversation import start
from tests.surfaces.http.client import Answered
from tests.team.team_server import Caller, Server

pytestmark = pytest.mark.thorough

NOT_OFFERED = [called for called in registry().operations() if called.where == "client"]
RECORDED_FOR_A_CLIENT = {"check.run", "check.approve"}
SHARED = {
    *("registry", "randomness", "clock", "library", "secrets", "facts", "interruptions", "progress"),
    *("incidents", "observer", "client", "can_ask", "commits", "terminal", "is_served", "team_client"),
    *("actions", "origin", "database", "roots", "trees", "trials", "trial_results"),
}
"""What one server has for all its workspaces: of a call, or of no home."""
OF_THE_CALLER = {
    *("members", "settings", "workspace", "principal", "may", "accounts", "is_at_console", "name_people"),
}


class Team(NamedTuple):
    """A server with two workspaces, and everybody in one of them."""

    server: Server
    home: Path
    callers: dict[str, Caller]
    neighbour: Caller
    """An owner of the other workspace."""


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tests.team.postgres import fresh_database, role_of_its_own

    with fresh_database(postgres) as database, role_of_its_own(postgres, database) as address:
        place = tmp_path_factory.mktemp("operator")
        server = Server(address, place)
        rivals, main = server.workspace("rivals"), server.workspace("main")
        callers = {role: server.join(rivals, f"The {role}", role) for role in ("owner", "admin", "member")}
        callers["viewer"] = server.join(rivals, "The viewer", "viewer")
        callers["agent"] = callers["owner"].agent("builder")
        yield Team(server, place / "home", callers, server.join(main, "Ana", "owner"))
        server.accounts.database.close()


def list_home(home: Path) -> dict[str, bytes]:
    """What stands in the home, but for the server's own audit."""
    files = (one for one in home.rglob("*") if one.is_file() and "audit" not in one.relative_to(home).parts)
    return {str(one.relative_to(home)): one.read_bytes() for one in files}


def by_client(caller: Caller, operation: str, **params: Any) -> Outcome:
    here = Surroundings(machine="laptop", project="/srv/app", version=__version__)
    call = ClientCall(call_id="0" * 32, operation=operation, params=params, here=here)
    told = caller.server.ask("POST", "/api/team-client", caller.token, body=to_wire(call))
    assert told.status == 200, told.body
    answered = from_wire(told.body, ClientAnswer).outcome
    assert answered is not None, "no look is due"
    return read_outcome(answered)


def code_of(told: Answered) -> str:
    return str(json.loads(told.body).get("code"))


def test_every_operation_says_whose_it_is_in_a_team() -> None:
    offered = {called.name for called in registry().operations() if called.where != "client"}

    assert offered == set(NEEDS) - RECORDED_FOR_A_CLIENT - set(_OF_HOOKS)
    assert set(NEEDS) & {called.name for called in NOT_OFFERED} == RECORDED_FOR_A_CLIENT


def test_every_port_of_a_call_is_of_its_workspace_or_of_no_home(team: Team) -> None:
    adapters = set(team.server.accounts.adapters("ws_of_nobody"))

    assert adapters | SHARED | OF_THE_CALLER == set(Runtime.__struct_fields__)
    assert adapters.isdisjoint(SHARED | OF_THE_CALLER)


@pytest.mark.parametrize("called", NOT_OFFERED, ids=lambda called: called.name)
def test_what_is_of_a_machine_is_refused_alike_to_everybody(team: Team, called: Operation) -> None:
    before = list_home(team.home)
    reasons = set()
    for caller in team.callers.values():
        told = caller.call(called.name)
        assert told.status in (403, 404, 405, 501), (called.name, told.status, told.body)
        assert code_of(told) == "FEATURE_DISABLED", told.body
        reasons.add(json.loads(told.body)["detail"])
    if called.name not in RECORDED_FOR_A_CLIENT:
        refused = by_client(team.callers["agent"], called.name)
        assert isinstance(refused, Failure), refused
        assert refused.kind is FEATURE_DISABLED, refused

    assert len(reasons) == 1
    assert called.tool == ""
    assert list_home(team.home) == before


ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "a program that the operator's next call starts": (
        "settings.set",
        {"key": "notify.command", "value": '["touch", "planted"]'},
    ),
    "another package index": (
        "settings.set",
        {"key": "update.index", "value": "https://evil.example/simple"},
    ),
    "no work for anybody": ("settings.set", {"key": "maxEffect", "value": "read"}),
    "the notices of all workspaces": (
        "settings.set",
        {"key": "notify.url", "value": "https://evil.example/x"},
    ),
    "no confirmations for anybody": ("preferences.set", {"autonomy": "full_auto_never_stop"}),
    "the disk of the server, read": ("store.copy", {"from": "{disk}"}),
    "the disk of the server, written": ("store.copy", {"to": "{disk}/written"}),
    "a name of another workspace": ("team.new_workspace", {"name": "main"}),
}
"""What a stranger did to one server from a workspace of their own."""


@pytest.mark.parametrize("wanted", ATTACKS)
def test_nobody_reaches_the_operators_home_from_a_workspace(team: Team, wanted: str, tmp_path: Path) -> None:
    operation, given = ATTACKS[wanted]
    params = {
        name: value.format(disk=tmp_path / "home") if "{disk}" in value else value
        for name, value in given.items()
    }
    here = build_runtime(
        {"HANDRAIL_PROJECT": str(tmp_path), "PATH": "/usr/bin:/bin"}, home=str(tmp_path / "home")
    )
    start(here, workflowId="wr.small_change", goal="Private.")  # a home that could be read
    before, disk = list_home(team.home), list_home(tmp_path)
    is_session_wanted = operation == "preferences.set"
    codes = {"E_VALIDATION", "E_FORBIDDEN"} if is_session_wanted else {"FEATURE_DISABLED"}

    for caller in team.callers.values():
        told = caller.call(operation, **params, dryRun=True)

        assert code_of(told) in codes, told.body
        assert b"confirm_token" not in told.body
    through = by_client(team.callers["agent"], operation, **params, dryRun=True)

    assert isinstance(through, Failure)
    assert through.kind in (FEATURE_DISABLED, E_VALIDATION), through
    assert list_home(team.home) == before
    assert list_home(tmp_path) == disk
    assert team.neighbour.data("preferences.show")["source"] == "default"
    assert team.neighbour.start(requestId=f"goes-on-{[*ATTACKS].index(wanted)}")["session"]


def test_preferences_of_a_session_are_set_in_a_team(team: Team) -> None:
    """What is of a workspace stays open to those who work there, an agent too."""
    session = team.callers["agent"].start(requestId="for-preferences")["session"]["sessionId"]

    told = team.callers["agent"].gated("preferences.set", session=session, autonomy="guided")

    assert (told["scope"], told["autonomy"]) == ("session", "guided")
