"""How a search finds a session by its git branch: case does not count, and the whole name comes first."""

from __future__ import annotations

import pytest

from handrail.contract.ids import SessionId
from handrail.projections.overview import SessionFacts
from handrail.projections.resume_candidates import (
    BranchHead,
    ResumeQuery,
    Subject,
    Tier,
    may_be_found,
    rank_subjects,
)

BRANCH = "Feature/Half-Cent"


def subject(*branches: str) -> Subject:
    end = BranchHead(branches=branches)
    return Subject(session_id=SessionId("ses_a"), order=1, status="in_progress", ends=(end,))


@pytest.mark.parametrize("wanted", [ResumeQuery(query=BRANCH.upper()), ResumeQuery(branch=BRANCH.lower())])
def test_case_of_a_branch_does_not_count(wanted: ResumeQuery) -> None:
    facts = SessionFacts(status="in_progress", health="healthy", branches=(BRANCH,))
    found = rank_subjects([subject(BRANCH)], wanted)

    assert may_be_found(facts, wanted)
    assert [one.tier for one in found] == [Tier.BRANCH]


def test_beginning_of_a_branch_finds_it() -> None:
    wanted = ResumeQuery(branch="fEATURE/half")
    facts = SessionFacts(status="in_progress", health="healthy", branches=(BRANCH,))

    assert may_be_found(facts, wanted)
    assert [one.tier for one in rank_subjects([subject(BRANCH)], wanted)] == [Tier.BRANCH_BEGINNING]


def test_other_branch_is_not_found() -> None:
    wanted = ResumeQuery(branch="feature/cent")
    facts = SessionFacts(status="in_progress", health="healthy", branches=(BRANCH,))

    assert not may_be_found(facts, wanted)
    assert list(rank_subjects([subject(BRANCH)], wanted)) == []
