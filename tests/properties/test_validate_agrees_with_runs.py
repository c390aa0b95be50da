"""What validate calls fine starts, walks and runs to its end; what a start refuses, validate has told."""

from __future__ import annotations

from tests.properties.mutated_files import tally

COUNT = 120
"""Of the seeds that `python -m tests.properties.mutated_files` goes through; the rest take minutes."""


def test_validate_simulate_and_a_real_run_agree_about_mutated_files(home: str) -> None:
    counts, disagreements = tally(home, COUNT)

    assert disagreements == []
    assert min(counts["fine"], counts["broken"]) > COUNT // 10
    assert counts["run complete"] > 0
