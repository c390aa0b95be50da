"""How other programs are found and started: never one that a project or the working directory supplies.

Of git, nothing that a repository contains can start a program or open a connection. A repository may be
anyone's, and git takes commands from its configuration: monitors, hooks, filters, remote helpers, credential
helpers. So safe values are given on git's command line, which no file overrides, and connections are disabled
by the environment, because `protocol.ext.allow` in a file wins over `protocol.allow`. The name of a filter is
known only to the repository: who lets git read the working tree asks `names_filters` first. The user's own
configuration is not read there either, because its filters take orders from the repository. The user decides
whether objects of another user's repository are read (`safe.directory`).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

_SEARCHED = ("PATH", "PYTHONPATH")


def own_command(module: str = "handrail.main") -> tuple[str, ...]:
    """Return the command that runs a module of this package; -P keeps the working directory off its path."""
    return (sys.executable, "-P", "-m", module)


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """Return the file that a shell in an empty directory would start; empty if there is none.

    A relative entry of PATH depends on the working directory, which is often a checkout of another person.
    """
    if os.sep in name:
        return name if os.path.isabs(name) and _is_program(name) else ""
    for directory in _absolute(environment.get("PATH", os.defpath)):
        path = os.path.join(directory, name)
        if _is_program(path):
            return os.path.abspath(path)
    return ""


def make_child_environment(environment: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return the same variables, without search paths that depend on the working directory."""
    kept = {name: os.pathsep.join(_absolute(environment[name])) for name in _SEARCHED if name in environment}
    return {**environment, **kept, **more}


def _absolute(places: str) -> list[str]:
    return [place for place in places.split(os.pathsep) if os.path.isabs(place)]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


# Watching a program that prints

_LOOK_SECONDS = 0.05
_CHUNK_BYTES = 65_536
EndedBy: TypeAlias = Literal["", "signal", "deadline"]


def watch_child(
    child: subprocess.Popen[bytes],
    why_stopped: Callable[[], EndedBy],
    take: Callable[[bytes], None],
    patience_seconds: float,
) -> EndedBy:
    """Pass everything that the child prints to `take` until it ends. Return why it was ended, empty if it
    ended by itself. A child that does not end when asked is killed.
    """
    assert child.stdout is not None, "its output is a pipe"
    ended_by: EndedBy = ""
    kill_at = 0.0
    is_open = True
    while is_open or child.poll() is None:
        if is_open and select.select([child.stdout], [], [], _LOOK_SECONDS)[0]:
            chunk = os.read(child.stdout.fileno(), _CHUNK_BYTES)
            take(chunk)
            is_open = bool(chunk)
        elif is_open:
            is_open = child.poll() is None  # what it left running may hold the pipe for ever
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK_SECONDS)
        if not ended_by and (ended_by := why_stopped()):
            kill_at = time.monotonic() + patience_seconds
            signal_group(child.pid, signal.SIGINT if ended_by == "signal" else signal.SIGTERM)
        elif ended_by and time.monotonic() >= kill_at:
            signal_group(child.pid, signal.SIGKILL)
    if ended_by:  # whatever of its group is still there
        signal_group(child.pid, signal.SIGKILL)
    return ended_by


def signal_group(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)


# The command that tells people about a run of this machine: no shell, ten seconds, after the answer.


NOTICE_SECONDS = 10


def start_notice(argv: Sequence[str], body: bytes, environment: Mapping[str, str]) -> str:
    """Start the command with the notice as its last argument. Returns why not, empty when it went well."""
    program = find_program(argv[0], environment)
    if not program:
        return f"there is no program {argv[0]}"
    try:
        done = subprocess.run(  # noqa: S603 - the user's own setting, word by word, without a shell
            [program, *argv[1:], body.decode()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=make_child_environment(environment),
            cwd=os.path.expanduser("~"),
            start_new_session=True,
            timeout=NOTICE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {NOTICE_SECONDS} seconds and was ended"
    except (OSError, ValueError) as trouble:
        return str(trouble)
    return f"it ended with the status {done.returncode}" if done.returncode else ""


# Git

GIT_VALUES = {
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
GIT_ENVIRONMENT = {
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
    """Return the repository around a directory."""
    return Git(("-C", directory), environment, {"GIT_CONFIG_GLOBAL": os.devnull}, seconds)


def open_listing(directory: str, environment: Mapping[str, str], seconds: float) -> Git:
    """Return the repository around a directory, to list its files and to read its objects.

    No filter runs for either, so the user's configuration is read: it names files to ignore.
    """
    return Git(("-C", directory), environment, _own_places(environment), seconds)


def open_objects(repository: str, environment: Mapping[str, str], seconds: int) -> Git:
    """A repository by its path, bare or with a working tree, to read only its objects."""
    inside = os.path.join(repository, ".git")
    place = inside if os.path.exists(inside) else repository
    return Git((f"--git-dir={place}",), environment, _own_places(environment), seconds)


def _own_places(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in environment}


class Git:
    """One repository; each call has a time limit."""

    def __init__(
        self, place: tuple[str, ...], environment: Mapping[str, str], own: Mapping[str, str], seconds: float
    ) -> None:
        values = [word for name, value in GIT_VALUES.items() for word in ("-c", f"{name}={value}")]
        self._program = find_program("git", environment)
        self._arguments = ("--no-replace-objects", "--no-pager", *values, *place)
        path = {"PATH": environment.get("PATH", os.defpath)}
        self._environment = make_child_environment(path, **GIT_ENVIRONMENT, **own)
        self._seconds = seconds

    def run(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """Return what git printed; None if it refused, took too long or is not installed."""
        done = self._complete(arguments, given)
        return done.stdout if done is not None and done.returncode == 0 else None

    def ask(self, *arguments: str, given: bytes = b"") -> tuple[int, bytes]:
        """Return the exit status and the output of git, also if it refused; -1 if it was ended."""
        done = self._complete(arguments, given)
        return (-1, b"") if done is None else (done.returncode, done.stdout)

    def names_filters(self) -> bool:
        """Whether git may start a program to read the working tree."""
        done = self._complete(("config", "--includes", "--get-regexp", r"^filter\."), b"")
        return done is None or done.returncode != _NOTHING_FOUND

    def _complete(
        self, arguments: tuple[str, ...], given: bytes
    ) -> subprocess.CompletedProcess[bytes] | None:
        if not self._program:
            return None
        try:
            return subprocess.run(  # noqa: S603 - git by its absolute path, restricted as described above
                [self._program, *self._arguments, *arguments],
                input=given,
                capture_output=True,
                env=self._environment,
                timeout=self._seconds,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None


# Counting changed files

COUNTING_SECONDS = 2
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")


def count_changed_files(project: str, environment: Mapping[str, str]) -> int | None:
    """Return how many files differ from the last commit; None if git is missing, refuses or would start a
    filter.
    """
    git = open_working_tree(project, environment, COUNTING_SECONDS)
    if git.names_filters():
        return None
    listed = git.run(*_STATUS)
    return None if listed is None else listed.count(b"\0")
