"""One index for all tests of a process, and one installation that no test changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.updates.releases import Index, Installation


def pytest_runtest_setup(item: pytest.Item) -> None:
    """pip and pipx build environments for many seconds, and say of Handrail what uv says."""
    if item.get_closest_marker("other_manager") and not os.environ.get("HANDRAIL_TEST_MANAGERS"):
        pytest.skip("HANDRAIL_TEST_MANAGERS is not set; the job `referees` sets it")


@pytest.fixture(scope="session")
def _index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    made = Index(tmp_path_factory.mktemp("index"))
    yield made
    made.close()


@pytest.fixture
def index(_index: Index) -> Iterator[Index]:
    """Healthy before and after each test."""
    yield _index
    _index.healthy()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory, _index: Index) -> Installation:
    """One that no test changes."""
    return Installation(tmp_path_factory.mktemp("kept"), _index).by_uv_tool()


@pytest.fixture(scope="session")
def _by_venv(tmp_path_factory: pytest.TempPathFactory, _index: Index) -> Installation:
    return Installation(tmp_path_factory.mktemp("venv"), _index).by_venv()


@pytest.fixture(scope="session")
def _by_pip(tmp_path_factory: pytest.TempPathFactory, _index: Index) -> Installation:
    return Installation(tmp_path_factory.mktemp("pip"), _index).by_pip()


@pytest.fixture
def venv(_by_venv: Installation, index: Index) -> Installation:
    """In an environment without pip, which uv keeps; at the older release."""
    return _by_venv.as_before()


@pytest.fixture
def pip(_by_pip: Installation, index: Index) -> Installation:
    """In an environment with pip; at the older release."""
    return _by_pip.as_before()
