"""The MCP server on stdin and stdout: protocol alone on stdout, every request answered, then the end."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
from collections.abc import Iterator

from handrail import __version__
from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.eras import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from handrail.surfaces.mcp.messages import Lines
from handrail.surfaces.mcp.under_way import LIMITS, Door, Limits, Outlet, UnderWay

_CHUNK_BYTES = 65_536
STDIN, STDOUT, STDERR = 0, 1, 2
_FIRST_FREE = 3


def serve_stdio(runtime: Runtime, door: Door, store: str = "") -> None:
    """Serve until the client closes either end. `store` is only named in the first line on stderr."""
    # Dying at once is safe: the log survives it, and every call may be repeated.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stderr.write(_greeting(runtime, store))
    sys.stderr.flush()
    incoming, outgoing = _claim_descriptors()
    trouble = serve(runtime, door, incoming, outgoing)
    sys.stdout.flush()  # what a stray print left in Python's buffer; descriptor 1 is stderr
    if trouble is not None and not isinstance(trouble, BrokenPipeError | ConnectionResetError):
        sys.stderr.write("handrail mcp: stdout could not be written; free space there and start again.\n")
        raise SystemExit(E_IO.exit_status)


def serve(
    runtime: Runtime, door: Door, incoming: int, outgoing: int, limits: Limits = LIMITS
) -> OSError | None:
    """Serve between two descriptors until one of them ends; what went wrong with the outgoing one."""
    ends = os.pipe()
    with os.fdopen(ends[0], "rb") as woken, os.fdopen(ends[1], "wb", 0) as wake:
        outlet = Outlet(outgoing, wake)
        under_way = UnderWay(runtime, door, outlet, limits)
        under_way.start()
        if _read_to_the_end(under_way, incoming, outgoing, woken.fileno()):
            under_way.finish()
        under_way.stop()
    return outlet.trouble


def _read_to_the_end(under_way: UnderWay, incoming: int, outgoing: int, woken: int) -> bool:
    """Whether there is still somebody to answer when nothing more comes in.

    A client that no longer listens is noticed without writing to it: its end of the pipe reports an error.
    """
    lines = Lines()
    poll = select.poll()
    poll.register(incoming, select.POLLIN)
    poll.register(woken, select.POLLIN)
    poll.register(outgoing, 0)
    while True:
        events = dict(poll.poll())
        if woken in events or events.get(outgoing, 0) & (select.POLLERR | select.POLLHUP):
            return False
        if outgoing in events:
            poll.unregister(outgoing)  # a device that cannot be asked
        if incoming not in events:
            continue
        chunk = os.read(incoming, _CHUNK_BYTES)
        _hand_in(under_way, lines.feed(chunk) if chunk else lines.end())
        if not chunk:
            return True


def _hand_in(under_way: UnderWay, lines: Iterator[bytes | None]) -> None:
    """In a frame of its own: a loop that waits for input would keep the last line."""
    for line in lines:
        under_way.take(line)


def _claim_descriptors() -> tuple[int, int]:
    """Both ends for the protocol alone: what else reads finds nothing, what else prints is on stderr."""
    claimed = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for each in (STDIN, STDOUT)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    return claimed[0], claimed[1]


def _greeting(runtime: Runtime, store: str) -> str:
    """The first line names what a person needs when something is odd; in a terminal, what this is."""
    try:
        project = runtime.workspace.project("")
    except Fault as fault:
        project = f"none ({fault.message})"
    eras = f"{STATELESS_VERSIONS[-1]}, {HANDSHAKE_VERSIONS[-1]} and older"
    line = f"handrail {__version__} mcp: project {project}; store {store or 'default'}; protocol {eras}\n"
    if not sys.stdin.isatty():
        return line
    return (
        line + "This is a protocol server for an agent's client, not a prompt. "
        "Register it there (docs/how-to/connect-an-agent.md), or press Ctrl-D to leave.\n"
    )
