"""`team.unlink`: from now on, new sessions of this project are kept on this machine again."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime, project_of
from handrail.runtime.write_permission import DryRun, GatedInput, preview_or_write
from handrail_team.companion.team_file import read_team_file
from handrail_team.operations.link_project import LinkedProject, ProjectName, plan_link, relink


class UnlinkProject(GatedInput, frozen=True, kw_only=True):
    """Which project."""

    project: ProjectName | UnsetType = UNSET


def unlink_project(rt: Runtime, request: UnlinkProject) -> DryRun | Success:
    """Show or say it; what belongs to the team stays there."""
    home, project = rt.installation().home(), project_of(rt, request.project)

    return preview_or_write(
        rt,
        OPERATION,
        request,
        workspace=project,
        resolve=lambda: plan_link(read_team_file(home), project, None),
        write=lambda found: relink(rt, home, project, found),
    )


OPERATION = Operation(
    name="team.unlink",
    effect="gated",
    where="companion",
    summary="Keep new sessions of this project on this machine again.",
    input=UnlinkProject,
    output=LinkedProject,
    perform=unlink_project,
    shape=Shape(levels={"minimal": ("project", "server")}, select="top"),
)
