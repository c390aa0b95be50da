"""Names that lead nowhere are found in a document whose shape is wrong, too."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.outcome import Json
from handrail.workflows.checking.whole_file import find_dangling_names
from tests.cases import every_case

CONTRACTS = ("wr.contracts.plan", "project.contracts.own")
TEMPLATES = ("wr.templates.verification_pass",)


def found(document: Json) -> list[tuple[str, str]]:
    problems = find_dangling_names(document, CONTRACTS, TEMPLATES)
    assert all(problem.code == "unknown_id" and problem.fix for problem in problems)
    return [(problem.pointer, problem.message) for problem in problems]


@every_case(
    ("step", "pointer"),
    [
        ({"when": "nope"}, "/steps/0/when"),
        ({"when": {"kind": "condition_ref", "conditionId": "nope"}}, "/steps/0/when/conditionId"),
        ({"while": "nope"}, "/steps/0/while"),
        ({"until": "nope"}, "/steps/0/until"),
        ({"requireConfirmation": "nope"}, "/steps/0/requireConfirmation"),
        ({"promptFragments": [{"when": "nope", "text": "x"}]}, "/steps/0/promptFragments/0/when"),
        ({"output": {"contractRef": "wr.contracts.plann"}}, "/steps/0/output/contractRef"),
        ({"templateId": "wr.templates.nope"}, "/steps/0/templateId"),
        ({"functionRefs": ["nope"]}, "/steps/0/functionRefs/0"),
        ({"gates": [{"assessmentId": "nope"}]}, "/steps/0/gates/0/assessmentId"),
        ({"promptBlocks": {"goal": {"kind": "ref", "refId": "nope"}}}, "/steps/0/promptBlocks/goal/refId"),
        (
            {"promptBlocks": {"verify": ["x", {"kind": "ref", "refId": "nope"}]}},
            "/steps/0/promptBlocks/verify/1/refId",
        ),
        ({"body": [{"when": "nope"}]}, "/steps/0/body/0/when"),
    ],
)
def test_a_name_that_leads_nowhere_is_found_at_its_place(step: dict[str, Any], pointer: str) -> None:
    assert [place for place, _ in found({"steps": [step]})] == [pointer]


@pytest.mark.parametrize("feature", ["wr.features.nope", {"id": "wr.features.nope"}])
def test_a_feature_that_does_not_exist_is_found(feature: Json) -> None:
    (place, message), *rest = found({"features": ["wr.features.mode_guidance", feature]})

    assert place in ("/features/1", "/features/1/id")
    assert "wr.features.nope" in message
    assert rest == []


def test_what_is_declared_or_built_in_is_left_alone() -> None:
    document = {
        "conditions": [{"id": "c"}],
        "functions": {"f": "x"},
        "assessments": [{"id": "a"}],
        "steps": [
            {
                "when": "c",
                "functionRefs": ["f"],
                "gates": [{"assessmentId": "a"}],
                "output": {"contractRef": "project.contracts.own"},
            },
            {"templateId": "wr.templates.verification_pass", "requireConfirmation": True},
            {"when": {"kind": "always_true"}},
        ],
    }

    assert found(document) == []


@every_case(
    "document",
    [None, [], "x", {}, {"steps": 1}, {"steps": [1, {"body": 2, "gates": 3, "output": 4, "when": 5}]}],
)
def test_what_has_another_shape_is_passed_by(document: Json) -> None:
    assert found(document) == []
