"""What is installed on this machine: `ports.Installation` over the local file system.

The parts: a handshake with our own server, how this copy was installed, which clients would start it, and the
files of the home and the skill.
"""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec

from handrail.contract.outcome import Json
from handrail.host.private_files import open_regular_file
from handrail.host.process import read_notices
from handrail.host.programs import find_program, make_child_environment, own_command
from handrail.ports.program import (
    ClientPlaces,
    ClientServer,
    Handshake,
    InstalledSkill,
    InstallMethod,
    PlaceFacts,
    ProgramFacts,
)
from handrail.program.setup.clients import TABLE, Scope, file_of
from handrail.program.setup.edits import NotEditable, parse
from handrail.runtime.operation import NEIGHBOURS
from handrail.version import __version__

# A handshake with our own MCP server

TIMEOUT_SECONDS = 25
_GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "handrail-doctor", "version": __version__},
    },
}


class _Server(msgspec.Struct, frozen=True, kw_only=True):
    version: str = ""


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    protocol_version: str
    server_info: _Server = _Server()


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    result: _Result


def shake_hands(environment: Mapping[str, str]) -> Handshake:
    """Start the server, send a client's first message, and return its answer or the trouble."""
    line = msgspec.json.encode(_GREETING) + b"\n"
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module, no shell
            [*own_command(), "mcp"],
            input=line,
            capture_output=True,
            env=make_child_environment(environment),
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        answer = msgspec.json.decode(done.stdout.partition(b"\n")[0], type=_Answer)
    except subprocess.TimeoutExpired:
        return Handshake(trouble=f"The server gave no answer within {TIMEOUT_SECONDS} seconds.")
    except OSError as error:
        return Handshake(trouble=f"The server could not be started: {error.strerror}.")
    except (msgspec.MsgspecError, ValueError):
        return Handshake(trouble="The server's first line is not the answer that a client expects.")
    return Handshake(
        protocol_version=answer.result.protocol_version, server_version=answer.result.server_info.version
    )


# How this copy was installed, from the files that installers leave; the first match wins


def install_method(
    package: str, prefix: str = sys.prefix, base_prefix: str = sys.base_prefix
) -> InstallMethod:
    """The method, for the package in this directory."""
    if _is_editable(package):
        return "editable"
    if os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return "uv-tool"
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return "pipx"
    if prefix != base_prefix:
        return "ephemeral" if _is_in_uv_cache(prefix) else "pip"
    if os.path.exists(os.path.join(os.path.dirname(os.__file__), "EXTERNALLY-MANAGED")):
        return "system"
    return "pip-user"


def _is_editable(package: str) -> bool:
    """A package outside every site directory is a checkout; one inside may say that it is."""
    site = os.path.dirname(package)
    if not site.endswith(("site-packages", "dist-packages")):
        return True
    try:
        names = [
            name for name in os.listdir(site) if name.startswith("handrail-") and name.endswith(".dist-info")
        ]
        with open(os.path.join(site, names[0], "direct_url.json"), "rb") as file:
            record = msgspec.json.decode(file.read(65_536), type=dict[str, Any])
    except (OSError, IndexError, msgspec.MsgspecError):
        return False
    directory = record.get("dir_info")
    return isinstance(directory, dict) and directory.get("editable") is True


def _is_in_uv_cache(prefix: str) -> bool:
    """`uvx` and `uv run --with` build environments in uv's cache, which it marks with a tag file."""
    folder = os.path.abspath(prefix)
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        if os.path.basename(folder).startswith("archive-v") or (
            os.path.exists(os.path.join(folder, "CACHEDIR.TAG"))
            and os.path.isdir(os.path.join(folder, "archive-v0"))
        ):
            return True
    return False


# Where agent clients keep their files, and which entries in them start Handrail

SCOPES: tuple[Scope, ...] = ("project", "user")


def places_of(user: str, environment: Mapping[str, str]) -> ClientPlaces:
    """The directories of one user, without what is installed."""
    return ClientPlaces(
        user=user,
        configuration=_configuration(user, environment),
        zed=os.path.join(_xdg(user, environment), "zed"),  # on macOS too
        codex=environment.get("CODEX_HOME") or os.path.join(user, ".codex"),
        command=(),
        programs={},
    )


