"""The team servers that this machine knows, and the projects linked to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_CONFIG,
)
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Answer, Fault, NextCall, Success
from handrail.contract.parameters import ProjectPath
from handrail.runtime.operation import Operation, ValueRule
from handrail.runtime.runtime import Runtime, project_of
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail_team.client.team_file import (
    Link,
    TeamFile,
    change_link,
    read_team_file,
)

_ADDRESS = re.compile(r"https?://[^\s/]+/?")
Address = Annotated[str, Meta(description="Where the server of the team is reached.", max_length=2_048)]
ADDRESS_RULE = ValueRule(
    fits=lambda text: _ADDRESS.fullmatch(text) is not None,
    problem="is not the address of a server",
    expected="https://, a name, and a port if it has one: https://handrail.example.com",
)


def choose_server(known: Iterable[str], asked: str | UnsetType, where: str, hint: str) -> str:
    """Return the named server, or the only one. Raises Fault E_CONFIG."""
    named = "" if asked is UNSET else asked.rstrip("/")
    found = [name for name in known if named in ("", name)]
    if len(found) == 1:
        return found[0]
    message = f"{where} several servers: name one." if found else f"{where} no server."
    raise Fault(E_CONFIG, message, details={"setting": "team.json"}, hint=hint)


ProjectName = ProjectPath


class LinkProject(GatedInput, frozen=True, kw_only=True):
    """The project, and the server to link it to."""

    server: Address | UnsetType = UNSET
    workspace: (
        Annotated[str, Meta(description="What the team calls it, for readers.", max_length=128)] | UnsetType
    ) = UNSET
    project: ProjectName | UnsetType = UNSET


class UnlinkProject(GatedInput, frozen=True, kw_only=True):
    """The project."""

    project: ProjectName | UnsetType = UNSET


class LinkedProject(Answer, frozen=True, kw_only=True):
    """A project's team server; empty if it has none."""

    project: str
    server: str
    workspace: str


def relink(
    rt: Runtime,
    called: Operation,
    request: LinkProject | UnlinkProject,
    choose: Callable[[TeamFile], Link | None],
) -> DryRun | Success:
    """Store a project's server unless another call changed it meanwhile. Raises Fault E_CONFLICT."""
    home, project = rt.installation().home(), project_of(rt, request.project)

    def resolve() -> Plan[tuple[Link | None, Link | None]]:
        file = read_team_file(home)
        held, link = file.projects.get(project), choose(file)
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
            found=(held, link),
        )

    def write(found: tuple[Link | None, Link | None]) -> LinkedProject:
        change_link(home, project, *found)
        rt.commits.note(NextCall(operation="self.context", params={}))
        link = found[1] or Link(server="")
        return LinkedProject(project=project, server=link.server, workspace=link.workspace)

    return preview_or_write(rt, called, request, workspace=project, resolve=resolve, write=write)
