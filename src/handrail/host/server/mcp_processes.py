"""Which MCP servers of this home run now: each has a file of its own, and holds its lock while it lives.

A file that nobody holds was left by a server that was killed: it is not believed, and the next server that
starts takes it away.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from handrail.host.private_files import ensure_private_directory, open_regular_file, read_document
from handrail.ports.process import McpProcess

_MOST_SERVERS = 200
"""That are looked at, by name."""
_MOST_BYTES = 65_536
_FOLDER = "run"
_PREFIX, _SUFFIX = "mcp-", ".json"
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class McpProcessFiles:
    """`ports.McpProcesses` in files of the home."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, _FOLDER)
        self._held: dict[str, int] = {}

    def announce(self, server: McpProcess) -> None:
        """Never raises: a server works without being listed."""
        path = os.path.join(self._folder, f"{_PREFIX}{server.pid}{_SUFFIX}")
        with suppress(OSError):
            ensure_private_directory(self._folder)
            self._remove_left()
            descriptor = os.open(path, _OPEN, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, msgspec.json.encode(server) + b"\n")
            self._held[path] = descriptor

    def withdraw(self) -> None:
        for path, descriptor in self._held.items():
            with suppress(OSError):
                os.unlink(path)
            os.close(descriptor)
        self._held.clear()

    def running(self) -> tuple[McpProcess, ...]:
        found = [server for path in self._paths() if (server := _read_held(path)) is not None]
        return tuple(sorted(found, key=lambda one: (one.started_at, one.pid)))

    def _paths(self) -> list[str]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        own = [name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
        return [os.path.join(self._folder, name) for name in own[:_MOST_SERVERS]]

    def _remove_left(self) -> None:
        for path in self._paths():
            for _ in _unheld(path):
                with suppress(OSError):
                    os.unlink(path)


def _read_held(path: str) -> McpProcess | None:
    """What the file says if its server lives; None otherwise."""
    for _ in _unheld(path):
        return None
    return read_document(path, McpProcess, _MOST_BYTES)


def _unheld(path: str) -> Iterator[None]:
    """Once if nobody holds the lock of the file, while it is held here; not at all otherwise."""
    try:
        descriptor = open_regular_file(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
