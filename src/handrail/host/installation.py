"""What is installed on this machine and how it stands: `ports.Installation` over the local file system.

It is part of every runtime, so it imports nothing beyond what every call pays for, and looks only when asked.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal

from handrail.contract.installation_facts import (
    ClientServer,
    Handshake,
    InstalledSkill,
    PlaceFacts,
    ProgramFacts,
)
from handrail.contract.outcome import Json
from handrail.host.install_method import install_method
from handrail.host.notices import kept_notices
from handrail.host.plain_files import opened_plainly
from handrail.host.programs import find_program

READINESS_NAME = "_readiness.json"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKED = os.path.join(PACKAGE, "packed")
_MOST_BYTES = 4_194_304
_MOST_SKILL_FILES = 200
_TAIL_BYTES = 8_192
_SKILL_PLACES = (".agents/skills/handrail", ".claude/skills/handrail")


class LocalInstallation:
    """Implements `ports.Installation`."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def packed(self, name: str) -> bytes | None:
        return _content(os.path.join(PACKED, *name.split("/")))

    def digest(self) -> str:
        total = sha256()
        for name in sorted(_packed_files(PACKAGE)):
            content = _content(os.path.join(PACKAGE, name)) or b""
            total.update(f"{name}\0{sha256(content).hexdigest()}\n".encode())
        return "sha256:" + total.hexdigest()

    def home(self) -> str:
        return self._home

    def secret_source(self) -> Literal["file", "environment"]:
        return "environment" if self._environment.get("AI_NATIVE_CLI_SECRET") else "file"

    def program(self) -> ProgramFacts:
        found = find_program("handrail", self._environment)
        beside = os.path.dirname(os.path.realpath(sys.executable)) if sys.executable else ""
        return ProgramFacts(
            python=".".join(str(part) for part in sys.version_info[:3]),
            package=PACKAGE,
            method=install_method(PACKAGE),
            on_path=found,
            is_on_path=bool(found) and _belongs(found, beside),
            git=find_program("git", self._environment),
        )

    def place(self, name: str) -> PlaceFacts:
        path = os.path.join(self._home, *name.split("/")) if name else self._home
        try:
            status = os.lstat(path)
        except OSError:
            return PlaceFacts(path=path, is_writable=_can_be_made(path))
        is_posix = sys.platform != "win32"
        return PlaceFacts(
            path=path,
            exists=True,
            mode=stat.S_IMODE(status.st_mode) if is_posix else None,
            is_ours=not is_posix or status.st_uid == os.geteuid(),
            is_writable=os.access(path, os.W_OK),
            can_lock=_can_lock(path) if stat.S_ISDIR(status.st_mode) else None,
            modified_at=int(status.st_mtime),
            free_bytes=_free_bytes(path),
        )

    def last_audit_line(self) -> str | None:
        directory = os.path.join(self._home, "audit")
        try:
            names = [name for name in os.listdir(directory) if name.endswith(".jsonl")]
        except OSError:
            return None
        return _last_line(os.path.join(directory, max(names))) if names else None

    def skills(self) -> Sequence[InstalledSkill]:
        found = []
        packed = skill_digest(os.path.join(PACKED, "skill"))
        for place in _SKILL_PLACES:
            directory = os.path.join(self._user_directory(), *place.split("/"))
            head = _content(os.path.join(directory, "SKILL.md"))
            if head is not None:
                text = head.decode("utf-8", "replace")
                found.append(
                    InstalledSkill(
                        path=directory,
                        version=skill_said(text, "version"),
                        min_version=skill_said(text, "min_version"),
                        is_packed_one=skill_digest(directory) == packed,
                    )
                )
        return found

    def client_servers(self, project: str) -> Sequence[ClientServer]:
        from handrail.host.client_servers import client_servers, places_of  # noqa: PLC0415 - one check asks

        places = places_of(self._user_directory(), self._environment)
        return client_servers(places, project, _content, lambda name: find_program(name, self._environment))

    def notices(self) -> Sequence[dict[str, Json]]:
        return kept_notices(self._home)

    def handshake(self) -> Handshake:
        from handrail.host.mcp_handshake import greet  # noqa: PLC0415 - starting a program is dear, and rare

        return greet(self._environment)

    def _user_directory(self) -> str:
        return self._environment.get("HOME") or os.path.expanduser("~")


def _packed_files(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name != READINESS_NAME and not name.endswith(".pyc"):
                yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def _content(path: str) -> bytes | None:
    """A regular file up to a limit; None for anything else."""
    try:
        with open(path, "rb", opener=opened_plainly) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return file.read(_MOST_BYTES)
    except OSError:
        return None


def _belongs(script: str, beside: str) -> bool:
    """Whether a script starts this interpreter: it stands beside it, or its first line names it."""
    if os.path.dirname(os.path.realpath(script)) == beside or os.path.dirname(script) == os.path.dirname(
        sys.executable
    ):
        return True
    first = (_content(script) or b"")[:512].partition(b"\n")[0].decode("utf-8", "replace")
    return first.removeprefix("#!").strip() == sys.executable


def _can_be_made(path: str) -> bool:
    """Whether the nearest directory that exists takes new names."""
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent) and not os.path.exists(parent):
        parent = os.path.dirname(parent)
    return os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK)


def _free_bytes(path: str) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize if found.f_blocks else None  # some file systems do not count


def _can_lock(directory: str) -> bool | None:
    """Take and leave a shared lock on the directory itself, so that nothing has to be made for it."""
    if sys.platform == "win32":
        return None
    import fcntl  # noqa: PLC0415 - only one check asks for it, and Windows has none

    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True  # somebody else holds one, so locks work
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _last_line(path: str) -> str | None:
    try:
        with open(path, "rb", opener=opened_plainly) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except OSError:
        return None
    lines = [line for line in tail.split(b"\n") if line.strip()]
    return lines[-1].decode("utf-8", "replace") if lines else None


def skill_digest(directory: str) -> str:
    """One digest of the names and contents of a skill; files beyond a sane number count as another skill."""
    names = sorted(_packed_files(directory))[:_MOST_SKILL_FILES]
    total = sha256()
    for name in names:
        content = _content(os.path.join(directory, *name.split("/"))) or b""
        total.update(f"{name}\0{sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def skill_said(skill: str, key: str) -> str:
    """The value of a key in the front matter of a skill, which we write in block style."""
    head = skill.removeprefix("---\n").partition("\n---")[0]
    for line in head.splitlines():
        name, colon, value = line.strip().partition(":")
        if colon and name == key:
            return value.strip().strip("\"'")[:64]
    return ""
