"""Projects in which agents work have files that their reports can name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.forked import ForkServer
from tests.filled_in import make_named_files
from tests.journeys.strangers.product import Product


@pytest.fixture
def product(tmp_path: Path, fork_server: ForkServer) -> Product:
    made = Product(tmp_path, fork_server)
    make_named_files(made.project)
    return made
