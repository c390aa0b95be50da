"""The worker definition: what a client that knows subagents needs to hand work over in one line. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from handrail.ports.program import ClientPlaces
from handrail.program.setup.clients import ClientName, Scope, path_of
from handrail.program.setup.jsonc import NotEditable

WORKER_OF: Final = "{} worker"
_NAME: Final = "handrail-worker"
_PLACES: Final[dict[ClientName, str]] = {"claude-code": ".claude/agents/handrail-worker.md"}
"""Clients that read such definitions, by the place below the home or the project."""

WORKER: Final = f"""\
---
name: {_NAME}
description: Does one piece of work that Handrail handed out. Give it the brief and the workToken as they are.
---

You got a brief and a workToken (wk1…). The token opens this piece of work and nothing else.

1. Call continue_workflow with the workToken as stateToken, or run `handrail run continue --state TOKEN`.
2. Do what the step says, and report it with the ackToken of that reply. Follow each reply to the end.
3. In a shell, set `HANDRAIL_WORK` to the token, so that checks and hooks count for this work.
4. If a reply asks for a person, stop and tell who handed out the work.
5. When the reply says that your part is done, answer with one line: what you found.
"""


class WorkerFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client reads the definition, and what becomes of it."""

    target: str
    path: str
    change: Callable[[str], str]


def list_workers(
    names: Sequence[ClientName], scope: Scope, project: str, places: ClientPlaces, is_removal: bool
) -> list[WorkerFile]:
    """The definitions of those clients that know subagents.

    One that somebody changed stays when Handrail goes; one that is as it was is put back.
    """
    return [
        WorkerFile(
            target=WORKER_OF.format(name),
            path=path_of(f"~/{_PLACES[name]}", places) if scope == "user" else f"{project}/{_PLACES[name]}",
            change=(lambda text: text) if is_removal else write_worker,
        )
        for name in names
        if name in _PLACES
    ]


def write_worker(text: str) -> str:
    """The definition in place of an older one of ours. Raises NotEditable where it is somebody else's."""
    if text and f"name: {_NAME}" not in text:
        raise NotEditable("it is not Handrail's")
    return WORKER
