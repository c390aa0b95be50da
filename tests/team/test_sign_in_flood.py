"""A flood of sign-ins beside agents' work, and who has to wait for whose wrong passphrases."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from handrail.contract.outcome import Fault
from handrail.host.counts import OwnCounts
from handrail_serve.accounts.refusals import HASHES_AT_ONCE, SIGN_INS_WAITING
from handrail_team.accounts import credentials
from handrail_team.accounts.throttling import (
    FORGOTTEN_S,
    FREE_TRIES,
    FREE_TRIES_OF_A_NAME,
    FREE_TRIES_OF_AN_ADDRESS,
    SignInTries,
)
from tests.surfaces.http.client import Answered, asked, write_call
from tests.team.team_server import ORIGIN, PAGE, PASSPHRASE, Caller, Server


class Guessing:
    """Tries at a time of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tries = SignInTries(OwnCounts(), lambda: self.now)

    def fails(self, address: str, name: str = "ana", times: int = 1) -> None:
        for _ in range(times):
            self.tries.note(address, (name,))

    def may(self, address: str, name: str = "ana") -> bool:
        try:
            self.tries.require(address, (name,))
        except Fault:
            return False
        return True


def test_wrong_passphrases_lock_nobody_out_elsewhere() -> None:
    guessing = Guessing()
    guessing.fails("there", times=FREE_TRIES)

    assert not guessing.may("there")
    assert guessing.may("here")
    for number in range(1_000):
        guessing.fails(f"bot {number}")
    assert guessing.may("here"), "the right one works at once, however many are wrong elsewhere"
    guessing.fails("here")
    assert not guessing.may("here"), "and the second guess at a name under attack waits"
    guessing.now += 1
    assert guessing.may("here"), "for a second, after the first wrong one"


def test_an_address_waits_whatever_names_it_tries() -> None:
    guessing = Guessing()
    for number in range(FREE_TRIES_OF_AN_ADDRESS):
        guessing.fails("there", f"name {number}")

    assert not guessing.may("there", "another")
    assert guessing.may("here", "another")
    guessing.now += FORGOTTEN_S + 60
    guessing.fails("there", "another")
    assert guessing.may("there", "another"), "old tries are forgotten"


def test_a_name_counts_wrong_tries_from_everywhere() -> None:
    guessing = Guessing()
    for number in range(FREE_TRIES_OF_A_NAME - 1):
        guessing.fails(f"bot {number}")
    guessing.fails("here")

    assert not guessing.may("here")


async def ask(server: Server, path: str, body: Any, token: str, address: str) -> Answered:
    extra = [PAGE, ("origin", ORIGIN)]
    headers, content = write_call(token, extra, body)
    return await asked(server.app, "POST", path, headers, content, leaves=True, client=address)


def test_agents_work_while_sign_ins_are_hashed(
    server: Server, person: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every hash waits until the agent's call is answered: they share no thread and no place."""
    gate, hashing = threading.Event(), []
    stretch = credentials._stretch

    def slow(passphrase: str, salt: bytes) -> bytes:
        hashing.append(threading.current_thread().name.partition("_")[0])
        assert gate.wait(60)
        return stretch(passphrase, salt)

    monkeypatch.setattr(credentials, "_stretch", slow)
    wrong = {"name": "Ana", "passphrase": "three green words"}

    async def talk() -> tuple[Answered, list[Answered]]:
        flood = [
            asyncio.ensure_future(ask(server, "/sign-in/passphrase", wrong, "", f"10.0.{number}.1"))
            for number in range(40)
        ]
        while len(hashing) < HASHES_AT_ONCE:
            await asyncio.sleep(0.01)
        mine = await ask(server, "/api/session.list", {}, person.token, "10.1.0.1")
        gate.set()
        return mine, list(await asyncio.gather(*flood))

    mine, told = asyncio.run(talk())

    assert mine.status == 200
    assert set(hashing) == {"sign-in"}
    statuses = [one.status for one in told]
    assert statuses.count(401) == HASHES_AT_ONCE + SIGN_INS_WAITING
    assert statuses.count(429) == 40 - statuses.count(401)
    assert {one.header("retry-after") for one in told if one.status == 429} == {"2"}
    right = {"name": "Ana", "passphrase": PASSPHRASE}
    assert asyncio.run(ask(server, "/sign-in/passphrase", right, "", "10.2.0.1")).status == 200


def test_a_guess_at_an_invitation_costs_no_hash(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_stretch", None)
    given = {"invitation": "hri_" + "A" * 43, "name": "Eve", "passphrase": PASSPHRASE}

    assert server.sign_in("invitation", **given).status == 401
