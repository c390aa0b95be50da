"""The server on a runtime in memory."""

from __future__ import annotations

import pytest

from handrail.runtime.runtime import Runtime
from handrail_serve.app import App
from tests.surfaces.http.client import make_app


@pytest.fixture
def app(runtime: Runtime) -> App:
    return make_app(runtime)
