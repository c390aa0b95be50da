"""A call that the server of a team has: what a stop may say about it."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Commits, Outcome, Success
from handrail.ports.server import TeamCall, TeamState
from handrail.runtime.hub import perform_operation
from handrail.runtime.operation import operation
from handrail.runtime.permission import Caller
from handrail.surfaces.cli.process import Interrupted
from handrail.surfaces.cli.reading.spelling import describe_stop
from tests.conftest import memory_runtime


class SlowTeam:
    """`ports.Team` whose server does not answer before the deadline, or does."""

    def __init__(self, *, answers: bool) -> None:
        self._answers = answers

    def takes(self, call: TeamCall) -> bool:
        return bool(call.operation)

    def perform(self, call: TeamCall) -> Outcome:
        if self._answers:
            return Success(data={"operation": call.operation})
        raise Interrupted(is_deadline=True)

    def state(self, project: str, *, is_offline: bool = False) -> TeamState | None:
        del project
        return None


@pytest.mark.parametrize(("name", "committed"), [("run.close", None), ("session.list", False)])
def test_stop_before_the_answer_does_not_deny_a_change(name: str, committed: bool | None) -> None:
    runtime = msgspec.structs.replace(memory_runtime(), team=lambda: SlowTeam(answers=False))
    commits = Commits()

    with pytest.raises(Interrupted) as stop:
        perform_operation(runtime, operation(name), {}, Ask(), None, Caller(), commits)
    told = describe_stop(stop.value, commits)

    assert told.details == {"committed": committed}
    assert ("is not known" in told.message) is (committed is None)


def test_a_stop_after_the_answer_speaks_of_this_machine_again() -> None:
    runtime = msgspec.structs.replace(memory_runtime(), team=lambda: SlowTeam(answers=True))
    commits = Commits()

    perform_operation(runtime, operation("run.close"), {}, Ask(), None, Caller(), commits)

    assert not commits.is_sent
