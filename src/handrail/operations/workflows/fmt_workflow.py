"""`workflow.fmt`: a workflow in the canonical layout of its spelling. Printed, or written when confirmed."""

from __future__ import annotations

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success
from handrail.operations.workflows.spelled_workflow import (
    ERRORS,
    SpelledWorkflow,
    SpellingChoice,
    WrittenWorkflow,
    load_source,
    print_or_write,
)
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import WritePorts
from handrail.runtime.write_permission import DryRun


class FmtWorkflow(SpellingChoice, frozen=True, kw_only=True):
    """Which workflow."""


def fmt_workflow(rt: WritePorts, request: FmtWorkflow) -> DryRun | Success:
    """The same workflow with the same comments, laid out as every other.

    Raises what `print_or_write` raises.
    """
    return print_or_write(rt, OPERATION, request, load_source(rt, request).spelling)


OPERATION = Operation(
    name="workflow.fmt",
    effect="gated",
    where="companion",
    reads_without="out",
    summary="Lay out a workflow file in the canonical way of its spelling.",
    input=FmtWorkflow,
    output=SpelledWorkflow,
    variants=(WrittenWorkflow,),
    perform=fmt_workflow,
    shape=Shape(levels={"minimal": None, "standard": None, "full": None}, select="top"),
    errors=ERRORS,
)
