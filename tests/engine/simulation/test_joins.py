"""Children in a simulation: they end in every combination, and their own steps are walked, too."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handrail.contract.ids import WorkflowHash, WorkflowId
from handrail.engine.simulation.made_reports import make_joins
from handrail.runtime.runtime import Runtime
from handrail.workflows.compiled import Child, Delegate
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import equals, give, step


@pytest.mark.parametrize(("count", "combinations"), [(1, 3), (2, 9), (3, 27), (5, 11)])
def test_children_end_in_every_combination(count: int, combinations: int) -> None:
    child = Child(id="c", workflow_id=WorkflowId("w"), workflow_hash=WorkflowHash("sha256:0"))
    children = tuple(replace(child, id=f"c{n}") for n in range(count))

    made = make_joins(Delegate(id="all", title="All", children=children, collect="found"))

    assert len(made) == len({one.label for one in made}) == combinations
    assert {len(one.context["found"]) for one in made} >= {count, count - 1}
    statuses = {row["status"] for one in made for row in one.context["found"]}
    assert statuses == {"done", "done_with_gaps"}


def test_unreached_step_inside_a_child_is_named(runtime: Runtime) -> None:
    never = step("late", when={"kind": "and", "of": [equals("way", "x"), equals("way", "y")]})
    child = {"id": "a", "inputs": {"way": "{{way}}"}, "steps": [step("look"), never]}
    inputs = {"way": {"type": "string", "default": "x"}}
    steps = ({"id": "all", "title": "All", "delegate": {"children": [child]}}, step("end"))

    found = answer(
        runtime, "workflow.simulate", workflowId=give(runtime, *steps, inputs=inputs), reportOnly=True
    )

    assert [one["step_id"] for one in found["dead_steps"]] == ["all/a/late"]


def test_a_list_that_is_handed_out_is_tried_with_items(runtime: Runtime) -> None:
    handed = {"forEach": "{{parts}}", "as": "part", "child": {"id": "one", "steps": [step("look")]}}
    inputs = {"parts": {"type": "array", "default": []}}
    workflow_id = give(
        runtime, step("plan"), {"id": "all", "title": "All", "delegate": handed}, inputs=inputs
    )

    assert answer(runtime, "workflow.simulate", workflowId=workflow_id)["dead_steps"] == []
