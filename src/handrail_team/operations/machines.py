"""What this machine has of a team: signing in and out, its projects, and who its calls come from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_AUTH,
    E_CONFIG,
    E_HUMAN_REQUIRED,
    E_NETWORK,
    E_NOT_FOUND,
    E_VALIDATION,
    STORE_UNAVAILABLE,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Answer, Fault, NextCall, Success, make_from
from handrail.contract.parameters import ProjectPath, TokenText
from handrail.runtime.operation import Input, Operation, ValueRule
from handrail.runtime.runtime import Runtime, project_of
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail_team.companion.team_file import (
    KeptServer,
    Link,
    TeamFile,
    change_link,
    change_team_file,
    read_team_file,
)
from handrail_team.operations.asked import TeamQuestion, find_team, given, spell_time

# `team.login`: sign this machine in to a server. A person lets it in; what is kept is an agent's token.


_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
_MOST_BYTES = 65_536
_ADDRESS = re.compile(r"https?://[^\s/]+/?")
Address = Annotated[str, Meta(description="Where the server of the team is reached.", max_length=2_048)]
ADDRESS_RULE = ValueRule(
    fits=lambda text: _ADDRESS.fullmatch(text) is not None,
    problem="is not the address of a server",
    expected="https://, a name, and a port if it has one: https://handrail.example.com",
)


class Login(Input, frozen=True, kw_only=True):
    """To which server."""

    url: Address | UnsetType = UNSET
    resume: (
        Annotated[bool, Meta(description="Fetch the token, once a person let this machine in.")] | UnsetType
    ) = UNSET


class SignedIn(Answer, frozen=True, kw_only=True):
    """Where this machine is signed in, and until when."""

    server: str
    machine: str
    expires_at: str


def login(rt: Runtime, request: Login) -> SignedIn:
    """Ask to be let in, or fetch the token.

    Raises Fault E_HUMAN_REQUIRED with where a person approves it, E_NETWORK, E_TIMEOUT and STORE_UNAVAILABLE.
    """
    home, machine = rt.installation().home(), os.uname().nodename or "unknown"
    if request.resume is True:
        server, secret = _find_waiting(home, request.url)
        made = _ask(rt, server, "machine_token", {"secret": secret})
        token = str(made["token"])
        rt.secrets.register(token.encode())
        change_team_file(home, server, KeptServer(token=token))
        rt.commits.note(NextCall(operation="team.whoami", params={}))
        return SignedIn(server=server, machine=machine, expires_at=spell_time(int(made["expires_at"])))
    if request.url is UNSET:
        raise Fault(
            E_VALIDATION,
            "Say which server.",
            details={"param": "url", "expected": "https://handrail.example.com"},
        )
    server = _read_address(request.url)
    asking = _ask(rt, server, "machine", {"machine": machine})
    secret, code = str(asking["secret"]), str(asking["code"])
    rt.secrets.register(secret.encode())
    change_team_file(home, server, KeptServer(asked=secret))
    raise _needs_person(server, code)


def _needs_person(server: str, code: str) -> Fault:
    url = f"{server}/machines/{code}"
    return Fault(
        E_HUMAN_REQUIRED,
        f"A person lets this machine in at {url} (code {code}); it takes a signed-in member of the team.",
        details={
            "action": "let this machine in",
            "url": url,
            "code": code,
            "resume": f"handrail login {server} --resume",
        },
        hint="Ask the user to open the address, then run what details.resume says.",
    )


def _read_address(url: str) -> str:
    address = url.rstrip("/")
    if address.startswith("http://") and not _LOOPBACK.fullmatch(address):
        raise Fault(
            E_VALIDATION,
            "A token goes to another machine over https alone.",
            details={"param": "url", "expected": "https://…"},
        )
    return address


def _find_waiting(home: str, url: str | UnsetType) -> tuple[str, str]:
    held = {name: one.asked for name, one in read_team_file(home).servers.items() if one.asked}
    server = _choose(held, url, "This machine waits at", "Run handrail login URL first.")
    return server, held[server]


def _choose(known: Iterable[str], asked: str | UnsetType, where: str, hint: str) -> str:
    """The server that is meant; the only one where none is named. Raises Fault E_CONFIG."""
    named = "" if asked is UNSET else asked.rstrip("/")
    found = [name for name in known if named in ("", name)]
    if len(found) == 1:
        return found[0]
    message = f"{where} several servers: name one." if found else f"{where} no server."
    raise Fault(E_CONFIG, message, details={"setting": "team.json"}, hint=hint)


def _ask(rt: Runtime, server: str, way: str, sent: dict[str, Any]) -> dict[str, Any]:
    headers = {"content-type": "application/json"}
    response = rt.http_client().ask(
        "POST", f"{server}/sign-in/{way}", headers, msgspec.json.encode(sent), 15, _MOST_BYTES
    )
    try:
        document = msgspec.json.decode(response.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        document = None
    if response.status == 200 and isinstance(document, dict):
        return document
    message = str(document.get("detail", "")) if isinstance(document, dict) else ""
    if response.status == E_HUMAN_REQUIRED.http_status:
        raise Fault(
            E_HUMAN_REQUIRED,
            message or "Nobody has let this machine in yet.",
            details={"action": "let this machine in", "resume": f"handrail login {server} --resume"},
        )
    if response.status == E_AUTH.http_status:
        raise Fault(E_AUTH, "This machine waited too long, or has its token.", hint="Run handrail login URL.")
    raise Fault(
        STORE_UNAVAILABLE,
        message or "There is no server of a team at this address.",
        details={"reason": "no_team"},
    )


LOGIN = Operation(
    name="team.login",
    effect="record",
    where="companion",
    summary="Sign this machine in to the server of a team; a person lets it in.",
    input=Login,
    output=SignedIn,
    perform=login,
    value_rules={"url": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("server",)}),
    errors=(E_HUMAN_REQUIRED.code, E_AUTH.code, E_NETWORK.code, STORE_UNAVAILABLE.code),
)


# `team.logout`: forget the token of a server on this machine, and end it there.


class Logout(Input, frozen=True, kw_only=True):
    """Of which server; the only one by default."""

    url: Address | UnsetType = UNSET


class SignedOut(Answer, frozen=True, kw_only=True):
    """What is forgotten, and whether the server ended the token too."""

    server: str
    projects: list[str]
    """They belong to no team any more."""
    had_token: bool
    """False: nothing of this server was kept here, so there was nothing to end."""
    is_ended: bool
    """False beside a token: the server did not answer; a person ends the token in the Console."""


def logout(rt: Runtime, request: Logout) -> SignedOut:
    """Raises Fault E_CONFIG where it is not clear which server is meant."""
    home = rt.installation().home()
    file = read_team_file(home)
    server = request.url.rstrip("/") if request.url is not UNSET else ""
    known = [name for name in file.servers if server in ("", name)]
    if not known:
        return SignedOut(server=server, projects=[], had_token=False, is_ended=False)
    hint = f"Name one of {', '.join(known)}."[:500]
    server = _choose(known, UNSET, "This machine is signed in to", hint)
    token = file.servers[server].token
    is_ended = bool(token) and _end(rt, server, token)
    change_team_file(home, server, None)
    rt.commits.note(NextCall(operation="self.context", params={}))
    projects = [root for root, link in file.projects.items() if link.server == server]
    return SignedOut(server=server, projects=projects, had_token=bool(token), is_ended=is_ended)


def _end(rt: Runtime, server: str, token: str) -> bool:
    rt.secrets.register(token.encode())
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    try:
        response = rt.http_client().ask("POST", f"{server}/sign-in/leave", headers, b"{}", 10, 65_536)
    except Fault:  # it is forgotten here all the same
        return False
    return response.status == 200


LOGOUT = Operation(
    name="team.logout",
    effect="record",
    where="companion",
    summary="Sign this machine out of the server of a team.",
    input=Logout,
    output=SignedOut,
    perform=logout,
    value_rules={"url": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("server", "had_token", "is_ended")}),
)


# `team.admit`: a person lets a machine in, whose agent is theirs from then on.


class AdmitMachine(TeamQuestion, frozen=True, kw_only=True):
    """Which machine."""

    code: Annotated[TokenText, Meta(description="What `handrail login` shows.", min_length=1, max_length=20)]
    show: Annotated[bool, Meta(description="Only say which machine it is.")] | UnsetType = UNSET


class AdmittedMachine(Answer, frozen=True, kw_only=True):
    """The machine, and whether it is let in now."""

    machine: str
    code: str
    is_admitted: bool
    next: str = ""
    """What is done there now, once it is let in."""


def admit_machine(rt: Runtime, request: AdmitMachine) -> AdmittedMachine:
    """Let it in, for who asks, in their workspace."""
    from handrail_team.accounts.as_found import account_of  # noqa: PLC0415 - a plain install has no database
    from handrail_team.accounts.machines import admit, find_asking  # noqa: PLC0415 - as above

    team = find_team(rt, request)
    if request.show is True:
        machine = find_asking(team.directory, request.code)
        return AdmittedMachine(machine=machine, code=request.code, is_admitted=False)
    machine = admit(team.directory, request.code, team.workspace.id, account_of(team.by))
    rt.commits.note(NextCall(operation="team.tokens", params={}))
    text = f"{machine} is let in. Run there: handrail login {rt.origin} --resume"
    return AdmittedMachine(machine=machine, code=request.code, is_admitted=True, next=text)


ADMIT = Operation(
    name="team.admit",
    effect="record",
    summary="Let a machine in that runs `handrail login`; a person does this in the Console.",
    input=AdmitMachine,
    output=AdmittedMachine,
    perform=admit_machine,
    reads_with=("show",),
    shape=Shape(levels={"minimal": ("machine", "is_admitted")}),
    errors=(E_NOT_FOUND.code, "FEATURE_DISABLED"),
)


# `team.whoami`: who a call comes from, as the server of the team knows it.


class WhoAmI(Input, frozen=True, kw_only=True):
    """The caller."""


class Caller(Answer, frozen=True, kw_only=True):
    """The account, and what it is here."""

    account: str
    name: str
    kind: str
    """`person` or `agent` of a team; `local`: this project belongs to none."""
    agent: str
    machine: str
    workspace: str
    role: str
    scopes: list[str]
    server: str = ""
    """Where the server of the team is reached."""
    expires_at: str = ""
    """When the credential of this call ends; empty: nobody says."""


def who_am_i(rt: Runtime, request: WhoAmI) -> Caller:
    """Who a credential stands for; without a team, whoever runs the program."""
    del request
    found = rt.principal
    if found is None:
        who = rt.workspace.account()
        return Caller(
            account=who, name=who, kind="local", agent="", machine="", workspace="", role="", scopes=[]
        )
    expires_at = spell_time(found.expires_at)
    return make_from(Caller, found, scopes=list(found.scopes), server=rt.origin, expires_at=expires_at)


WHOAMI = Operation(
    name="team.whoami",
    effect="read",
    summary="Who the calls of this project come from, as the server of its team knows it.",
    input=WhoAmI,
    output=Caller,
    perform=who_am_i,
    shape=Shape(levels={"minimal": ("account", "kind", "role")}, untrusted=("name", "agent")),
)


# `team.link`, `team.unlink`: new sessions of this project belong to the team, or not any more. A user's
# setting, never a project file.


ProjectName = ProjectPath


class LinkProject(GatedInput, frozen=True, kw_only=True):
    """Which project, and to which team."""

    server: Address | UnsetType = UNSET
    workspace: (
        Annotated[str, Meta(description="What the team calls it, for readers.", max_length=128)] | UnsetType
    ) = UNSET
    project: ProjectName | UnsetType = UNSET


class UnlinkProject(GatedInput, frozen=True, kw_only=True):
    """Which project."""

    project: ProjectName | UnsetType = UNSET


class LinkedProject(Answer, frozen=True, kw_only=True):
    """The team that a project belongs to; an empty server: none."""

    project: str
    server: str
    workspace: str


def link_project(rt: Runtime, request: LinkProject) -> DryRun | Success:
    """Show or say it. Raises Fault E_CONFIG where it is not clear which server is meant."""

    def choose(file: TeamFile) -> Link:
        asked = given(request.server, "").rstrip("/")
        signed_in = [name for name, held in file.servers.items() if held.token]
        hint = "Run handrail login URL, then handrail login --resume."
        server = asked or _choose(signed_in, UNSET, "This machine is signed in to", hint)
        return Link(server=server, workspace=given(request.workspace, ""))

    return _relink(rt, LINK, request, choose)


def unlink_project(rt: Runtime, request: UnlinkProject) -> DryRun | Success:
    """Show or say it; what belongs to the team stays there."""
    return _relink(rt, UNLINK, request, lambda _: None)


def _relink(
    rt: Runtime,
    called: Operation,
    request: LinkProject | UnlinkProject,
    choose: Callable[[TeamFile], Link | None],
) -> DryRun | Success:
    """Say which team the project belongs to, if nobody said something else since. Raises Fault E_CONFLICT."""
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


LINK = Operation(
    name="team.link",
    effect="gated",
    where="companion",
    summary="Let new sessions of this project belong to the team.",
    input=LinkProject,
    output=LinkedProject,
    perform=link_project,
    value_rules={"server": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("project", "server")}),
)


UNLINK = Operation(
    name="team.unlink",
    effect="gated",
    where="companion",
    summary="Keep new sessions of this project on this machine again.",
    input=UnlinkProject,
    output=LinkedProject,
    perform=unlink_project,
    shape=Shape(levels={"minimal": ("project", "server")}),
)
