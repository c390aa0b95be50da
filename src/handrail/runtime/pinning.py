"""From a workflow of the catalog to the compiled one that a run is pinned to."""

from __future__ import annotations

from handrail.contract.catalogue import WORKFLOW_INVALID
from handrail.contract.outcome import Fault
from handrail.contract.wording import quoted
from handrail.runtime.workflow_catalog import compile_entry, problem_row
from handrail.workflows.catalog import Catalog, CatalogEntry
from handrail.workflows.compiled import Pinned
from handrail.workflows.model import SourceWorkflow


def pin(catalog: Catalog, entry: CatalogEntry, source: SourceWorkflow) -> Pinned:
    """The compiled workflow.

    Raises Fault WORKFLOW_INVALID with every problem when it does not compile.
    """
    compilation = compile_entry(catalog, entry, source)
    if compilation.pinned is not None:
        return compilation.pinned
    errors = [problem for problem in compilation.problems if problem.severity == "error"]
    raise Fault(
        WORKFLOW_INVALID,
        f"The workflow file {quoted(entry.source_ref)} cannot be used: {errors[0].message}"[:1024],
        details={"workflow_id": entry.id, "problems": [problem_row(problem) for problem in errors[:20]]},
    )
