"""Public workflow files of the neighbouring family: each translates with warnings only and loses nothing.

The files are not part of this repository. They are looked for beside it, or where HANDRAIL_TEST_CORPUS says.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.operations.workflows.examine_workflows import WorkflowText, examine_texts
from handrail.workflows.catalog import Catalog
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.dialect.translation import is_foreign, to_native
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.engine.simulation.simulated import simulate

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("HANDRAIL_TEST_CORPUS", ROOT.parent / "shared" / "corpus" / "workflows"))
FILES = sorted(CORPUS.glob("*.json"))

pytestmark = pytest.mark.skipif(
    not FILES, reason="needs the corpus of public workflow files (HANDRAIL_TEST_CORPUS)"
)

PROMPTS = frozenset({"prompt", "promptBlocks", "text", "guidance", "agentRole", "parallelDelegations"})
WORKFLOW_TEXTS = (
    "metaGuidance",
    "preconditions",
    "clarificationPrompts",
    "functionDefinitions",
    "assessments",
)
NOT_PROSE = frozenset({"kind", "refId", "id", "name", "var", "equals", "contains", "not_equals"})

each_file = every_case("path", FILES)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name not in NOT_PROSE:
                yield from texts_in(member)


def authored_texts(document: dict[str, Any]) -> Iterator[str]:
    """Everything an author wrote for an agent to read."""
    for name in WORKFLOW_TEXTS:
        yield from texts_in(document.get(name))
    waiting = list(document["steps"])
    while waiting:
        step = waiting.pop()
        yield step["title"]
        for name in PROMPTS & set(step):
            yield from texts_in(step[name])
        yield from texts_in(step.get("promptFragments"))
        yield from texts_in(step.get("assessmentConsequences"))
        yield from texts_in(step.get("validationCriteria"))
        waiting += [part for part in step.get("body", []) if isinstance(part, dict)]


def sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", text) if part.strip()]


def plain(text: str) -> str:
    """Without the one thing that a routine's prompts may be written with in two ways."""
    return re.sub(r"\{\{(\w+)\}\}", r"{\1}", text)


@each_file
def test_every_file_translates_with_warnings_only(path: Path) -> None:
    document = json.loads(path.read_bytes())

    found = to_native(document)

    assert is_foreign(document)
    assert {problem.severity for problem in found.problems} == {"warning"}
    assert {problem.code for problem in found.problems} == {"foreign_spelling"}


@each_file
def test_the_translation_is_a_native_document(path: Path) -> None:
    found = to_native(json.loads(path.read_bytes()))

    reading = read_workflow(json.dumps(found.document).encode())

    assert reading.problems == ()
    assert not is_foreign(found.document)


@each_file
def test_no_sentence_of_the_original_is_lost(path: Path) -> None:
    document = json.loads(path.read_bytes())
    reading = read_workflow(json.dumps(to_native(document).document).encode())

    kept = plain("\n".join(texts_in(msgspec.to_builtins(reading.workflow))))

    lost = [one for text in authored_texts(document) for one in sentences(text) if plain(one) not in kept]
    assert lost == []


@pytest.mark.thorough
@each_file
def test_every_file_compiles_and_can_be_walked_to_its_end(path: Path) -> None:
    reading = read_workflow(path.read_bytes())
    assert reading.workflow is not None

    compilation = compile_workflow(reading.workflow)

    assert [problem for problem in compilation.problems if problem.severity == "error"] == []
    assert compilation.pinned is not None
    report = simulate(compilation.pinned.workflow)
    assert report.coverage.reached == report.coverage.total
    assert report.problems == []


@each_file
def test_no_file_is_refused_for_what_its_dialect_omits(path: Path) -> None:
    [found] = examine_texts(
        Catalog(entries=()), [WorkflowText(source=path.name, text=path.read_text(encoding="utf-8"))]
    )

    assert [problem for problem in found.problems if problem.severity == "error"] == []
    assert found.pinned is not None
    assert all(not problem.edit for problem in found.problems if problem.code == "undeclared_name")


@each_file
def test_comparisons_of_texts_look_past_case(path: Path) -> None:
    reading = read_workflow(path.read_bytes())
    assert reading.workflow is not None

    exact = [
        one for one in comparisons_in(reading.document) if is_text_comparison(one) and not one.get("lenient")
    ]

    assert exact == []


def comparisons_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("kind") == "compare":
            yield value
        for inner in value.values():
            yield from comparisons_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from comparisons_in(inner)


def is_text_comparison(condition: dict[str, Any]) -> bool:
    return condition["op"] in ("equals", "not_equals", "contains") and isinstance(condition["value"], str)


@each_file
def test_the_same_file_gives_the_same_bytes(path: Path) -> None:
    document = json.loads(path.read_bytes())

    assert json.dumps(to_native(document).document) == json.dumps(to_native(document).document)


@each_file
def test_every_warning_and_every_pointer_leads_into_the_file(path: Path) -> None:
    document = json.loads(path.read_bytes())
    found = to_native(document)

    for pointer in [*found.pointers.values(), *(problem.pointer for problem in found.problems)]:
        value = document
        for part in pointer.split("/")[1:]:
            value = value[int(part)] if isinstance(value, list) else value[part]
