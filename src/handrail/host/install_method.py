"""How this copy of Handrail was installed, from the files that installers leave; first match wins."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal, TypeAlias

import msgspec

InstallMethod: TypeAlias = Literal["editable", "uv-tool", "pipx", "ephemeral", "pip", "system", "pip-user"]


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
    """A package outside every site directory is a checkout; one inside may still say so of itself."""
    site = os.path.dirname(package)
    if not site.endswith(("site-packages", "dist-packages")):
        return True
    try:
        names = [
            name for name in os.listdir(site) if name.startswith("handrail-") and name.endswith(".dist-info")
        ]
        with open(os.path.join(site, names[0], "direct_url.json"), "rb") as file:
            said = msgspec.json.decode(file.read(65_536), type=dict[str, Any])
    except (OSError, IndexError, msgspec.MsgspecError):
        return False
    directory = said.get("dir_info")
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
