"""Where stores are broken and proven."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store_proof.scratch import find_memory_directory


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    """Where nothing waits for a disk, if there is such a place."""
    with tempfile.TemporaryDirectory(dir=find_memory_directory(str(tmp_path))) as directory:
        yield directory
