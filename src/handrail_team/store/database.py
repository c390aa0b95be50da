"""Connections to the database, their timeouts, and the faults for its errors.

A thread makes a connection when it needs one and leaves it for the next call. So an unreachable database is
noticed at once, and the first call after its return works; no background task is needed.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, Final, LiteralString, TypeVar

import psycopg
from psycopg import conninfo, errors, pq

from handrail.contract.catalogue import (
    E_VALIDATION,
    STORE_IO_ERROR,
    STORE_PERMISSION_DENIED,
    STORE_UNAVAILABLE,
)
from handrail.contract.outcome import Fault
from handrail.ports.store import DatabaseFacts
from handrail_team.store.credential_file import add_password
from handrail_team.store.migrations import (
    ASKED_WORDS,
    NEWEST,
    SCOPE,
    migrate,
    require_walls,
    scope_of,
    version_of,
)

_T = TypeVar("_T")

# A statement that fails while others are on their way is reported once, as a fault; without a handler psycopg
# tells it a second time, on standard error, which belongs to the caller.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

PATIENCE_S: Final = 5.0
"""How long one statement may take; waiting for a lock comes on top."""
LONG_PATIENCE_S: Final = 600.0
"""The same for statements that read or remove very much."""
CONNECT_S: Final = 4
_MOST_CONNECTIONS: Final = 32
"""Connections of one process; a hold and a read next to it take one each."""
_MOST_IDLE: Final = 8
_NOTED_SECONDS: Final = 60
"""How long the same warning for the operator is held back."""
_TRIED_BYTES: Final = 65_536
"""Size of a test write: larger than the free space of any page."""


class Link(psycopg.Connection[tuple[Any, ...]]):
    """A connection with a timeout for silence of the database."""

    patience_s = PATIENCE_S

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        return super().wait(gen, interval, self.patience_s if timeout is None else timeout)

    def __del__(self) -> None:  # type: ignore[override]  # psycopg complains here of what a process leaves open
        if hasattr(self, "pgconn"):
            self.pgconn.finish()


class Database:
    """One database as seen from one workspace, shared by all threads of this process. It connects at first
    use. `within` returns the same connections for another workspace.
    """

    def __init__(
        self,
        address: str,
        *,
        workspace: str = "",
        is_team: bool = False,
        most: int = _MOST_CONNECTIONS,
        patience_s: float = PATIENCE_S,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """`note` takes messages for the operator. Callers of a server are not shown where the database is."""
        self._address = add_password(address, os.environ)
        self._note = note
        self._noted: dict[str, float] = {}
        self._is_team = is_team
        self.workspace = workspace
        self.patience_s = patience_s
        self._guard = threading.Lock()
        self._idle: list[Link] = []
        self._free = threading.BoundedSemaphore(most)
        self._made = threading.Event()
        """Whether this process has seen the tables."""
        self._has_room = threading.Event()
        """Cleared when the database rejects a write for its own reasons, such as a full disk."""
        self._has_room.set()

    def within(self, workspace: str) -> Database:
        """Return the same connections for another workspace."""
        other = copy(self)
        other.workspace = workspace
        return other

    @property
    def scope(self) -> str:
        return scope_of(self.workspace)

    @property
    def place(self) -> str:
        """The database's place, without user names and secrets."""
        return show_address(self._address)

    def take(self, *, is_new: bool = False) -> tuple[Link, bool]:
        """Return a connection, and whether it is new. The caller must give it back.

        Raises Fault STORE_UNAVAILABLE.
        """
        if not self._free.acquire(timeout=self.patience_s):
            raise _unavailable("busy", "All connections of this process are in use.")
        link: Link | None = None
        try:
            if is_new:  # one was dead, so the others are
                self.close()
            with self._guard:
                kept = link = self._idle.pop() if self._idle else None
            link = link or self._connect()
            link.patience_s = self.patience_s
            return link, kept is None
        finally:
            if link is None:
                self._free.release()

    def give(self, link: Link) -> None:
        """Keep the connection for the next call, unless it is broken or busy."""
        try:
            if not link.closed and link.info.transaction_status == pq.TransactionStatus.IDLE:
                with self._guard:
                    if len(self._idle) < _MOST_IDLE:
                        self._idle.append(link)
                        return
            link.close()
        finally:
            self._free.release()

    def fetch(
        self, asked: LiteralString, values: Sequence[object] = (), patience_s: float = 0, words: str = ""
    ) -> list[tuple[Any, ...]]:
        """Return every row of a query; without tables, none. `patience` allows more time.

        `words` of a search are those of `found_by`.
        """

        def read(link: Link) -> list[tuple[Any, ...]]:
            if not self._has_tables(link):
                return []
            with self._one_trip(link):
                if words:
                    link.execute(ASKED_WORDS, (words,))
                found = link.execute(asked, values, binary=True)
            return found.fetchall()

        return self._run(read, patience_s)

    def send(self, *statements: tuple[LiteralString, Sequence[object]]) -> list[int]:
        """Run repeatable changes in one round trip, and return how many rows each statement changed."""

        def work(link: Link) -> list[int]:
            self.make(link)
            with self._one_trip(link):
                made = [link.execute(statement, values) for statement, values in statements]
            return [one.rowcount for one in made]

        return self._run(work, 0)

    def write(self, work: Callable[[Link], _T], patience_s: float = 0) -> _T:
        """Run repeatable work in one transaction, again if a kept connection was dead. Makes the tables
        first.
        """

        def make_and_work(link: Link) -> _T:
            self.make(link)
            with link.transaction():
                link.execute(SCOPE, (self.scope,))
                return work(link)

        return self._run(make_and_work, patience_s)

    def ask_version(self) -> int:
        """Return the version of the tables; retries if a kept connection was dead.

        A process that has seen its tables continues when a newer program adds to them, so an update needs
        no stop. Raises Fault STORE_UNAVAILABLE, also if the database takes no writes, and
        STORE_UNSUPPORTED_VERSION for tables that were newer from the start. After a rejected write it tries
        a small one, which leaves nothing, so that a server that is not ready receives no calls.
        """

        def ask(link: Link) -> int:
            row = link.execute("SHOW transaction_read_only").fetchone()
            if row is not None and row[0] == "on":
                raise errors.ReadOnlySqlTransaction
            if not self._has_room.is_set():
                with link.transaction(force_rollback=True):
                    link.execute(SCOPE, (self.scope,))
                    tried = secrets.token_bytes(_TRIED_BYTES)
                    link.execute("INSERT INTO handrail.blobs (ref, content) VALUES ('', %b)", (tried,))
                self._has_room.set()
            return version_of(link, is_in_use=self._made.is_set())

        return self._run(ask, 0)

    def make(self, link: Link) -> None:
        """Make or extend the tables, unless this process has seen them."""
        if not self._made.is_set():
            if self._is_team:  # before anything is made
                require_walls(link, is_team=True)
            if version_of(link) < NEWEST:
                migrate(link)
            require_walls(link, is_team=self._is_team)
            self._made.set()

    @contextmanager
    def _one_trip(self, link: Link) -> Iterator[None]:
        """One transaction in this workspace, sent and answered as a whole."""
        with link.pipeline():
            link.execute("BEGIN")
            link.execute(SCOPE, (self.scope,))
            yield
            link.execute("COMMIT")

    def close(self) -> None:
        with self._guard:
            for link in self._idle:
                link.close()
            self._idle.clear()

    def _run(self, work: Callable[[Link], _T], patience_s: float) -> _T:
        for _ in range(2):
            link, is_new = self.take()
            link.patience_s = max(patience_s, self.patience_s)
            try:
                with self.translate_errors():
                    try:
                        return work(link)
                    except psycopg.Error as error:
                        if is_new or not is_lost(link, error):
                            raise
            finally:
                settle(link)
                self.give(link)
            self.close()
        raise _unavailable("connection", "The database closed every connection.")

    def has_tables(self) -> bool:
        """Whether the tables exist. Raises Fault STORE_UNAVAILABLE."""
        return self._run(self._has_tables, 0)

    def require_bound_role(self) -> None:
        """Raise Fault STORE_PERMISSION_DENIED for a role that bypasses row security. Makes nothing."""
        self._run(lambda link: require_walls(link, is_team=True), 0)

    def _has_tables(self, link: Link) -> bool:
        if not self._made.is_set() and version_of(link) > 0:
            self.make(link)
        return self._made.is_set()

    def _connect(self) -> Link:
        given = {"connect_timeout": str(CONNECT_S), "application_name": "handrail"}
        try:
            known = conninfo.conninfo_to_dict(self._address)
            settings = conninfo.make_conninfo(**(given | {name: str(value) for name, value in known.items()}))
            return Link.connect(settings, autocommit=True)
        except psycopg.Error as error:
            message = f"The database cannot be reached{self._words_of(error)}."
            raise _unavailable("connection", message) from error

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn errors of the database into the faults of the port."""
        try:
            yield
        except psycopg.Error as error:
            raise self.fault_of(error) from error

    def fault_of(self, error: psycopg.Error) -> Fault:
        if isinstance(error, errors.DiskFull | psycopg.InternalError):
            self._has_room.clear()
        match error:
            case errors.DiskFull():
                self._words_of(error)
                return _unavailable("disk_full", "The database takes no writes now: its disk is full.")
            case errors.ReadOnlySqlTransaction():
                return _unavailable("read_only", "The database takes no writes now: it is read-only.")
            case errors.SerializationFailure() | errors.DeadlockDetected() | errors.LockNotAvailable():
                return _unavailable("busy", "The database could not do this now: others are at the same.")
            case psycopg.DataError() if error.sqlstate is None:  # refused here, before it was sent: a NUL
                message = f"A text of this call cannot be kept: {_first_line(error)}"
                return Fault(E_VALIDATION, message, details={"param": ""})
        words = self._words_of(error)
        match error:
            case errors.InsufficientPrivilege():
                return Fault(
                    STORE_PERMISSION_DENIED,
                    f"The database refuses this role{words}.",
                    details={"reason": "insufficient_privilege"},
                    hint="Give the role of the address rights on the schema handrail of that database.",
                )
            case psycopg.OperationalError() | psycopg.InterfaceError():
                return _unavailable("connection", f"The database does not answer{words}.")
            case psycopg.InternalError():  # it has trouble of its own, such as a file that cannot grow
                return _unavailable("internal", f"The database could not do this now{words}.")
            case _:
                return Fault(
                    STORE_IO_ERROR,
                    f"The database refused{words}. Nothing half-written counts.",
                    details={"reason": error.sqlstate or "unknown"},
                    hint="Look at the log of the database.",
                )

    def _words_of(self, error: psycopg.Error) -> str:
        """Return the database's own words for the operator; other callers get a general message."""
        words = _first_line(error)
        if self._note is None:
            return f": {words}"
        self._warn_operator(self._note, f"The database says: {words}")
        return ""

    def _warn_operator(self, note: Callable[[str], None], words: str) -> None:
        """Warn the operator, at most once a minute with the same words."""
        now = time.monotonic()
        with self._guard:
            is_known = now - self._noted.get(words, -_NOTED_SECONDS) < _NOTED_SECONDS
            if not is_known:
                self._noted.clear()  # the one that `within` shares
                self._noted[words] = now
        if not is_known:
            note(words)


