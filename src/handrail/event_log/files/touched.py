"""The list of touched sessions: which ones changed since the last reading, without reading them all.

Listing 10 000 sessions by the times of their files takes a third of a second. So a process that writes
to a session appends a line to one list, and a cache of facts about all sessions reads the new lines.

    w <session id> <process id>          a commit begins
    d <session id>                       it ended, successfully or not
    m <session id> <before> <after>      a session directory was made; the times are those of `sessions/`

A reader remembers where it stopped (`Position`). Four rules make the list complete, or show that it is not:

- A line is written before the commit and one after it. Between the two the session counts as touched for
  every reader, until its writer has ended or died.
- A session that another program adds or removes (a copy, a backup) changes the time of `sessions/` without
  a line that explains it. Then the names are compared.
- The list is never synced. After a restart of the machine it may lack lines, so every session is read.
- A list that is gone, was replaced, has a broken line or could not be written counts as lost: then too,
  every session is read.

What remains is a file that another program changes inside a session directory. Readers check the files of
the sessions that they show, and of a few others in each call.

The list is a cache next to the log. It uses no `Disk`, because no guarantee of the log depends on it.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from typing import Final

import msgspec

from handrail.contract.ids import SessionId, is_session_id

INDEX_FOLDER: Final = "index"
"""Folder in the cache with the files of the index of all sessions."""
LIST_NAME: Final = "touched"
OLDER_NAME: Final = "touched.1"
MOST_BYTES: Final = 1 << 20
"""Size from which a writer begins a new list, and keeps the previous one."""
MOST_TAIL_BYTES: Final = 64 * 1024
"""Most bytes that `latest` reads."""
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HEADER: Final = b"handrail touched 1 "
_HEADER_BYTES: Final = len(_HEADER) + 32 + 1
_LINE = re.compile(rb"(?:w (\S+) (\d{1,10})|d (\S+)|m (\S+) (\d{1,20}) (\d{1,20}))\Z")
_SAME_START_S: Final = 300
"""Seconds by which the computed start of a machine may move with its clock."""


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reader stopped."""

    name: str
    """The random name in the first line of the list."""
    at: int
    """The first byte that was not read."""
    boot: str
    """The start of the machine."""
    names_ns: int
    """The time of `sessions/` up to which its names are known."""
    writing: dict[SessionId, int] = {}
    """Commits that had begun and not ended, with the process that makes them."""


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What happened since a position. The caller must read the sessions' files after this was made."""

    position: Position
    sessions: frozenset[SessionId] | None
    """The sessions that may have changed; None if any may have."""
    are_names_known: bool = False
    """Whether no other session came or went."""


class TouchedSessions:
    """The list of one store. Its writing methods never raise: the commit counts even if
    the list cannot be written.
    """

    def __init__(self, cache: str, sessions: str) -> None:
        self._folder = f"{cache}/{INDEX_FOLDER}"
        self._path = f"{self._folder}/{LIST_NAME}"
        self._older = f"{self._folder}/{OLDER_NAME}"
        self._sessions = sessions

    # For writers

    def names_ns(self) -> int:
        """Return the time of the last change to the names of the sessions."""
        try:
            return os.stat(self._sessions).st_mtime_ns
        except OSError:
            return 0

    def note_made(self, session_id: str, before_ns: int) -> None:
        """Note that the directory of a session was made; `before_ns` is `names_ns` from right before that.

        It begins the list if there is none, because every start queries the sessions that were touched last.
        """
        if not os.path.exists(self._path):
            with suppress(OSError):
                for folder in (os.path.dirname(self._folder), self._folder):
                    with suppress(FileExistsError):
                        os.mkdir(folder, 0o700)
                self._read_or_make()
        self._append(f"m {session_id} {before_ns} {self.names_ns()}\n")

    def note_begin(self, session_id: str) -> None:
        self._append(f"w {session_id} {os.getpid()}\n")

    def note_end(self, session_id: str) -> None:
        self._append(f"d {session_id}\n")

    def _append(self, line: str) -> None:
        """Append a line, but only to an existing list: whoever creates the list reads every session."""
        content = line.encode()
        try:
            descriptor = os.open(self._path, _APPEND)
        except FileNotFoundError:
            return
        except OSError:
            self._give_up()
            return
        try:
            is_whole = os.write(descriptor, content) == len(content)
            size = os.fstat(descriptor).st_size
        except OSError:
            is_whole, size = False, 0
        finally:
            os.close(descriptor)
        if not is_whole:
            self._give_up()
        elif size > MOST_BYTES:
            self._begin_anew()

    def _give_up(self) -> None:
        """Discard the list, because a list that lacks a line is worse than none."""
        with suppress(OSError):
            os.unlink(self._path)

    def _begin_anew(self) -> None:
        """Begin a new list.

        Two writers that do it at once may lose the older list; its readers notice that by its name.
        """
        with suppress(OSError):
            fresh = self._write_new()
            with suppress(FileNotFoundError):
                os.unlink(self._older)
            with suppress(FileExistsError):
                os.link(self._path, self._older)
            os.replace(fresh, self._path)

    def _write_new(self) -> str:
        """Write a new list under another name, with its first line, so that no reader
        finds one without it.
        """
        name = os.urandom(16).hex()
        path = f"{self._folder}/{LIST_NAME}-{name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, _HEADER + name.encode() + b"\n")
        finally:
            os.close(descriptor)
        return path

    # For readers

    def follow(self, position: Position | None) -> Followed:
        """Return what was touched since then. Makes the list if there is none, so its folder must exist.

        Raise OSError.
        """
        names_ns = self.names_ns()  # before the list: a line may explain more, never less
        boot = read_boot()
        current = self._read_or_make()
        content = None
        if position is not None and _is_same_boot(position.boot, boot):
            content = self._read_since(position, current)
        if content is None:
            fresh = Position(name=current.name, at=_HEADER_BYTES, boot=boot, names_ns=names_ns)
            lines = _Lines({}, names_ns)
            lines.read(current.content[_HEADER_BYTES:])
            at = _HEADER_BYTES + len(_whole_lines(current.content[_HEADER_BYTES:]))
            return Followed(
                position=msgspec.structs.replace(fresh, at=at, writing=_without_dead(lines.writing)),
                sessions=None,
            )
        assert position is not None, "it was read on from there"
        lines = _Lines(position.writing, position.names_ns)
        is_sound = lines.read(content)
        reach = lines.explain_names()
        are_names_known = is_sound and reach >= names_ns
        start = position.at if current.name == position.name else _HEADER_BYTES
        return Followed(
            position=Position(
                name=current.name,
                at=start + len(_whole_lines(current.content[start:])),
                boot=position.boot,
                names_ns=reach if are_names_known else names_ns,
                writing=_without_dead(lines.writing),
            ),
            sessions=frozenset(lines.touched | lines.writing.keys()) if is_sound else None,
            are_names_known=are_names_known,
        )

    def latest(self, most: int) -> list[SessionId]:
        """Return the sessions that were touched last, the last one first; as many as
        the end of the list names.
        """
        found: dict[SessionId, None] = {}
        for path in (self._path, self._older):
            try:
                content = _read(path, most_bytes=MOST_TAIL_BYTES)
            except OSError:
                break
            for line in reversed(_whole_lines(content).split(b"\n")):
                words = line.split(b" ")
                if len(words) > 1 and words[0] in (b"w", b"d") and is_session_id(words[1].decode("latin-1")):
                    found.setdefault(SessionId(words[1].decode()))
                if len(found) == most:
                    return list(found)
        return list(found)

    def _read_or_make(self) -> _List:
        with suppress(FileNotFoundError):
            return _parse_list(_read(self._path))
        fresh = self._write_new()
        try:
            with suppress(FileExistsError):  # another reader was faster
                os.link(fresh, self._path)
        finally:
            os.unlink(fresh)
        return _parse_list(_read(self._path))

    def _read_since(self, position: Position, current: _List) -> bytes | None:
        """Return the whole lines after a position; None if they no longer exist."""
        if current.name == position.name:
            is_there = _HEADER_BYTES <= position.at <= len(current.content)
            return _whole_lines(current.content[position.at :]) if is_there else None
        try:
            older = _parse_list(_read(self._older))
        except OSError:
            return None
        if older.name != position.name or not _HEADER_BYTES <= position.at <= len(older.content):
            return None
        return _whole_lines(older.content[position.at :]) + _whole_lines(current.content[_HEADER_BYTES:])


