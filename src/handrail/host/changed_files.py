"""How many files of a project differ from its last commit, as git tells; nothing of the project is run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

SECONDS = 2
_GIT = (
    *("git", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "submodule.recurse=false", "-c", "protocol.allow=never"),
)
_FILTERS = ("config", "--includes", "--get-regexp", r"^filter\.")
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
_NOTHING_FOUND = 1


def count_changed_files(project: str, environment: Mapping[str, str]) -> int | None:
    """None when git is not there, refuses or takes too long, and where there is no repository.

    A repository can name programs that filter its files; git would start them, so such a one is not asked.
    """
    filters = _asked(project, environment, _FILTERS)
    if filters is None or filters.returncode != _NOTHING_FOUND:
        return None
    done = _asked(project, environment, _STATUS)
    return done.stdout.count(b"\0") if done is not None and done.returncode == 0 else None


def _asked(
    project: str, environment: Mapping[str, str], arguments: tuple[str, ...]
) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run(  # noqa: S603 - fixed command; the project is only a place to look at
            [*_GIT, "-C", project, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={
                "PATH": environment.get("PATH", os.defpath),
                "LC_ALL": "C",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_OPTIONAL_LOCKS": "0",
            },
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