def facts_of(database: Database) -> DatabaseFacts:
    """Return where it is and whether it answers. Changes nothing, never raises."""
    place = database.place
    try:
        version = database.ask_version()
    except Fault as fault:
        return DatabaseFacts(place=place, is_answering=False, trouble=fault.message)
    return DatabaseFacts(place=place, is_answering=True, version=version)


def show_address(address: str) -> str:
    """Return host and name of a database, never a user, a password or an option."""
    try:
        known = conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return "postgresql://"
    port = f":{known['port']}" if "port" in known else ""
    return f"postgresql://{known.get('host', '')}{port}/{known.get('dbname', '')}"


def find_secrets(address: str) -> list[str]:
    """Return the parts of an address that must not be printed."""
    try:
        known = conninfo.conninfo_to_dict(add_password(address, os.environ))
        return [str(value) for name, value in known.items() if "pass" in name]
    except psycopg.Error:
        return []


def is_lost(link: Link, error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that the fate of the last statement is unknown.

    A connection that became read-only counts as gone: after a failover, a new one reaches the writable
    server.
    """
    if link.closed or isinstance(error, errors._WaitTimeout | errors.ReadOnlySqlTransaction):
        link.close()
        return True
    return False


def settle(link: Link) -> None:
    """End the open transaction; after a rejected statement, close the connection too.

    Statements sent in the same batch after the rejected one never ran, but psycopg counts them as prepared.
    """
    with suppress(psycopg.Error):
        if link.info.transaction_status == pq.TransactionStatus.INTRANS:
            link.execute("ROLLBACK")


def _unavailable(reason: str, message: str) -> Fault:
    return Fault(STORE_UNAVAILABLE, message, details={"reason": reason})


def _first_line(error: psycopg.Error) -> str:
    text = error.diag.message_primary or str(error)
    return text.strip().partition("\n")[0][:300]
