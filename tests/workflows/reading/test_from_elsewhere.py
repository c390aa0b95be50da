"""A file of the neighbouring dialect is read like any other, and shown at the lines of its author."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handrail.workflows.conditions import Compare
from handrail.workflows.limits import Spelling
from handrail.workflows.model import InlineCondition, SourceLoop, SourceStep
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.reading.breaking import break_somewhere, places_in

CONTENT = b"""{
  "id": "elsewhere",
  "name": "Elsewhere",
  "description": "From elsewhere.",
  "metaGuidance": ["Be brief."],
  "steps": [
    { "id": "look", "title": "Look", "prompt": "Look at it.",
      "runCondition": { "var": "size", "equals": "large" } },
    { "id": "again", "type": "loop", "title": "Again",
      "loop": { "type": "for", "count": 2, "maxIterations": 2 },
      "body": [
        { "id": "inner", "title": "Inner", "prompt": "Do it." }] }
  ]
}
"""


def test_a_file_from_elsewhere_gives_a_workflow_and_warnings() -> None:
    reading = read_workflow(CONTENT)

    assert reading.workflow is not None
    assert reading.workflow.guidance == ("Be brief.",)
    assert {problem.severity for problem in reading.problems} == {"warning"}
    assert all(problem.line >= 5 for problem in reading.problems)


def test_parts_know_their_place_in_the_authors_file() -> None:
    workflow = read_workflow(CONTENT).workflow

    assert workflow is not None
    look, again = workflow.steps
    assert isinstance(look, SourceStep)
    assert look.when == InlineCondition(
        condition=Compare(input="size", op="equals", value="large", lenient=True),
        pointer="/steps/0/runCondition/equals",
    )
    assert isinstance(again, SourceLoop)
    assert again.pointer == "/steps/1"
    assert [part.pointer for part in again.body] == ["/steps/1/body/0"]


def test_mistake_after_translation_has_the_authors_place() -> None:
    broken = CONTENT.replace(b'"title": "Inner"', b'"title": "' + b"I" * 201 + b'"')

    reading = read_workflow(broken)

    assert reading.workflow is None
    (error,) = [problem for problem in reading.problems if problem.severity == "error"]
    assert (error.code, error.pointer, error.line, error.column) == (
        "too_large",
        "/steps/1/body/0/title",
        12,
        35,
    )


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_a_foreign_file_broken_at_random_is_read_or_explained(seed: int, breaks: int) -> None:
    chance = random.Random(seed)
    document: dict[str, Any] = json.loads(CONTENT)
    for _ in range(breaks):
        if places_in(document):
            break_somewhere(document, chance)

    reading = read_workflow(json.dumps(document).encode())

    errors = [problem for problem in reading.problems if problem.severity == "error"]
    assert (reading.workflow is None) == bool(errors)
    assert all(problem.line == 1 for problem in reading.problems)


OTHERS: dict[str, tuple[Spelling, bytes, str]] = {
    "GitHub Actions": (
        "yaml",
        b"name: CI\non: [push]\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n",
        "a workflow of GitHub Actions",
    ),
    "a skill": (
        "md",
        b"---\nname: pdf\ndescription: PDFs, with forms: fill them.\n---\n# PDF\n",
        "an agent's skill",
    ),
    "spec-kit": (
        "md",
        b"---\ndescription: Plan it\n---\n## User Input\n\n$ARGUMENTS\n",
        "a command of spec-kit",
    ),
}


@every_case("kind", sorted(OTHERS))
def test_a_file_of_another_tool_is_named_once(kind: str) -> None:
    spelling, content, name = OTHERS[kind]

    reading = read_workflow(content, spelling)

    (problem,) = reading.problems
    assert problem.message == f"This file is {name}, not a workflow of Handrail."
    assert (problem.line, problem.severity) == (1, "error")


def test_a_page_with_an_id_keeps_its_own_problems() -> None:
    page = b"---\nid: project.a\nname: A\ndescription: Plan it\n---\n## Look\n\n$ARGUMENTS\n"

    problems = read_workflow(page, "md").problems

    assert problems
    assert not any("not a workflow of Handrail" in one.message for one in problems)
