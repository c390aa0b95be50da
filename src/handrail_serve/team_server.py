"""`handrail serve --team`: the server of a team. Any number of them share one database; none keeps a state.

It claims no home and makes no token: who may come in is in the database.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from handrail import __version__
from handrail.contract.catalogue import E_USAGE
from handrail.contract.outcome import Fault
from handrail.runtime.permission import Caller, write_server_start_line
from handrail.runtime.runtime import NoTerminal, Runtime
from handrail_serve.accounts.door import Door
from handrail_serve.app import AnswerMcp, App, Parts
from handrail_serve.command import ServeOptions, print_address, write_line
from handrail_serve.guard import team_identity
from handrail_serve.limits import TEAM_FEEDS_AT_ONCE, Bounds
from handrail_serve.serving import address_of, bind, serve

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_FLAGS = ("store", "origin", "workflows", "issuer", "client_id", "proxy", "tls_cert", "tls_key")


class TeamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What only the server of a team is told."""

    store: str
    origin: str = ""
    """Under which address its users know it; empty: where it listens."""
    workflows: str = ""
    """The folder with what it offers beside the bundled workflows; empty: that of its home."""
    issuer: str = ""
    """The identity provider; empty: there is none."""
    client_id: str = ""
    """Who we are to it; empty: it only vouches for tokens at `/mcp`."""
    client_secret: str = ""
    proxy: str = ""
    """The only addresses that are answered, with commas between them; empty: all."""
    tls_cert: str = ""
    tls_key: str = ""

    @property
    def provider(self) -> dict[str, str] | None:
        """What the accounts need to know of it."""
        if not self.issuer:
            return None
        told = {"issuer": self.issuer, "client_id": self.client_id, "client_secret": self.client_secret}
        return {**told, "origin": self.origin}


def take_team_options(given: dict[str, Any], environment: Mapping[str, str]) -> TeamOptions | None:
    """The flags of a team, out of those of the command; None: this is no server of a team.

    Raises Fault E_USAGE for one without the other.
    """
    is_team = bool(given.pop("team", False))
    told = {name: given.pop(name) for name in _FLAGS if name in given}
    if not is_team:
        if told:
            raise _misused(f"--{next(iter(told))} belongs to a server of a team: add --team.")
        return None
    if "token_file" in given:
        raise _misused("A server of a team has no token of its own: leave --token-file out.")
    told.setdefault("store", environment.get("HANDRAIL_STORE", ""))
    if not told["store"].startswith(("postgresql://", "postgres://")):
        raise _misused("A server of a team needs its database: --store postgresql://HOST/DATABASE.")
    if not os.path.isdir(told.get("workflows", os.curdir)):
        raise _misused("--workflows is a folder that is there.")
    origin = told.get("origin", "").rstrip("/")
    if origin and not _ORIGIN.fullmatch(origin):
        raise _misused("--origin is an address without a path, such as https://handrail.example.com.")
    if not origin and "issuer" in told:
        raise _misused("--issuer needs --origin: tokens are made for an address.")
    if "client_id" in told and "issuer" not in told:
        raise _misused("--client-id belongs to an --issuer.")
    if ("tls_cert" in told) != ("tls_key" in told):
        raise _misused("Give --tls-cert and --tls-key together.")
    secret = environment.get("HANDRAIL_CLIENT_SECRET", "")
    return TeamOptions(**{**told, "origin": origin}, client_secret=secret)


def _misused(message: str) -> Fault:
    return Fault(
        E_USAGE,
        message,
        details={"usage": "handrail serve --team --store postgresql://HOST/DATABASE --origin https://HOST"},
    )


def run_team_server(
    options: ServeOptions,
    team: TeamOptions,
    *,
    runtime: Runtime,
    build_mcp: Callable[[Runtime], AnswerMcp],
    door: Door,
) -> int:
    """Serve until a signal. Returns the exit status.

    Raises Fault when the address, the port or the database cannot be used; then nothing was bound.
    """
    door.check()
    proxies = frozenset(one.strip() for one in team.proxy.split(",") if one.strip())
    bound = bind(options.host, options.port, is_open=bool(team.tls_cert or proxies))
    name, port = address_of(bound)
    address = team.origin or f"{'https' if team.tls_cert else 'http'}://{name}:{port}"
    served = msgspec.structs.replace(runtime, terminal=NoTerminal, database=door.facts, origin=address)
    app = App(
        Parts(
            runtime=served,
            identity=team_identity(address, port),
            answer_mcp=build_mcp(served),
            log=write_line if options.access_log else None,
            proxies=proxies,
            door=door,
            bounds=Bounds(feeds=TEAM_FEEDS_AT_ONCE, limits=runtime.settings.of().limits),
        )
    )

    def announce_ready() -> None:
        door.start_sending(address)
        write_server_start_line(runtime, Caller(tool="handrail http", command="serve --team"))
        write_line(f"handrail {__version__} serve --team: {address}/; database {door.facts().place}")
        print_address(f"{address}/")

    return serve(app, bound, announce_ready, (team.tls_cert, team.tls_key) if team.tls_cert else None)
