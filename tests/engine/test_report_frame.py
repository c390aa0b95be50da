"""How a step asks for a value: its allowed values in one line, at most eight of them."""

from __future__ import annotations

import pytest

from handrail.engine.judge.report_frame import Steering, make_ask
from handrail.workflows.compiled import InputSpec
from tests.engine.written_log import step, workflow_of


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (7, "a | b | c | d | e | f | g"),
        (8, "a | b | c | d | e | f | g | h"),
        (9, "a | b | c | d | e | f | g | h | …"),
    ],
)
def test_ask_names_eight_allowed_values(count: int, expected: str) -> None:
    workflow = workflow_of(step("look"), inputs={"size": InputSpec(enum=tuple("abcdefghi"[:count]))})

    assert make_ask(workflow, Steering(name="size")).allowed == expected
