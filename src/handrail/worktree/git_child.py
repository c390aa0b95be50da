"""One git child after another, with one deadline, for which no repository can choose a program.

`host/programs.py` says what makes a child safe. Here the git directory is always named, mostly one of our own
whose configuration nobody else writes. Only commands that start nothing are used: `git add`, `git diff` and
`git status` look into submodules by a child of their own, which obeys the configuration there.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import NamedTuple

from handrail.host.programs import GIT_ENVIRONMENT, GIT_VALUES, find_program, make_child_environment
from handrail.ports.trees import NO_GIT

REFUSED = "git refused to read the repository"


class NotSeen(Exception):
    """The state of the files cannot be determined; the text ends a sentence."""


class Ran(NamedTuple):
    """The result of a child process."""

    status: int
    printed: bytes
    complaint: bytes


class GitChild:
    """Starts git; every call of one instance shares its deadline. Raises NotSeen after it."""

    def __init__(self, environment: Mapping[str, str], seconds: float) -> None:
        self._environment = environment
        self._seconds = seconds
        self._ends_at = time.monotonic() + seconds
        self._program = find_program("git", environment)
        if not self._program:
            raise NotSeen(NO_GIT)

    def run(
        self,
        *arguments: str,
        variables: Mapping[str, str],
        where: str,
        values: Mapping[str, str] | None = None,
        given: bytes = b"",
    ) -> Ran:
        """Wait for a child, whatever its exit status is."""
        self.check_time()
        try:
            done = subprocess.run(  # noqa: S603 - git by its absolute path, restricted as described above
                self._make_command(arguments, values),
                input=given,
                capture_output=True,
                cwd=where,
                env=self._make_environment(variables),
                timeout=max(self._ends_at - time.monotonic(), 0.001),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotSeen(self.explain_slow()) from None
        except (OSError, ValueError) as trouble:
            raise NotSeen(f"git could not be started ({trouble})") from trouble
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, variables: Mapping[str, str], given: bytes) -> subprocess.Popen[bytes]:
        """A child whose output is read while it runs."""
        with tempfile.TemporaryFile() as file:
            file.write(given)
            file.seek(0)
            return subprocess.Popen(  # noqa: S603 - as above
                self._make_command(arguments, None),
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                env=self._make_environment(variables),
            )

    def check_time(self) -> None:
        """Raise NotSeen after the deadline."""
        if time.monotonic() >= self._ends_at:
            raise NotSeen(self.explain_slow())

    def explain_slow(self) -> str:
        return f"reading the files took longer than {self._seconds:g} seconds"

    def _make_command(self, arguments: tuple[str, ...], values: Mapping[str, str] | None) -> list[str]:
        # With this value git would hide commits of submodules when it compares two trees.
        safe = {name: value for name, value in GIT_VALUES.items() if name != "diff.ignoreSubmodules"}
        settings = [
            word for name, value in {**(values or {}), **safe}.items() for word in ("-c", f"{name}={value}")
        ]
        return [self._program, "--no-replace-objects", "--no-pager", *settings, *arguments]

    def _make_environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        path = {"PATH": self._environment.get("PATH", os.defpath)}
        fixed = {**GIT_ENVIRONMENT, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_LITERAL_PATHSPECS": "1"}
        made = make_child_environment(path, **{**fixed, **variables})
        return {name: value for name, value in made.items() if value or name not in variables}
