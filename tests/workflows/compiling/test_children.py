"""How many runs the steps of one workflow may hand out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workflows.compiling.written import compilation, document, found, step


def handing_out(step_id: str, count: int) -> dict[str, Any]:
    children = [{"id": f"c{number}", "steps": [step("look")]} for number in range(count)]
    return {"id": step_id, "title": f"Title of {step_id}", "delegate": {"children": children}}


@pytest.mark.parametrize(("last", "expected"), [(16, []), (17, [("error", "too_large", "/steps")])])
def test_a_workflow_hands_out_sixty_four_runs(last: int, expected: list[tuple[str, str, str]]) -> None:
    counts = (16, 16, 16, 15, last - 15)
    steps = [handing_out(f"s{number}", count) for number, count in enumerate(counts)]

    assert found(compilation(document(*steps))) == expected
