"""Maps that grow: each version is what a copied dict would be, and stays so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.engine.folding import Growth

KEYS = st.integers(0, 40)
STEPS = st.lists(st.dictionaries(KEYS, st.integers(), max_size=6), max_size=30)


def grown(start: Mapping[int, int], more: Mapping[int, int]) -> Mapping[int, int]:
    growth = Growth(start)
    for key, value in more.items():
        growth[key] = value
    return growth.done()


def check_same(ours: Mapping[int, int], model: dict[int, int]) -> None:
    assert list(ours.items()) == list(model.items())
    assert (list(ours), list(ours.values())) == (list(model), list(model.values()))
    assert len(ours) == len(model)
    assert {key: ours.get(key, "absent") for key in range(41)} == {
        key: model.get(key, "absent") for key in range(41)
    }
    assert [key in ours for key in range(41)] == [key in model for key in range(41)]
    assert ours == model
    assert model == ours


@given(start=st.dictionaries(KEYS, st.integers(), max_size=6), steps=STEPS)
def test_every_version_of_a_map_is_that_of_a_copied_dict(
    start: dict[int, int], steps: list[dict[int, int]]
) -> None:
    versions: list[tuple[Mapping[int, int], dict[int, int]]] = [(start, dict(start))]

    for more in steps:
        ours, model = versions[-1]
        versions.append((grown(ours, more), model | more))

    for ours, model in versions:
        check_same(ours, model)


def test_two_maps_that_grow_from_one_do_not_meet() -> None:
    start = grown({}, {1: 1})

    left, right = grown(start, {2: 2}), grown(start, {1: 9, 3: 3})

    check_same(start, {1: 1})
    check_same(left, {1: 1, 2: 2})
    check_same(right, {1: 9, 3: 3})


def test_what_is_being_added_is_seen_and_the_rest_shines_through() -> None:
    growth = Growth(grown({}, {1: 1, 2: 2}))

    growth[2] = 20

    assert (growth[1], growth[2], growth.get(1), growth.get(2)) == (1, 20, 1, 20)
    assert (growth.get(3), growth.get(3, 0)) == (None, 0)
    with pytest.raises(KeyError):
        growth[3]


def test_a_map_that_nothing_was_added_to_is_the_same_one() -> None:
    start = grown({}, {1: 1})

    assert Growth(start).done() is start


def test_a_missing_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        grown({}, {1: 1})[2]


class Counted(int):
    """A key that says how often it was hashed: once for each dict that it is put into or looked up in."""

    hashed = 0

    def __hash__(self) -> int:
        Counted.hashed += 1
        return int(self)

    def __eq__(self, other: object) -> bool:
        return int(self) == other


def hashes_to_add(size: int) -> int:
    """The work of sixteen single additions to a map of this size that was built one by one."""
    ours: Mapping[int, int] = {}
    for key in range(size):
        ours = grown(ours, {Counted(key): key})
    Counted.hashed = 0
    for key in range(size, size + 16):
        ours = grown(ours, {Counted(key): key})
    return Counted.hashed


def test_adding_to_a_large_map_copies_little_of_it() -> None:
    assert hashes_to_add(2048 + 32) < 16 * 40  # a copy each time would be 16 * 2080
