"""The store in PostgreSQL keeps the promises of the port."""

from __future__ import annotations

import pytest

from handrail.ports.log import EventLog
from handrail_proof.log_promises import EventLogPromises
from handrail_team.store.log import TeamLog


class TestTeamLog(EventLogPromises):
    @pytest.fixture
    def log(self, team_log: TeamLog) -> EventLog:
        return team_log
