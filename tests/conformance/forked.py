"""The tests' one runner over the fork server: the same interface, in a fraction of the time."""

from __future__ import annotations

import array
import base64
import fcntl
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, Literal

from tests.conformance.recorder import record
from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran
from tests.surfaces.cli.tool import Tool as StartedTool

Ending = Literal["", "silence", "signal"]
"""How stdin ends: at once, never (the call has to give up), or never and a signal comes instead."""
AT_THE_START = ("PYTHON", "LC_", "LANG", "TZ")
"""Variables that an interpreter reads once, when it starts: they need a process that is started."""
LIVING = {"mcp", "serve", "console", "demo"}
"""Commands that live on, so that each needs a process of its own."""
MOST_CALLS = 500
"""Of one process, so that what it remembers stays little."""
PIPE_BYTES = 65_536
"""What a pipe takes while nobody reads."""
LOOK_SECONDS = 0.002


class Staying:
    """A process that answers one call after the other, for threads that wait for each other."""

    def __init__(self, asks: int, answers: int) -> None:
        self.calls = 0
        self._asks = os.fdopen(asks, "wb")
        self._answers = os.fdopen(answers, "rb")

    def ask(self, request: Mapping[str, Any], stdin: bytes) -> Ran:
        self.calls += 1
        self._asks.write(json.dumps({**request, "stdin": base64.b64encode(stdin).decode()}).encode() + b"\n")
        self._asks.flush()
        ready, _, _ = select.select([self._answers], [], [], DEADLINE_SECONDS)
        line = self._answers.readline() if ready else b""
        assert line, f"no answer to {_words_of(request)}"
        status, out, err = json.loads(line)
        return Ran(status=status, out=base64.b64decode(out), err=base64.b64decode(err))

    def close(self) -> None:
        """Nobody asks any more, so the process ends."""
        self._asks.close()
        self._answers.close()


class ForkServer:
    """The running server; leave it with `close`."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "fork.socket")
        self._staying: dict[str, Staying] = {}
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.fork_server", self.path, str(os.getpid())],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n", "the fork server did not start"

    def run(self, request: Mapping[str, Any], stdin: bytes = b"", ending: Ending = "") -> Ran:
        """What the call wrote, and how it ended.

        Most calls are answered by a process that has answered others: a fork costs ten times the call.
        """
        if ending or len(stdin) > PIPE_BYTES or "lines" in request or LIVING & _words_of(request):
            return self._run_alone(request, stdin, ending)
        with self._turn:
            return self._process_with(request["plant"]).ask(request, stdin)

    def _process_with(self, plant: str) -> Staying:
        held = self._staying.get(plant)
        if held is not None and held.calls < MOST_CALLS:
            return held
        if held is not None:
            held.close()
        theirs_in, asks = os.pipe()
        answers, theirs_out = os.pipe()
        request = {"environment": dict(os.environ), "directory": os.getcwd(), "plant": plant, "stays": True}
        self.spawn(request, [theirs_in, theirs_out, 2])
        for descriptor in (theirs_in, theirs_out):
            os.close(descriptor)
        self._staying[plant] = Staying(asks, answers)
        return self._staying[plant]

    def _run_alone(self, request: Mapping[str, Any], stdin: bytes, ending: Ending) -> Ran:
        """In a process of its own."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door, door.makefile("rb") as stream:
            child = self._asked(door, stream, request, theirs)
            for descriptor in theirs:
                os.close(descriptor)
            outputs = _pumped(child, stdin, ending, pipes[0][1], pipes[1][0], pipes[2][0])
            return Ran(status=int(stream.readline()), out=outputs[0], err=outputs[1])

    def program(self, folder: str) -> str:
        """A folder for PATH whose `handrail` is forked from here."""
        programs = os.path.join(folder, "programs")
        os.mkdir(programs)
        client = os.path.join(os.path.dirname(__file__), "fork_client.py")
        words = [sys.executable, "-IS", client, self.path]
        with open(
            os.open(f"{programs}/handrail", os.O_CREAT | os.O_WRONLY, 0o700), "w", encoding="utf-8"
        ) as file:
            file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        return programs

    def spawn(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """A process that lives on these three descriptors; its number."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door, door.makefile("rb") as stream:
            return self._asked(door, stream, request, descriptors)

    def _asked(
        self, door: socket.socket, stream: IO[bytes], request: Mapping[str, Any], descriptors: Sequence[int]
    ) -> int:
        door.connect(self.path)
        line = memoryview(json.dumps(request).encode() + b"\n")
        sent = socket.send_fds(door, [line], list(descriptors))
        if sent < len(line):  # the child may have ended by now, and the server have hung up
            door.sendall(line[sent:])
        return int(stream.readline())

    def close(self) -> None:
        for held in self._staying.values():
            held.close()
        self._process.terminate()
        self._process.wait(DEADLINE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


class ForkedTool(StartedTool):
    """Runs the command in a home of its own, in processes of the fork server."""

    def __init__(self, folder: str, server: ForkServer) -> None:
        super().__init__(folder)
        self.server = server

    def run(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        plant: str = "",
        ending: Ending = "",
    ) -> Ran:
        if any(name.startswith(AT_THE_START) for name in environment or ()):
            assert not plant
            assert not ending
            return super().run(*arguments, stdin=stdin, environment=environment)
        own = {name: value for name, value in self.environment.items() if name != "PYTHONPATH"}  # it steers
        request = {
            "arguments": [base64.b64encode(os.fsencode(word)).decode() for word in arguments],
            "environment": {**own, **(environment or {})},
            "directory": self.project,
            "plant": plant,
        }
        ran = self.server.run(request, stdin, ending)
        record(arguments, ran.status, ran.out, ran.err)
        return ran


def _words_of(request: Mapping[str, Any]) -> set[str]:
    return {os.fsdecode(base64.b64decode(word)) for word in request.get("arguments", ())}


def _pumped(child: int, rest: bytes, ending: Ending, into: int, out: int, err: int) -> list[bytes]:
    """Feed stdin and read both outputs to their ends; a child that takes too long is killed."""
    is_fed, is_interrupted = False, ending == "signal"
    ends_at = time.monotonic() + DEADLINE_SECONDS
    held = {out: bytearray(), err: bytearray()}
    reading = [out, err]
    os.set_blocking(into, False)
    while reading:
        if not is_fed and not rest and not ending:
            os.close(into)
            is_fed = True
        if time.monotonic() > ends_at:
            os.kill(child, signal.SIGKILL)
        looks = LOOK_SECONDS if is_interrupted and not rest else 1
        ready, writable, _ = select.select(reading, [into] if rest else [], [], looks)
        for descriptor in ready:
            if chunk := os.read(descriptor, 65_536):
                held[descriptor] += chunk
            else:
                reading.remove(descriptor)
        if writable:
            rest = _fed(into, rest)
        elif is_interrupted and not rest and _unread(into) == 0:
            os.kill(child, signal.SIGINT)  # it has read what there was, so it waits for more
            is_interrupted = False
    for descriptor in (out, err, *([] if is_fed else [into])):
        os.close(descriptor)
    return [bytes(held[out]), bytes(held[err])]


def _fed(into: int, rest: bytes) -> bytes:
    try:
        return rest[os.write(into, rest[:65_536]) :]
    except BrokenPipeError:
        return b""


def _unread(pipe: int) -> int:
    """Bytes that stand in the pipe and nobody took yet."""
    held = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, held)
    return held[0]
