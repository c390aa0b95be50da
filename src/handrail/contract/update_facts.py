"""What an update learns about the installation, the index and the package manager. Pure."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class IndexSource(msgspec.Struct, frozen=True, kw_only=True):
    """One place that the manager would look into for releases."""

    url: str
    """An address or a path; it may hold credentials, so it is never shown as it stands."""
    named_by: str
    """The variable or file that says so, in the words of its manager."""
    role: Literal["default", "extra", "links"] = "default"
    """`links` is a directory or a page of files, without a page for each package."""


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
    sources: tuple[IndexSource, ...]
    """Where the manager looks, in its order; the public index stands here when nobody named another."""
    takes_first: bool
    """Whether the first index that knows the package is the only one that counts, as uv has it."""
    speaks_uv: bool
    """Whether the flags and variables of an index are uv's; else they are pip's."""
    environment_name: str = "handrail"
    """What the manager calls the installation; pipx may have added a suffix."""
    suffix: str = ""
    can_verify: bool = False
    """Whether the extra `verify` is installed."""


class ManagerCall(msgspec.Struct, frozen=True, kw_only=True):
    """How the manager is started: a list, never a line for a shell."""

    argv: tuple[str, ...]
    environment: dict[str, str] = {}
    """Added to that of the call: an address with credentials is no argument that `ps` would show."""


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


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the index found, as it is remembered."""

    checked_at: str
    checked_unix: int
    version: str
    """The version that looked."""
    latest: str
    asked: str
    """A digest of where it looked: another answer is not news from there."""
    notice: dict[str, Any] | None = None
    """What to tell until the running version is the latest."""
