"""The key of a store in a database, which proves the commits of a workspace, and the list it begins with.

It is a row of its own beside the keyring, made once for each workspace before the first commit there.
Rotating keys leaves it alone. Of many servers one makes it: the others wait for its row and read it.
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
    """The key of one workspace. What it has read once stays, because it is made once."""

    def __init__(self, database: Database, random_bytes: Callable[[int], bytes]) -> None:
        self._database = database
        self._random_bytes = random_bytes
        self._key: bytes | None = None

    def within(self, workspace: str) -> TeamStoreKey:
        return TeamStoreKey(self._database.within(workspace), self._random_bytes)

    def read(self) -> bytes | None:
        """The key; None when there is none yet. Raises Fault KEYRING_INVALID when it is damaged."""
        if self._key is None:
            rows = self._database.fetch(_READ, (HEAD_BYTES, _KEY))
            if rows:
                self._key = decode_key(bytes(rows[0][0]))
                if self._key is None:
                    message = "The store key in the database is damaged. Restore it from a backup."
                    raise Fault(KEYRING_INVALID, message, details={"reason": "damaged"})
        return self._key

    def ensure(self) -> bytes:
        """The key, made now if there is none. Raises Fault KEYRING_INVALID."""
        key = self.read()
        if key is None:
            self._database.write(self._make)
            key = self.read()
        assert key is not None, "it was made just now"
        return key

    def find_listed(self, session_id: str) -> ListedSession | None:
        """What the list says of a session."""
        key = self.read()
        return None if key is None else find_listed(key, self._list(), session_id)

    def count_listed(self) -> int:
        """How many sessions the list has."""
        return self._list().count(b"\n")

    def is_adopted(self) -> bool:
        """Whether a person adopted everything on the list."""
        key, rows = self.read(), self._database.fetch(_READ_WHOLE, (_ADOPTED,))
        return (
            key is not None and bool(rows) and is_adoption(key, bytes(rows[0][0]).decode("ascii", "replace"))
        )

    def adopt(self) -> None:
        """Everything on the list counts as recorded here from now on."""
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
