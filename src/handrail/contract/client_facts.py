"""What `setup` learns about this machine and about the files of agent clients. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec


class ClientPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients keep their files, and how Handrail is started from outside this shell."""

    user: str
    """The user's home directory."""
    configuration: str
    """Where desktop programs keep theirs."""
    codex: str
    zed: str
    command: tuple[str, ...]
    """Absolute; `mcp` or `hook` comes after it."""
    programs: dict[str, str]
    """The clients' own commands that are installed, by name."""


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was before `setup` first changed it, and the digest of what `setup` made of it."""

    before: bytes | None
    after_sha256: str


class HeldSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The user's copy of the skill as it lies there."""

    version: str
    """Another one after every change."""
    state: Literal["absent", "as_packed", "older", "changed", "foreign"]
    """`changed` by the user since it was copied; `foreign`: a directory of that name that is not ours."""


class SkillCopy(msgspec.Struct, frozen=True, kw_only=True):
    """What came of bringing the skill up to date."""

    status: str
    """synced, unchanged, removed or failed."""
    path: str
    moved_to: str = ""
    """Where a copy that the user had changed was put."""
    trouble: str = ""
