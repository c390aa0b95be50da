"""The ranking of candidates depends on what they are, never on the order they come in or on a clock."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from handrail.contract.ids import NodeId, RunId, SessionId
from handrail.contract.search_terms import read_query
from handrail.engine.facts import Place
from handrail.projections.resume_candidates import (
    MOST_FOUND,
    BranchHead,
    ResumeQuery,
    Subject,
    Tier,
    list_words,
    rank_subjects,
)

pytestmark = pytest.mark.thorough

WORDS = ("parser", "login", "fix-7", "main", "feature/x")
HEADS = ("a" * 40, "b" * 40)
HERE = Place(name="here", directory="1")
PLACES = (HERE, Place(name="there", directory="2"), Place())
TERMS = tuple(one.term for one in read_query(" ".join(WORDS)))
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)


@st.composite
def ends(draw: st.DrawFn, run: int, branch: int) -> BranchHead:
    return BranchHead(
        node_id=NodeId(f"nod_{run:06d}{branch:06d}"),
        branches=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=2))),
        heads=tuple(draw(st.lists(st.sampled_from(HEADS), max_size=1))),
        recap=draw(texts),
        identifiers=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=1))),
    )


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
            place=draw(st.sampled_from(PLACES)),
            tags=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=1))),
            ends=tuple(draw(ends(number, branch)) for branch in range(draw(st.integers(1, 3)))),
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
    weights=st.dictionaries(st.sampled_from(TERMS), st.sampled_from((0.5, 1.0, 2.0))),
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
def test_a_better_match_comes_first_and_ties_are_broken(
    given_subjects: list[Subject], asked: ResumeQuery
) -> None:
    found = rank_subjects(given_subjects, asked)

    equals = [(held.subject.status == "complete", held.subject.place != HERE) for held in found]
    order: list[tuple[float, ...]]
    if asked.is_asked:
        order = [
            (int(held.tier), -held.score, not held.is_of_branch, *equal)
            for held, equal in zip(found, equals, strict=True)
        ]
    else:
        order = [
            (held.subject.place != HERE, held.subject.status == "complete", int(held.tier)) for held in found
        ]
    assert order == sorted(order)
    assert [held.is_here for held in found] == [held.subject.place == HERE for held in found]
    assert len(found) <= MOST_FOUND
    assert all(held.why for held in found)


@given(subjects(), wanted)
def test_a_run_is_found_once_unless_its_id_is_asked(
    given_subjects: list[Subject], asked: ResumeQuery
) -> None:
    found = rank_subjects(given_subjects, asked, most=100)
    run = given_subjects[0] if given_subjects else None

    assert len({held.subject.run_id for held in found}) == len(found)
    if run is not None:
        by_id = rank_subjects(given_subjects, ResumeQuery(query=str(run.run_id), here=HERE))
        assert [held.end for held in by_id] == list(run.ends)


@given(subjects(), texts)
def test_a_match_by_words_has_a_word_of_the_query(given_subjects: list[Subject], query: str) -> None:
    terms = read_query(query)
    weights = {one.term: 1.0 for one in terms}

    found = rank_subjects(given_subjects, ResumeQuery(query=query, weights=weights), most=100)

    for held in found if query else ():
        words = list_words((held.subject,))
        assert held.tier is not Tier.WORDS or any(one.hit_by(words) for one in terms)
    missed = [one for one in given_subjects if one not in [held.subject for held in found]]
    for subject in missed if query else ():
        assert not any(one.hit_by(list_words((subject,))) for one in terms)


def test_a_word_counts_more_near_the_goal() -> None:
    def make(number: int, **given: object) -> Subject:
        return msgspec.convert(
            {"session_id": f"ses_{number:012d}", "run_id": f"run_{number:012d}", "order": 0}
            | {"status": "in_progress"}
            | given,
            Subject,
        )

    in_output = make(1, outputs=["parser"])
    in_notes = make(2, ends=[{"recap": "parser"}])
    in_context = make(3, ends=[{"identifiers": ["parser"]}])
    asked = ResumeQuery(query="parser", weights={"parser": 1.0})

    found = rank_subjects([in_output, in_notes, in_context], asked)

    assert [held.why for held in found] == [("context",), ("newest notes",), ("earlier output",)]
    assert [held.score for held in found] == [1.0, 0.8, 0.4]
