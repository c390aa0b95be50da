"""Which servers this machine signed in to, and which projects are theirs: `team.json` in the home, 0600."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_IO
from handrail.contract.outcome import Fault
from handrail.contract.tokens.confirm import refusal
from handrail.host.private_files import (
    ensure_private_directory,
    explain_unreadable,
    lock_file,
    open_regular_file,
    replace_private,
)

NAME = "team.json"
_MOST_BYTES = 1_000_000


class KeptServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of one server: a token of an agent, never of a person."""

    token: str = ""
    asked: str = ""
    """The secret of a sign-in that waits for a person."""


class Link(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The team of a project."""

    server: str
    workspace: str = ""


class TeamFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As stored."""

    v: Literal[1] = 1
    servers: dict[str, KeptServer] = {}
    """By their address, without a slash at its end."""
    projects: dict[str, Link] = {}
    """By their resolved root; a user's setting, and never a file of the project."""


def read_team_file(home: str) -> TeamFile:
    """Empty where there is none. Raises Fault E_CONFIG where it cannot be used."""
    path = os.path.join(home, NAME)
    if not os.path.lexists(path):
        return TeamFile()
    if why := explain_unreadable(path):
        raise _broken(f"it {why}")
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise _broken("others can read it")
            return msgspec.json.decode(file.read(_MOST_BYTES), type=TeamFile)
    except OSError as trouble:
        raise _broken(f"it cannot be read: {trouble.strerror}") from trouble
    except msgspec.MsgspecError as trouble:
        raise _broken("it is not what `handrail login` writes") from trouble


def change_team_file(home: str, server: str, kept: KeptServer | None) -> None:
    """Keep this of a server; None: nothing, and none of its projects."""
    with _held(home) as path:
        held = read_team_file(home)
        servers = {name: one for name, one in held.servers.items() if name != server}
        projects = held.projects
        if kept is None:
            projects = {root: link for root, link in projects.items() if link.server != server}
        else:
            servers[server] = kept
        _write(path, msgspec.structs.replace(held, servers=servers, projects=projects))


def change_link(home: str, project: str, before: Link | None, link: Link | None) -> None:
    """Say which team a project belongs to; None: to none. Raises Fault E_CONFLICT if it is not `before`."""
    with _held(home) as path:
        held = read_team_file(home)
        if held.projects.get(project) != before:
            raise refusal("target_changed")
        projects = {root: one for root, one in held.projects.items() if root != project}
        _write(
            path,
            msgspec.structs.replace(held, projects=projects if link is None else projects | {project: link}),
        )


@contextmanager
def _held(home: str) -> Iterator[str]:
    """The path of the file, while nobody else changes it."""
    ensure_private_directory(home)
    path = os.path.join(home, NAME)
    with lock_file(path + ".lock"):
        yield path


def _write(path: str, file: TeamFile) -> None:
    """A machine without any team has no such file, and pays nothing for teams."""
    try:
        if not file.servers and not file.projects:
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        replace_private(path, msgspec.json.format(msgspec.json.encode(file)) + b"\n")
    except OSError as trouble:
        raise Fault(E_IO, f"{NAME} could not be written: {trouble.strerror}.") from trouble


def _broken(why: str) -> Fault:
    return Fault(
        E_CONFIG,
        f"{NAME} of the Handrail home cannot be used: {why}.",
        details={"setting": NAME, "source": "file"},
        hint=f"Correct {NAME}, or remove it and sign in again with handrail login.",
    )
