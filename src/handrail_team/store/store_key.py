"""The key of a store in a database, which signs the commits of a workspace, and its list of older sessions.

It is a row apart from the keyring, made once for each workspace before the first commit. Rotating keys does
not change it. One server makes it; the others wait for its row and read it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handrail.contract.catalogue import KEYRING_INVALID
from handrail.contract.outcome import Fault
from handrail.event_log.lines import (
    HEAD_BYTES,
    KEY_BYTES,
    ListedSession,
    decode_key,
    encode_key,
    find_listed,
    is_adoption,
    make_adoption,
    write_list,
)
from handrail_team.store.database import Database, Link

_KEY: Final = "store_key"
_ADOPTED: Final = "store_adopted"
_READ = "SELECT substring(content from 1 for %s) FROM handrail.keyring WHERE name = %s"
_READ_WHOLE = "SELECT content FROM handrail.keyring WHERE name = %s"
_HEADS = "SELECT session_id, head, digest FROM handrail.sessions WHERE head > 0"
_MAKE = (
    "INSERT INTO handrail.keyring (name, content) VALUES (%s, %b) ON CONFLICT (name, workspace) DO NOTHING"
)


class TeamStoreKey:
    """The key of one workspace. It is made once, so it stays cached."""

    def __init__(self, database: Database, random_bytes: Callable[[int], bytes]) -> None:
        self._database = database
        self._random_bytes = random_bytes
        self._key: bytes | None = None

    def within(self, workspace: str) -> TeamStoreKey:
        return TeamStoreKey(self._database.within(workspace), self._random_bytes)

    def read(self) -> bytes | None:
        """Return the key; None if there is none yet. Raises Fault KEYRING_INVALID if it is damaged."""
        if self._key is None:
            rows = self._database.fetch(_READ, (HEAD_BYTES, _KEY))
            if rows:
                self._key = decode_key(bytes(rows[0][0]))
                if self._key is None:
                    message = "The store key in the database is damaged. Restore it from a backup."
                    raise Fault(KEYRING_INVALID, message, details={"reason": "damaged"})
        return self._key

    def ensure(self) -> bytes:
        """Return the key, and make it if there is none. Raises Fault KEYRING_INVALID."""
        key = self.read()
        if key is None:
            self._database.write(self._make)
            key = self.read()
        assert key is not None, "it was made just now"
        return key

    def find_listed(self, session_id: str) -> ListedSession | None:
        """Return the list's entry of a session."""
        key = self.read()
        return None if key is None else find_listed(key, self._list(), session_id)

    def count_listed(self) -> int:
        """Return the number of sessions on the list."""
        return self._list().count(b"\n")

    def is_adopted(self) -> bool:
        """Whether a person adopted every session on the list."""
        key, rows = self.read(), self._database.fetch(_READ_WHOLE, (_ADOPTED,))
        return (
            key is not None and bool(rows) and is_adoption(key, bytes(rows[0][0]).decode("ascii", "replace"))
        )

    def adopt(self) -> None:
        """Count every session on the list as recorded by this store from now on."""
        mark = make_adoption(self.ensure()).encode()
        self._database.send((_MAKE, (_ADOPTED, mark)))

    def _list(self) -> bytes:
        rows = self._database.fetch(_READ_WHOLE, (_KEY,))
        return bytes(rows[0][0])[HEAD_BYTES:] if rows else b""

    def _make(self, link: Link) -> None:
        key = self._random_bytes(KEY_BYTES)
        heads = [
            ListedSession(session_id=row[0], events=row[1], digest=row[2]) for row in link.execute(_HEADS)
        ]
        link.execute(_MAKE, (_KEY, encode_key(key) + write_list(key, heads)))
