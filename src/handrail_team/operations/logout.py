"""`logout`: remove a server's token from this machine and end it on the server."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail_team.client.team_file import (
    change_team_file,
    read_team_file,
)
from handrail_team.operations.machines import ADDRESS_RULE, Address, choose_server


class Logout(Input, frozen=True, kw_only=True):
    """The server; the only one by default."""

    url: Address | UnsetType = UNSET


class SignedOut(Answer, frozen=True, kw_only=True):
    """What was removed, and whether the server ended the token."""

    server: str
    projects: list[str]
    """Projects whose link was removed."""
    had_token: bool
    """False if this machine had no token of the server."""
    is_ended: bool
    """False if the server did not answer: a person must end the token in the Console."""


def logout(rt: Runtime, request: Logout) -> SignedOut:
    """Remove the token and the links. Raises Fault E_CONFIG if the server is not clear."""
    home = rt.installation().home()
    file = read_team_file(home)
    server = request.url.rstrip("/") if request.url is not UNSET else ""
    known = [name for name in file.servers if server in ("", name)]
    if not known:
        return SignedOut(server=server, projects=[], had_token=False, is_ended=False)
    hint = f"Name one of {', '.join(known)}."[:500]
    server = choose_server(known, UNSET, "This machine is signed in to", hint)
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


OPERATION = Operation(
    name="team.logout",
    effect="record",
    where="client",
    summary="Sign this machine out of the server of a team.",
    input=Logout,
    output=SignedOut,
    perform=logout,
    value_rules={"url": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("server", "had_token", "is_ended")}),
)
