"""What an update learns about the installation, the index and the package manager. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec


class InstallFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How this copy was installed and where a newer one would come from."""

    method: Literal["editable", "uv-tool", "pipx", "ephemeral", "pip", "system", "pip-user"]
    executable: str
    """The interpreter that runs Handrail."""
    python: str
    """Its version, such as `3.13.1`."""
    prefix: str
    is_writable: bool
    """Whether the manager could change the installation."""
    programs: dict[str, str]
    """uv and pipx by name, where they are on PATH."""
    has_pip: bool
    is_pinned: bool
    """uv's receipt asks for one exact version, which an upgrade would keep."""
    index: str
    """As the environment or the receipt names it; empty: nobody did."""
    can_verify: bool = False
    """Whether the extra `verify` is installed."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What an address gave."""

    content: bytes
    media_type: str
    url: str
    """Where it came from in the end, for addresses relative to it."""


class Driven(msgspec.Struct, frozen=True, kw_only=True):
    """How the package manager ended."""

    status: int
    """Its exit status; negative: not started, or killed."""
    trouble: str = ""
    stopped_by: Literal["", "signal", "deadline"] = ""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What a new process of the program says of itself."""

    version: str
    package: str
    """The directory of its package."""
