"""How many files of a project differ from its last commit, as git tells; nothing of the project is run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from handrail.host.programs import find_program, make_child_environment

# The one way git is asked. Nothing that a repository contains can start a program or open a connection.
#
# A repository may be anyone's, and git takes commands from its configuration: monitors, hooks, filters,
# remote
# helpers, credential helpers. So the values below are given on git's command line, which no file overrides,
# and
# connections are shut by the environment, because `protocol.ext.allow` in a file beats `protocol.allow`. A
# filter has a name that only the repository knows: whoever asks git to read the working tree asks
# `names_filters` first, and the user's own configuration stays away too: its filters take orders from the
# repository's. Whether objects of another user's repository are read is the user's word (`safe.directory`).

_VALUES = {
    "core.alternateRefsCommand": "",
    "core.askPass": "",
    "core.editor": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.untrackedCache": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "fetch.recurseSubmodules": "false",
    "gpg.program": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "false",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_NOTHING_FOUND = 1


def open_working_tree(directory: str, environment: Mapping[str, str], seconds: int) -> Git:
    """The repository around a directory."""
    return Git(("-C", directory), environment, {"GIT_CONFIG_GLOBAL": os.devnull}, seconds)


def open_objects(repository: str, environment: Mapping[str, str], seconds: int) -> Git:
    """A repository by its own place, bare or with a working tree, to read objects and nothing else."""
    inside = os.path.join(repository, ".git")
    place = inside if os.path.exists(inside) else repository
    own = {name: environment[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in environment}
    return Git((f"--git-dir={place}",), environment, own, seconds)


class Git:
    """One repository, asked for a bounded time."""

    def __init__(
        self, place: tuple[str, ...], environment: Mapping[str, str], own: Mapping[str, str], seconds: int
    ) -> None:
        values = [word for name, value in _VALUES.items() for word in ("-c", f"{name}={value}")]
        self._program = find_program("git", environment)
        self._arguments = ("--no-replace-objects", "--no-pager", *values, *place)
        path = {"PATH": environment.get("PATH", os.defpath)}
        self._environment = make_child_environment(path, **_ENVIRONMENT, **own)
        self._seconds = seconds

    def run(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """What git printed; None when it refused, took too long or is not installed."""
        done = self._completed(arguments, given)
        return done.stdout if done is not None and done.returncode == 0 else None

    def names_filters(self) -> bool:
        """Whether git would start a program to read the working tree, or cannot say that it would not."""
        done = self._completed(("config", "--includes", "--get-regexp", r"^filter\."), b"")
        return done is None or done.returncode != _NOTHING_FOUND

    def _completed(
        self, arguments: tuple[str, ...], given: bytes
    ) -> subprocess.CompletedProcess[bytes] | None:
        if not self._program:
            return None
        try:
            return subprocess.run(  # noqa: S603 - git by its absolute path, shut in as described above
                [self._program, *self._arguments, *arguments],
                input=given,
                capture_output=True,
                env=self._environment,
                timeout=self._seconds,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None


SECONDS = 2
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")


def count_changed_files(project: str, environment: Mapping[str, str]) -> int | None:
    """None where git is not there, refuses, takes too long or would start a filter."""
    git = open_working_tree(project, environment, SECONDS)
    if git.names_filters():
        return None
    listed = git.run(*_STATUS)
    return None if listed is None else listed.count(b"\0")
