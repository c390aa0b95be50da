"""The product, for those who do not know its code."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.forked import ForkServer
from tests.journeys.strangers.product import Product


@pytest.fixture(scope="session")
def programs() -> Iterator[ForkServer]:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path must be short
        server = ForkServer(folder)
        yield server
        server.close()


@pytest.fixture
def product(tmp_path: Path, programs: ForkServer) -> Product:
    return Product(tmp_path, programs)
