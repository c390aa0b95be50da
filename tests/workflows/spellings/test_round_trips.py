"""Real workflows in every spelling: the same model, the same hash, and problems at their place in each."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from handrail.host.workflow_library import list_bundled_files
from handrail.operations.workflows.examine_workflows import WorkflowText, examine_texts
from handrail.workflows.catalog import Catalog
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.limits import Spelling
from handrail.workflows.reading.reader import read_workflow
from handrail.workflows.spellings.spelling import decode_document, write_document
from tests.cases import every_case
from tests.quick_set import all_but_thorough
from tests.workflows.test_corpus import FILES

SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)
BUNDLED = {file.source_ref: file.decoded for file in list_bundled_files()}
SOURCES = BUNDLED | {path.name: path.read_bytes() for path in FILES}
ROUTINES = tuple(
    source
    for name, content in BUNDLED.items()
    if "routine" in name and (source := read_workflow(content).workflow) is not None
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", all_but_thorough(SOURCES, step=4))
def test_a_workflow_has_one_model_and_one_hash_in_every_spelling(name: str) -> None:
    expected = read_workflow(SOURCES[name]).workflow
    assert expected is not None
    document = json.loads(SOURCES[name])

    for spelling in SPELLINGS:
        found = read_workflow(write_document(document, spelling, {}).encode(), spelling).workflow

        assert found == expected, spelling
        assert hash_of(found) == hash_of(expected), spelling


def hash_of(workflow: Any) -> str | None:
    pinned = compile_workflow(workflow, Surroundings(routines=ROUTINES)).pinned
    return None if pinned is None else pinned.workflow_hash


WRONG = {
    "json": """{
  "id": "project.x", "name": "X", "description": "For a test.",
  "inputs": {"size": {"typ": "string"}},
  "steps": [
    {"id": "one", "title": "One", "when": "nowhere", "prompt": "Do {{it}}."},
    {"id": "one", "title": "Two", "prompt": "Again."}
  ]
}
""",
    "yaml": """id: project.x
name: X
description: For a test.
inputs:
  size: {typ: string}
steps:
  - id: one
    title: One
    when: nowhere
    prompt: Do {{it}}.
  - id: one
    title: Two
    prompt: Again.
""",
    "md": """---
id: project.x
name: X
description: For a test.
inputs:
  size: {typ: string}
---

## One {#one}

```step
when: nowhere
```

Do {{it}}.

## Two {#one}

Again.
""",
}
PLACES = {
    "json": [(3, 23, "unknown_key"), (6, 12, "duplicate_id")],
    "yaml": [(5, 10, "unknown_key"), (11, 9, "duplicate_id")],
    "md": [(6, 10, "unknown_key"), (17, 8, "duplicate_id")],
}
NAMES = {
    "json": [(5, 43, "unknown_id"), (5, 68, "undeclared_name")],
    "yaml": [(9, 11, "unknown_id"), (10, 16, "undeclared_name")],
    "md": [(12, 7, "unknown_id"), (15, 4, "undeclared_name")],
}


def told(content: str, spelling: Spelling) -> list[tuple[int, int, str]]:
    document = WorkflowText(source=f"x.{spelling}", text=content)
    (examined,) = examine_texts(Catalog(entries=()), [document])
    return [(one.line, one.column, one.code) for one in examined.problems if one.severity == "error"]


LATER = {
    "id": "project.x",
    "name": "X",
    "description": "For a test.",
    "steps": [
        {"id": "one", "title": "One", "prompt": "First.\nThen read {{ wr.plan.slices }}."},
        {"id": "two", "title": "Two", "prompt": "Plan.", "output": {"contractRef": "wr.contracts.plan"}},
        {"id": "three", "title": "Three", "prompt": "First.\nThen read {{wr.plan.slcies}}."},
    ],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_wrong_part_of_an_artifact_is_told_where_it_is_written(spelling: Spelling) -> None:
    content = write_document(LATER, spelling, {})

    lines = content.split("\n")
    assert [(code, lines[line - 1][column - 1 :][:12]) for line, column, code in told(content, spelling)] == [
        ("read_too_early", "{{ wr.plan.s"),
        ("undeclared_name", "{{wr.plan.sl"),
    ]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_fault_has_its_place_in_the_authors_text(spelling: Spelling) -> None:
    shape = WRONG[spelling]
    names = shape.replace("typ", "type", 1).replace('"one", "title": "Two"', '"two", "title": "Two"')
    names = names.replace("id: one\n    title: Two", "id: two\n    title: Two").replace(
        "Two {#one}", "Two {#two}"
    )

    assert told(shape, spelling) == PLACES[spelling], "the form first"
    assert told(names, spelling) == NAMES[spelling]


@every_case("spelling", SPELLINGS)
@every_case(
    ("content", "place"),
    [(b"\xef\xbb\xbf---\n", (1, 1)), (b"---\na: \xff\n", (2, 4)), (b"x" * 1_000_001, (1, 1))],
)
def test_what_is_no_text_is_told_at_its_place(
    spelling: Spelling, content: bytes, place: tuple[int, int]
) -> None:
    (problem,) = read_workflow(content, spelling).problems

    assert (problem.code, (problem.line, problem.column)) == ("unreadable", place)
    assert problem.fix


@every_case(
    ("written", "is_cut"),
    [
        ("Read issue #12 and stop.", True),
        ("Read it\n      and #that", True),
        ("Read it.  # by the lead", False),
        ('"Read issue #12." #note', False),
        ("'Read #12'", False),
        ("|\n      Read #12", False),
        ("Read C#.", False),
    ],
)
def test_a_text_that_ends_before_a_number_sign_is_told(written: str, is_cut: bool) -> None:
    head = "id: project.x\nname: X\ndescription: D.\nsteps:\n  - id: a\n    title: A\n"
    front, fence = "---\nid: project.x\nname: X\ndescription: D.\n---\n", "## A {#a}\n```step\n"
    yaml = f"{head}    prompt: {written}\n"
    page = f"{front}{fence}agentRole: {written}\n```\nDo it.\n"

    cases: tuple[tuple[str, Spelling, str, tuple[int, int]], ...] = (
        (yaml, "yaml", "/steps/0/prompt", (7, 13)),
        (page, "md", "/steps/0/agentRole", (8, 12)),
    )
    for text, spelling, pointer, place in cases:
        told = [one for one in read_workflow(text.encode(), spelling).problems if one.severity == "warning"]
        assert [(one.pointer, (one.line, one.column)) for one in told] == [(pointer, place)] * is_cut


def test_a_bracket_that_a_comment_leaves_open_names_the_line() -> None:
    text = "id: project.x\ninputs:\n  x: {default: a #b}\nsteps: []\n"
    [problem] = read_workflow(text.encode(), "yaml").problems

    assert problem.fix == "A # behind a space begins a comment: quote the text in line 3."


def test_the_packed_documents_are_what_the_markdown_says() -> None:
    for file in list_bundled_files():
        assert file.decoded, f"{file.source_ref} is packed; run python tools/generate.py"
        assert json.loads(file.decoded) == decode_document(file.content, "md")
