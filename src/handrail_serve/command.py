"""`handrail serve` and `handrail console`: claim the home, bind, tell where, serve until a signal.

What is printed leads to the token and never holds it.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from queue import Full, Queue
from typing import Any

import msgspec
from msgspec.structs import replace

from handrail.contract.catalogue import E_USAGE
from handrail.contract.disclosure.fields import Level
from handrail.contract.outcome import Fault, Notice
from handrail.contract.redaction import Secrets
from handrail.host.process import SystemRandomness
from handrail.host.workflow_library import DirectoryLibrary
from handrail.ports.process import Observer
from handrail.ports.server import RunningServer, ServerPlace
from handrail.runtime.hub import try_afterwards
from handrail.runtime.permission import Caller, announce_process, write_server_start_line
from handrail.runtime.runtime import NO_OBSERVER, Due, Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.version import __version__
from handrail.wiring import build_runtime, home_directory, notices, session_marks
from handrail_serve.accounts.service import AccountService
from handrail_serve.app import AnswerMcp, App, Parts
from handrail_serve.calls import Served
from handrail_serve.endpoints.lafs import A2aCalls, BuildA2a, InThread
from handrail_serve.feed import Marks
from handrail_serve.guard import loopback_identity, team_identity
from handrail_serve.host.server_files import ServerFiles
from handrail_serve.limits import TEAM_FEEDS_AT_ONCE, Bounds
from handrail_serve.mcp_over_http import McpOverHttp
from handrail_serve.serving import (
    DEFAULT_PORT,
    BoundSocket,
    address_of,
    bind,
    require_loopback,
    serve,
    share,
)
from handrail_serve.workers import HASHES_OF_A_SERVER, Worker, Workers


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says, by the names of its flags."""

    command: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    opens_browser: bool = False
    token_file: str = ""
    """Keeps one token from start to start; empty: a new one each time."""
    access_log: bool = False
    store: str = ""
    """Named in the first line on stderr."""


def run_server(
    options: ServeOptions,
    place: ServerPlace,
    *,
    runtime: Runtime,
    build_mcp: Callable[[Runtime], AnswerMcp],
    notices: Callable[[str], Sequence[Notice]],
    take_tree: Callable[[Runtime, Due], None],
    marks: Marks,
    build_a2a: BuildA2a | None,
) -> int:
    """Serve until a signal, or show the server that runs already. Returns the exit status.

    Raises Fault when the address, the port or the home cannot be had; then nothing was bound.
    """
    require_loopback(options.host)
    if options.command == "console" and (running := place.find_running()) is not None:
        _show(place, running.address, running.console_token)
        return 0
    with place.claimed():
        token = place.keep_token(options.token_file) if options.token_file else place.make_token()
        console_token = place.make_token()
        for secret in (token, console_token):
            runtime.secrets.register(secret.encode())
        bound = bind(options.host, options.port)
        name, port = address_of(bound)
        address = f"http://{name}:{port}/"
        served = _prepare(runtime, take_tree)
        app = App(
            Parts(
                runtime=served,
                identity=loopback_identity(port, token, console_token),
                answer_mcp=build_mcp(served),
                notices=notices,
                log=write_line if options.access_log else None,
                note_unlocked=place.note_unlocked,
                marks=marks,
                build_a2a=build_a2a,
            )
        )

        def announce_ready() -> None:
            place.announce(_describe(runtime, address, token, console_token))
            write_server_start_line(runtime, Caller(tool="handrail http", command=options.command))
            write_line(_greeting(runtime, address, place.state_path, options.store))
            print_address(address)
            if options.opens_browser:
                _show(place, address, console_token)

        return serve(app, bound, announce_ready)


def _prepare(runtime: Runtime, take_tree: Callable[[Runtime, Due], None]) -> Runtime:
    """The runtime of a server: files are looked at after the replies."""

    def take(due: Due) -> None:
        def work() -> str:
            take_tree(runtime, due)
            return ""

        try_afterwards(runtime, work)

    return replace(runtime, start_notice=None, trees_due=TreesDue(take))  # a server starts nothing


def _describe(runtime: Runtime, address: str, token: str, console_token: str) -> RunningServer:
    return RunningServer(
        pid=os.getpid(),
        address=address,
        token=token,
        console_token=console_token,
        version=__version__,
        project=_project(runtime),
        started_at=runtime.clock.now(),
    )


def _greeting(runtime: Runtime, address: str, state_path: str, store: str) -> str:
    return (
        f"handrail {__version__} serve: {address}; project {_project(runtime) or 'none'}; "
        f"store {store or 'default'}; token in {state_path}"
    )


def _project(runtime: Runtime) -> str:
    try:
        return runtime.workspace.project("")
    except Fault:
        return ""


def _show(place: ServerPlace, address: str, token: str) -> None:
    if place.show(address, token):
        write_line(f"The Console opens in your browser: {address}")
    else:
        write_line(
            f"There is no browser to open here. Open {address} in one, and unlock it with the consoleToken "
            f"in {place.state_path}."
        )


