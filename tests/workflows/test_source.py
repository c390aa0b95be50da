"""Reading what an author wrote: the model it gives, and every problem at once with its place and its fix."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.workflows.source import SourceStep, SourceWorkflow, id_status, read_source

COMPLETE: dict[str, Any] = {
    "id": "project.release",
    "kind": "routine",
    "name": "Release",
    "description": "From a green branch to a published version.",
    "version": "2.1.0",
    "agentRole": "You release carefully.",
    "steps": [
        {"id": "freeze", "title": "Freeze", "prompt": "Stop merging."},
        {
            "id": "ship-it_2",
            "title": "Ship",
            "prompt": "Publish.",
            "agentRole": "You publish.",
            "requireConfirmation": True,
        },
    ],
}
STEP: dict[str, Any] = {"id": "only", "title": "Only", "prompt": "Do it."}
SMALLEST: dict[str, Any] = {
    "id": "project.small",
    "name": "Small",
    "description": "One step.",
    "steps": [STEP],
}


def source(document: object) -> bytes:
    return json.dumps(document).encode()


def with_step(**changes: object) -> dict[str, Any]:
    return SMALLEST | {"steps": [STEP | changes]}


def without(holder: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in holder.items() if name != key}


def check_problems(content: bytes, *expected: tuple[str, str]) -> None:
    """Exactly these `(code, pointer)` in this order; each one says what is wrong and what to do."""
    reading = read_source(content)

    assert [(problem.code, problem.pointer) for problem in reading.problems] == list(expected)
    assert reading.workflow is None
    for problem in reading.problems:
        assert problem.message.endswith((".", "?")), problem
        assert problem.fix.endswith((".", "?")), problem
        assert problem.severity == "error"


def test_a_complete_source_becomes_the_model() -> None:
    reading = read_source(source(COMPLETE))

    assert reading.problems == ()
    assert reading.workflow == SourceWorkflow(
        id="project.release",
        kind="routine",
        name="Release",
        description="From a green branch to a published version.",
        version="2.1.0",
        agent_role="You release carefully.",
        steps=(
            SourceStep(id="freeze", title="Freeze", prompt="Stop merging."),
            SourceStep(
                id="ship-it_2",
                title="Ship",
                prompt="Publish.",
                agent_role="You publish.",
                require_confirmation=True,
            ),
        ),
    )


def test_what_may_be_left_out_has_a_default() -> None:
    workflow = read_source(source(SMALLEST)).workflow

    assert workflow is not None
    assert (workflow.kind, workflow.version, workflow.agent_role) == ("workflow", "1.0.0", "")
    assert workflow.steps[0].require_confirmation is False


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"\xef\xbb\xbf{}", "byte"),
        (b'{"id": "\xff"}', "UTF-8"),
        (b'{"id": "a", "id": "b"}', "twice"),
        (b'{"id": NaN}', ""),
        (b'{"id": "' + b"x" * 1_000_000 + b'"}', "1000000"),
    ],
    ids=["empty", "cut off", "byte-order mark", "not UTF-8", "a key twice", "not finite", "too large"],
)
def test_a_file_that_cannot_be_decoded_is_one_problem(content: bytes, word: str) -> None:
    check_problems(content, ("unreadable", ""))

    assert word.lower() in read_source(content).problems[0].message.lower()


@pytest.mark.parametrize("document", [[], "text", 3, None])
def test_a_file_that_holds_no_object_is_one_problem(document: object) -> None:
    check_problems(source(document), ("not_an_object", ""))


@pytest.mark.parametrize(
    ("document", "code", "pointer"),
    [
        (without(SMALLEST, "id"), "missing_key", ""),
        (without(SMALLEST, "name"), "missing_key", ""),
        (without(SMALLEST, "description"), "missing_key", ""),
        (without(SMALLEST, "steps"), "no_steps", "/steps"),
        (SMALLEST | {"steps": []}, "no_steps", "/steps"),
        (SMALLEST | {"steps": {"only": STEP}}, "no_steps", "/steps"),
        (SMALLEST | {"steps": [STEP | {"id": f"s{n}"} for n in range(1_001)]}, "too_large", "/steps"),
        (SMALLEST | {"steps": ["do it"]}, "wrong_type", "/steps/0"),
        (SMALLEST | {"steps": [STEP, STEP]}, "duplicate_id", "/steps/1/id"),
        (SMALLEST | {"kind": "macro"}, "bad_value", "/kind"),
        (SMALLEST | {"name": 7}, "wrong_type", "/name"),
        (SMALLEST | {"name": None}, "wrong_type", "/name"),
        (SMALLEST | {"name": " \n"}, "bad_value", "/name"),
        (SMALLEST | {"name": "n" * 201}, "too_large", "/name"),
        (SMALLEST | {"description": "d" * 2_001}, "too_large", "/description"),
        (SMALLEST | {"version": 2}, "wrong_type", "/version"),
        (SMALLEST | {"version": None}, "wrong_type", "/version"),
        (SMALLEST | {"version": "1" * 33}, "too_large", "/version"),
        (SMALLEST | {"agentRole": ["stern"]}, "wrong_type", "/agentRole"),
        (SMALLEST | {"colour": "red"}, "unknown_key", "/colour"),
        (SMALLEST | {"a/b~c": 1}, "unknown_key", "/a~1b~0c"),
        (with_step(id="Big"), "bad_id", "/steps/0/id"),
        (with_step(id="s" * 65), "too_large", "/steps/0/id"),
        (with_step(id=""), "bad_value", "/steps/0/id"),
        (with_step(prompt=""), "bad_value", "/steps/0/prompt"),
        (with_step(prompt="p" * 32_769), "too_large", "/steps/0/prompt"),
        (with_step(prompt="é" * 16_385), "too_large", "/steps/0/prompt"),
        (with_step(requireConfirmation="yes"), "wrong_type", "/steps/0/requireConfirmation"),
        (with_step(requireConfirmation=None), "wrong_type", "/steps/0/requireConfirmation"),
        (with_step(Title="x"), "unknown_key", "/steps/0/Title"),
    ],
)
def test_each_mistake_is_named_with_its_place(document: object, code: str, pointer: str) -> None:
    first = read_source(source(document)).problems[0]

    assert (first.code, first.pointer) == (code, pointer)
    assert read_source(source(document)).workflow is None


@pytest.mark.parametrize(
    "document",
    [
        SMALLEST | {"name": "n" * 200},
        SMALLEST | {"description": "d" * 2_000},
        SMALLEST | {"version": "1" * 32},
        SMALLEST | {"steps": [STEP | {"id": f"s{n}"} for n in range(1_000)]},
        with_step(id="s" * 64),
        with_step(title="t" * 200),
        with_step(prompt="p" * 32_768),
        with_step(prompt="é" * 16_384),
    ],
)
def test_what_just_fits_is_accepted(document: object) -> None:
    assert read_source(source(document)).problems == ()


@pytest.mark.parametrize(
    ("workflow_id", "is_allowed"),
    [
        ("project.bug_investigation", True),
        ("a.b", True),
        ("team-1.x_2-y", True),
        ("legacy-id", True),
        ("one.two.three", False),
        ("Project.x", False),
        ("project.", False),
        (".x", False),
        ("1project.x", False),
        ("project.1x", False),
        ("project.ünder", False),
        ("project.x\n", False),
        ("project x", False),
    ],
)
def test_a_workflow_id_is_namespace_dot_name(workflow_id: str, is_allowed: bool) -> None:
    reading = read_source(source(SMALLEST | {"id": workflow_id}))

    assert [problem.code for problem in reading.problems] == ([] if is_allowed else ["bad_id"])


@pytest.mark.parametrize(("workflow_id", "status"), [("a.b", "namespaced"), ("plain", "legacy")])
def test_an_id_without_a_dot_is_legacy(workflow_id: str, status: str) -> None:
    assert id_status(workflow_id) == status


def test_an_author_sees_every_problem_in_one_run() -> None:
    document = {
        "id": "Not An Id",
        "name": "",
        "step": [],
        "steps": [{"id": "UP", "titel": "x", "prompt": 3}, 5, {"id": "ok", "title": "t", "prompt": "p"}],
    }

    check_problems(
        source(document),
        ("unknown_key", "/step"),
        ("bad_id", "/id"),
        ("bad_value", "/name"),
        ("missing_key", ""),
        ("unknown_key", "/steps/0/titel"),
        ("bad_id", "/steps/0/id"),
        ("missing_key", "/steps/0"),
        ("wrong_type", "/steps/0/prompt"),
        ("wrong_type", "/steps/1"),
    )


@pytest.mark.parametrize(
    ("typo", "meant"), [("titel", "title"), ("promt", "prompt"), ("agentrole", "agentRole")]
)
def test_a_misspelt_key_gets_the_key_that_was_meant(typo: str, meant: str) -> None:
    reading = read_source(source(SMALLEST | {"steps": [STEP | {typo: "x"}]}))

    assert reading.problems[0].fix == f"Did you mean {meant}?"


def test_a_key_that_resembles_none_gets_the_list() -> None:
    reading = read_source(source(with_step(zzzzzzzzzz=1)))

    assert reading.problems[0].fix == "Known keys: id, title, prompt, agentRole, requireConfirmation."
