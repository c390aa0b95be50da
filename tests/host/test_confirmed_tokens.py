"""Used confirm tokens on disk: one winner, private, forgotten long after they expired."""

from __future__ import annotations

import errno
import os
from hashlib import sha256

import pytest

from handrail.host import process
from handrail.host.process import ConfirmedTokenFiles
from handrail.ports.process import Claim

NOW = 1_800_000_000


def name(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def claimed(home: str, text: str, *, expires_at: int = NOW + 900, now: int = NOW) -> Claim:
    return ConfirmedTokenFiles(home).claim(name(text), expires_at=expires_at, now=now)


def test_the_first_claim_wins_and_the_second_is_told(home: str) -> None:
    assert claimed(home, "a") == Claim(state="claimed")
    assert claimed(home, "a") == Claim(state="already_used")
    assert claimed(home, "b") == Claim(state="claimed")


def test_a_claim_can_be_looked_at_without_using_anything_up(home: str) -> None:
    tokens = ConfirmedTokenFiles(home)

    assert tokens.is_used(name("a")) is False
    claimed(home, "a")
    assert tokens.is_used(name("a")) is True


def test_claims_are_private_and_hold_their_expiry(home: str) -> None:
    claimed(home, "a")

    folder = os.path.join(home, "confirm-consumed")
    path = os.path.join(folder, name("a"))
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path, encoding="utf-8") as file:
        assert file.read() == str(NOW + 900)
    assert os.listdir(folder) == [name("a")]


def test_a_claim_that_is_still_empty_counts(home: str) -> None:
    os.makedirs(os.path.join(home, "confirm-consumed"))
    with open(os.path.join(home, "confirm-consumed", name("a")), "wb"):
        pass

    assert claimed(home, "a").state == "already_used"


@pytest.mark.promise("cli.claims-pruned")
def test_claims_an_hour_past_expiry_are_forgotten(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_KEPT_CLAIMS", 2)
    for number in range(70):
        claimed(home, f"old {number}", expires_at=NOW)
    later = NOW + 3_601

    claimed(home, "kept", expires_at=later, now=later)
    after_one = len(os.listdir(os.path.join(home, "confirm-consumed")))
    claimed(home, "kept too", expires_at=later, now=later)

    assert after_one == 70 + 1 - 64
    assert sorted(os.listdir(os.path.join(home, "confirm-consumed"))) == sorted(
        [name("kept"), name("kept too")]
    )


def test_a_claim_within_the_hour_is_kept(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_KEPT_CLAIMS", 1)
    claimed(home, "a", expires_at=NOW)

    claimed(home, "b", expires_at=NOW + 3_600, now=NOW + 3_600)

    assert claimed(home, "a").state == "already_used"


@pytest.mark.parametrize("now", [0, NOW + 2 * 365 * 86_400, 253_402_300_799])
def test_no_clock_makes_a_used_token_good_again(home: str, now: int) -> None:
    for number in range(70):
        claimed(home, f"used {number}")

    claimed(home, "by another clock", expires_at=now + 900, now=now)

    assert [claimed(home, f"used {number}").state for number in range(70)] == ["already_used"] * 70


def test_a_disk_that_refuses_is_told_with_a_reason(home: str) -> None:
    with open(home, "wb") as file:
        file.write(b"a file where the home should be")

    answer = claimed(home, "a")

    assert (answer.state, answer.reason) == ("not_recorded", "ENOTDIR")


@pytest.mark.promise("cli.claim-lost")
def test_a_disk_that_takes_no_new_claim_still_knows_the_old_ones(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, content: bytes) -> bool:
        raise OSError(errno.EROFS, "read-only")

    claimed(home, "a")
    monkeypatch.setattr("handrail.host.process.create_exclusively", refuse)

    old, new = claimed(home, "a"), claimed(home, "b")

    assert old.state == "already_used"
    assert (new.state, new.reason) == ("not_recorded", "EROFS")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_still_knows_its_claims(home: str) -> None:
    claimed(home, "a")
    os.chmod(os.path.join(home, "confirm-consumed"), 0o500)

    assert claimed(home, "a").state == "already_used"
