"""Fixtures: a PostgreSQL server, and an empty database in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.team.postgres import fresh_database, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    with fresh_database(postgres) as address:
        yield address
