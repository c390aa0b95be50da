"""A workflow among its neighbours: found by id, compiled with the routines and contracts beside it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import SourceKind
from handrail.contract.outcome import Fault
from handrail.contract.workflow_files import WorkflowFile
from handrail.operations.workflow_catalog import compile_entry, find_workflow, problem_row
from handrail.runtime.runtime import Runtime
from handrail.workflows.catalog import Catalog, build_catalog
from handrail.workflows.compiling.compilation import Compilation
from tests.conftest import library_of
from tests.operations.asked import answered


def file(
    workflow_id: str, *steps: dict[str, Any], source_kind: SourceKind = "project", **more: Any
) -> WorkflowFile:
    document = {"id": workflow_id, "name": "N", "description": "D.", "steps": list(steps), **more}
    content = json.dumps(document, indent=1).encode()
    return WorkflowFile(source_kind=source_kind, source_ref=f"{workflow_id}.json", content=content)


def step(step_id: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id, "prompt": "Do it.", **more}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "template_call", "templateId": f"wr.templates.routine.{name}", "args": args}


def compiled(catalog: Catalog, workflow_id: str) -> Compilation:
    return compile_entry(catalog, *find_workflow(catalog, workflow_id))


def prompts(done: Compilation) -> list[str]:
    assert done.pinned is not None, done.problems
    return [getattr(part, "prompt", "") for part in done.pinned.workflow.steps]


def test_a_bundled_routine_is_called_from_a_project() -> None:
    greet = file(
        "wr.routine_greet",
        step("hello", prompt="Greet {{whom}}."),
        source_kind="bundled",
        kind="routine",
        inputs={"whom": {"type": "string", "required": True}},
    )

    done = compiled(build_catalog([greet, file("project.x", call("greet", whom="the user"))]), "project.x")

    assert prompts(done) == ["Greet the user."]


FOREIGN_ROUTINE = file(
    "wr.routine-greet",
    step("hello", prompt="Greet {whom}.", runCondition={"var": "mode", "equals": "x"}),
    kind="routine",
    metaGuidance=[],
)
FOREIGN_CALLER = file(
    "theirs",
    {
        "id": "a",
        "title": "A",
        "templateCall": {"templateId": "wr.templates.routine.greet", "args": {"whom": "them"}},
    },
    metaGuidance=["Be kind."],
)


def test_foreign_routine_with_a_reserved_id_serves_neighbours() -> None:
    """A routine from elsewhere serves the files beside it though its id is reserved."""
    catalog = build_catalog([FOREIGN_ROUTINE, FOREIGN_CALLER])

    done = compiled(catalog, "theirs")

    assert [entry.is_usable for entry in catalog.entries if entry.id == "wr.routine-greet"] == [False]
    assert prompts(done)[0].startswith("Greet them.")


def test_foreign_file_without_its_routine_compiles_warned() -> None:
    done = compiled(build_catalog([FOREIGN_CALLER]), "theirs")

    assert [problem.severity for problem in done.problems] == ["warning"]
    assert prompts(done)[0].startswith("Follow the routine wr.templates.routine.greet.")


def test_a_contract_of_the_project_is_used() -> None:
    contract = WorkflowFile(
        source_kind="project",
        source_ref="project.contracts.note.json",
        content=(
            b'{"schema": {"type": "object"}, "guidance": "Write it.", "example": {"kind": "project.note"}}'
        ),
        holds="contract",
    )
    asking = file("project.x", step("a", output={"contractRef": "project.contracts.note"}))

    done = compiled(build_catalog([contract, asking]), "project.x")

    assert done.pinned is not None
    assert done.pinned.workflow.contracts["project.contracts.note"].artifact_kind == "project.note"


def test_problems_of_the_compiler_have_line_and_column() -> None:
    done = compiled(build_catalog([file("project.x", step("a", when="gone"))]), "project.x")

    (problem,) = done.problems
    row = problem_row(problem)
    assert (row.pointer, row.line, row.column) == ("/steps/0/when", 10, 12)


def test_an_unknown_id_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(Fault) as refused:
        find_workflow(build_catalog([file("project.deploy", step("a"))]), "project.deplo")

    assert refused.value.kind.code == "WORKFLOW_NOT_FOUND"
    assert refused.value.details["did_you_mean"] == ["project.deploy"]


@pytest.mark.parametrize(
    ("workflow_id", "code"), [("wr.mine", "WORKFLOW_ID_RESERVED"), ("broken.json", "WORKFLOW_INVALID")]
)
def test_a_file_that_cannot_be_used_is_refused_with_its_problems(workflow_id: str, code: str) -> None:
    broken = WorkflowFile(source_kind="project", source_ref="broken.json", content=b"{")

    with pytest.raises(Fault) as refused:
        find_workflow(build_catalog([file("wr.mine", step("a")), broken]), workflow_id)

    assert refused.value.kind.code == code
    assert len(refused.value.details["problems"]) == 1


def test_list_names_file_and_line_of_each_unusable_one(runtime: Runtime) -> None:
    library_of(runtime).held = [
        file("project.x", step("a")),
        msgspec.structs.replace(file("project.x", step("b")), source_ref="twin.json"),
        file("wr.mine", step("a")),
        file("project.sound", step("a")),
    ]

    rows = answered(runtime, "workflow.list")["items"]

    told = {
        (row.get("sourceRef"), *((one["code"], one["line"]) for one in row.get("problems", [])))
        for row in rows
    }
    assert told == {
        ("project.x.json", ("shadowed_id", 2)),
        ("twin.json", ("shadowed_id", 2)),
        ("wr.mine.json", ("reserved_id", 2)),
        (None,),
    }


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ("project", ["project.x"]),
        (".handrail/workflows", ["project.x"]),
        ("bundled", ["wr.y"]),
        ("bndled", []),
    ],
)
def test_a_source_is_named_by_its_kind_or_its_folder(runtime: Runtime, source: str, ids: list[str]) -> None:
    library_of(runtime).held = [
        file("project.x", step("a")),
        file("wr.y", step("a"), source_kind="bundled"),
    ]

    listed = answered(runtime, "workflow.list", source=source)

    assert [row["id"] for row in listed["items"]] == ids
    assert ("none of bundled, project" in listed["scope"]) is (not ids)


def foreign(workflow_id: str, description: str = "D.") -> WorkflowFile:
    """A file of another tool out of a repository: usable, with warnings that its reader cannot mend."""
    document = {"id": workflow_id, "name": "N", "description": description, "metaGuidance": ["Be kind."]}
    content = json.dumps({**document, "metricsProfile": "x", "steps": [step("a")]}).encode()
    return WorkflowFile(source_kind="git", source_ref=f"their@1/{workflow_id}.json", content=content)


def test_a_collection_of_others_stands_last_and_costs_little(runtime: Runtime) -> None:
    long = f"Converts code (e.g. Swift) to other code. {'It does much more than that. ' * 50}"
    others = [foreign(f"their.w{number}", long) for number in range(20)]
    library_of(runtime).held = [
        *others,
        file("wr.y", step("a"), source_kind="bundled"),
        file("team.x", step("a")),
    ]

    listed = answered(runtime, "workflow.list", limit=3)

    assert [row["id"] for row in listed["items"]] == ["team.x", "wr.y", "their.w0"]
    assert listed["total"] == 22
    row = listed["items"][2]
    assert row["description"] == "Converts code (e.g. Swift) to other code."
    assert row["warnings"] == {"foreign_spelling": 2}
    assert not row.get("problems"), "nothing keeps it from being used"


def test_a_sentence_that_does_not_end_is_cut(runtime: Runtime) -> None:
    library_of(runtime).held = [foreign("their.x", "many words " * 40)]

    row = answered(runtime, "workflow.list")["items"][0]

    assert len(row["description"]) <= 160
    assert row["description"].endswith("…")
