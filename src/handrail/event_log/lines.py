"""Authentication lines: how a store proves later that a commit is its own. Pure.

The chain of a session shows that its events belong together, and anybody can compute it. A line next to the
chain shows which store made a commit: it is a MAC over the session, the events of the commit and the chain
digest after them, with a key that never leaves the store. The first event counts as much as the last:
otherwise an attacker could join a foreign commit with one of this store, and the line would cover both.

The list names the sessions that were in the store when its key was made, one row each. A row has its own
MAC, so one session is looked up without proving the others.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from handrail.contract.ids import SessionId
from handrail.ports.log import Origin

KEY_BYTES: Final = 32
LINE: Final = re.compile("[0-9a-f]{64}")


_HEAD: Final = re.compile(rb"handrail-store-key 1 ([0-9a-f]{64}) ([0-9a-f]{16})\n")
HEAD_BYTES: Final = 103
"""Bytes of a stored key, before its list."""


class CommitPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What an authentication line covers: the events `first` to `last`, and the chain digest after them."""

    session_id: str
    first: int
    last: int
    head: str


class ListedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was in the store when its key was made: how many events, and the digest after them."""

    session_id: SessionId
    events: int
    digest: str


def encode_key(key: bytes) -> bytes:
    """Return the line of a stored key; its list follows."""
    check = hashlib.sha256(b"handrail.store-key\0" + key).hexdigest()[:16]
    return f"handrail-store-key 1 {key.hex()} {check}\n".encode()


def decode_key(content: bytes) -> bytes | None:
    """Return the key of such a line; None if it is damaged."""
    matched = _HEAD.fullmatch(content)
    key = b"" if matched is None else bytes.fromhex(matched[1].decode())
    return key if content == encode_key(key) else None


def make_line(key: bytes, place: CommitPlace) -> str:
    """Return the authentication line of a commit."""
    return _mac(key, "commit", place.session_id, str(place.first), str(place.last), place.head)


def is_line_of(key: bytes, line: str, place: CommitPlace) -> bool:
    """Whether a store with this key wrote the line for this commit."""
    return bool(line) and hmac.compare_digest(line.encode(), make_line(key, place).encode())


def write_list(key: bytes, sessions: Iterable[ListedSession]) -> bytes:
    """Return the list of these sessions, in the order of their ids."""
    rows = sorted(f"{one.session_id} {one.events} {one.digest}" for one in sessions)
    return "".join(f"{row} {_mac(key, 'list', row)}\n" for row in rows).encode()


def find_listed(key: bytes, content: bytes, session_id: str) -> ListedSession | None:
    """Return the row of a session; None if there is none, or this key did not write it."""
    start = content.find(f"{session_id} ".encode())
    if start < 0:
        return None
    return _read_row(key, content[start:].partition(b"\n")[0].decode("ascii", "replace"))


def _read_row(key: bytes, text: str) -> ListedSession | None:
    row, _, mac = text.rpartition(" ")
    words = row.split(" ")
    if len(words) != 3 or not hmac.compare_digest(mac.encode(), _mac(key, "list", row).encode()):
        return None
    return ListedSession(session_id=SessionId(words[0]), events=int(words[1]), digest=words[2])


def is_list(key: bytes, content: bytes) -> bool:
    """Whether this key wrote every row."""
    rows = content.decode("ascii", "replace").split("\n")
    return rows[-1] == "" and all(_read_row(key, row) is not None for row in rows[:-1])


def make_adoption(key: bytes) -> str:
    """Return the mark that a person adopted everything on the list."""
    return _mac(key, "adopted")


def is_adoption(key: bytes, mark: str) -> bool:
    """Whether a store with this key wrote the mark."""
    return hmac.compare_digest(mark.encode(), make_adoption(key).encode())


NOTHING_LISTED: Final = Origin()


def _mac(key: bytes, *parts: str) -> str:
    return hmac.digest(key, "\0".join(("handrail.line.v1", *parts)).encode(), "sha256").hex()
