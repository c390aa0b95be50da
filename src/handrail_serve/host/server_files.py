"""The files of a running server: its lock, where it answers, its token, and the page that hands that over.

Whoever holds the lock is the server of this home, so a file that a killed one left is never believed. The
token is in 0600 files alone: not in an address, an argument or an output.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_CONFLICT, STORE_IO_ERROR
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.host.private_files import (
    create_private,
    ensure_private_directory,
    open_regular_file,
    replace_private,
)
from handrail.ports.process import Randomness
from handrail.ports.server import RunningServer

_TOKEN_BYTES = 32
_SHORTEST_TOKEN, _LONGEST_TOKEN = 32, 512
_LOCK, _STATE, _PAGE = "server.lock", "server.json", "open.html"
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = 0o077
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
_TRIES, _PAUSE_SECONDS = 20, 0.02
"""Who only looks whether a server runs holds the lock for a moment."""


class ServerFiles:
    """`ports.ServerPlace` in files of the home."""

    def __init__(self, home: str, randomness: Randomness, environment: Mapping[str, str]) -> None:
        self._folder = os.path.join(home, "run")
        self._randomness = randomness
        self._environment = environment

    @property
    def state_path(self) -> str:
        return os.path.join(self._folder, _STATE)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Be the server of this home for the scope of the `with`; its files go when it ends.

        Raises Fault E_CONFLICT when another process is.
        """
        descriptor = self._open_lock()
        try:
            if not _lock(descriptor):
                raise self._refuse_second()
            try:
                self._remove(_STATE, _PAGE)  # what a killed server left
                yield
            finally:
                self._remove(_STATE, _PAGE)
        finally:
            os.close(descriptor)

    def announce(self, server: RunningServer) -> None:
        """Write down where the server answers, and with which token."""
        replace_private(self.state_path, msgspec.json.encode(server) + b"\n")

    def find_running(self) -> RunningServer | None:
        """The server of this home that runs now: only one that holds the lock is believed."""
        try:
            descriptor = os.open(os.path.join(self._folder, _LOCK), _OPEN)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._read_state()
        finally:
            os.close(descriptor)
        return None

    def make_token(self) -> str:
        """256 bits, as an address may hold them."""
        return self._randomness.bytes(_TOKEN_BYTES).hex()

    def keep_token(self, path: str) -> str:
        """The token in the user's own file, which is made if it is missing.

        Raises Fault E_CONFIG when others may read the file, or it holds no token.
        """
        full = os.path.abspath(os.path.expanduser(path))
        try:
            create_private(full, (self.make_token().encode(), b"\n"))
            with open(full, "rb", opener=open_regular_file) as file:
                is_open = bool(os.fstat(file.fileno()).st_mode & _OTHERS)
                content = file.read(_LONGEST_TOKEN + 2)
        except OSError as trouble:
            raise Fault(
                E_CONFIG,
                f"The token file {quote(full)} cannot be used: {trouble.strerror}.",
                hint="Name a file in a directory of your own with --token-file.",
            ) from trouble
        token = content.strip()
        if is_open:
            raise Fault(
                E_CONFIG,
                f"Others may read the token file {quote(full)}.",
                hint="Take their rights away: chmod 600 on that file.",
            )
        if not _SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN or not token.isalnum() or not token.isascii():
            raise Fault(
                E_CONFIG,
                f"The token file {quote(full)} holds no token: letters and digits, 32 to 512 of them.",
                hint="Delete the file, and the server makes a new one.",
            )
        return token.decode()

    def show(self, address: str, token: str) -> bool:
        path = os.path.join(self._folder, _PAGE)
        target = f"{address}#token={token}"
        page = (
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<title>Handrail</title><meta http-equiv="refresh" content="0;url={target}">'
            f'<p><a href="{target}">Open the Console</a></p>\n'
        )
        if not _has_browser(self._environment):
            return False
        try:
            replace_private(path, page.encode())
        except OSError as trouble:
            raise _io_fault(path, trouble) from trouble
        return _open_in_browser(path)

    def note_unlocked(self) -> None:
        self._remove(_PAGE)

    def _open_lock(self) -> int:
        path = os.path.join(self._folder, _LOCK)
        try:
            ensure_private_directory(self._folder)
            return os.open(path, _OPEN | os.O_CREAT, 0o600)
        except OSError as trouble:
            raise _io_fault(path, trouble) from trouble

    def _read_state(self) -> RunningServer | None:
        """None while the server has not written it yet, or where it is not private."""
        try:
            with open(self.state_path, "rb", opener=open_regular_file) as file:
                held = os.fstat(file.fileno())
                if held.st_mode & _OTHERS or not stat.S_ISREG(held.st_mode):
                    return None
                return msgspec.json.decode(file.read(65_536), type=RunningServer)
        except (OSError, msgspec.DecodeError):
            return None

    def _refuse_second(self) -> Fault:
        running = self._read_state()
        where = "" if running is None else f" at {running.address} (process {running.pid})"
        return Fault(
            E_CONFLICT,
            f"A server of this store is running already{where}.",
            details={"reason": "already_running"},
            hint="Open it with `handrail console`, or stop it first; another HANDRAIL_HOME has its own.",
        )

    def _remove(self, *names: str) -> None:
        for name in names:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, name))


def _lock(descriptor: int) -> bool:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
    return False


def _io_fault(path: str, trouble: OSError) -> Fault:
    return Fault(
        STORE_IO_ERROR,
        f"{quote(path)} could not be written: {trouble.strerror}.",
        details={"reason": errno.errorcode.get(trouble.errno or 0, "unknown")},
    )


def _has_browser(environment: Mapping[str, str]) -> bool:
    """Whether there is a screen; a browser that would take the terminal is never started."""
    return sys.platform == "darwin" or any(environment.get(name) for name in _SCREENS)


def _open_in_browser(path: str) -> bool:
    """Whether a browser was asked: the path stands in the process list, what the file holds does not."""
    try:
        return webbrowser.open(Path(path).as_uri())
    except (webbrowser.Error, OSError):
        return False
