"""The worker definition: what a client that knows subagents needs to hand work over in one line. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from handrail.ports.program import ClientPlaces
from handrail.program.setup.clients import ClientName, Scope, path_of
from handrail.program.setup.jsonc import NotEditable

WORKER_OF: Final = "{} worker"
_NAME: Final = "handrail-worker"
_DESCRIPTION: Final = (
    "Does one piece of work that Handrail handed out. Give it the brief and the workToken as they are."
)
_INSTRUCTIONS: Final = """\
You got a brief and a workToken (wk1…). The token opens this piece of work and nothing else.

1. Call continue_workflow with the workToken as stateToken, or run `handrail run continue --state TOKEN`.
2. Do what the step says, and report it with the ackToken of that reply. Follow each reply to the end.
3. If you were given a name, send it as worker, or with `--worker NAME`, when you report.
4. In a shell, set `HANDRAIL_WORK` to the token, so that checks and hooks count for this work, and \
`HANDRAIL_WORKER` to your name.
5. If a reply asks for a person, stop and tell who handed out the work.
6. When the reply says that your part is done, answer with one line: what you found.
"""
_MARKDOWN: Final = f"---\nname: {_NAME}\ndescription: {_DESCRIPTION}\n---\n\n{_INSTRUCTIONS}"
_TOML: Final = (
    f'name = "{_NAME}"\ndescription = "{_DESCRIPTION}"\ndeveloper_instructions = """\n{_INSTRUCTIONS}"""\n'
)


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client reads such definitions, below the project and, unless it is empty, below the home."""

    project: str
    home: str
    text: str = _MARKDOWN


def _below_both(path: str, text: str = _MARKDOWN) -> _Place:
    return _Place(project=path, home=path, text=text)


_PLACES: Final[dict[ClientName, _Place]] = {
    "claude-code": _below_both(f".claude/agents/{_NAME}.md"),
    "cursor": _below_both(f".cursor/agents/{_NAME}.md"),
    "codex": _below_both(f".codex/agents/{_NAME}.toml", _TOML),
    "gemini": _below_both(f".gemini/agents/{_NAME}.md"),
    # Those of a user lie in a profile of the editor, which has no one place.
    "vscode": _Place(project=f".github/agents/{_NAME}.agent.md", home=""),
}
"""Clients whose own documentation has such definitions; Zed has none."""


class WorkerFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client reads the definition, and what becomes of it."""

    target: str
    path: str
    text: str
    change: Callable[[str], str]


def list_workers(
    names: Sequence[ClientName], scope: Scope, project: str, places: ClientPlaces, is_removal: bool
) -> list[WorkerFile]:
    """The definitions of those clients that know subagents.

    One that somebody changed stays when Handrail goes; one that is as it was is put back.
    """
    found = []
    for name in names:
        place = _PLACES.get(name)
        path = "" if place is None else place.home if scope == "user" else place.project
        if place is not None and path:
            found.append(
                WorkerFile(
                    target=WORKER_OF.format(name),
                    path=path_of(f"~/{path}", places) if scope == "user" else f"{project}/{path}",
                    text=place.text,
                    change=(lambda text: text) if is_removal else partial(_write_worker, place.text),
                )
            )
    return found


def _write_worker(wanted: str, text: str) -> str:
    """The definition in place of an older one of ours. Raises NotEditable where it is somebody else's."""
    if text and f"name: {_NAME}" not in text and f'name = "{_NAME}"' not in text:
        raise NotEditable("it is not Handrail's")
    return wanted