def _configuration(user: str, environment: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support")
    return _xdg(user, environment)


def _xdg(user: str, environment: Mapping[str, str]) -> str:
    return environment.get("XDG_CONFIG_HOME") or os.path.join(user, ".config")


def client_servers(
    places: ClientPlaces,
    project: str,
    content_of: Callable[[str], bytes | None],
    found_at: Callable[[str], str],
) -> Sequence[ClientServer]:
    """Every such entry of every client, for the project and for the user."""
    found = [
        ClientServer(
            client=name,
            path=path,
            command=line[0],
            arguments=tuple(line[1:]),
            command_exists=bool(found_at(line[0])),
        )
        for name, client in TABLE.items()
        for path in {file_of(client, scope, project, places): None for scope in SCOPES}
        for line in _lines(_document(content_of(path), is_toml=client.is_toml).get(client.key))
    ]
    return sorted(found, key=lambda one: (one.client, one.path, one.command))


def _document(content: bytes | None, *, is_toml: bool) -> Mapping[str, Any]:
    """The content of a file; empty if it cannot be read, which is not our problem."""
    if content is None:
        return {}
    try:
        text = content.decode("utf-8")
        held = tomllib.loads(text) if is_toml else parse(text).plain if text.strip() else {}
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, NotEditable, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def _lines(entries: Any) -> Iterator[list[str]]:
    """The command lines of the entries that start Handrail."""
    for entry in entries.values() if isinstance(entries, dict) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
            continue
        arguments = entry.get("args")
        line = [
            entry["command"],
            *(one for one in (arguments if isinstance(arguments, list) else ()) if isinstance(one, str)),
        ]
        if any(os.path.basename(word).startswith("handrail") for word in line):
            yield line


# The files of the program, the home and the skill

READINESS_NAME = "_readiness.json"
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKED = os.path.join(PACKAGE, "packed")
_MOST_BYTES = 4_194_304
_MOST_SKILL_FILES = 200
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
        site = os.path.dirname(PACKAGE)
        for package in (os.path.basename(PACKAGE), *NEIGHBOURS):
            for name in sorted(_packed_files(os.path.join(site, package))):
                content = _content(os.path.join(site, package, name)) or b""
                total.update(f"{package}/{name}\0{sha256(content).hexdigest()}\n".encode())
        return "sha256:" + total.hexdigest()

    def home(self) -> str:
        return self._home

    def secret_source(self) -> Literal["file", "environment"]:
        return "environment" if self._environment.get("AI_NATIVE_CLI_SECRET") else "file"

    def program(self) -> ProgramFacts:
        found = find_program("handrail", self._environment)
        beside = os.path.dirname(os.path.realpath(sys.executable)) if sys.executable else ""
        return ProgramFacts(
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
        return PlaceFacts(
            path=path,
            exists=True,
            mode=stat.S_IMODE(status.st_mode),
            is_ours=status.st_uid == os.geteuid(),
            is_writable=os.access(path, os.W_OK),
            can_lock=_can_lock(path) if stat.S_ISDIR(status.st_mode) else None,
            modified_at=int(status.st_mtime),
            free_bytes=_free_bytes(path),
        )

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
                        version=read_skill_key(text, "version"),
                        min_version=read_skill_key(text, "min_version"),
                        is_packed_one=skill_digest(directory) == packed,
                    )
                )
        return found

    def client_servers(self, project: str) -> Sequence[ClientServer]:
        places = places_of(self._user_directory(), self._environment)
        return client_servers(places, project, _content, lambda name: find_program(name, self._environment))

    def notices(self) -> Sequence[dict[str, Json]]:
        return read_notices(self._home)

    def handshake(self) -> Handshake:
        return shake_hands(self._environment)

    def _user_directory(self) -> str:
        return self._environment.get("HOME") or os.path.expanduser("~")


def _packed_files(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name != READINESS_NAME and not name.endswith(".pyc"):
                yield os.path.relpath(os.path.join(folder, name), root)


def _content(path: str) -> bytes | None:
    """A regular file up to a limit; None for anything else."""
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None


def _belongs(script: str, beside: str) -> bool:
    """Whether a script starts this interpreter: it is beside it, or its first line names it."""
    if os.path.dirname(os.path.realpath(script)) == beside or os.path.dirname(script) == os.path.dirname(
        sys.executable
    ):
        return True
    first = (_content(script) or b"")[:512].partition(b"\n")[0].decode("utf-8", "replace")
    return first.removeprefix("#!").strip() == sys.executable


def _can_be_made(path: str) -> bool:
    """Whether the nearest existing directory is writable."""
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent) and not os.path.exists(parent):
        parent = os.path.dirname(parent)
    return os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK)


def _free_bytes(path: str) -> int | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize if found.f_blocks else None  # some file systems do not count


def _can_lock(directory: str) -> bool | None:
    """Try a shared lock on the directory itself, so that no file must be created."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True  # somebody holds one, so locks work
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def skill_digest(directory: str) -> str:
    """One digest of the names and contents of a skill; files beyond a sane number count as another skill."""
    names = sorted(_packed_files(directory))[:_MOST_SKILL_FILES]
    total = sha256()
    for name in names:
        content = _content(os.path.join(directory, *name.split("/"))) or b""
        total.update(f"{name}\0{sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def read_skill_key(skill: str, key: str) -> str:
    """The value of a key in the front matter of a skill, which we write in block style."""
    head = skill.removeprefix("---\n").partition("\n---")[0]
    for line in head.splitlines():
        name, colon, value = line.strip().partition(":")
        if colon and name == key:
            return value.strip().strip("\"'")[:64]
    return ""
