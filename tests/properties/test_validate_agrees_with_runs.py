"""What validate calls fine starts, walks and runs to its end; what a start refuses, validate has told."""

from __future__ import annotations

import os

import pytest

from tests.properties.mutated_files import tally

COUNT = 120
SHARDS = 4
ASKED_FOR = int(os.environ.get("HANDRAIL_MUTATED_FILES", "600"))
"""All of them together, in the thorough run."""


@pytest.mark.thorough
def test_validate_simulate_and_run_agree_on_mutated_files(home: str) -> None:
    counts, disagreements = tally(home, COUNT)

    assert disagreements == []
    assert min(counts["fine"], counts["broken"]) > COUNT // 10
    assert counts["run complete"] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("shard", range(SHARDS))
def test_they_agree_about_thousands_of_them(home: str, shard: int) -> None:
    share = ASKED_FOR // SHARDS

    _, disagreements = tally(home, share, first=COUNT + shard * share)

    assert disagreements == []