def print_address(address: str) -> None:
    """The one line on stdout, for scripts; it may be closed."""
    try:
        os.write(1, address.encode() + b"\n")
    except OSError:
        return


def write_line(line: str) -> None:
    sys.stderr.write(line.encode("ascii", "backslashreplace").decode() + "\n")
    sys.stderr.flush()


# Looking at the files of new nodes, after the replies

MOST_TREES_WAITING = 64
"""Trees that wait to be taken; of a further call, none is."""


class TreesDue(list[Due]):
    """What calls leave to be looked at: a list that only takes, and hands on to its thread."""

    def __init__(self, take: Callable[[Due], None]) -> None:
        super().__init__()
        self._take = take
        self._waiting: Queue[Due] = Queue(MOST_TREES_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def append(self, due: Due) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="trees")
                self._thread.start()
        try:
            self._waiting.put_nowait(due)
        except Full:
            return  # the run goes on without this look, as where nobody may look

    def _work(self) -> None:
        while True:
            self._take(self._waiting.get())


# `handrail serve --team`: any number of servers share one database; none keeps a state


_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")
_FLAGS = ("store", "origin", "workflows", "issuer", "client_id", "proxy", "tls_cert", "tls_key", "workers")


class TeamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Flags that only the server of a team has."""

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
    workers: int = 1
    """How many processes answer."""

    @property
    def proxies(self) -> frozenset[str]:
        return frozenset(one.strip() for one in self.proxy.split(",") if one.strip())

    @property
    def provider(self) -> dict[str, str] | None:
        """What the accounts need to know of it."""
        if not self.issuer:
            return None
        options = {"issuer": self.issuer, "client_id": self.client_id, "client_secret": self.client_secret}
        return {**options, "origin": self.origin}


def take_team_options(given: dict[str, Any], environment: Mapping[str, str]) -> TeamOptions | None:
    """The flags of a team, out of those of the command; None: this is no server of a team.

    Raises Fault E_USAGE for one without the other.
    """
    is_team = bool(given.pop("team", False))
    options = {name: given.pop(name) for name in _FLAGS if name in given}
    if not is_team:
        if options:
            raise _misused(f"--{next(iter(options))} belongs to a server of a team: add --team.")
        return None
    if "token_file" in given:
        raise _misused("A server of a team has no token of its own: leave --token-file out.")
    options.setdefault("store", environment.get("HANDRAIL_STORE", ""))
    if not options["store"].startswith(("postgresql://", "postgres://")):
        raise _misused("A server of a team needs its database: --store postgresql://HOST/DATABASE.")
    if options.get("workers", 1) < 1:
        raise _misused("--workers is the number of processes that answer: 1 or more.")
    if not os.path.isdir(options.get("workflows", os.curdir)):
        raise _misused("--workflows is a folder that is there.")
    origin = options.get("origin", "").rstrip("/")
    if origin and not _ORIGIN.fullmatch(origin):
        raise _misused("--origin is an address without a path, such as https://handrail.example.com.")
    if not origin and "issuer" in options:
        raise _misused("--issuer needs --origin: tokens are made for an address.")
    if "client_id" in options and "issuer" not in options:
        raise _misused("--client-id belongs to an --issuer.")
    if ("tls_cert" in options) != ("tls_key" in options):
        raise _misused("Give --tls-cert and --tls-key together.")
    secret = environment.get("HANDRAIL_CLIENT_SECRET", "")
    return TeamOptions(**{**options, "origin": origin}, client_secret=secret)


def _misused(message: str) -> Fault:
    return Fault(
        E_USAGE,
        message,
        details={"usage": "handrail serve --team --store postgresql://HOST/DATABASE --origin https://HOST"},
    )


def bind_team(options: ServeOptions, team: TeamOptions, accounts: AccountService) -> BoundSocket:
    """The socket of a server of a team.

    Raises Fault when the address, the port or the database cannot be used; then nothing was bound.
    """
    accounts.check()
    return bind(options.host, options.port, is_open=bool(team.tls_cert or team.proxies))


def run_team_server(
    options: ServeOptions,
    team: TeamOptions,
    bound: BoundSocket,
    *,
    runtime: Runtime,
    build_mcp: Callable[[Runtime], AnswerMcp],
    accounts: AccountService,
    worker: Worker | None = None,
) -> int:
    """Serve until a signal; a worker until it gets the signal to stop. Returns the exit status."""
    name, port = address_of(bound)
    address = team.origin or f"{'https' if team.tls_cert else 'http'}://{name}:{port}"
    served = replace(runtime, database=accounts.facts, origin=address)
    app = App(
        Parts(
            runtime=served,
            identity=team_identity(address, port),
            answer_mcp=build_mcp(served),
            log=write_line if options.access_log else None,
            proxies=team.proxies,
            accounts=accounts,
            turn_to_hash=nullcontext if worker is None else partial(worker.counts.one_of, HASHES_OF_A_SERVER),
            bounds=Bounds(feeds=TEAM_FEEDS_AT_ONCE, limits=runtime.settings.of().limits),
        )
    )

    def announce_ready() -> None:
        if worker is None or worker.index == 0:  # one of them is enough
            accounts.start_sending(address)
        if worker is not None and not worker.is_first:
            return
        write_server_start_line(runtime, Caller(tool="handrail http", command="serve --team"))
        write_line(f"handrail {__version__} serve --team: {address}/; database {accounts.facts().place}")
        print_address(f"{address}/")

    certificate = (team.tls_cert, team.tls_key) if team.tls_cert else None
    return serve(app, bound, announce_ready, certificate, None if worker is None else worker.orders)


# The start of `serve` and `console`: joins what the core and this package bring, and runs it


_SIGNALS = ("TRACES", "METRICS")


def start_server(
    command: str,
    given: dict[str, Any],
    environment: Mapping[str, str],
    secrets: Secrets,
    *,
    mvi: Level,
    take_tree: Callable[[Runtime, Due], None],
) -> int:
    """Serve until a signal. `given` are the flags of the command. Returns the exit status."""
    opens = bool(given.pop("open", False)) or command == "console"
    home = home_directory(environment)
    team = take_team_options(given, environment)
    if team is not None:
        environment = {name: value for name, value in environment.items() if name != "HANDRAIL_STORE"}
    options = ServeOptions(command=command, opens_browser=opens, store=home, **given)

    def build_mcp(runtime: Runtime) -> AnswerMcp:
        adapter = Adapter(runtime, mvi=mvi)
        announce_process(runtime, "http", tuple(adapter.tools))
        return McpOverHttp(adapter).answer

    if team is not None:
        return _start_team(options, team, environment, secrets, build_mcp)
    observer = build_observer(environment, write_line)
    runtime = replace(build_runtime(environment, secrets=secrets, is_server=True), observer=observer)
    try:
        return run_server(
            options,
            ServerFiles(home, SystemRandomness(), environment),
            runtime=runtime,
            build_mcp=build_mcp,
            notices=lambda operation: notices(environment, operation),
            take_tree=take_tree,
            marks=session_marks(environment),
            build_a2a=_build_a2a if find_spec("a2a") else None,
        )
    finally:
        runtime.mcp_processes().withdraw()
        observer.close()


def _start_team(
    options: ServeOptions,
    team: TeamOptions,
    environment: Mapping[str, str],
    secrets: Secrets,
    build_mcp: Callable[[Runtime], AnswerMcp],
) -> int:
    """Serve in this process, or in workers that are forked before there is a thread or a connection."""
    if team.client_secret:
        secrets.register(team.client_secret.encode())

    def build(worker: Worker | None) -> tuple[Runtime, AccountService]:
        runtime = build_runtime(environment, secrets=secrets, is_server=True)
        if team.workflows:
            runtime = replace(runtime, library=DirectoryLibrary(options.store, environment, team.workflows))
        make = runtime.registry.adapter("team_service")
        known, note = replace(runtime, origin=team.origin), write_line
        if worker is None:
            return runtime, make(team.store, known, team.provider, note)
        return runtime, make(team.store, known, team.provider, note, worker.counts, worker.of)

    def work(worker: Worker | None) -> int:
        runtime, accounts = build(worker)
        observer = build_observer(environment, write_line)
        runtime = replace(runtime, observer=observer)
        try:
            return run_team_server(
                options,
                team,
                bound,
                runtime=runtime,
                build_mcp=build_mcp,
                accounts=accounts,
                worker=worker,
            )
        finally:
            runtime.mcp_processes().withdraw()
            observer.close()

    first = build(None)[1]
    bound = bind_team(options, team, first)
    first.close()
    if team.workers == 1:
        return work(None)
    bound = share(bound)
    return Workers(team.workers, work, write_line).run()


def build_observer(environment: Mapping[str, str], note: Callable[[str], None]) -> Observer:
    """What the standard `OTEL_` variables ask for; by default nobody watches, and nothing is loaded."""
    named = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")
    ends = ("OTEL_EXPORTER_OTLP_ENDPOINT", *(f"OTEL_EXPORTER_OTLP_{what}_ENDPOINT" for what in _SIGNALS))
    is_asked = any(environment.get(name) == "otlp" for name in named) or any(map(environment.get, ends))
    if not is_asked or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return NO_OBSERVER
    try:
        from handrail_serve.host.telemetry import export_telemetry  # noqa: PLC0415 - few servers are watched

        return export_telemetry(environment)
    except ImportError:
        note("handrail: OTEL_ variables ask for telemetry; install handrail[otel], or unset them.")
    except ValueError as trouble:
        note(f"handrail: there is no telemetry, because an OTEL_ variable does not fit: {trouble}")
    return NO_OBSERVER


def _build_a2a(served: Served, in_thread: InThread) -> A2aCalls:
    from handrail_serve.endpoints.a2a_calls import Calls  # noqa: PLC0415 - an extra brings its library

    return Calls(served, in_thread)
