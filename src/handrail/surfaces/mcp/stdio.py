"""The MCP server on stdin and stdout. Only the protocol uses stdout, and every request gets an answer."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
from collections.abc import Iterator

from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.calls_in_progress import LIMITS, CallsInProgress, Limits, Outlet, ServerParts
from handrail.surfaces.mcp.eras import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from handrail.surfaces.mcp.messages import WORKFLOW_SET, Lines, ToolSet
from handrail.version import __version__

_CHUNK_BYTES = 65_536
STDIN, STDOUT, STDERR = 0, 1, 2
_FIRST_FREE = 3


def serve_stdio(runtime: Runtime, parts: ServerParts, store: str = "") -> None:
    """Serve until the client closes either end. Only the first line on stderr names `store`."""
    # Ending at once is safe: the log survives it, and every call may be repeated.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stderr.write(_greeting(runtime, store, parts.tool_set))
    sys.stderr.flush()
    incoming, outgoing = _claim_descriptors()
    trouble = serve(runtime, parts, incoming, outgoing)
    sys.stdout.flush()  # what a stray print left in Python's buffer; descriptor 1 is stderr
    if trouble is not None and not isinstance(trouble, BrokenPipeError | ConnectionResetError):
        sys.stderr.write("handrail mcp: stdout could not be written; free space there and start again.\n")
        raise SystemExit(E_IO.exit_status)


def serve(
    runtime: Runtime, parts: ServerParts, incoming: int, outgoing: int, limits: Limits = LIMITS
) -> OSError | None:
    """Serve between two descriptors until one is closed. Return the error of the outgoing one."""
    ends = os.pipe()
    with os.fdopen(ends[0], "rb") as woken, os.fdopen(ends[1], "wb", 0) as wake:
        outlet = Outlet(outgoing, wake)
        calls = CallsInProgress(runtime, parts, outlet, limits)
        calls.start()
        if _read_until_closed(calls, incoming, outgoing, woken.fileno()):
            calls.finish()
        calls.stop()
    return outlet.trouble


def _read_until_closed(calls: CallsInProgress, incoming: int, outgoing: int, woken: int) -> bool:
    """Read until the input ends. Return True if the client can still be answered then.

    A client that no longer reads is detected without writing to it: its end of the pipe reports an
    error.
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
            poll.unregister(outgoing)  # a device that cannot be polled
        if incoming not in events:
            continue
        chunk = os.read(incoming, _CHUNK_BYTES)
        _take_lines(calls, lines.feed(chunk) if chunk else lines.end())
        if not chunk:
            return True


def _take_lines(calls: CallsInProgress, lines: Iterator[bytes | None]) -> None:
    """Take lines in a frame of its own, because a loop that waits for input would keep the last line in
    memory.
    """
    for line in lines:
        calls.take(line)


def _claim_descriptors() -> tuple[int, int]:
    """Reserve both ends for the protocol: other reads find nothing, and other prints go to stderr."""
    claimed = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for each in (STDIN, STDOUT)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    return claimed[0], claimed[1]


def _greeting(runtime: Runtime, store: str, tool_set: ToolSet) -> str:
    """Return the first line, with what a person needs to find a problem; in a terminal it also names the
    program.
    """
    try:
        project = runtime.workspace.project("")
    except Fault as fault:
        project = f"none ({fault.message})"
    eras = f"{STATELESS_VERSIONS[-1]}, {HANDSHAKE_VERSIONS[-1]} and older"
    served = "mcp" if tool_set is WORKFLOW_SET else f"mcp --set {tool_set.name}"
    line = (
        f"handrail {__version__} {served}: project {project}; store {store or 'default'}; protocol {eras}\n"
    )
    if not sys.stdin.isatty():
        return line
    return (
        line + "This is a protocol server for an agent's client, not a prompt. "
        "Register it there (docs/how-to/connect-an-agent.md), or press Ctrl-D to leave.\n"
    )
