"""What callers without a credential may take of a server: threads, places in a queue, and answers.

One passphrase is hashed at a time, on a thread of its own that yields to every other thread. A few sign-ins
wait for them; a sign-in beyond that gets the time to come back. An address that is refused again and again
gets its refusals later, and while many are refused everybody does, so that no loop of requests keeps the
server busy. Only the event loop touches the counts, so they need no lock.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TypeAlias, TypeVar

from handrail.contract.catalogue import E_RATE_LIMITED
from handrail.contract.outcome import Fault
from handrail_serve.exchange import Scope, values_of

HASHES_AT_ONCE = 1
"""Passphrases that a server hashes at a time; each takes 32 MiB, and a tenth of a second of one core."""
SIGN_INS_WAITING = 8
SIGN_INS_OF_AN_ADDRESS = 3
"""Those of one address, hashed or waiting."""
STEPS_AT_ONCE = 4
STEPS_WAITING = 28
STEPS_OF_AN_ADDRESS = 16
"""The same for steps of signing in that hash nothing."""
FREE_REFUSALS = 30
"""Of one address within the window; from then on its unknown credentials are not looked up."""
REFUSAL_WINDOW_SECONDS = 60.0
CROWD_REFUSALS = 20
"""Of all addresses together within the window; from then on every refusal is held."""
CROWD_WINDOW_SECONDS = 10.0
HOLD_SECONDS = 2.0
"""About so much later a refusal goes to an address that is over its own, or to anybody in a crowd."""
MOST_HELD = 128
_STEPS_OF_A_HOLD = 16
MOST_ADDRESSES = 10_000
MOST_GOOD = 10_000
_LOWER_PRIORITY = 10
"""Lower than agents' work, and high enough that a sign-in is answered in time on a busy machine."""
_OF_A_SITE = 64
"""Bits of an IPv6 address that one site has to itself."""
_T = TypeVar("_T")
Turn: TypeAlias = Callable[[], AbstractContextManager[None]]


def address_of(scope: Scope, proxies: Collection[str]) -> str:
    """Where a request comes from: the connection, or what a trusted proxy says; a site for IPv6.

    Of `X-Forwarded-For` the last entry that is no proxy of ours counts: earlier ones anybody can write.
    """
    host = str((scope.get("client") or ("",))[0])
    if host not in proxies:
        return _site(host) or host
    named = b",".join(values_of(scope["headers"], b"x-forwarded-for")).decode("latin-1").split(",")
    told = next((one for one in map(str.strip, reversed(named)) if one not in proxies), "")
    return _site(told) or host


def _site(host: str) -> str:
    """The address as it is counted; empty for what is none."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), _OF_A_SITE), strict=False))


class SignInQueue:
    """Threads of their own for what callers without a credential ask, and few places to wait for them."""

    def __init__(self, at_once: int, waiting: int, of_an_address: int, turn: Turn = nullcontext) -> None:
        """`turn` is waited for in the thread of the work: several processes share what it gives."""
        self._turn = turn
        self._most = at_once + waiting
        self._of_an_address = of_an_address
        self._held: Counter[str] = Counter()
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="sign-in", initializer=_yield_to_all)

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """Hold a place from before the body is read. Raises Fault E_RATE_LIMITED where none is left."""
        if self._held.total() >= self._most or self._held[address] >= self._of_an_address:
            raise Fault(E_RATE_LIMITED, "Too many people sign in right now.", retry_after_ms=2_000)
        self._held[address] += 1
        try:
            yield
        finally:
            self._held[address] -= 1
            self._held = +self._held

    async def run(self, work: Callable[[], _T]) -> _T:
        def in_turn() -> _T:
            with self._turn():
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._threads, in_turn)


def _yield_to_all() -> None:
    """Let every other thread go first; where a thread has no priority of its own, nothing changes."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWER_PRIORITY)


class Refusals:
    """Addresses that are refused, and the credentials that are known to be good."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused: dict[str, deque[float]] = {}
        self._lately: deque[float] = deque(maxlen=CROWD_REFUSALS)
        self._good: dict[bytes, None] = {}
        self._holding = 0

    def note_refused(self, address: str) -> None:
        times = self._refused.pop(address, None) or deque(maxlen=FREE_REFUSALS)
        times.append(self._clock())
        self._lately.append(times[-1])
        self._refused[address] = times
        while len(self._refused) > MOST_ADDRESSES:
            del self._refused[next(iter(self._refused))]

    def note_good(self, token: str) -> None:
        """A credential that let somebody in is not refused for what others at its address do."""
        name = _digest(token)
        self._good.pop(name, None)
        self._good[name] = None
        while len(self._good) > MOST_GOOD:
            del self._good[next(iter(self._good))]

    def is_over(self, address: str) -> bool:
        """Whether the address was refused so often that it has to wait."""
        times = self._refused.get(address, deque())
        return len(times) >= FREE_REFUSALS and self._clock() - times[0] < REFUSAL_WINDOW_SECONDS

    def _is_crowd(self) -> bool:
        """Whether so many are refused, wherever they come from, that they would slow down agents."""
        times = self._lately
        return len(times) == CROWD_REFUSALS and self._clock() - times[0] < CROWD_WINDOW_SECONDS

    def require(self, address: str, token: str) -> None:
        """Raises Fault E_RATE_LIMITED for an unknown credential from an address that is over its refusals."""
        if self.is_over(address) and _digest(token) not in self._good:
            raise Fault(
                E_RATE_LIMITED,
                "Too many credentials from this address were refused.",
                retry_after_ms=int(REFUSAL_WINDOW_SECONDS * 1000),
            )

    async def hold(self, address: str) -> None:
        """Wait before a refusal goes to an address that is over or to a crowd; only so many are held."""
        if not (self.is_over(address) or self._is_crowd()) or self._holding >= MOST_HELD:
            return
        # Not all until the same moment: they would come back together.
        share = self._holding % _STEPS_OF_A_HOLD / _STEPS_OF_A_HOLD
        self._holding += 1
        try:
            await asyncio.sleep(HOLD_SECONDS * (share + 0.5))
        finally:
            self._holding -= 1


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
