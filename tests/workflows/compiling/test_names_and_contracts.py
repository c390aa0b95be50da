"""Contracts, refs, functions and assessments by name; a project's own contracts; names only others know."""

from __future__ import annotations

import json
from typing import Any

from handrail.workflows.compiled import Contract
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.compiling.shelf import read_contract
from handrail.workflows.limits import MAX_PROMPT_BYTES
from tests.cases import every_case
from tests.workflows.compiling.written import (
    choice,
    compilation,
    compiled,
    document,
    found,
    open_source,
    step,
    step_of,
)

CHANGE: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {"kind": {"const": "acme.api_change"}, "endpoint": {"type": "string"}},
        "required": ["kind", "endpoint"],
        "additionalProperties": False,
    },
    "example": {"endpoint": "/users"},
    "guidance": "Name the endpoint that changed.",
}
NAME = "acme.contracts.api_change"


def read(written: dict[str, Any], name: str = f"{NAME}.json") -> Contract:
    done = read_contract(json.dumps(written).encode(), name)
    assert done.contract is not None, done.problems
    return done.contract


def around(written: dict[str, Any]) -> Surroundings:
    return Surroundings(contracts={NAME: read(written)})


ASKING = document(step("a", output={"contractRef": NAME}))


def test_a_contract_of_the_project_is_embedded_and_shown() -> None:
    workflow = compiled(ASKING, around(CHANGE))

    assert workflow.contracts == {
        NAME: Contract(
            artifact_kind="acme.api_change",
            schema=CHANGE["schema"],
            example={"kind": "acme.api_change", "endpoint": "/users"},
            guidance="Name the endpoint that changed.",
        )
    }
    assert step_of(workflow, "a").prompt == (
        "Do it.\n\n## Artifact to deliver: acme.api_change\nName the endpoint that changed.\n\n"
        'Example:\n```json\n{"endpoint":"/users","kind":"acme.api_change"}\n```'
    )


@every_case(
    ("change", "words"),
    [
        ({"example": {"endpont": "/users"}}, "Its example is wrong at /endpont"),
        ({"schema": {"type": "object", "oneOf": []}}, 'Contracts do not use the keyword "oneOf".'),
        ({"schema": {"type": "string"}}, "The schema does not describe an object."),
        (
            {"schema": {"type": "object", "properties": {}, "additionalProperties": False}},
            "Its schema does not allow the kind that every artifact has.",
        ),
    ],
)
def test_unworkable_contract_is_an_error_where_it_is_used(change: dict[str, Any], words: str) -> None:
    done = compilation(ASKING, around(CHANGE | change))

    assert done.pinned is None
    assert {problem.pointer for problem in done.problems} == {"/steps/0/output/contractRef"}
    assert any(words in problem.message for problem in done.problems), done.problems


@every_case(
    ("content", "name", "expected"),
    [
        (b"{", f"{NAME}.json", [("unreadable", "")]),
        (b"[]", f"{NAME}.json", [("not_an_object", "")]),
        (b"{}", f"{NAME}.json", [("missing_key", ""), ("missing_key", "")]),
        (
            b'{"schema": {"type": "object"}, "exmple": {}}',
            f"{NAME}.json",
            [("unknown_key", "/exmple")],
        ),
        (b'{"schema": [], "example": {"a": 1}}', f"{NAME}.json", [("wrong_type", "/schema")]),
        (b'{"schema": {"type": "object"}, "example": {"a": 1}}', "change.json", [("bad_id", "/id")]),
        (
            b'{"schema": {"type": "object"}, "example": {"a": 1}}',
            "wr.contracts.plan.json",
            [("bad_id", "/id")],
        ),
        (
            b'{"schema": {"type": "object"}, "example": {"a": 1}, "artifactKind": "wr.plan"}',
            f"{NAME}.json",
            [("bad_id", "/artifactKind")],
        ),
        (
            b'{"schema": {"type": "object"}, "example": {"a": 1}, "guidance": "' + b"x" * 2001 + b'"}',
            f"{NAME}.json",
            [("too_large", "/guidance")],
        ),
    ],
)
def test_a_broken_contract_file_is_told_with_its_place(
    content: bytes, name: str, expected: list[tuple[str, str]]
) -> None:
    done = read_contract(content, name)

    assert done.contract is None
    assert [(problem.code, problem.pointer) for problem in done.problems] == expected


def test_a_contract_may_say_its_own_id_and_kind() -> None:
    written = {"id": "acme.contracts.other", "artifactKind": "acme.thing", "schema": {}, "example": {"a": 1}}

    done = read_contract(json.dumps(written).encode(), "file.json")

    assert done.id == "acme.contracts.other"
    assert done.contract is not None
    assert done.contract.artifact_kind == "acme.thing"


def test_unknown_names_of_a_foreign_file_are_warnings() -> None:
    written = document(
        step("a", output={"contractRef": "wr.contracts.review_verdict"}, functionRefs=["gone"]),
        {
            "id": "b",
            "title": "B",
            "promptBlocks": {"goal": ["Mine.", {"kind": "ref", "refId": "wr.refs.gone"}]},
        },
        step("c", when="gone"),
        features=["wr.features.gone"],
    )

    done = compilation(open_source(written))

    assert {severity for severity, _, _ in found(done)} == {"warning"}
    assert done.pinned is not None
    workflow = done.pinned.workflow
    assert step_of(workflow, "a").contract == ""
    assert step_of(workflow, "b").prompt == "## Goal\nMine."
    assert [type(one).__name__ for one in workflow.conditions.values()] == ["AlwaysTrue"]


@every_case(
    ("part", "is_refused"),
    [
        (step("a", "x" * (MAX_PROMPT_BYTES - 1)), False),
        (step("a", "é" * (MAX_PROMPT_BYTES // 2)), False),
        (step("a", "x" * MAX_PROMPT_BYTES, agentRole="You."), True),
        (step("a", "x" * (MAX_PROMPT_BYTES - 10), promptFragments=[{"text": "x" * 20}]), True),
        (step("a", "x" * (MAX_PROMPT_BYTES - 10), functionRefs=["f"]), True),
        (choice("a", prompt="x" * (MAX_PROMPT_BYTES - 10)), True),
    ],
)
def test_a_prompt_over_its_budget_is_refused_never_cut(part: dict[str, Any], is_refused: bool) -> None:
    rules = ["Everywhere."] if part.get("type") == "choice" else []

    done = compilation(document(part, functions={"f": "A function."}, guidance=rules))

    assert found(done) == ([("error", "too_large", "/steps/0")] if is_refused else [])
