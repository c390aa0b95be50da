"""The tool of the command-line tests, here too."""

from __future__ import annotations

import pytest

from tests.surfaces.cli.tool import Tool


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return Tool(str(tmp_path_factory.mktemp("conformance")))
