"""The tables of attacks hold all five sets, names what exists, and knows of no success."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.sets import hostile_sets
from tests.house.tree import ROOT

pytestmark = pytest.mark.thorough

SETS = hostile_sets()
HARMLESS = (
    "never imported",
    "never started",
    "starts nothing",
    "answered or refused",
    "thrown away",
    "refused",
    "taken and marked",
    "known trouble",
    "the server",
    "a ping",
)
LEAST = {"repository": 50, "home": 60, "bundles": 45, "index": 45, "client": 75}


def test_every_set_is_there_with_a_fixture_and_tests_that_try_it() -> None:
    assert [one.name.rpartition(" ")[2] for one in SETS] == [
        "repository",
        "home",
        "bundles",
        "index",
        "client",
    ]
    for one in SETS:
        folder = Path(ROOT, one.fixture)
        assert [file for file in folder.glob("*.py") if not file.name.startswith("test_")]
        assert len(one.attacks) >= LEAST[one.name.rpartition(" ")[2]]


def test_every_attack_is_named_once_and_none_succeeds() -> None:
    for one in SETS:
        assert len({attack.name for attack in one.attacks}) == len(one.attacks)
        assert all(attack.comes_to.startswith(HARMLESS) for attack in one.attacks)
