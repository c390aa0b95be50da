"""A tool in a scratch home, and one that has already started a run; a call is a forked process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.forked import ForkedTool, ForkServer
from tests.surfaces.cli.tool import Tool


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer) -> Tool:
    """One home for every test that changes nothing or uses names of its own."""
    return ForkedTool(str(tmp_path_factory.mktemp("cli")), fork_server)


@pytest.fixture(scope="session")
def started(tool: Tool) -> Any:
    """The first reply of a run in the shared home."""
    return tool.data("run", "start", "wr.small_change", "--goal", "Höhe prüfen", "--request-id", "shared")


@pytest.fixture
def fresh_tool(tmp_path: Path, fork_server: ForkServer) -> Tool:
    """A home of its own."""
    return ForkedTool(str(tmp_path), fork_server)
