"""`team link`: keep the sessions of a project on a team server."""

from __future__ import annotations

from msgspec import UNSET

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import DryRun
from handrail_team.client.team_file import (
    Link,
    TeamFile,
)
from handrail_team.operations.machines import ADDRESS_RULE, LinkedProject, LinkProject, choose_server, relink
from handrail_team.operations.team_scope import given


def link_project(rt: Runtime, request: LinkProject) -> DryRun | Success:
    """Show or change the link. Raises Fault E_CONFIG if the server is not clear."""

    def choose(file: TeamFile) -> Link:
        asked = given(request.server, "").rstrip("/")
        signed_in = [name for name, held in file.servers.items() if held.token]
        hint = "Run handrail login URL, then handrail login --resume."
        server = asked or choose_server(signed_in, UNSET, "This machine is signed in to", hint)
        return Link(server=server, workspace=given(request.workspace, ""))

    return relink(rt, OPERATION, request, choose)


OPERATION = Operation(
    name="team.link",
    effect="gated",
    where="client",
    summary="Let new sessions of this project belong to the team.",
    input=LinkProject,
    output=LinkedProject,
    perform=link_project,
    value_rules={"server": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("project", "server")}),
)
