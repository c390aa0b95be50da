"""`login`: sign this machine in to a server. A person approves it; the machine keeps a token of an agent."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_AUTH,
    E_HUMAN_REQUIRED,
    E_NETWORK,
    E_VALIDATION,
    STORE_UNAVAILABLE,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail_team.client.team_file import (
    KeptServer,
    change_team_file,
    read_team_file,
)
from handrail_team.operations.machines import ADDRESS_RULE, Address, choose_server
from handrail_team.operations.team_scope import spell_time

_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
_MOST_BYTES = 65_536


class Login(Input, frozen=True, kw_only=True):
    """The server."""

    url: Address | UnsetType = UNSET
    resume: (
        Annotated[bool, Meta(description="Fetch the token, once a person let this machine in.")] | UnsetType
    ) = UNSET


class SignedIn(Answer, frozen=True, kw_only=True):
    """The server and account of this machine, and the end of its token."""

    server: str
    machine: str
    expires_at: str


def login(rt: Runtime, request: Login) -> SignedIn:
    """Ask for approval, or fetch the token.

    Raises Fault E_HUMAN_REQUIRED with the page for the approval, E_NETWORK, E_TIMEOUT and
    STORE_UNAVAILABLE.
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
    server = choose_server(held, url, "This machine waits at", "Run handrail login URL first.")
    return server, held[server]


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


OPERATION = Operation(
    name="team.login",
    effect="record",
    where="client",
    summary="Sign this machine in to the server of a team; a person lets it in.",
    input=Login,
    output=SignedIn,
    perform=login,
    value_rules={"url": ADDRESS_RULE},
    shape=Shape(levels={"minimal": ("server",)}),
    errors=(E_HUMAN_REQUIRED.code, E_AUTH.code, E_NETWORK.code, STORE_UNAVAILABLE.code),
)
