"""The processes of the demo: the Handrail calls that its agent makes. Only ever this package itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.host.programs import make_child_environment, own_command

Moment: TypeAlias = Literal["at_once", "when_written", "when_attested"]
"""When the agent kills the call it has just started.

`when_written`: its events have reached the disk; `when_attested`: so has the record that makes them count.
"""

FROM_MEMORY = {
    "@ack": "ackToken",
    "@retry": "retryAckToken",
    "@state": "stateToken",
    "@session": "sessionId",
}
"""Words of a call that the agent replaces by what it remembers; a new agent remembers nothing."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How the call went. A killed one has no `out`: whatever it answered, nobody read it."""

    arguments: list[str]
    """As they were sent, tokens filled in."""
    status: int
    out: str
    is_killed: bool
    duration_ms: int


CALL_SECONDS = 60
MOMENT_SECONDS = 20
_LOOK_SECONDS = 0.0005
_HERMETIC = ("HANDRAIL_", "AI_NATIVE_CLI_SECRET", "PYTHONSTARTUP", "PYTHONINSPECT")


def make_demo_environment(environment: Mapping[str, str], home: str, project: str) -> dict[str, str]:
    """The caller's environment, but of Handrail's settings only the scratch directory."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_HERMETIC)}
    return kept | {"HANDRAIL_HOME": home, "HANDRAIL_PROJECT": project}


class Calls:
    """Calls of the command line, each in a process of its own."""

    def __init__(self, environment: Mapping[str, str], directory: str) -> None:
        self._environment = make_child_environment(environment)
        self._directory = directory

    def make(self, arguments: Sequence[str]) -> Report:
        """One call, to its end."""
        started = time.monotonic_ns()
        with self._start(arguments, subprocess.PIPE) as child:
            try:
                out, _ = child.communicate(timeout=CALL_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                out, _ = child.communicate()
        return _report(arguments, child, out, started)

    def kill(self, arguments: Sequence[str], moment: Moment, watched: str) -> Report:
        """The same call, killed at a given moment. It cannot end before, because nobody reads its reply."""
        started = time.monotonic_ns()
        reader, writer = _full_pipe()
        try:
            with self._start(arguments, writer) as child:
                try:
                    _wait(child, moment, watched)
                finally:
                    child.kill()
        finally:
            os.close(reader)
            os.close(writer)
        return _report(arguments, child, b"", started)

    def _start(self, arguments: Sequence[str], out: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this interpreter and this package, no shell
            [*own_command(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            cwd=self._directory,
        )


def read_tokens(out: str) -> dict[str, str]:
    """The tokens of an answer; of a list, those of the next call of its first item."""
    try:
        data = msgspec.json.decode(out).get("data", {})
    except (msgspec.DecodeError, AttributeError):
        return {}
    places: list[Any] = [data, data.get("session", {})]
    for candidate in data.get("items", [])[:1]:
        places += [candidate, candidate.get("nextCall", {}).get("params", {})]
    return {name: place[name] for place in places for name in FROM_MEMORY.values() if place.get(name)}


def _report(arguments: Sequence[str], child: subprocess.Popen[bytes], out: bytes, started: int) -> Report:
    return Report(
        arguments=list(arguments),
        status=child.returncode,
        out=out.decode(errors="replace"),
        is_killed=child.returncode == -signal.SIGKILL,
        duration_ms=(time.monotonic_ns() - started) // 1_000_000,
    )


def _full_pipe() -> tuple[int, int]:
    """A full pipe, so that a process that writes to it waits."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x")
    os.set_blocking(writer, True)
    return reader, writer


def _wait(child: subprocess.Popen[bytes], moment: Moment, watched: str) -> None:
    """Wait for the moment, with a limit, because a failing call writes nothing."""
    begins = {"when_written": "events-", "when_attested": "manifest"}.get(moment)
    if begins is None:
        return
    ends_at = time.monotonic() + MOMENT_SECONDS
    before = _written(watched, begins)
    while child.poll() is None and time.monotonic() < ends_at and _written(watched, begins) == before:
        time.sleep(_LOOK_SECONDS)


def _written(directory: str, begins: str) -> list[tuple[str, int, int]]:
    """Name, size and time of the files with this prefix, which change when a session is written."""
    try:
        with os.scandir(directory) as found:
            files = [entry for entry in found if entry.name.startswith(begins)]
            return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in files)
    except OSError:
        return []
