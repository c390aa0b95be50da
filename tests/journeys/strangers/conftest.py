"""The product, for those who do not know its code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.forked import ForkServer
from tests.journeys.strangers.product import Product


@pytest.fixture
def product(tmp_path: Path, fork_server: ForkServer) -> Product:
    return Product(tmp_path, fork_server)
