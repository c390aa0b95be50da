"""A process that has everything imported and forks one child per call: real processes without the start-up.

    python -m tests.conformance.fork_server SOCKET PARENT_PID

A request is one JSON line (argv, environment, directory, what to plant) with three descriptors. The child
goes through the real entry on these descriptors, with an environment and a working directory of its own. The
answer is two lines: the number of the child, and later its exit status, which is the kernel's.
What depends on the start itself (locale, imports, closed descriptors) is tested elsewhere.
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

import handrail
from handrail.contract.outcome import Success
from handrail.host.program import updates
from handrail.main import console, main
from handrail.operations import kept_trees
from handrail.runtime.hub import perform
from handrail.surfaces.cli.self_description.reference import ShowReference, show_reference
from handrail.wiring import build_runtime
from tests.conformance.fuzzed import run_lines, take_written
from tests.conformance.planted import PLANTS
from tests.readings import share_readings

LEFT_OUT = (
    "handrail_serve.mcp_over_http",
    "handrail.surfaces.mcp.http",
    "handrail.demo",
    "handrail.__main__",
    "handrail_serve.host.telemetry",
    "handrail_serve.endpoints.a2a_calls",
)
"""Heavy, and needed by one command each; the last ones need an extra."""
NOT_ENTERED = 99


def _load(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("handrail"):
            raise
        # of an extra that is not installed here


def serve(path: str, parent: int) -> NoReturn:
    for module in pkgutil.walk_packages(handrail.__path__, "handrail.", onerror=_unimportable):
        if not module.name.startswith(LEFT_OUT):
            _load(module.name)
    kept_trees.COMMAND_SECONDS = 60  # what is shown here must not depend on how busy the machine is
    updates.RETRY_MS = 1  # the pause before a second try has tests of its own
    share_readings(setattr)
    _warm_up()
    gc.freeze()  # children share the pages
    ended, wakes = os.pipe()
    for descriptor in (ended, wakes):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(path)
    door.listen(64)
    print("ready", flush=True)
    callers: dict[int, socket.socket] = {}
    while os.getppid() == parent:
        ready, _, _ = select.select([door.fileno(), ended], [], [], 1)
        if ended in ready:
            os.read(ended, 65_536)
            _tell_ends(callers)
        if door.fileno() in ready:
            caller, _ = door.accept()
            callers[_fork(caller)] = caller
    os._exit(0)


def _warm_up() -> None:
    """One run, so that patterns are compiled and tables are built: each child would do that anew."""
    with tempfile.TemporaryDirectory() as place:
        runtime = build_runtime({"HANDRAIL_PROJECT": place}, home=f"{place}/home")
        started: Any = perform(runtime, "run.start", {"workflowId": "wr.small_change", "requestId": "warm"})
        session = {"sessionId": started.data["session"]["sessionId"]}
        calls: dict[str, dict[str, Any]] = {
            "workflow.list": {},
            "workflow.inspect": {"workflowId": "wr.small_change"},
            "run.continue": {"ackToken": started.data["ackToken"], "output": {"notesMarkdown": "Warm."}},
            "session.list": {},
            "session.show": session,
            "session.resume": {"query": "warm"},
            "session.export": session,
            "store.verify": {},
        }
        for name, params in calls.items():
            outcome = perform(runtime, name, params)
            assert isinstance(outcome, Success), outcome
    show_reference(runtime, ShowReference())


def _unimportable(name: str) -> None:
    assert name.startswith(LEFT_OUT), name


def _tell_ends(callers: dict[int, socket.socket]) -> None:
    """Every child that has ended, to the caller that asked for it, if it still listens."""
    while callers:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        caller = callers.pop(child)
        with caller, suppress(OSError):  # it may not wait for this
            caller.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _fork(caller: socket.socket) -> int:
    """A child for this request; its number."""
    line, descriptors = b"", list[int]()
    while not line.endswith(b"\n"):
        part, found, _, _ = socket.recv_fds(caller, 65_536, 3)
        assert part, "the caller left in the middle of its request"
        line, descriptors = line + part, descriptors + found
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _enter(json.loads(line), descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    caller.sendall(b"%d\n" % child)
    return child


def _enter(asked: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Become the tool, on these descriptors."""
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        os.closerange(3, 256)
        _enter_place(asked)
        if "lines" in asked:
            _run_lines(asked)
        if asked["plant"]:
            PLANTS[asked["plant"]]()
        if "stays" in asked:
            _stay()
        sys.argv = words_of(asked)
        console()
    except BaseException:  # noqa: BLE001 - whatever it is, the caller must hear of it
        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
        os._exit(NOT_ENTERED)


def words_of(asked: Mapping[str, Any]) -> list[str]:
    return ["handrail", *(os.fsdecode(base64.b64decode(word)) for word in asked["arguments"])]


def _stay() -> NoReturn:
    """A call after the other in this process, each through the real entry, until nobody asks any more."""
    with (
        open(os.dup(0), "rb") as asks,
        open(os.dup(1), "wb") as answers,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        for number, stream in ((1, out), (2, err)):
            os.dup2(stream.fileno(), number)
        for line in asks:
            status = _call(json.loads(line))
            for written in (sys.stdout, sys.stderr):
                written.flush()
            told = [base64.b64encode(take_written(stream)).decode() for stream in (out, err)]
            answers.write(json.dumps([status, *told]).encode() + b"\n")
            answers.flush()
    os._exit(0)


def _call(asked: dict[str, Any]) -> int:
    """One call as in a process of its own: with its words, its variables, its directory and its input."""
    reads, writes = os.pipe()
    os.write(writes, base64.b64decode(asked["stdin"]))
    os.dup2(reads, 0)
    os.close(reads)
    os.close(writes)
    sys.stdin = open(0, encoding="utf-8", errors=sys.stdin.errors, closefd=False)  # noqa: SIM115 - until the next
    _enter_place(asked)
    sys.argv = words_of(asked)
    return main()


def _enter_place(asked: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["directory"])


def _run_lines(asked: dict[str, Any]) -> NoReturn:
    """Many lines in this one process; what came of them is the one answer."""
    out = os.dup(1)
    for plant in ("sound proof", "index"):
        PLANTS[plant]()
    told = run_lines(asked["seed"], asked["lines"], asked["names"])
    with open(out, "wb") as file:
        file.write(json.dumps(told).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
