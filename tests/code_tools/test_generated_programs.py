"""Laws of renames on generated programs: proven, reversible, and never a crash."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Project, Style, Symbol
from handrail_code.facts.model import NONE
from tests.code_tools.planning import plan_rename, texts_after, texts_of
from tests.code_tools.programs import PROJECTS
from tests.code_tools.reading import project_of
from tests.code_tools.symbols import symbol_at

pytestmark = pytest.mark.thorough

SAME_EACH_TIME = settings(derandomize=True)
NEW_NAME = "fresh"
DOUBLED = re.compile(r"\b(\w+)(?:: | as )\1\b")


def symbols(project: Project) -> list[tuple[str, int, Symbol]]:
    found = []
    for path in project.source.files():
        facts = project.facts(path)
        assert facts is not None
        for use in facts.uses:
            symbol = symbol_at(project, path, use.start)
            if symbol is not None:
                found.append((path, use.start, symbol))
    return found


def apply(project: Project, plan: Plan) -> dict[str, str]:
    after = texts_after(project, texts_of(project), plan)
    assert isinstance(after, dict), after
    return after


@SAME_EACH_TIME
@given(files=PROJECTS, pick=st.integers(min_value=0), style=st.sampled_from(["keep", "follow"]))
def test_a_fresh_name_there_and_back_gives_the_same_bytes(
    files: dict[str, str], pick: int, style: Style
) -> None:
    # What a person writes as two equal names, `{a: a}`, comes back as one.
    assume(not any(DOUBLED.search(text) for text in files.values()))
    project = project_of(files)
    assume(all(facts is not None and not facts.troubles for facts in map(project.facts, files)))
    places = symbols(project)
    assume(places)
    path, start, symbol = places[pick % len(places)]

    there = plan_rename(project, symbol, NEW_NAME, style)
    assume(isinstance(there, Plan))
    assert isinstance(there, Plan)
    renamed = apply(project, there)
    again = project_of(renamed)
    shift = sum(
        len(edit.replacement) - (edit.end - edit.start)
        for edit in there.edits
        if edit.path == path and edit.start < start
    )
    split = (
        edit.replacement.index(NEW_NAME) for edit in there.edits if (edit.path, edit.start) == (path, start)
    )
    back_symbol = symbol_at(again, path, start + shift + next(split, 0))
    assert back_symbol is not None
    back = plan_rename(again, back_symbol, symbol.name, style)

    assert isinstance(back, Plan), back
    assert apply(again, back) == files


@SAME_EACH_TIME
@given(files=PROJECTS, pick=st.integers(min_value=0), new_name=st.sampled_from(["a", "b", "c", "d"]))
def test_a_taken_name_is_refused_or_changes_no_meaning(
    files: dict[str, str], pick: int, new_name: str
) -> None:
    """The judge here is the partition of all identifiers into bindings, which a rename must not change."""
    project = project_of(files)
    assume(all(facts is not None and not facts.troubles for facts in map(project.facts, files)))
    places = symbols(project)
    assume(places)
    symbol = places[pick % len(places)][2]

    plan = plan_rename(project, symbol, new_name)

    if isinstance(plan, Refusal):
        return
    assert partitions(project_of(apply(project, plan))) == partitions(project)


def partitions(project: Project) -> dict[str, list[int]]:
    """For each file the bindings of its uses in order, numbered by first appearance; globals are -1."""
    made = {}
    for path in project.source.files():
        facts = project.facts(path)
        assert facts is not None
        numbers: dict[int, int] = {NONE: NONE}
        made[path] = [numbers.setdefault(use.binding, len(numbers)) for use in facts.uses]
    return made
