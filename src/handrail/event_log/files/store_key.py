"""The key of a store in files, which proves the commits of this store, and the list of older sessions.

The file is `store-key/<place>/key` in the home, beside `data/` and not in it, so a copy of the sessions does
not include it. `<place>` names this machine and the folder of the store: a copy of the whole home at another
place has no key there, and the first commit in it makes another one. `store move` moves the key too.

The file is made once, before the first commit: a line with the key, then the list of all sessions that exist
then. It is written under another name, synced and renamed, so it appears as a whole or not at all. A process
that dies before that leaves no key, and the next commit makes one.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from handrail.contract.catalogue import KEYRING_INVALID
from handrail.contract.outcome import Fault
from handrail.event_log.files.disk import (
    Disk,
    make_directory,
    open_directory,
    open_file,
    read_from,
    replace_file,
)
from handrail.event_log.lines import (
    HEAD_BYTES,
    KEY_BYTES,
    ListedSession,
    decode_key,
    encode_key,
    find_listed,
    is_adoption,
    is_list,
    make_adoption,
    write_list,
)

KEY_FOLDER: Final = "store-key"
_KEY, _LOCK, _ADOPTED = "key", "lock", "adopted"
_WAIT_MS: Final = 5_000
_PAUSE_MS: Final = 5
_MACHINE_FILES: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def name_place(data: str, machine_files: Iterable[str] = _MACHINE_FILES) -> str:
    """Return the name of a data directory on this machine; a copy of the directory has another name."""
    machine = ""
    for path in machine_files:
        with suppress(OSError, UnicodeDecodeError), open(path, encoding="ascii") as file:
            machine = machine or file.read(64).strip()
    where = f"{machine}\0{os.path.realpath(data)}"
    return hashlib.sha256(where.encode(errors="surrogateescape")).hexdigest()[:16]


class StoreKey:
    """The key of the store in one data directory. It is read once, because it never changes."""

    def __init__(
        self, data: str, random_bytes: Callable[[int], bytes], disk: Disk | None = None, place: str = ""
    ) -> None:
        home = os.path.dirname(os.path.abspath(data))
        self.folder = f"{home}/{KEY_FOLDER}/{place or name_place(data)}"
        self._random_bytes = random_bytes
        self._disk = disk or Disk()
        self._key: bytes | None = None

    def read(self) -> bytes | None:
        """Return the key; None if there is none yet. Raise Fault KEYRING_INVALID if it cannot be used."""
        if self._key is None:
            with (
                suppress(FileNotFoundError),
                _TranslatedErrors(),
                open_directory(self._disk, self.folder) as at,
            ):
                self._key = self._read(at)
        return self._key

    def read_usable(self) -> bytes | None:
        """Return the key for readers: None also if the key cannot be used."""
        with suppress(Fault):
            return self.read()
        return None

    def ensure(self, list_sessions: Callable[[], Iterable[ListedSession]]) -> bytes:
        """Return the key, made now if there is none, with the list of the existing sessions.

        Raise Fault KEYRING_INVALID.
        """
        return self.read() or self.make(list_sessions, self._random_bytes(KEY_BYTES))

    def make(self, list_sessions: Callable[[], Iterable[ListedSession]], key: bytes) -> bytes:
        """Return the existing key, or else store this one. Raise Fault KEYRING_INVALID."""
        disk = self._disk
        with _TranslatedErrors():
            make_directory(disk, self.folder)
            with (
                open_directory(disk, self.folder) as at,
                open_file(disk, _LOCK, os.O_RDWR | os.O_CREAT, at) as lock,
            ):
                self._wait_for(lock)
                with suppress(FileNotFoundError):
                    self._key = self._read(at)
                    return self._key
                replace_file(disk, _KEY, encode_key(key) + write_list(key, list_sessions()), at)
                disk.sync_names(at)
        self._key = key
        return key

    def find_listed(self, session_id: str) -> ListedSession | None:
        """Return the list's row for a session; None if there is none."""
        key = self.read_usable()
        if key is None:
            return None
        with suppress(OSError), open_directory(self._disk, self.folder) as at:
            return find_listed(key, self._content(at)[HEAD_BYTES:], session_id)
        return None

    def count_listed(self) -> int:
        """Return the number of sessions on the list. Raise Fault KEYRING_INVALID."""
        with _TranslatedErrors(), open_directory(self._disk, self.folder) as at:
            return self._content(at)[HEAD_BYTES:].count(b"\n")

    def check(self) -> tuple[str, str] | None:
        """Return the problem of the key or its list: a word for it, and the place; None if there is none."""
        try:
            key = self.read()
        except Fault as fault:
            return str(fault.details["reason"]), fault.message
        if key is None:
            return None
        with suppress(OSError), open_directory(self._disk, self.folder) as at:
            content = self._content(at)
            if content[:HEAD_BYTES] == encode_key(key) and is_list(key, content[HEAD_BYTES:]):
                return None
        return "damaged", f"{self._name} is damaged: part of its list proves nothing any more."

    def is_adopted(self) -> bool:
        """Whether a person adopted everything on the list."""
        key = self.read_usable()
        if key is None:
            return False
        with (
            suppress(OSError),
            open_directory(self._disk, self.folder) as at,
            open_file(self._disk, _ADOPTED, os.O_RDONLY, at) as descriptor,
        ):
            return is_adoption(key, read_from(self._disk, descriptor).decode("ascii", "replace").strip())
        return False

    def adopt(self) -> None:
        """Count everything on the list as this store's own from now on. Raise Fault KEYRING_INVALID."""
        key = self.read()
        assert key is not None, "there is a list"
        with _TranslatedErrors(), open_directory(self._disk, self.folder) as at:
            replace_file(self._disk, _ADOPTED, make_adoption(key).encode() + b"\n", at)
            self._disk.sync_names(at)

    def beside(self, data: str, place: str) -> StoreKey:
        """Return the key of another data directory, under another name of the place."""
        return StoreKey(data, self._random_bytes, self._disk, place)

    def take_from(self, other: StoreKey) -> None:
        """Become the same key with the same list, because a whole store moves.

        Raise Fault KEYRING_INVALID.
        """
        disk = self._disk
        if other.read() is None:
            raise _invalid("missing", f"There is no {other._name}.")
        with _TranslatedErrors():
            make_directory(disk, self.folder)
            with (
                open_directory(disk, other.folder) as there,
                open_directory(disk, self.folder) as here,
                open_file(disk, _LOCK, os.O_RDWR | os.O_CREAT, here) as lock,
            ):
                self._wait_for(lock)
                if other.is_adopted():
                    replace_file(disk, _ADOPTED, make_adoption(other.read() or b"").encode() + b"\n", here)
                replace_file(disk, _KEY, other._content(there), here)
                disk.sync_names(here)
        self._key = None

    def _read(self, at: int) -> bytes:
        with open_file(self._disk, _KEY, os.O_RDONLY, at) as descriptor:
            status = self._disk.status(descriptor)
            if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.geteuid():
                raise _invalid("too_open", f"{self._name} is open to other users. Run chmod 600 on it.")
            key = decode_key(self._disk.read(descriptor, HEAD_BYTES, 0))
        if key is None:
            raise _invalid(
                "damaged",
                f"{self._name} is damaged. Restore it from a backup, or move it away: then this store can no "
                "longer prove its history.",
            )
        return key

    @property
    def _name(self) -> str:
        return f"{KEY_FOLDER}/{os.path.basename(self.folder)}/{_KEY} in the Handrail home"

    def _content(self, at: int) -> bytes:
        with open_file(self._disk, _KEY, os.O_RDONLY, at) as descriptor:
            return read_from(self._disk, descriptor)

    def _wait_for(self, lock: int) -> None:
        started = self._disk.monotonic_ms()
        while not self._disk.lock_now(lock):
            if self._disk.monotonic_ms() - started >= _WAIT_MS:
                message = f"Another process makes {self._name}. Send the same call again."
                raise _invalid("incomplete", message)
            self._disk.sleep_ms(_PAUSE_MS)


class _TranslatedErrors:
    """Turns an OSError about the key into its Fault; a missing key is no error."""

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            message = (
                f"The store key cannot be used: {os.strerror(error.errno or 0)}. Give this user access to "
                f"{KEY_FOLDER} in the Handrail home."
            )
            raise _invalid("unreadable", message) from error


def _invalid(reason: str, message: str) -> Fault:
    """Return the fault; its first sentence says what is wrong, the rest what to do about it."""
    return Fault(KEYRING_INVALID, message, details={"reason": reason}, hint=message.partition(". ")[2])
