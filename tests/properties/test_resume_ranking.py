"""The ranking of candidates depends on what they are, never on the order they come in or on a clock."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from handrail.contract.ids import RunId, SessionId
from handrail.engine.facts import Place
from handrail.projections.resume_candidates import MOST_FOUND, ResumeQuery, Subject, rank_subjects, words_of

pytestmark = pytest.mark.thorough

WORDS = ("parser", "login", "fix-7", "main", "feature/x")
HEADS = ("a" * 40, "b" * 40)
HERE = Place(name="here", directory="1")
PLACES = (HERE, Place(name="there", directory="2"), Place())
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)


@st.composite
def subjects(draw: st.DrawFn) -> list[Subject]:
    count = draw(st.integers(min_value=0, max_value=12))
    return [
        Subject(
            session_id=SessionId(f"ses_{draw(st.integers(0, 4)):012d}"),
            run_id=RunId(f"run_{number:012d}"),
            order=draw(st.integers(0, 3)),
            last_index=draw(st.integers(0, 3)),
            goal=draw(texts),
            workflow_id="wr." + draw(st.sampled_from(("login", "parser"))),
            workflow_name=draw(texts),
            status=draw(st.sampled_from(("in_progress", "complete"))),
            branches=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=2))),
            heads=tuple(draw(st.lists(st.sampled_from(HEADS), max_size=1))),
            place=draw(st.sampled_from(PLACES)),
            tags=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=1))),
            recap=draw(texts),
            outputs=(draw(texts),),
        )
        for number in range(count)
    ]


wanted = st.builds(
    ResumeQuery,
    query=st.one_of(texts, st.sampled_from(HEADS)),
    branch=st.sampled_from(("", "main", "fea")),
    head=st.sampled_from(("", *HEADS)),
    here=st.just(HERE),
    here_branch=st.sampled_from(("", "main")),
    here_head=st.sampled_from(("", *HEADS)),
)


@given(subjects(), wanted, st.integers())
def test_the_order_of_the_input_changes_nothing(
    given_subjects: list[Subject], asked: ResumeQuery, seed: int
) -> None:
    shuffled = list(given_subjects)
    random.Random(seed).shuffle(shuffled)

    assert rank_subjects(shuffled, asked) == rank_subjects(given_subjects, asked)


@given(subjects(), wanted, st.integers(1, 10**12), st.integers(0, 10**18))
def test_only_the_sequence_of_activity_counts_never_its_times(
    given_subjects: list[Subject], asked: ResumeQuery, factor: int, shift: int
) -> None:
    later = [replace(subject, order=subject.order * factor + shift) for subject in given_subjects]

    before = [(found.subject.run_id, found.tier, found.why) for found in rank_subjects(given_subjects, asked)]
    after = [(found.subject.run_id, found.tier, found.why) for found in rank_subjects(later, asked)]

    assert after == before


@given(subjects(), wanted)
def test_this_project_comes_first_then_what_is_unfinished_then_the_better_tier_and_five_are_enough(
    given_subjects: list[Subject], asked: ResumeQuery
) -> None:
    found = rank_subjects(given_subjects, asked)

    places = [
        (held.subject.place != HERE, held.subject.status == "complete", int(held.tier)) for held in found
    ]
    assert places == sorted(places)
    assert [held.is_here for held in found] == [held.subject.place == HERE for held in found]
    assert len(found) <= MOST_FOUND
    assert all(held.why for held in found)


@given(subjects(), texts)
def test_a_match_by_words_has_every_word_of_the_query(given_subjects: list[Subject], query: str) -> None:
    for found in rank_subjects(given_subjects, ResumeQuery(query=query)) if query else ():
        subject = found.subject
        everywhere = " ".join(
            (
                *(subject.goal, subject.recap, subject.workflow_id, subject.workflow_name),
                *(*subject.tags, *subject.outputs),
            )
        )
        is_branch = any(branch.startswith(query) for branch in subject.branches)
        assert is_branch or words_of(query) <= words_of(everywhere)
