"""A database of its own for a test that changes tables, cuts connections or kills processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from handrail_team.accounts import credentials
from tests.team.postgres import fresh_database, role_of_its_own


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
