"""`workflow.builtins` and `workflow.schema`: what a workflow can use, and what an editor needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.workflows.builtins.templates import all_builtins
from handrail.workflows.editor_schema import workflow_json_schema
from tests.conftest import library_of
from tests.operations.asked import answered, refused, text, workflow


def test_every_builtin_is_listed_once_by_kind_and_id(runtime: Runtime) -> None:
    items = answered(runtime, "workflow.builtins", limit=500)["items"]

    assert sorted(item["id"] for item in items) == sorted(spec.id for spec in all_builtins())
    assert [(item["kind"], item["id"]) for item in items] == sorted(
        (item["kind"], item["id"]) for item in items
    )
    assert {item["kind"] for item in items} == {"template", "feature", "contract", "ref", "capability"}
    assert all(item["summary"] and item["title"] and item["example"] for item in items)


@pytest.mark.parametrize("kind", ["template", "feature", "contract", "ref", "capability"])
def test_one_kind_can_be_asked_for(runtime: Runtime, kind: str) -> None:
    items = answered(runtime, "workflow.builtins", kind=kind)["items"]

    assert {item["kind"] for item in items} == {kind}


def test_words_find_a_builtin(runtime: Runtime) -> None:
    items = answered(runtime, "workflow.builtins", query="Loop CONTROL", kind="contract")["items"]

    assert "wr.contracts.loop_control" in [item["id"] for item in items]


def test_settings_have_name_type_and_description(runtime: Runtime) -> None:
    items = answered(runtime, "workflow.builtins", kind="template")["items"]

    settings = [setting for item in items for setting in item["settings"]]
    assert settings
    assert all(set(one) == {"name", "type", "required", "enum", "default", "description"} for one in settings)


def test_a_routine_of_the_project_is_listed_as_a_template(runtime: Runtime) -> None:
    routine = workflow(id="project.routine_look", kind="routine")
    library_of(runtime).add(json.dumps(routine).encode(), "look.json")

    items = answered(runtime, "workflow.builtins", query="routine.look")["items"]

    assert [item["id"] for item in items] == ["project.templates.routine.look"]
    assert items[0]["example"]["templateId"] == "project.templates.routine.look"


def test_schemas_and_texts_are_told_in_full_only(runtime: Runtime) -> None:
    def items(ask: Ask) -> list[Any]:
        outcome = perform(runtime, "workflow.builtins", {"kind": "contract"}, ask)
        assert isinstance(outcome, Success)
        assert outcome.page is not None
        return list(outcome.page.items)

    assert all("schema" not in item for item in items(Ask()))
    assert all(item["schema"]["type"] == "object" for item in items(Ask(mvi="full")))


def test_the_schema_is_the_one_that_ships(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.schema")

    assert data["schema"] == workflow_json_schema()
    assert data["id"] == data["schema"]["$id"]


def test_the_schema_takes_no_argument(runtime: Runtime) -> None:
    assert refused(runtime, "workflow.schema", workflowId="x").kind.code == "VALIDATION_ERROR"


def test_a_listing_names_the_inputs_that_a_start_must_bring(runtime: Runtime) -> None:
    inputs = {
        "size": {"type": "string", "default": "s", "description": "How large."},
        "target": {"type": "string", "required": True, "description": "What."},
    }
    library_of(runtime).add(text(workflow(inputs=inputs))["text"].encode(), "given.json")

    items = answered(runtime, "workflow.list", query="given")["items"]

    assert items[0]["requires"] == ["target"]


def test_a_listing_can_be_of_some_sources_only(runtime: Runtime) -> None:
    assert answered(runtime, "workflow.list", source="bundled")["items"] == []
    assert len(answered(runtime, "workflow.list", source="project")["items"]) == 1


def test_a_run_can_be_compared_with_the_file_of_today(runtime: Runtime) -> None:
    answered(runtime, "run.start", workflowId="project.three_steps", requestId="compared")
    session = answered(runtime, "session.list")["items"][0]["id"]
    params = {"workflowId": "project.three_steps", "part": "diff", "run": session}

    same = answered(runtime, "workflow.inspect", **params)["workflow"]["diff"]
    held = library_of(runtime).held.pop()
    library_of(runtime).add(held.content.replace(b"Do the second", b"Do another"), "three_steps.json")
    changed = answered(runtime, "workflow.inspect", **params)["workflow"]["diff"]

    assert (same["isSame"], same["changeCount"]) == (True, 0)
    assert changed["isSame"] is False
    assert [(one["pointer"], one["action"]) for one in changed["changes"]] == [
        ("/steps/second/prompt", "changed")
    ]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"part": "diff"}, "VALIDATION_ERROR"),
        ({"part": "steps", "run": "ses_000000000000"}, "VALIDATION_ERROR"),
        ({"part": "diff", "run": "ses_000000000000"}, "SESSION_NOT_FOUND"),
    ],
)
def test_a_diff_needs_a_run_and_a_run_needs_a_diff(
    runtime: Runtime, params: dict[str, str], code: str
) -> None:
    failure = refused(runtime, "workflow.inspect", workflowId="project.three_steps", **params)

    assert failure.kind.code == code
