"""Which documents are translated before they are read."""

from __future__ import annotations

from typing import Any

from handrail.workflows.dialect.translation import is_foreign
from tests.cases import every_case
from tests.workflows.dialect.foreign_documents import foreign, loop, step

VAR = {"var": "size", "equals": "large"}
COMPARE = {"kind": "compare", "input": "size", "op": "equals", "value": "large"}


@every_case(
    "document",
    [
        foreign(metaGuidance=["x"]),
        foreign(clarificationPrompts=["x"]),
        foreign(functionDefinitions=[]),
        foreign(recommendedPreferences={}),
        foreign(extensionPoints=[]),
        foreign(metricsProfile="none"),
        foreign(assessments=[{"id": "a", "purpose": "b", "dimensions": [{"id": "c", "levels": ["low"]}]}]),
        foreign(step(runCondition=VAR)),
        foreign(step(requireConfirmation=VAR)),
        foreign(step(requireConfirmation={"kind": "human_approval"})),
        foreign(step(promptFragments=[{"id": "f", "when": VAR, "text": "x"}])),
        foreign(step(outputContract={"contractRef": "wr.contracts.loop_control"})),
        foreign(step(validationCriteria=[])),
        foreign(step(askForFiles=True)),
        foreign({"id": "p", "type": "parallel", "title": "P"}),
        foreign(loop(type="while", maxIterations=2)),
        foreign({"id": "l", "type": "loop", "title": "L", "body": "other"}),
        foreign(loop(body=[step(runCondition=VAR)])),
    ],
)
def test_a_word_of_the_other_dialect_makes_a_document_foreign(document: dict[str, Any]) -> None:
    assert is_foreign(document)


@every_case(
    "document",
    [
        {},
        foreign(),
        foreign(preconditions=["x"], about="y", tags=["z"], features=["wr.features.capabilities"]),
        foreign(step(guidance=["x"], agentRole="y", requireConfirmation=True, notesOptional=True)),
        foreign(step(when=COMPARE, requireConfirmation=COMPARE)),
        foreign(step(promptFragments=[{"id": "f", "when": "large", "text": "x"}])),
        foreign({"type": "loop", "loopId": "l", "count": 2, "maxIterations": 2, "body": [step()]}),
        {"steps": 5},
        {"steps": [None, 3, ["x"]], "assessments": 7},
    ],
)
def test_what_both_can_say_is_native(document: dict[str, Any]) -> None:
    assert not is_foreign(document)


def test_one_slip_in_a_native_document_is_not_a_translation() -> None:
    document = foreign(
        step(when=COMPARE, output={"hints": ["x"]}, runCondition=VAR), inputs={}, conditions=[]
    )

    assert not is_foreign(document)
