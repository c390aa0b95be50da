"""A process that has everything imported and forks one child per call: real processes without the start-up.

    python -m tests.conformance.fork_server SOCKET PARENT_PID

A request is one JSON line: argv, environment, directory, stdin, what to plant and how to end. The child goes
through the real entry with descriptors, environment and working directory of its own, and its exit status is
the kernel's. A request that comes with three descriptors is not waited for: the child lives on them.
What depends on the start itself (locale, imports, closed descriptors) is tested elsewhere.
"""

from __future__ import annotations

import array
import base64
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import time
import traceback
from typing import Any, NoReturn

import handrail
from tests.conformance.planted import PLANTS

LEFT_OUT = (
    "handrail.surfaces.mcp.server",
    "handrail.surfaces.mcp.http",
    "handrail.demo",
    "handrail.__main__",
)
"""Heavy, and needed by one command each."""
NOT_ENTERED = 99
LOOK_SECONDS = 0.002


def main(path: str, parent: int) -> NoReturn:
    for module in pkgutil.walk_packages(handrail.__path__, "handrail.", onerror=_unimportable):
        if not module.name.startswith(LEFT_OUT):
            importlib.import_module(module.name)
    gc.freeze()  # children share the pages
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(path)
    door.listen(64)
    print("ready", flush=True)
    while os.getppid() == parent:
        ready, _, _ = select.select([door], [], [], 1)
        if not ready:
            continue
        caller, _ = door.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            door.close()
            _answer(caller)
        caller.close()
    os._exit(0)


def _unimportable(name: str) -> None:
    assert name.startswith(LEFT_OUT), name


def _answer(caller: socket.socket) -> NoReturn:
    """One call, in a process that serves nothing else."""
    line, descriptors = b"", list[int]()
    while not line.endswith(b"\n"):
        part, found, _, _ = socket.recv_fds(caller, 65_536, 3)
        line, descriptors = line + part, descriptors + found
    asked = json.loads(line)
    if descriptors:
        caller.sendall(b"%d\n" % os.getpid())
        _enter(asked, descriptors)
    told = _lines(asked) if "lines" in asked else _call(asked)
    caller.sendall(json.dumps(told).encode() + b"\n")
    os._exit(0)


def _lines(asked: dict[str, Any]) -> dict[str, Any]:
    """Many lines in this one process, which ends afterwards."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["directory"])
    for plant in ("sound proof", "index"):
        PLANTS[plant]()
    from tests.conformance.fuzzed import run_lines

    return run_lines(asked["seed"], asked["lines"], asked["names"])


def _call(asked: dict[str, Any]) -> dict[str, Any]:
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    if child == 0:
        _enter(asked, [pipes[0][0], pipes[1][1], pipes[2][1]])
    for descriptor in (pipes[0][0], pipes[1][1], pipes[2][1]):
        os.close(descriptor)
    outputs = _pumped(asked, child, pipes[0][1], pipes[1][0], pipes[2][0])
    _, status = os.waitpid(child, 0)
    out, err = (base64.b64encode(content).decode() for content in outputs)
    return {"status": os.waitstatus_to_exitcode(status), "out": out, "err": err}


def _enter(asked: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Become the tool."""
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked["directory"])
        sys.argv = ["handrail", *(os.fsdecode(base64.b64decode(word)) for word in asked["arguments"])]
        if asked["plant"]:
            PLANTS[asked["plant"]]()
        from handrail.main import console

        console()
    except BaseException:  # noqa: BLE001 - whatever it is, the parent must hear of it
        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
        os._exit(NOT_ENTERED)


def _pumped(asked: dict[str, Any], child: int, into: int, out: int, err: int) -> list[bytes]:
    """Feed stdin and read both outputs to their ends; a child that takes too long is killed."""
    rest = base64.b64decode(asked["stdin"])
    is_silent, is_interrupted = asked["ending"] != "", asked["ending"] == "signal"
    ends_at = time.monotonic() + asked["seconds"]
    held = {out: bytearray(), err: bytearray()}
    reading = [out, err]
    while reading:
        if time.monotonic() > ends_at:
            os.kill(child, signal.SIGKILL)
        ready, _, _ = select.select(reading, [], [], LOOK_SECONDS if is_interrupted or rest else 1)
        for descriptor in ready:
            if chunk := os.read(descriptor, 65_536):
                held[descriptor] += chunk
            else:
                reading.remove(descriptor)
        if rest:
            rest = _fed(into, rest)
        elif not is_silent:
            os.close(into)
            is_silent = True
        elif is_interrupted and _unread(into) == 0:
            os.kill(child, signal.SIGINT)  # it has read what there was, so it waits for more
            is_interrupted = False
    return [bytes(held[out]), bytes(held[err])]


def _fed(into: int, rest: bytes) -> bytes:
    _, writable, _ = select.select([], [into], [], 0)
    if not writable:
        return rest
    try:
        return rest[os.write(into, rest[:4096]) :]
    except BrokenPipeError:
        return b""


def _unread(pipe: int) -> int:
    """Bytes that stand in the pipe and nobody took yet."""
    held = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, held)
    return held[0]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
