"""Steps of the other dialect: prompts, checks, functions, assessments, template calls and delegations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import every_case
from tests.workflows.dialect.foreign_documents import Object, only_step, step, told, translated

REF = {"kind": "ref", "refId": "wr.refs.notes_first"}
ASSESSMENTS = [
    {
        "id": "quality",
        "purpose": "Is it good?",
        "dimensions": [
            {"id": "evidence", "purpose": "Is it proven?", "levels": ["low", "high"]},
            {"id": "scope", "purpose": "Is it all?", "levels": ["low", "narrow", "full"]},
        ],
    },
    {"id": "safety", "purpose": "Is it safe?", "dimensions": [{"id": "risk", "levels": ["low", "high"]}]},
]


def followup(guidance: str, **when: str) -> Object:
    return {"when": when, "effect": {"kind": "require_followup", "guidance": guidance}}


def test_what_both_dialects_have_is_copied() -> None:
    keys = {"guidance": ["Look twice."], "agentRole": "A reviewer.", "notesOptional": True}

    assert only_step(**keys, runCondition=None) == {
        "id": "one",
        "title": "Title one",
        "prompt": "Prompt of one.",
        **keys,
    }


@every_case(
    ("blocks", "expected"),
    [
        ({"goal": "G"}, {"goal": "G"}),
        ({"goal": ["G", REF]}, {"goal": ["G", REF]}),
        ({"goal": "G", "constraints": [[REF], "C"]}, {"goal": "G", "constraints": [REF, "C"]}),
        ({"procedure": [["P", REF, "Q"], " "]}, {"procedure": ["P", REF, "Q"]}),
        ({"verify": [{"kind": "text", "text": "V"}]}, {"verify": ["V"]}),
        ({"outputRequired": {"notes": "N"}}, {"outputRequired": {"notes": "N"}}),
        ({"outputRequired": {"notes": ["N", "M"]}}, {"outputRequired": {"notes": "N\nM"}}),
        ({"outputRequired": ["N"]}, {"outputRequired": {"item 1": "N"}}),
    ],
)
def test_prompt_blocks_keep_their_texts_and_refs(blocks: Object, expected: Object) -> None:
    part = translated({"id": "one", "title": "T", "promptBlocks": blocks, "hasValidation": True})

    assert part.document["steps"][0]["promptBlocks"] == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Phase 1: Look!", "phase-1-look"),
        ("Größe", "gr-e"),
        ("!!!", "part"),
        ("x" * 70, "x" * 55 + "-c71bd109"),
    ],
)
def test_an_id_of_another_form_is_mapped_and_told(written: str, expected: str) -> None:
    found = translated(step(written, runCondition=None))

    assert found.document["steps"][0]["id"] == expected
    assert told(found, "bad_id") == ["/steps/0/id"]


@every_case(
    ("written", "expected"),
    [
        ({"contractRef": "wr.contracts.loop_control"}, {"contractRef": "wr.contracts.loop_control"}),
        ({"contractRef": "my.contracts.x", "required": True}, {"contractRef": "my.contracts.x"}),
        ("my.contracts.x", {"contractRef": "my.contracts.x"}),
        (
            {"contractRef": "wr.contracts.theirs"},
            {
                "contractRef": "wr.contracts.theirs",
                "hints": [
                    "Deliver the result as an artifact, too, in the form that is asked for "
                    "(contract wr.contracts.theirs)."
                ],
            },
        ),
        (
            {"contractRef": "my.contracts.x", "required": False},
            {"hints": ["You may deliver an artifact of the contract my.contracts.x."]},
        ),
    ],
)
def test_a_contract_is_what_the_step_must_deliver(written: Any, expected: Object) -> None:
    assert only_step(outputContract=written)["output"] == expected


def test_files_are_asked_for() -> None:
    (advice,) = only_step(askForFiles=True)["guidance"]

    assert advice.startswith("Ask the user for the files")


def test_functions_are_defined_once_and_used_by_name() -> None:
    definitions = [
        {
            "name": "check",
            "definition": "Check it.",
            "parameters": [{"name": "what", "type": "string", "required": True, "description": "The thing."}],
        }
    ]

    found = translated(
        step("a", functionReferences=["check()"]),
        step("b", functionReferences=["check(tests, twice)", "lost()"]),
        functionDefinitions=definitions,
    )

    a, b = found.document["steps"]
    [text] = found.document["functions"].values()
    assert text.startswith("Check it.\nParameters:\n")
    assert "The thing." in text
    assert a["functionRefs"] == b["functionRefs"] == ["check"]
    assert "guidance" not in a
    assert b["guidance"] == ["Apply check(tests, twice).", "Apply lost()."]
    assert told(found) == ["/steps/1/functionReferences/1"]


def test_function_of_one_step_changes_no_other_of_its_name() -> None:
    own = [{"name": "check", "definition": "Check it here."}]

    found = translated(
        step("a", functionDefinitions=own, functionReferences=["check()"]),
        step("b", functionReferences=["check()"]),
        functionDefinitions=[{"name": "check", "definition": "Check it."}],
    )

    a, b = found.document["steps"]
    assert found.document["functions"] == {"check": "Check it.", "check_2": "Check it here."}
    assert (a["functionRefs"], b["functionRefs"]) == (["check_2"], ["check"])


def test_assessments_keep_dimensions_levels_and_purposes() -> None:
    found = translated(step(assessmentRefs=["quality"]), assessments=ASSESSMENTS)

    assert found.document["assessments"][0] == {
        "id": "quality",
        "purpose": "Is it good?\n- evidence: Is it proven?\n- scope: Is it all?",
        "dimensions": {"evidence": ["low", "high"], "scope": ["low", "narrow", "full"]},
    }
    assert found.document["steps"][0]["gates"] == [{"assessmentId": "quality"}]
    assert found.pointers["/steps/0/gates/0"] == "/steps/0/assessmentRefs/0"


@every_case(
    ("consequences", "quality", "safety"),
    [
        ([followup("More.", anyEqualsLevel="low")], {"low": "More."}, {"low": "More."}),
        ([followup("More.", anyEqualsLevel="low", forAssessment="safety")], {}, {"low": "More."}),
        ([followup("More.", anyEqualsLevel="narrow")], {"narrow": "More."}, {}),
        (
            [followup("Widen.", dimensionId="scope", equalsLevel="narrow")],
            {"narrow": "When scope is narrow: Widen."},
            {},
        ),
        (
            [
                followup("A.", anyEqualsLevel="low", forAssessment="quality"),
                followup("B.", anyEqualsLevel="low"),
            ],
            {"low": "A.\nB."},
            {"low": "B."},
        ),
    ],
)
def test_a_consequence_reaches_the_assessments_it_is_for(
    consequences: list[Any], quality: Object, safety: Object
) -> None:
    found = translated(
        step(assessmentRefs=["quality", "safety"], assessmentConsequences=consequences),
        assessments=ASSESSMENTS,
    )

    gates = found.document["steps"][0]["gates"]
    assert [gate.get("followups", {}) for gate in gates] == [quality, safety]
    assert told(found) == []


@pytest.mark.parametrize(
    "consequence",
    [
        followup("Do more.", anyEqualsLevel="unheard"),
        {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "skip", "guidance": "Do more."}},
        {"effect": {"guidance": "Do more."}},
    ],
)
def test_untranslatable_consequence_is_told_to_the_agent(consequence: Object) -> None:
    found = translated(
        step(assessmentRefs=["quality"], assessmentConsequences=[consequence]), assessments=ASSESSMENTS
    )

    (advice,) = found.document["steps"][0]["guidance"]
    assert advice.endswith("Do more.")
    assert told(found) == ["/steps/0/assessmentConsequences/0"]


def test_a_template_call_is_a_part_of_its_own() -> None:
    call = {"templateId": "wr.templates.routine.design-review", "args": {"deliverableName": "d.md"}}

    found = translated(
        {
            "id": "review",
            "title": "Review",
            "templateCall": call,
            "requireConfirmation": True,
            "runCondition": {"var": "x"},
        }
    )

    (part,) = found.document["steps"]
    assert {name: part[name] for name in ("type", "id", "title", "templateId", "args")} == {
        "type": "template_call",
        "id": "review",
        "title": "Review",
        **call,
    }
    assert part["requireConfirmation"] is True
    assert part["when"]["kind"] == "and"
    assert found.pointers["/steps/0/templateId"] == "/steps/0/templateCall/templateId"


def test_delegations_become_the_children_of_a_step_before() -> None:
    found = translated(
        {
            "id": "bundle",
            "title": "Bundle",
            "type": "parallel",
            "parallelDelegations": [
                {
                    "workflowId": "wr.routine-reviewer",
                    "runCondition": {"var": "families", "contains": "safety"},
                    "contextMapping": {"packet": "facts", "diff": "diff"},
                    "args": {"mission": "Find hazards.", "checklist": "(1) Locks? (2) Races?"},
                    "modelTier": "mid",
                },
                {"workflowId": "wr.routine-other", "timeout": 5},
            ],
        }
    )

    handing, using = found.document["steps"]
    first, second = handing["delegate"]["children"]
    assert (handing["id"], using["id"]) == ("bundle-delegations", "bundle")
    assert first["when"].items() >= {"input": "families", "op": "contains", "value": "safety"}.items()
    prompt = first["steps"][0]["prompt"]
    for said in (
        "Workflow to follow: wr.routine-reviewer",
        "- mission: Find hazards.",
        "- checklist: (1) Locks? (2) Races?",
        "Context to hand over: diff, facts as packet",
        "Model tier: mid",
    ):
        assert said in prompt
    assert second["steps"][0]["prompt"] == "Workflow to follow: wr.routine-other\ntimeout: 5"
    assert "{{found_by_bundle_delegations}}" in using["prompt"]
    assert handing["delegate"]["collect"] == "found_by_bundle_delegations"
    assert told(found) == []


def test_what_delegations_found_stands_after_what_the_step_says() -> None:
    listed = [{"workflowId": "w"}] * 17

    found = translated(step(parallelDelegations=listed)).document["steps"]
    blocks = translated(step(prompt=None, promptBlocks={"procedure": ["P"]}, parallelDelegations=listed[:1]))

    assert [len(one["delegate"]["children"]) for one in found[:-1]] == [16, 1]
    assert found[-1]["prompt"].startswith("Prompt of one.\n\nBring together what the delegations found")
    procedure = blocks.document["steps"][-1]["promptBlocks"]["procedure"]
    assert procedure[0] == "P"
    assert procedure[1].startswith("Bring together")


def test_a_key_nobody_knows_is_kept_and_told() -> None:
    found = translated(step(mood="calm", modelTier="mid", runCondition=None))

    assert found.document["extra"]["parts"] == {"/steps/0/mood": "calm", "/steps/0/modelTier": "mid"}
    assert told(found, "unknown_key") == ["/steps/0/mood"]
