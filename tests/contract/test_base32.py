"""Base32 as Crockford wrote it down: every length, against arithmetic of another kind."""

from __future__ import annotations

import pytest

from handrail.contract import ids
from tests.cases import every_case

PYTHON_DIGITS = str.maketrans(ids.ALPHABET, "0123456789abcdefghijklmnopqrstuv")


@every_case(
    ("number", "length", "expected"),
    [
        (0, 0, ""),
        (0, 1, "0"),
        (31, 1, "z"),
        (32, 2, "10"),
        (1023, 3, "0zz"),
        (1024 * 18 + 33, 3, "j11"),
        (2**35 - 2, 7, "zzzzzzy"),
    ],
)
def test_numbers_are_spelled_as_written_down(number: int, length: int, expected: str) -> None:
    assert ids.encode_number(number, length) == expected


def test_every_length_reads_back_as_the_same_number() -> None:
    for length in range(1, 30):
        number = (0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251 >> length) % 32**length

        text = ids.encode_number(number, length)

        assert len(text) == length
        assert int(text.translate(PYTHON_DIGITS), 32) == number


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(AssertionError):
        ids.encode_number(32, 1)
