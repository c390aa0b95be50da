"""A first set of checks for a project, from the commands that its files suggest.

It is a suggestion: a person sees it in a preview before anything is written, and changes it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.operations.checks.found_commands import FoundCommand
from handrail.ports.checks import PRINTED

_TASK_RUNNERS = ("just", "make")


def suggest_checks(commands: Sequence[FoundCommand]) -> dict[str, dict[str, Any]]:
    """What `checks` of the project could be; a task runner's own targets come before guesses by language."""
    found: dict[str, dict[str, Any]] = {}
    by_task_runner: set[str] = set()
    for one in sorted(commands, key=lambda one: one.command[0] not in _TASK_RUNNERS):
        is_task = one.command[0] in _TASK_RUNNERS
        if one.name in by_task_runner or (is_task and one.name in found):
            continue
        free = one.name if one.name not in found else f"{one.name}-{one.command[0]}"
        check: dict[str, Any] = {"command": list(one.reporting or one.command), "timeoutSeconds": 600}
        check |= {} if one.report is None else {"report": {"path": PRINTED, "format": one.report}}
        found.setdefault(free, check | {"description": f"From {one.because}."})
        by_task_runner |= {one.name} if is_task else set()
    return found
