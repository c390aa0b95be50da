"""In a team: a repeated request id with other content is a conflict, and nothing is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure, Outcome, Success
from handrail.runtime.hub import perform
from tests.journeys.test_repeated_request_ids import operations_with_request_ids
from tests.team.postgres import as_url
from tests.team.team_server import Server

MEMBERS_CALLS: dict[str, list[dict[str, Any]]] = {
    "team.invite": [{"name": "Dora"}, {"name": "Emil"}, {"name": "Dora", "role": "viewer"}],
    "team.reset": [{"member": "Ben"}, {"member": "Cleo"}],
    "team.new_token": [
        {"name": "builder"},
        {"name": "tester"},
        {"name": "builder", "machine": "box"},
        {"name": "builder", "readOnly": True},
        {"name": "builder", "days": 7},
    ],
}
OPERATORS_CALLS: dict[str, list[dict[str, Any]]] = {
    "team.init": [{"name": "main"}, {"name": "second"}],
    "team.new_workspace": [{"name": "one"}, {"name": "two"}],
}


def test_every_operation_with_a_request_id_has_a_case() -> None:
    assert operations_with_request_ids("team.") == {*MEMBERS_CALLS, *OPERATORS_CALLS}


@pytest.mark.thorough
@pytest.mark.promise("start.request-id")
@pytest.mark.parametrize("operation", MEMBERS_CALLS)
def test_request_id_of_a_member_with_other_content_is_a_conflict(server: Server, operation: str) -> None:
    main = server.workspace("main")
    owner = server.join(main, "Ana", "owner")
    server.join(main, "Ben")
    server.join(main, "Cleo")
    call, *others = MEMBERS_CALLS[operation]
    made = owner.data(operation, **call, requestId="k")

    again = owner.data(operation, **call, requestId="k")
    refused = [owner.call(operation, **other, requestId="k") for other in others]

    assert (again["id"], again["is_new"]) == (made["id"], False)
    assert {one.status for one in refused} == {409}
    assert {one.document["details"]["id"] for one in refused} == {made["id"]}
    assert {one.document["details"]["request_id"] for one in refused} == {"k"}


@pytest.mark.thorough
@pytest.mark.promise("start.request-id")
@pytest.mark.parametrize("operation", OPERATORS_CALLS)
def test_request_id_of_the_operator_with_changes_conflicts(
    team_database: str, tmp_path: Path, operation: str
) -> None:
    server = Server(team_database, tmp_path)
    call, other = OPERATORS_CALLS[operation]

    def ask(content: dict[str, Any]) -> Outcome:
        params = {"store": as_url(team_database), "requestId": "k", **content}
        return perform(server.runtime, operation, params)

    first, again, refused = ask(call), ask(call), ask(other)

    assert isinstance(first, Success)
    assert isinstance(again, Success)
    assert isinstance(refused, Failure)
    assert (refused.kind.code, refused.details["resource"]) == ("E_CONFLICT", "workspace")