class _List(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Empty if the list has another format."""
    content: bytes


class _Lines:
    """Reads the lines of a list in order."""

    def __init__(self, writing: dict[SessionId, int], names_ns: int) -> None:
        self.touched: set[SessionId] = set()
        self.writing = dict(writing)
        self._names_ns = names_ns
        self._made: list[tuple[int, int]] = []

    def read(self, content: bytes) -> bool:
        """Read the lines; return whether every one is sound."""
        is_sound = True
        for line in content.split(b"\n"):
            matched = _LINE.match(line)
            if matched is None:
                is_sound = is_sound and not line
                continue
            begun, process, ended, made, before, after = matched.groups()
            session_id = SessionId((begun or ended or made).decode("latin-1"))
            if not is_session_id(session_id):
                is_sound = False
                continue
            self.touched.add(session_id)
            if begun:
                self.writing[session_id] = int(process)
            elif ended:
                self.writing.pop(session_id, None)
            else:
                self._made.append((int(before), int(after)))
        return is_sound

    def explain_names(self) -> int:
        """Return the time of `sessions/` up to which every change of its names has a line."""
        reach = self._names_ns
        for before, after in sorted(self._made):
            if before <= reach:
                reach = max(reach, after)
        return reach


def _read(path: str, most_bytes: int = 0) -> bytes:
    """Return the content of a plain file, or its end. Raise OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode) or (size > 4 * MOST_BYTES and not most_bytes):
            raise OSError(f"{path} is no list of touched sessions")
        start = max(0, size - most_bytes) if most_bytes else 0
        return os.pread(descriptor, size - start, start)
    finally:
        os.close(descriptor)


def _parse_list(content: bytes) -> _List:
    header = content[:_HEADER_BYTES]
    is_ours = len(header) == _HEADER_BYTES and header.startswith(_HEADER) and header.endswith(b"\n")
    name = header[len(_HEADER) : -1].decode("latin-1") if is_ours else ""
    if not name:
        raise OSError("the list of touched sessions is not of our making")
    return _List(name=name, content=content)


def _whole_lines(content: bytes) -> bytes:
    """Return the content without a line that is still being written."""
    return content[: content.rfind(b"\n") + 1]


def _without_dead(writing: dict[SessionId, int]) -> dict[SessionId, int]:
    """Return the writers that may still commit. Their sessions are read again after this."""
    return {session_id: process for session_id, process in writing.items() if _is_alive(process)}


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


# The start of the machine: what was not synced before it may be lost


def read_boot() -> str:
    """Return a value that stays the same until the machine starts again."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return str(int(time.time() - time.monotonic()))


def _is_same_boot(one: str, other: str) -> bool:
    if one.isdigit() and other.isdigit():
        return abs(int(one) - int(other)) < _SAME_START_S
    return one == other
