"""The feed: which sessions changed, as an event stream, while at least one client listens.

One thread compares the marks of all sessions every 300 ms, and ends with the last listener. Each change
gets a number; a listener that comes back with the number it has gets what came after, or `reset` if that is
no longer known.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping

import msgspec

from handrail.contract.outcome import Fault

LOOK_SECONDS = 0.3
HEARTBEAT_SECONDS = 15.0
CHANGES_KEPT = 4_096
"""Changes to remember; a listener that is further behind has to read everything again."""


Marks = Callable[[], Mapping[str, str]]
"""Function that returns a mark for every session, which changes with every commit."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One session that changed; the head is empty if the session was deleted."""

    number: int
    session_id: str
    head: str


class Feed:
    """The changes since this process started, and the listeners."""

    def __init__(self, marks: Marks, epoch: str, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._marks = marks
        self._epoch = epoch
        """A cursor of another process means nothing here."""
        self._look_seconds = look_seconds
        self._lock = threading.Lock()
        self._known: dict[str, str] | None = None
        self._changes: deque[Change] = deque(maxlen=CHANGES_KEPT)
        self._number = 0
        self._listeners: set[_Listener] = set()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self.is_closed = False

    @property
    def is_looking(self) -> bool:
        """Whether the thread runs, which it does only while a client listens."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def cursor(self) -> str:
        """The place of a page that is about to be read: whatever changes from now on comes after it.

        Raises Fault.
        """
        with self._lock:
            if self._known is None:
                self._look()
            return self._spell(self._number)

    def close(self) -> None:
        """Inform every listener that the server stops, and end."""
        self.is_closed = True
        for listener in tuple(self._listeners):
            listener.wake()

    async def stream(self, cursor: str) -> AsyncGenerator[bytes, None]:
        """The events for one listener, until it leaves or the server stops."""
        listener = _Listener()
        try:
            place = await asyncio.to_thread(self._join, listener, cursor)
            if place is None:
                place = self._number
                yield _event("reset", {"cursor": self._spell(place)})
            else:
                yield b": listening\n\n"
            while not self.is_closed:
                changes, is_known = self._after(place)
                if not is_known:
                    place = self._number
                    yield _event("reset", {"cursor": self._spell(place)})
                for change in changes:
                    place = change.number
                    yield _event(
                        "change",
                        {
                            "sessionId": change.session_id,
                            "head": change.head,
                            "cursor": self._spell(change.number),
                        },
                    )
                if not await listener.wait(HEARTBEAT_SECONDS):
                    yield b": still here\n\n"
            yield _event("bye", {"cursor": self._spell(place)})
        finally:
            self._leave(listener)

    # Listeners come and go on the event loop, changes come from the thread; the lock is between them

    def _join(self, listener: _Listener, cursor: str) -> int | None:
        """Return the position of the listener; None if its cursor is invalid or the client has left."""
        with self._lock:
            self._look()  # what happened while nobody listened
            if listener.has_left:
                return None
            self._listeners.add(listener)
            if not self.is_looking:
                self._wake.clear()
                self._thread = threading.Thread(target=self._watch, name="feed", daemon=True)
                self._thread.start()
            return self._read(cursor) if cursor else self._number

    def _leave(self, listener: _Listener) -> None:
        listener.has_left = True
        with self._lock:
            self._listeners.discard(listener)
            if not self._listeners:
                self._wake.set()

    def _watch(self) -> None:
        while not self._wake.wait(self._look_seconds):
            with self._lock:
                try:
                    count = self._look()
                except Fault:  # the store cannot be listed now; the next look may see it again
                    continue
                listeners = tuple(self._listeners) if count else ()
            for listener in listeners:
                listener.wake()

    def _look(self) -> int:
        """Return how many sessions changed since the last comparison. The caller holds the lock."""
        now = dict(self._marks())
        before = self._known
        self._known = now
        if before is None:
            return 0
        moved = [(name, mark) for name, mark in now.items() if before.get(name) != mark]
        moved += [(name, "") for name in before if name not in now]
        for name, mark in sorted(moved):
            self._number += 1
            self._changes.append(Change(number=self._number, session_id=name, head=mark))
        return len(moved)

    def _after(self, place: int) -> tuple[list[Change], bool]:
        """The last change of each session after this place, and whether all of them are still known."""
        with self._lock:
            kept = [change for change in self._changes if change.number > place]
            is_known = place >= self._number - len(self._changes)
        last = {change.session_id: change for change in kept}
        return sorted(last.values(), key=lambda change: change.number), is_known

    def _read(self, cursor: str) -> int | None:
        epoch, _, number = cursor.partition("-")
        if epoch != self._epoch or not (number.isascii() and number.isdigit()) or len(number) > 15:
            return None
        place = int(number)
        return place if self._number - len(self._changes) <= place <= self._number else None

    def _spell(self, number: int) -> str:
        return f"{self._epoch}-{number}"


class _Listener:
    """One open stream; `wake` may be called by any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self.has_left = False
        """Its client went away while it was still joining."""

    def wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # its loop has ended, and it with it
            return

    async def wait(self, seconds: float) -> bool:
        """Return whether there is something new; False after a quiet period."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True


def _event(name: str, data: Mapping[str, str]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
