"""What is installed on a machine, as self-description tells it. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec


class ProgramFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What runs, and which `handrail` the shell would start."""

    python: str
    """Such as `3.13.1`."""
    package: str
    """The directory of the package that answers."""
    method: Literal["editable", "uv-tool", "pipx", "ephemeral", "pip", "system", "pip-user"]
    on_path: str
    """The first `handrail` on PATH; empty when there is none."""
    is_on_path: bool
    """Whether that one belongs to this installation."""
    git: str
    """The first `git` on PATH; empty when there is none."""


class PlaceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory in the home, as it is. Of one that does not exist, only `is_writable` is told."""

    path: str
    exists: bool = False
    mode: int | None = None
    """Permission bits; None where modes say nothing."""
    is_ours: bool = True
    is_writable: bool = False
    """Or could be made there."""
    can_lock: bool | None = None
    """Of a directory: whether a lock can be taken; None when it was not tried."""
    modified_at: int = 0
    """Unix seconds."""
    free_bytes: int | None = None
    """What this user may still write on its file system; None where nobody can tell."""


class InstalledSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the agent skill in the user's home. Empty texts: the file does not say it."""

    path: str
    version: str
    min_version: str
    is_packed_one: bool
    """Whether its files are, byte by byte, those packed with the program."""


class ClientServer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of an agent client's file that would start Handrail."""

    client: str
    path: str
    command: str
    arguments: tuple[str, ...]
    command_exists: bool


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
    """What a server of our own, started for this, answered to a client's first message."""

    protocol_version: str = ""
    server_version: str = ""
    trouble: str = ""
    """Why there is no answer, in a sentence; empty when there is one."""
