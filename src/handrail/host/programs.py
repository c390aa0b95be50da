"""How other programs are found and started: never one that a project or the working directory supplies."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

_SEARCHED = ("PATH", "PYTHONPATH")


def own_command(module: str = "handrail.main") -> tuple[str, ...]:
    """This interpreter with a module of this package; -P keeps the working directory off its path."""
    return (sys.executable, "-P", "-m", module)


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """The file that a shell in an empty directory would start; empty when there is none.

    A relative entry of PATH means "wherever I am", which is often somebody else's checkout.
    """
    if os.sep in name:
        return name if os.path.isabs(name) and _is_program(name) else ""
    for directory in _absolute(environment.get("PATH", os.defpath)):
        path = os.path.join(directory, name)
        if _is_program(path):
            return os.path.abspath(path)
    return ""


def make_child_environment(environment: Mapping[str, str], **more: str) -> dict[str, str]:
    """The same variables, without search paths that depend on the working directory."""
    kept = {name: os.pathsep.join(_absolute(environment[name])) for name in _SEARCHED if name in environment}
    return {**environment, **kept, **more}


def _absolute(places: str) -> list[str]:
    return [place for place in places.split(os.pathsep) if os.path.isabs(place)]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
