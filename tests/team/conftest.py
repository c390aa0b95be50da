"""A database of its own for a test that changes tables, cuts connections or kills processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail_team.accounts import credentials
from tests.team.linked_machine import Machine
from tests.team.postgres import fresh_database, role_of_its_own
from tests.team.team_server import Caller, Server


@pytest.fixture(scope="session", autouse=True)
def passphrases_are_stretched_a_little() -> Iterator[None]:
    """What a guess costs is shown by one test; every other sign-in would pay for it twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credentials, "_COST", 2)
        yield


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    with fresh_database(postgres) as address:
        yield address


@pytest.fixture
def team_database(postgres: str, database: str) -> Iterator[str]:
    """The same, owned by a role that row security binds."""
    with role_of_its_own(postgres, database) as address:
        yield address


@pytest.fixture
def server(team_database: str, tmp_path: Path) -> Server:
    return Server(team_database, tmp_path)


@pytest.fixture
def person(server: Server) -> Caller:
    return server.join(server.workspace("main"), "Ana", "owner")


@pytest.fixture
def machine(tmp_path: Path, server: Server, person: Caller) -> Machine:
    return Machine(tmp_path, server, person.agent("builder", machine="laptop"))
