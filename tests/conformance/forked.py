"""The tests' one runner over the fork server: the same interface, a tenth of the time, calls side by side."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tests.conformance.recorder import record
from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran
from tests.surfaces.cli.tool import Tool as StartedTool

Ending = Literal["", "silence", "signal"]
"""How stdin ends: at once, never (the call has to give up), or never and a signal comes instead."""


class ForkServer:
    """The running server; leave it with `close`."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "fork.socket")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.fork_server", self.path, str(os.getpid())],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n", "the fork server did not start"

    def ask(self, request: Mapping[str, Any]) -> Any:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.connect(self.path)
            with door.makefile("rwb") as stream:
                stream.write(json.dumps(request).encode() + b"\n")
                stream.flush()
                return json.loads(stream.readline())

    def spawn(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """A process that lives on these three descriptors; its number."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.connect(self.path)
            socket.send_fds(door, [json.dumps(request).encode() + b"\n"], list(descriptors))
            with door.makefile("rb") as stream:
                return int(stream.readline())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(DEADLINE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


class ForkedTool(StartedTool):
    """Runs the command in a home of its own, each call in a forked process."""

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
        told = self.server.ask(
            {
                "arguments": [base64.b64encode(os.fsencode(word)).decode() for word in arguments],
                "environment": {**self.environment, **(environment or {})},
                "directory": self.project,
                "stdin": base64.b64encode(stdin).decode(),
                "plant": plant,
                "ending": ending,
                "seconds": DEADLINE_SECONDS,
            }
        )
        ran = Ran(status=told["status"], out=base64.b64decode(told["out"]), err=base64.b64decode(told["err"]))
        record(arguments, ran.status, ran.out, ran.err)
        return ran
