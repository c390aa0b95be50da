"""A call that stops at a named stage until it is told to go on, so that a signal can meet it there."""

from __future__ import annotations

import os
import signal
import subprocess

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran, Tool

SCRIPT = """
import importlib, os, sys
place, method, skip, at, on = sys.argv[1:6]
module, _, owner = place.partition(":")
owner = getattr(importlib.import_module(module), owner) if owner else importlib.import_module(module)
real = getattr(owner, method)
left = [int(skip)]

def blocked(*args, **kwargs):
    left[0] -= 1
    if left[0] == -1:
        os.write(int(at), b".")
        os.read(int(on), 1)
    return real(*args, **kwargs)

setattr(owner, method, blocked)
sys.argv = ["handrail", *sys.argv[6:]]
from handrail.main import console
console()
"""


class Blocked:
    """A running call that has reached its stage."""

    def __init__(self, tool: Tool, stage: tuple[str, str, int], *arguments: str) -> None:
        place, method, skip = stage
        reached, at = os.pipe()
        on, self._release = os.pipe()
        self.running = subprocess.Popen(
            [tool.command[0], "-c", SCRIPT, place, method, str(skip), str(at), str(on), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tool.project,
            env=tool.environment,
            pass_fds=(at, on),
        )
        os.close(at)
        os.close(on)
        assert os.read(reached, 1) == b".", "the call ended before it reached the stage"
        os.close(reached)

    def send(self, number: signal.Signals) -> None:
        self.running.send_signal(number)

    def wait_for_line(self) -> bytes:
        assert self.running.stdout is not None
        return self.running.stdout.readline()

    def go_on(self) -> None:
        os.close(self._release)
        self._release = -1

    def end(self) -> Ran:
        """Let it go on, unless the signal ended it, and collect what it wrote."""
        if self._release >= 0:
            self.go_on()
        out, err = self.running.communicate(timeout=DEADLINE_SECONDS)
        return Ran(status=self.running.returncode, out=out, err=err)
