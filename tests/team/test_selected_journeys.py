"""Journeys and golden bundles on PostgreSQL in every run; `--store postgresql` chooses it for all of them."""

from __future__ import annotations

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from handrail_team.store.log import TeamLog
from tests.conftest import memory_runtime
from tests.golden import test_golden_bundles
from tests.journeys import test_branches, test_runs

for module in (test_runs, test_branches, test_golden_bundles):
    globals().update({name: held for name, held in vars(module).items() if name.startswith("test_")})


@pytest.fixture
def runtime(team_log: TeamLog) -> Runtime:
    return msgspec.structs.replace(memory_runtime(), log=team_log)
