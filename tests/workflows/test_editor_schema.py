"""The schema for editors: it is one, it is current, and it agrees with the reader about native files."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.contract.workflow_files import WorkflowFile
from handrail.host.workflow_library import list_bundled_files
from handrail.workflows.builtins.prompt_texts import CAPABILITIES
from handrail.workflows.editor_schema import workflow_json_schema
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.reading.breaking import break_somewhere, places_in
from tests.workflows.reading.documents import (
    ACTION,
    CALL,
    CHOICE,
    COMPARE,
    EVERYTHING,
    LOOP,
    SMALLEST,
    STEP,
    everything,
    source,
    with_part,
    with_step,
    without,
)

SCHEMA = workflow_json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def accepts(document: object) -> bool:
    return bool(VALIDATOR.is_valid(document))


def test_it_is_a_schema_of_draft_2020_12_with_a_urn() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["$id"] == "urn:handrail:schema:workflow:1"


def test_objects_with_known_keys_are_closed_and_described() -> None:
    records = [one for one in [SCHEMA, *SCHEMA["$defs"].values()] if "additionalProperties" in one]

    assert len(records) > 30
    for record in records:
        assert record["additionalProperties"] is False
        assert record["description"].endswith(".")
        for name, member in record["properties"].items():
            assert member["description"].endswith("."), name


def test_every_reference_and_definition_is_used() -> None:
    text = json.dumps(SCHEMA)
    used = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}

    assert used == set(SCHEMA["$defs"])


@every_case("file", list_bundled_files())
def test_every_bundled_workflow_is_valid(file: WorkflowFile) -> None:
    document = json.loads(file.decoded)

    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


def test_every_construct_is_valid() -> None:
    assert [error.message for error in VALIDATOR.iter_errors(EVERYTHING)] == []


@every_case(
    "document",
    [
        [],
        SMALLEST | {"descripton": "x"},
        SMALLEST | {"id": "Project.x"},
        SMALLEST | {"steps": []},
        SMALLEST | {"inputs": {"a b": {}}},
        SMALLEST | {"inputs": {"a": {"type": "text"}}},
        SMALLEST | {"conditions": [COMPARE]},
        SMALLEST | {"conditions": [{"id": "c", "kind": "and", "of": ["x"]}]},
        SMALLEST | {"features": [{"config": {}}]},
        SMALLEST | {"capabilities": {"telepathy": "required"}},
        with_step(titel="x"),
        with_step(title=" "),
        with_step(promptBlocks={"goal": "g"}),
        with_step(requireConfirmation="Is Large"),
        with_step(when={"kind": "compare", "op": "exists"}),
        with_step(validation=[{"type": "length"}]),
        with_step(userOnly={"reason": "needs_luck"}),
        with_part(without(STEP, "prompt")),
        with_part(without(LOOP, "count")),
        with_part(LOOP, until="x"),
        with_part(LOOP, maxIterations=1_001),
        with_part(LOOP, type="lop"),
        with_part(CHOICE, options=[]),
        with_part(CALL, prompt="p"),
        with_part(ACTION, saveAs="prototype"),
    ],
)
def test_a_mistake_of_shape_is_shown_in_the_editor(document: object) -> None:
    assert not accepts(document)


def test_a_misspelt_key_is_complained_about_where_it_stands() -> None:
    errors = list(VALIDATOR.iter_errors(with_part(LOOP, body=[STEP | {"titel": "x"}])))

    assert [(list(error.absolute_path), error.validator) for error in errors] == [
        (["steps", 0, "body", 0], "additionalProperties")
    ]


BUILTIN_IDS = {
    "features": {"wr.features.mode_guidance", "wr.features.capabilities"},
    "refId": {"wr.refs.small_steps", "wr.refs.modes", "wr.refs.evidence_before_claims"},
    "templateId": {"wr.templates.verification_pass", "wr.templates.handoff_summary"},
    "contractRef": {"wr.contracts.plan"},
}


def names_only_builtins(document: dict[str, Any]) -> bool:
    """Whether every id of a builtin is one that the original has for its kind; the compiler judges others."""
    features = document.get("features")
    named = [
        ("features" if holder is features else key, holder[key])
        for holder, key in places_in(document)
        if holder is not document
    ]
    return all(
        (one["id"] if isinstance(one, dict) else one) in BUILTIN_IDS[kind]
        for kind, one in named
        if kind in BUILTIN_IDS
    )


@pytest.mark.thorough
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_the_schema_refuses_nothing_that_the_reader_takes(seed: int, breaks: int) -> None:
    chance = random.Random(seed)
    document: dict[str, Any] = everything()
    for _ in range(breaks):
        if places_in(document):
            break_somewhere(document, chance)

    if read_workflow(source(document)).workflow is not None and names_only_builtins(document):
        assert accepts(document)


@every_case(
    ("document", "is_accepted"),
    [
        (with_part(CALL, templateId="wr.templates.handoff_summary"), True),
        (with_part(CALL, templateId="wr.templates.routine.plan_review"), True),
        (with_part(CALL, templateId="wr.templates.handof_summary"), False),
        (with_step(output={"contractRef": "wr.contracts.plan"}), True),
        (with_step(output={"contractRef": "project.contracts.release_note"}), True),
        (with_step(output={"contractRef": "wr.contracts.plann"}), False),
        (with_step(output={"contractRef": "release_note"}), False),
        (SMALLEST | {"features": ["wr.features.mode_guidance"]}, True),
        (SMALLEST | {"features": ["wr.features.mood_guidance"]}, False),
        (SMALLEST | {"features": [{"id": "wr.features.mood_guidance"}]}, False),
        (
            with_part(
                without(STEP, "prompt"), promptBlocks={"goal": {"kind": "ref", "refId": "wr.refs.modes"}}
            ),
            True,
        ),
        (
            with_part(
                without(STEP, "prompt"), promptBlocks={"goal": {"kind": "ref", "refId": "wr.refs.mode"}}
            ),
            False,
        ),
    ],
)
def test_builtin_ids_are_known_to_the_editor(document: object, is_accepted: bool) -> None:
    assert accepts(document) is is_accepted


def test_the_editor_says_what_a_builtin_is_for() -> None:
    offered = SCHEMA["$defs"]["ref_part"]["properties"]["refId"]["anyOf"]

    assert {"const", "description"} == set(offered[0])
    assert all(one["description"].endswith(".") for one in offered)


def test_capabilities_are_those_of_the_registry() -> None:
    assert set(SCHEMA["$defs"]["capabilities"]["properties"]) == {one.id for one in CAPABILITIES}
