"""The store in PostgreSQL keeps the promises of the port."""

from __future__ import annotations

import pytest

from handrail.ports.log import EventLog
from handrail_team.store.log import TeamLog
from tests.event_log.log_promises import EventLogPromises


class TestTeamLog(EventLogPromises):
    @pytest.fixture
    def log(self, team_log: TeamLog) -> EventLog:
        return team_log
