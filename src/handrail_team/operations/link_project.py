"""`team.link`: new sessions of this project belong to the team. A user's setting, never a project file."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CONFIG
from handrail.contract.disclosure.fields import Shape
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Answer, Fault, NextCall, Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime, project_of
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail_team.companion.team_file import Link, TeamFile, change_link, read_team_file
from handrail_team.operations.login import ADDRESS_RULE, Address

ProjectName = Annotated[str, Meta(description="The project directory.")]


class LinkProject(GatedInput, frozen=True, kw_only=True):
    """Which project, and to which team."""

    server: Address | UnsetType = UNSET
    workspace: (
        Annotated[str, Meta(description="What the team calls it, for readers.", max_length=128)] | UnsetType
    ) = UNSET
    project: ProjectName | UnsetType = UNSET


class LinkedProject(Answer, frozen=True, kw_only=True):
    """The team that a project belongs to; an empty server: none."""

    project: str
    server: str
    workspace: str


class Relinking(msgspec.Struct, frozen=True, kw_only=True):
    """Which team a project belonged to when it was looked up, and which it is to belong to."""

    before: Link | None
    after: Link | None


def link_project(rt: Runtime, request: LinkProject) -> DryRun | Success:
    """Show or say it. Raises Fault E_CONFIG where this machine is not signed in there."""
    home, project = rt.installation().home(), project_of(rt, request.project)
    asked = "" if request.server is UNSET else request.server.rstrip("/")
    workspace = "" if request.workspace is UNSET else request.workspace

    def resolve() -> Plan[Relinking]:
        file = read_team_file(home)
        return plan_link(file, project, Link(server=_find_server(file, asked), workspace=workspace))

    return preview_or_write(
        rt,
        OPERATION,
        request,
        workspace=project,
        resolve=resolve,
        write=lambda found: relink(rt, home, project, found),
    )


def relink(rt: Runtime, home: str, project: str, found: Relinking) -> LinkedProject:
    """Say it, if nobody said something else since. Raises Fault E_CONFLICT."""
    change_link(home, project, found.before, found.after)
    rt.commits.note(NextCall(operation="self.context", params={}))
    link = found.after or Link(server="")
    return LinkedProject(project=project, server=link.server, workspace=link.workspace)


def _find_server(file: TeamFile, asked: str) -> str:
    known = [name for name, held in file.servers.items() if held.token]
    if asked or len(known) == 1:
        return asked or known[0]
    raise Fault(
        E_CONFIG,
        "This machine is signed in to several servers: name one." if known else "It is signed in nowhere.",
        details={"setting": "team.json"},
        hint="Run handrail login URL, then handrail login --resume.",
    )


def plan_link(file: TeamFile, project: str, link: Link | None) -> Plan[Relinking]:
    held = file.projects.get(project)
    change = Change(
        action="none" if held == link else "update",
        resource="project",
        id=project,
        before={} if held is None else msgspec.to_builtins(held),
        after={"server": "", "workspace": ""} if link is None else msgspec.to_builtins(link),
    )
    ends = "New sessions of this project are kept on this machine again."
    begins = "New sessions of this project go to the team; those that began on this machine stay here."
    return Plan(
        action="unlink the project" if link is None else "link the project to a team",
        changes=(change,),
        targets=(project,),
        versions={project: digest(msgspec.to_builtins(held))},
        blast_radius=ends if link is None else begins,
        found=Relinking(before=held, after=link),
    )


OPERATION = Operation(
    name="team.link",
    effect="gated",
    where="companion",
    summary="Let new sessions of this project belong to the team.",
    input=LinkProject,
    output=LinkedProject,
    perform=link_project,
    value_rules={"server": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("project", "server")}, select="top"),
)
