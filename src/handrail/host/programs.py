"""How other programs are found and started: never one that a project or the working directory supplies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

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


# The command that tells people about a run of this machine: no shell, ten seconds, after the answer.


SECONDS = 10


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
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {SECONDS} seconds and was ended"
    except (OSError, ValueError) as trouble:
        return str(trouble)
    return f"it ended with the status {done.returncode}" if done.returncode else ""
