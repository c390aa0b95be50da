"""Params that do not fit: what is sure is repaired in the call that the refusal offers."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.outcome import Fault, NextCall
from handrail.operations.runs.continue_run import OPERATION
from handrail.runtime.hub import decode_input


def refused(params: dict[str, Any]) -> Fault:
    with pytest.raises(Fault) as caught:
        decode_input(OPERATION, params)

    return caught.value


def test_next_call_sent_as_it_stands_is_answered() -> None:
    call = {"tool": "continue_workflow", "params": {"ackToken": "ak1x"}}

    fault = refused({**call, "output": {"notesMarkdown": "Done."}})

    assert "this is a whole nextCall" in fault.message
    params = {"ackToken": "ak1x", "output": {"notesMarkdown": "Done."}}
    assert fault.next_call == NextCall(operation="run.continue", params=params)


def test_what_is_wrong_inside_is_told_too() -> None:
    fault = refused({"tool": "continue_workflow", "params": {"ackTokn": "ak1x", "context": []}})

    problems: Any = fault.details["problems"]
    assert [problem["param"] for problem in problems] == ["params", "ackTokn", "context"]
    assert fault.next_call is None


@pytest.mark.parametrize(
    "params", [{"tool": "start_workflow", "params": {}}, {"tool": "continue_workflow", "params": []}]
)
def test_another_tool_or_shape_is_not_guessed_at(params: dict[str, Any]) -> None:
    fault = refused(params)

    problems: Any = fault.details["problems"]
    assert [problem["param"] for problem in problems] == ["tool", "params"]
    assert fault.next_call is None
