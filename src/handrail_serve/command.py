"""`handrail serve` and `handrail console`: claim the home, bind, tell where, serve until a signal.

What is printed leads to the token and never holds it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from queue import Full, Queue

import msgspec

from handrail import __version__
from handrail.contract.outcome import Fault, Notice
from handrail.ports.server import RunningServer, ServerPlace
from handrail.runtime.hub import try_afterwards
from handrail.runtime.permission import Caller, write_server_start_line
from handrail.runtime.runtime import Due, NoTerminal, Runtime
from handrail_serve.app import AnswerMcp, App, Parts
from handrail_serve.companions.agent_card import BuildA2a
from handrail_serve.feed import Marks
from handrail_serve.guard import loopback_identity
from handrail_serve.serving import DEFAULT_PORT, address_of, bind, require_loopback, serve


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
    """The runtime of a server: nobody sits at its terminal, and files are looked at after the replies."""

    def take(due: Due) -> None:
        def work() -> str:
            take_tree(runtime, due)
            return ""

        try_afterwards(runtime, work)

    runtime = msgspec.structs.replace(runtime, start_notice=None)  # a server starts nothing
    return msgspec.structs.replace(runtime, terminal=NoTerminal, trees_due=TreesDue(take))


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
