"""`workflow fmt`: format a workflow file in the canonical layout of its spelling."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.outcome import Notice, Success, refuse_argument
from handrail.contract.wording import format_count
from handrail.operations.workflow_catalog import load_catalog
from handrail.operations.workflows.examine_workflows import (
    Examined,
    WorkflowText,
    examine_texts,
    refuse,
)
from handrail.operations.workflows.written_workflows import (
    ERRORS,
    SpelledWorkflow,
    SpellingChoice,
    WrittenWorkflow,
    load_source,
    print_or_write,
    put_out,
)
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import WritePorts, project_of
from handrail.runtime.write_permission import DryRun
from handrail.workflows.catalog import Catalog
from handrail.workflows.limits import spelling_of
from handrail.workflows.text_edits import apply_edit

_MOST_FIXES = 50


class FmtWorkflow(SpellingChoice, frozen=True, kw_only=True):
    """The workflow to format."""

    fix: Maybe[
        Annotated[bool, Meta(description="Apply each certain fix of a file, and leave its layout.")]
    ] = UNSET


def fmt_workflow(rt: WritePorts, request: FmtWorkflow) -> DryRun | Success:
    """Return the same workflow with the same comments, in the canonical layout.

    Raise what `print_or_write` raises.
    """
    if request.fix is not True:
        return print_or_write(rt, OPERATION, request, load_source(rt, request).spelling)
    if request.document is UNSET or request.workflow_id is not UNSET:
        raise refuse_argument("Only a file can be fixed.", "fix", "is for a file", "a path")
    mended, fixed, left = _fixed(load_catalog(rt, project_of(rt, request.project)), request.document)
    spelling = spelling_of(mended.source, mended.text.encode("utf-8", "surrogateescape"))
    errors = [one for one in left.problems if one.severity == "error"]
    if errors and not fixed:
        raise refuse(left)
    message = f"{format_count(fixed, 'problem')} fixed"
    if errors:
        message += f", {len(errors)} left; line {errors[0].line}: {errors[0].message} {errors[0].fix}"
    notice = Notice(type="fixed", message=message[:1024], severity="warning" if errors else "info")
    answer = SpelledWorkflow(workflow_id=left.workflow_id, spelling=spelling, text=mended.text)
    return put_out(rt, OPERATION, request, answer, (notice,))


def _fixed(catalog: Catalog, document: WorkflowText) -> tuple[WorkflowText, int, Examined]:
    """Return the file after all its fixes, one after the other: each check reads the
    result of the previous fix.
    """
    seen: set[str] = set()
    while True:
        found = examine_texts(catalog, [document])[0]
        offered = next((one for one in found.problems if one.edit), None)
        if offered is None or document.text in seen or len(seen) >= _MOST_FIXES:
            return document, len(seen), found
        seen.add(document.text)
        content = document.text.encode("utf-8", "surrogateescape")
        text = apply_edit(document.text, spelling_of(document.source, content), offered.edit)
        document = msgspec.structs.replace(document, text=text)


OPERATION = Operation(
    name="workflow.fmt",
    effect="gated",
    where="client",
    reads_without="out",
    summary="Format a workflow file in its canonical layout.",
    input=FmtWorkflow,
    output=SpelledWorkflow,
    variants=(WrittenWorkflow,),
    perform=fmt_workflow,
    errors=ERRORS,
)
