"""What a step wants proven and requires, and what cannot be undone: read, checked and compiled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.workflows.compiled import Choice, ProofDemand, Step, decode_compiled
from handrail.workflows.reading.reader import read_workflow
from tests.workflows.compiling.written import choice, compilation, compiled, document, found, parts, step


def compiled_step(**fields: Any) -> Step:
    made = parts(compiled(document(step("a", **fields))))["a"]
    assert isinstance(made, Step)
    return made


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("proved", ProofDemand(wants="proved")),
        ({"wants": "kept"}, ProofDemand(wants="kept")),
        ({"wants": "passes", "demand": "where_possible"}, ProofDemand(wants="passes")),
        (
            {"wants": "proved", "demand": "required", "base": "run"},
            ProofDemand(wants="proved", is_required=True, base="run"),
        ),
    ],
)
def test_proof_of_a_step_is_compiled(written: Any, expected: ProofDemand) -> None:
    assert compiled_step(proof=written).proof == expected


def test_both_spellings_of_a_proof_have_one_hash() -> None:
    made = [
        compilation(document(step("a", proof=one)))
        for one in ("proved", {"wants": "proved", "demand": "where_possible"})
    ]

    first, second = (one.pinned for one in made)
    assert first is not None
    assert second is not None
    assert first.workflow_hash == second.workflow_hash


def test_required_outputs_are_sorted_and_embedded() -> None:
    workflow = compiled(document(step("a", requires=["wr.plan", "notes", "context.size", "context.size"])))
    made = parts(workflow)["a"]

    assert isinstance(made, Step)
    assert made.requires == ("context.size", "wr.contracts.plan")
    assert made.notes_required
    assert made.asks == ("size",)
    assert "wr.contracts.plan" in workflow.contracts
    assert "Artifact to deliver: wr.plan" in made.prompt
    assert "This step needs context.size." in made.prompt


def test_prompt_names_accepted_values_and_the_default() -> None:
    depth = {"type": "string", "enum": ["quick", "deep"], "default": "quick"}
    made = parts(compiled(document(step("a", requires=["context.depth"]), inputs={"depth": depth})))["a"]

    assert isinstance(made, Step)
    assert "Send context.depth (quick, deep); if nobody sends it, quick holds." in made.prompt


def test_artifact_of_the_own_contract_is_required_once() -> None:
    output = {"contractRef": "wr.contracts.plan"}

    assert compiled_step(output=output, requires=["wr.plan"]) == compiled_step(output=output)


def test_irreversible_choice_marks_every_option() -> None:
    whole = parts(compiled(document(choice("c", irreversible=True))))["c"]
    one = [{"id": "yes", "label": "Yes", "irreversible": True}, {"id": "no", "label": "No"}]
    single = parts(compiled(document(choice("c", options=one))))["c"]

    assert isinstance(whole, Choice)
    assert isinstance(single, Choice)
    assert [option.irreversible for option in whole.options] == [True, True]
    assert [option.irreversible for option in single.options] == [True, False]


ADVISED: list[dict[str, Any]] = [
    {"id": "yes", "label": "Yes", "recommended": True},
    {"id": "no", "label": "No"},
]


def test_second_recommended_option_is_refused_at_its_place() -> None:
    both = document(choice("c", options=[{**one, "recommended": True} for one in ADVISED]))

    (problem,) = read_workflow(json.dumps(both).encode()).problems

    assert (problem.pointer, problem.fix) == ("/steps/0/options/1/recommended", "Remove one of them.")


@pytest.mark.parametrize(
    ("part", "version"),
    [
        (step("a"), 1),
        (step("a", requires=["notes"]), 1),
        (step("a", output={"contractRef": "wr.contracts.cause"}), 2),
        (step("a", requireConfirmation={"by": "other"}), 3),
        (step("a", requires=["context.size"]), 4),
        (step("a", proof="passes", requireConfirmation={"by": "other"}), 4),
        (choice("a", irreversible=True), 4),
        (choice("a", options=ADVISED), 4),
        (step("a", output={"contractRef": "wr.contracts.review_findings"}), 4),
    ],
)
def test_only_new_parts_raise_the_version(part: dict[str, Any], version: int) -> None:
    done = compilation(document(part))

    assert done.pinned is not None
    assert done.pinned.workflow.v == version
    assert decode_compiled(done.pinned.content) == done.pinned.workflow


@pytest.mark.parametrize(
    ("fields", "pointer", "fix"),
    [
        ({"requires": ["context.size.width"]}, "/steps/0/requires/0", "Write context.size."),
        ({"requires": ["wr.plam"]}, "/steps/0/requires/0", "Did you mean wr.plan?"),
        ({"requires": ["notes"], "notesOptional": True}, "/steps/0/requires/0", "Remove one of them."),
    ],
)
def test_a_wrong_required_output_names_its_place_and_fix(
    fields: dict[str, Any], pointer: str, fix: str
) -> None:
    done = compilation(document(step("a", **fields)))

    assert [one[2] for one in found(done)] == [pointer]
    assert done.problems[0].fix == fix


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"proof": "perfect"}, "/steps/0/proof"),
        ({"proof": {"demand": "required"}}, "/steps/0/proof"),
        ({"proof": {"wants": "proved", "base": "round"}}, "/steps/0/proof/base"),
        ({"requires": "notes"}, "/steps/0/requires"),
        ({"requires": ["two words"]}, "/steps/0/requires/0"),
    ],
)
def test_a_wrong_shape_is_one_problem(fields: dict[str, Any], pointer: str) -> None:
    reading = read_workflow(json.dumps(document(step("a", **fields))).encode())

    assert [one.pointer for one in reading.problems] == [pointer]


MARKDOWN = b"""\
---
id: project.sample
name: Sample
description: A workflow for tests.
---

## Fix {#fix}

```step
proof: {wants: proved, demand: required}
requires: [context.cause, notes]
```

Fix it.

## Ship {#ship}

```step
type: choice
irreversible: true
options:
  - {id: now, label: Now}
  - {id: later, label: Later}
```

Ship it?
"""


def test_markdown_says_the_same_as_json() -> None:
    reading = read_workflow(MARKDOWN, "md")
    assert reading.workflow is not None, reading.problems
    options = [{"id": "now", "label": "Now"}, {"id": "later", "label": "Later"}]
    fix = {
        "id": "fix",
        "title": "Fix",
        "prompt": "Fix it.",
        "proof": {"wants": "proved", "demand": "required"},
        "requires": ["context.cause", "notes"],
    }
    ship = choice("ship", options=options, irreversible=True) | {"title": "Ship", "prompt": "Ship it?"}

    assert compiled(reading.workflow) == compiled(document(fix, ship))
