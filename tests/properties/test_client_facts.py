"""What a team client saw arrives as it was: every row, and every path, text or not."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.ports.checks import ProgramCall, ProgramEnd, ReportFile
from handrail.ports.trees import GitEntry, TakenTree, TreeChange
from handrail.ports.worktree import LeftOut, LocatedFile, PlaceAsked, PlaceSeen
from handrail_team.client.wire import (
    ChangedRow,
    ChangesRow,
    ClientCall,
    ClientFacts,
    FactsOrder,
    FileRow,
    PlaceRow,
    ProgramRow,
    Surroundings,
    TreePair,
    TreeRow,
    from_wire,
    to_wire,
)
from tests.cases import every_case

PATHS = st.binary(max_size=12).map(os.fsdecode) | st.text(max_size=12)
MANY: Any = st.lists(PATHS, max_size=3).map(tuple)
ASKED = st.builds(PlaceAsked, path=PATHS, line=st.integers(0, 9), end=st.integers(0, 9), written=PATHS)
SEEN = st.builds(PlaceSeen, path=PATHS, state=st.sampled_from(("here", "missing", "outside")))
ENTRIES = st.builds(
    GitEntry, path=PATHS, mode=st.just("100644"), object_id=st.just("0" * 40), size=st.integers(0, 99)
)
LEFT_OUT = st.builds(LeftOut, path=PATHS, why=st.just("it is no file"))
TREES = st.builds(
    TreeRow,
    taken=st.builds(
        TakenTree,
        tree=st.just("c" * 40),
        filtered=MANY,
        nested=MANY,
        left_out=st.lists(LEFT_OUT, max_size=2).map(tuple),
    ),
    names=st.binary(max_size=20),
    is_clean=st.booleans(),
)
CHANGES = st.lists(
    st.builds(TreeChange, path=PATHS, status=st.just("changed"), before=ENTRIES, after=ENTRIES), max_size=2
).map(tuple)
PROGRAMS = st.builds(
    ProgramRow,
    call=st.builds(ProgramCall, argv=MANY, directory=PATHS, project=PATHS, seconds=st.integers(1, 9)),
    end=st.builds(ProgramEnd, status=st.integers(0, 255)),
    printed=st.binary(max_size=20),
    report=st.builds(ReportFile, content=st.binary(max_size=20)),
    tree=st.none() | TREES,
)
SIGHTINGS = st.builds(
    ClientFacts,
    places=st.lists(st.builds(PlaceRow, asked=ASKED, seen=SEEN), max_size=3).map(tuple),
    files=st.lists(st.builds(FileRow, text=PATHS, file=st.builds(LocatedFile, paths=MANY)), max_size=3).map(
        tuple
    ),
    tree=st.none() | TREES,
    changes=st.lists(
        st.builds(ChangesRow, before=st.just("a"), after=st.just("b"), changes=st.none() | CHANGES),
        max_size=2,
    ).map(tuple),
    changed=st.lists(st.builds(ChangedRow, tree=st.just("a"), paths=st.none() | MANY), max_size=2).map(tuple),
    programs=st.lists(PROGRAMS, max_size=2).map(tuple),
)


@pytest.mark.thorough
@given(seen=SIGHTINGS, project=PATHS)
def test_call_and_its_facts_survive_the_wire(seen: ClientFacts, project: str) -> None:
    here = Surroundings(machine="m", version="1", project=project)
    sent = ClientCall(call_id="0", operation="run.continue", params={}, here=here, facts=seen)

    assert from_wire(to_wire(sent), ClientCall) == sent


@given(
    paths=st.lists(ASKED, max_size=3).map(tuple),
    files=MANY,
    packs=st.lists(st.binary(max_size=9), max_size=2).map(tuple),
)
def test_an_order_arrives_as_it_was_given(
    paths: tuple[PlaceAsked, ...], files: tuple[str, ...], packs: tuple[bytes, ...]
) -> None:
    pair = TreePair(before="a", after="b", packs=packs)
    order = FactsOrder(request_state="s", paths=paths, files=files, tree=True, compare=(pair,))

    assert from_wire(to_wire(order), FactsOrder) == order


@every_case("content", [b"", b"[]", b'{"machine": {"bytes!": "*"}}', b'{"call": 1}', b"\xff"])
def test_what_is_no_message_is_refused_as_such(content: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)):
        from_wire(content, Surroundings)
