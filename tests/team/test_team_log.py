"""The store in PostgreSQL keeps the promises of the port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from handrail.ports.log import EventLog
from handrail_team.store.database import Database
from handrail_team.store.log import TeamLog
from tests.event_log.conformance import EventLogPromises


@pytest.fixture
def team_log(database: str) -> Iterator[TeamLog]:
    held = Database(database)
    yield TeamLog(held)
    held.close()


class TestTeamLog(EventLogPromises):
    @pytest.fixture
    def log(self, team_log: TeamLog) -> EventLog:
        return team_log
