"""The tool of the command-line tests, here too; and one that forks, on a home with work in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.calls import Called, a_call
from tests.conformance.forked import ForkServer
from tests.conformance.seeded import Seeded
from tests.conformance.team_stores import TeamStores
from tests.surfaces.cli.tool import Tool


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return Tool(str(tmp_path_factory.mktemp("conformance")))


@pytest.fixture(scope="session")
def seeded(fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    with ExitStack() as stack:
        yield Seeded(tmp_path_factory.mktemp("seeded"), fork_server, TeamStores(stack).make)


@pytest.fixture(scope="session")
def reference(tool: Tool) -> Any:
    """What the running tool says of itself."""
    return tool.data("reference", "--mvi", "full")


@pytest.fixture
def called(request: pytest.FixtureRequest, reference: Any, seeded: Seeded, tmp_path: Path) -> Called:
    return a_call(request.param, reference, seeded, tmp_path)
