"""The summary of a finished run: one line of at most 300 characters, what a person must look at last."""

from __future__ import annotations

import pytest

from handrail.engine.events import ChangeSum
from handrail.projections.summary import MOST_CHARACTERS, RunSummary


def test_summary_of_a_proven_fix_has_nothing_for_review() -> None:
    sentence = "1 new test fails without the change and passes with it"
    summary = RunSummary(
        steps=3, changed=ChangeSum(files=2, added=12, removed=3), label="PROVED", proof=sentence
    )

    assert summary.text == (
        "Done: 3 steps, 2 files (+12 −3). PROVED: 1 new test fails without the change and passes with it. "
        "For review: nothing."
    )


def test_summary_without_code_shows_sources_and_approvals() -> None:
    summary = RunSummary(steps=1, sources=2, approvals=1, approved_by=("anna",), statements=3)

    assert summary.text == (
        "Done: 1 step. 2 named places found, 1 approval by anna, 3 statements by the agent. "
        "For review: nothing."
    )


def test_summary_counts_several_points_and_names_the_first() -> None:
    summary = RunSummary(steps=1, review=("the worst", "another"))

    assert summary.text == "Done: 1 step. For review: 2 points, the first: the worst."


@pytest.mark.parametrize("length", [225, 226, 227, 260, 273, 274, 275, 400])
def test_summary_has_300_characters_at_most_and_keeps_the_review(length: int) -> None:
    summary = RunSummary(steps=3, label="KEPT", proof="p" * 200, review=("r" * length,))

    text = summary.text

    assert len(text) <= MOST_CHARACTERS
    assert "For review: " + "r" * min(length, 200) in text


def test_summary_of_exactly_300_characters_keeps_its_end() -> None:
    summary = RunSummary(steps=3, label="KEPT", proof="p" * 200, review=("r" * 150,))

    assert len(summary.text) == 300
    assert summary.text.endswith("r.")
