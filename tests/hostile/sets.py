"""The five hostile sets, each with the attacks that its tests try."""

from __future__ import annotations

from typing import NamedTuple

from tests.hostile.bundles.bundles import exploding_bundle, hostile_bundles
from tests.hostile.client.messages import client_attacks
from tests.hostile.doors import COMMANDS, TOOLS
from tests.hostile.home.plants import PLANTED, TRAPS
from tests.hostile.index.answers import index_attacks
from tests.hostile.repository.checkout import GIT_TRICKS, MODULES, PROGRAMS, SINGLE_MODULES

REFUSED = "refused, nothing stored"
_PLANTED = {
    "link": "a link to a file of somebody else",
    "pipe": "a pipe that nobody writes to",
    "folder": "a folder where a file belongs",
    "huge": "a file of a size that does not exist",
}


class Attack(NamedTuple):
    """What is tried, and what comes of it."""

    name: str
    tries: str
    comes_to: str


class HostileSet(NamedTuple):
    """Everything that one kind of stranger tries."""

    name: str
    fixture: str
    """Its folder, with the table."""
    doors: str
    attacks: list[Attack]


def hostile_sets() -> list[HostileSet]:
    """All five."""
    return [_repository(), _home(), _bundles(), _index(), _client()]


def _repository() -> HostileSet:
    modules = [
        Attack(f"module `{name}`", "a module of that name in the working directory", "never imported")
        for name in (*MODULES, *SINGLE_MODULES)
    ]
    programs = [
        Attack(
            f"program `{name}`", "a program of that name, first on PATH by a relative place", "never started"
        )
        for name in PROGRAMS
    ]
    tricks = [Attack(trick.name, "a configuration of git", "starts nothing") for trick in GIT_TRICKS]
    return HostileSet(
        "A hostile repository",
        "tests/hostile/repository",
        f"every command, every hook event, every tool of the server ({len(TOOLS)})",
        [*modules, *programs, *tricks],
    )


def _home() -> HostileSet:
    planted = [
        Attack(
            f"{kind} for `{piece}`", _PLANTED[kind], "answered or refused by name, nothing read or waited for"
        )
        for piece, kind in PLANTED
    ]
    traps = [Attack(name, "an index of sessions that is a trap", "thrown away") for name in TRAPS]
    return HostileSet(
        "A hostile home",
        "tests/hostile/home",
        f"every command that starts no process ({len(COMMANDS)}), every tool ({len(TOOLS)})",
        [*planted, *traps],
    )


def _bundles() -> HostileSet:
    attacks = [
        Attack(
            one.name, one.tries, f"{REFUSED} (`{one.code}`)" if one.code else "taken and marked as imported"
        )
        for one in hostile_bundles()
    ]
    exploding = exploding_bundle()
    return HostileSet(
        "A hostile set of bundles",
        "tests/hostile/bundles",
        "`session import` and its previews, every reading command, every reading tool, a later start",
        [*attacks, Attack(exploding.name, exploding.tries, REFUSED)],
    )


def _index() -> HostileSet:
    return HostileSet(
        "A hostile index",
        "tests/hostile/index",
        "`update --check`, `update --dry-run`, `update`, `doctor`; no other command or tool asks",
        [
            Attack(one.name, one.tries, "known trouble or a plain answer; told nowhere")
            for one in index_attacks()
        ],
    )


def _client() -> HostileSet:
    attacks = [
        Attack(one.name, one.tries, "the server goes on, nothing is written") for one in client_attacks()
    ]
    attacks += [
        Attack("closes-in-a-message", "to leave half a call", "the server ends, nothing is written"),
        Attack("never-reads", "to have answers pile up", "the server waits, and ends with the client"),
        Attack("stuck-calls", "to keep every worker busy", "a ping is answered"),
    ]
    return HostileSet(
        "A hostile client",
        "tests/hostile/client",
        "the server on stdin and stdout",
        attacks,
    )
