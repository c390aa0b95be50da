"""`team unlink`: keep the sessions of a project on this machine again."""

from __future__ import annotations

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import DryRun
from handrail_team.operations.machines import LinkedProject, UnlinkProject, relink


def unlink_project(rt: Runtime, request: UnlinkProject) -> DryRun | Success:
    """Show or say it; what belongs to the team stays there."""
    return relink(rt, OPERATION, request, lambda _: None)


OPERATION = Operation(
    name="team.unlink",
    effect="gated",
    where="client",
    summary="Keep new sessions of this project on this machine again.",
    input=UnlinkProject,
    output=LinkedProject,
    perform=unlink_project,
    shape=Shape(levels={"minimal": ("project", "server")}),
)
