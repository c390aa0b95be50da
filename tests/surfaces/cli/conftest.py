"""A tool in a scratch home, and one that has already started a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.tool import Tool


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """One home for every test that changes nothing or uses names of its own."""
    return Tool(str(tmp_path_factory.mktemp("cli")))


@pytest.fixture(scope="session")
def started(tool: Tool) -> Any:
    """The first reply of a run in the shared home."""
    return tool.data("run", "start", "wr.small_change", "--goal", "Höhe prüfen", "--request-id", "shared")


@pytest.fixture
def fresh_tool(tmp_path: Path, tool: Tool) -> Tool:
    """A home of its own; the compiled bytecode is shared."""
    own = Tool(str(tmp_path))
    own.environment["PYTHONPYCACHEPREFIX"] = tool.environment["PYTHONPYCACHEPREFIX"]
    return own
