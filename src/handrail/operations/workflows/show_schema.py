"""`workflow schema`: the JSON Schema of workflow files, for editors."""

from __future__ import annotations

from typing import Any

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.workflows.editor_schema import SCHEMA_ID, workflow_json_schema


class ShowSchema(Input, frozen=True, kw_only=True):
    """An empty input: there is only one schema."""


class WorkflowSchema(Answer, frozen=True, kw_only=True):
    """The schema under its name."""

    id: str
    schema: dict[str, Any]


def show_schema(_: ReadPorts, __: ShowSchema) -> WorkflowSchema:
    """Return the schema that ships with the package."""
    return WorkflowSchema(id=SCHEMA_ID, schema=workflow_json_schema())


OPERATION = Operation(
    name="workflow.schema",
    effect="read",
    where="client",
    summary="Show the JSON Schema of workflow files, for completion and checks in an editor.",
    input=ShowSchema,
    output=WorkflowSchema,
    perform=show_schema,
    shape=Shape(levels={"minimal": ("id",)}, id_field="id"),
)
