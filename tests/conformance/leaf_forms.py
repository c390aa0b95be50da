"""What a leaf of the command line is as data, and the ways in which one is refused."""

from __future__ import annotations

import msgspec

from tests.conformance import damage
from tests.conformance.damage import Damage

BAD_ACK = "ak1" + "0" * 53
NOWHERE = "ses_000000000000"
AWAY = {"HANDRAIL_STORE": "postgresql://127.0.0.1:1/away"}
"""A database that nothing answers for."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One call that must be refused. `line` stands in place of the leaf's own; `more` is added to it."""

    line: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    stdin: bytes = b""
    environment: dict[str, str] = {}
    plant: str = ""
    ending: str = ""
    damage: Damage = damage.none


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """`line` is the plain call; a write adds its gate flags to it."""

    line: tuple[str, ...]
    further: tuple[tuple[str, ...], ...] = ()
    """Other lines that succeed and use every other flag of its own."""
    once: tuple[tuple[str, ...], ...] = ()
    """Lines that succeed once, because they leave a file behind."""
    ways: dict[str, Way] = {}
    key: tuple[str, ...] = ()
    """What makes a creation repeatable."""
    page: tuple[str, ...] = ()
    """The line whose pages have cursors, where it is another one."""
    plant: str = ""
    project: str = ""
    """The folder beside the project that it is called for, where that must be another one."""
    dangerous: tuple[str, ...] = ()


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def says(line: str, **rest: object) -> Way:
    return msgspec.convert({"line": words(line), **rest}, Way)


def wrong(place: Damage, line: str = "", plant: str = "") -> Way:
    return Way(line=words(line), damage=place, plant=plant)


def paged(line: str) -> dict[str, Way]:
    """What a list says to a cursor that is none, is old, or belongs to another list."""
    page = (*words(line), "--limit", "1")
    return {
        "INVALID_TOKEN": Way(line=(*page, "--cursor", "cu1nonsense")),
        "TOKEN_EXPIRED": Way(line=(*page, "--cursor", "CURSOR"), plant="later"),
        "TOKEN_SCOPE_MISMATCH": Way(line=(*page, "--cursor", "FOREIGN_PAGE")),
        "KEYRING_INVALID": Way(line=page, damage=damage.keyring),
    }


def unusable(line: str, rest: str = "") -> dict[str, Way]:
    """What a command says to a workflow that is wrong, and to one that nobody has."""
    wrong_one, unknown_one = (says(f"{line} {name} {rest}") for name in ("broken.json", "wr.nope"))
    return {"WORKFLOW_INVALID": wrong_one, "WORKFLOW_NOT_FOUND": unknown_one}


def token_driven(old: str) -> dict[str, Way]:
    """What a token meets when its session is gone, busy, damaged after it, or began anew."""
    return {
        "TOKEN_UNKNOWN_NODE": wrong(damage.no_session),
        "TOKEN_SESSION_LOCKED": wrong(damage.locked, plant="impatient"),
        "SESSION_NOT_HEALTHY": wrong(damage.changed_notes, old),
        "STORE_HISTORY_LOST": wrong(damage.older_session),
        "STORE_CORRUPT": wrong(damage.changed_blobs),
        "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event),
    }


def of_one_session(line: str) -> dict[str, Way]:
    """What a command meets that reads the store only when a session is named."""
    return {
        "STORE_UNSUPPORTED_VERSION": wrong(damage.newer_event, line),
        "STORE_IO_ERROR": says(line, plant="disk error"),
        "STORE_PERMISSION_DENIED": says(line, plant="disk denied"),
        "STORE_UNAVAILABLE": says(line, environment=AWAY),
    }
