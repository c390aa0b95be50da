"""A package index on this machine, for the lines that look for releases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.journeys.strangers.command_line.tools_b import Index


@pytest.fixture
def index() -> Iterator[Index]:
    made = Index()
    yield made
    made.close()
