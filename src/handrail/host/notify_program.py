"""The command that tells people about a run of this machine: no shell, ten seconds, after the answer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from handrail.host.programs import find_program, make_child_environment

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
