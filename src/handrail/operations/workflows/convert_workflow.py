"""`workflow convert`: a workflow in another spelling, printed or written through the gate."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from handrail.contract.outcome import Success
from handrail.operations.workflows.written_workflows import (
    ERRORS,
    SpelledWorkflow,
    SpellingChoice,
    WrittenWorkflow,
    print_or_write,
)
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import WritePorts
from handrail.runtime.write_permission import DryRun
from handrail.workflows.limits import Spelling


class ConvertWorkflow(SpellingChoice, frozen=True, kw_only=True):
    """The workflow, and its new spelling."""

    to: Annotated[Spelling, Meta(description="The spelling to write.")]


def convert_workflow(rt: WritePorts, request: ConvertWorkflow) -> DryRun | Success:
    """Return the workflow in the other spelling: an equal model, so an equal hash.

    Raise what `print_or_write` raises.
    """
    return print_or_write(rt, OPERATION, request, request.to)


OPERATION = Operation(
    name="workflow.convert",
    effect="gated",
    where="client",
    reads_without="out",
    summary="Convert a workflow to Markdown, YAML or JSON.",
    input=ConvertWorkflow,
    output=SpelledWorkflow,
    variants=(WrittenWorkflow,),
    perform=convert_workflow,
    errors=ERRORS,
)
