"""A database of its own for a test that changes tables, cuts connections or kills processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.team.postgres import fresh_database


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    with fresh_database(postgres) as address:
        yield address
