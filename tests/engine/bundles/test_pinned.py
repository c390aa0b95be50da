"""A compiled workflow from elsewhere is refused when walking it could go astray or never end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handrail.contract.outcome import Fault
from handrail.engine.bundles.pinned import check_workflows
from tests.cases import every_case
from tests.engine.bundles.made import rich_bundle

Workflow = dict[str, Any]


def given() -> Workflow:
    (workflow,) = rich_bundle()["session"]["pinnedWorkflows"].values()
    assert isinstance(workflow, dict)
    return workflow


def part(workflow: Workflow, kind: str) -> dict[str, Any]:
    return next(one for one in workflow["steps"] if one["kind"] == kind)


def hand_out(workflow: Workflow, *children: dict[str, Any], **more: Any) -> None:
    made = [{"workflowId": "project.part", "workflowHash": "sha256:" + "0" * 64} | one for one in children]
    step = {"kind": "delegate", "id": "parts", "title": "Parts", "children": made} | more
    workflow.update(v=3, steps=[*workflow["steps"], step])


def test_what_we_compiled_is_taken() -> None:
    workflow = given()

    assert check_workflows({"h": workflow})["h"].id == workflow["id"]


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w["contracts"]["wr.contracts.decision"].update(guidance="x" * 2_000),
        lambda w: w.update(steps=[{**part(w, "step"), "id": f"s{n}"} for n in range(1_000)]),
        lambda w: hand_out(w, *({"id": f"c{n}"} for n in range(16))),
        lambda w: part(w, "loop").update(maxIterations=1_000),
    ],
)
def test_pinned_workflow_at_a_limit_is_taken(change: Callable[[Workflow], object]) -> None:
    workflow = given()
    change(workflow)

    assert check_workflows({"h": workflow})["h"].id == workflow["id"]


CASES: list[tuple[Callable[[Workflow], object], str]] = [
    (lambda w: w.update(steps=[]), "no steps"),
    (lambda w: w["steps"].append(dict(part(w, "step"))), "used twice"),
    (lambda w: part(w, "loop").update(maxIterations=10**9), "too often"),
    (lambda w: part(w, "loop").update(maxIterations=0), "too often"),
    (lambda w: part(w, "loop").update(body=[]), "empty"),
    (lambda w: part(w, "loop")["repeat"].update(condition="nowhere"), "condition"),
    (lambda w: part(w, "step").update(when="nowhere"), "condition"),
    (lambda w: part(w, "step").update(requireConfirmation="nowhere"), "condition"),
    (lambda w: part(w, "step").update(contract="nowhere"), "contract"),
    (lambda w: part(w, "step").update(functions=["nowhere"]), "function"),
    (lambda w: part(w, "step").update(fragments=[{"text": "More.", "when": "nowhere"}]), "condition"),
    (
        lambda w: w["contracts"]["wr.contracts.decision"].update(guidance="x" * 2_001),
        "is too long",
    ),
    (
        lambda w: w["contracts"].update(
            {f"project.c{n}": w["contracts"]["wr.contracts.decision"] for n in range(1_000)}
        ),
        "too many contracts",
    ),
    (lambda w: hand_out(w), "delegates nothing"),
    (lambda w: hand_out(w, {"id": "a"}, {"id": "a"}), "two children with one id"),
    (lambda w: hand_out(w, *({"id": f"c{n}"} for n in range(17))), "too much"),
    (lambda w: hand_out(w, {"id": "a"}, {"id": "b"}, forEach="all", item="one"), "too much"),
    (lambda w: hand_out(w, {"id": "a", "when": "nowhere"}), "condition"),
    (lambda w: part(w, "choice").update(options=[]), "options"),
    (lambda w: part(w, "choice").update(options=part(w, "choice")["options"] * 2), "two with one id"),
    (
        lambda w: part(w, "step").update(
            rules=[{"type": "all", "of": [{"type": "regex", "pattern": "(?=(a+)+)b", "message": "m"}]}]
        ),
        "pattern",
    ),
    (lambda w: w.update(steps=[{**part(w, "step"), "id": f"s{n}"} for n in range(1001)]), "too many"),
    (lambda w: w.update(name=7), "another shape"),
]


@every_case(("change", "expected"), CASES)
def test_what_cannot_be_walked_is_refused(change: Callable[[Workflow], object], expected: str) -> None:
    workflow = given()
    change(workflow)

    with pytest.raises(Fault, match=expected) as refused:
        check_workflows({"h": workflow})

    assert refused.value.kind.code == "BUNDLE_INVALID_FORMAT"


def test_loops_inside_each_other_have_a_limit() -> None:
    workflow = given()
    inner = part(workflow, "loop")
    for depth in range(9):
        inner = {**inner, "id": f"around{depth}", "body": [inner]}
    workflow["steps"] = [inner]

    with pytest.raises(Fault, match="too deep"):
        check_workflows({"h": workflow})


def test_a_workflow_of_a_later_compiler_is_named_as_such() -> None:
    with pytest.raises(Fault) as refused:
        check_workflows({"h": given() | {"v": 5}})

    assert refused.value.kind.code == "BUNDLE_UNSUPPORTED_VERSION"
