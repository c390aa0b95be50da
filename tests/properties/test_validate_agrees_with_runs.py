"""What validate calls fine starts, walks and runs to its end; what a start refuses, validate has told."""

from __future__ import annotations

import pytest

from tests.properties.mutated_files import tally

COUNT = 200
SHARD = 1_000


def test_validate_simulate_and_a_real_run_agree_about_mutated_files(home: str) -> None:
    counts, disagreements = tally(home, COUNT)

    assert disagreements == []
    assert min(counts["fine"], counts["broken"]) > COUNT // 10
    assert counts["run complete"] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("shard", range(3))
def test_they_agree_about_thousands_of_them(home: str, shard: int) -> None:
    _, disagreements = tally(home, SHARD, first=COUNT + shard * SHARD)

    assert disagreements == []
