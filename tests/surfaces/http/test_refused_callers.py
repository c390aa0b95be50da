"""What callers without a credential may take: places and threads of their own, and later refusals."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from handrail.contract.outcome import Fault
from handrail_serve.accounts.refusals import (
    CROWD_REFUSALS,
    CROWD_WINDOW_SECONDS,
    FREE_REFUSALS,
    HASHES_AT_ONCE,
    REFUSAL_WINDOW_SECONDS,
    SIGN_INS_OF_AN_ADDRESS,
    SIGN_INS_WAITING,
    Refusals,
    SignInQueue,
    address_of,
)


class Slow:
    """Work that ends when it is let go, and knows how much of it is done at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.gate = threading.Event()
        self.running = 0
        self.most = 0
        self.threads: set[str] = set()

    def work(self) -> str:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(threading.current_thread().name.partition("_")[0])
        self.gate.wait(30)
        with self.lock:
            self.running -= 1
        return "done"


async def sign_in(queue: SignInQueue, slow: Slow, address: str) -> Any:
    try:
        with queue.place(address):
            return await queue.run(slow.work)
    except Fault as refusal:
        return refusal.kind.code, refusal.retry_after_ms


def flood(addresses: list[str]) -> tuple[list[Any], Slow]:
    """What each of these gets that come at once, before any is done."""

    async def talk() -> list[Any]:
        queue = SignInQueue(HASHES_AT_ONCE, SIGN_INS_WAITING, SIGN_INS_OF_AN_ADDRESS)
        tasks = [asyncio.ensure_future(sign_in(queue, slow, one)) for one in addresses]
        await asyncio.sleep(0)
        refused = sum(task.done() for task in tasks)
        slow.gate.set()
        told = list(await asyncio.gather(*tasks))
        assert refused == len(told) - told.count("done"), "who is refused does not wait for it"
        assert await sign_in(queue, slow, "9.9.9.9") == "done", "afterwards there is room"
        return told

    slow = Slow()
    return asyncio.run(talk()), slow


def test_a_flood_of_sign_ins_is_hashed_one_by_one() -> None:
    told, slow = flood([f"10.0.0.{number}" for number in range(40)])

    assert told.count("done") == HASHES_AT_ONCE + SIGN_INS_WAITING
    assert set(told) == {"done", ("E_RATE_LIMITED", 2_000)}
    assert slow.most == HASHES_AT_ONCE <= 2
    assert slow.threads == {"sign-in"}, "never those of agents' calls"


def test_one_address_leaves_places_to_the_others() -> None:
    told, _ = flood(["10.0.0.1"] * 40 + ["10.0.0.2"])

    assert told[:40].count("done") == SIGN_INS_OF_AN_ADDRESS
    assert told[40] == "done"


def scope(client: str, *forwarded: bytes) -> dict[str, Any]:
    return {"client": (client, 1), "headers": [(b"x-forwarded-for", one) for one in forwarded]}


@pytest.mark.parametrize(
    ("client", "forwarded", "address"),
    [
        ("10.0.0.9", [b"1.2.3.4"], "10.0.0.9"),
        ("127.0.0.1", [b"6.6.6.6, 1.2.3.4"], "1.2.3.4"),
        ("127.0.0.1", [b"6.6.6.6", b"1.2.3.4, 127.0.0.1"], "1.2.3.4"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", [b"no address"], "127.0.0.1"),
        ("2001:db8::1", [], "2001:db8::/64"),
        ("::ffff:1.2.3.4", [], "1.2.3.4"),
    ],
)
def test_an_address_is_told_by_a_trusted_proxy_alone(client: str, forwarded: Any, address: str) -> None:
    assert address_of(scope(client, *forwarded), frozenset({"127.0.0.1"})) == address


def test_an_address_that_is_refused_often_has_to_wait() -> None:
    now = [0.0]
    strangers = Refusals(lambda: now[0])
    strangers.note_good("known")
    for _ in range(FREE_REFUSALS):
        strangers.require("here", "unknown")
        strangers.note_refused("here")

    with pytest.raises(Fault, match="refused"):
        strangers.require("here", "unknown")
    strangers.require("here", "known")
    strangers.require("elsewhere", "unknown")
    now[0] = REFUSAL_WINDOW_SECONDS
    strangers.require("here", "unknown")


def test_a_crowd_of_strangers_waits_for_its_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """From many addresses, none of which is over its own: so many requests would slow down agents."""
    now, held = [0.0], list[float]()

    async def note_wait(seconds: float) -> None:
        held.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note_wait)
    strangers = Refusals(lambda: now[0])
    for number in range(CROWD_REFUSALS):
        asyncio.run(strangers.hold("10.0.0.1"))
        strangers.note_refused(f"10.0.0.{number}")
    assert held == []

    asyncio.run(strangers.hold("10.0.1.1"))
    assert len(held) == 1
    strangers.require("10.0.1.1", "unknown")  # later, and not locked out
    now[0] = CROWD_WINDOW_SECONDS
    asyncio.run(strangers.hold("10.0.1.1"))
    assert len(held) == 1
