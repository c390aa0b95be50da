"""Laws of renames on generated Python programs; Python's compiler says whether every name is where it was."""

from __future__ import annotations

import symtable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from handrail_code.edit.plan import Plan
from tests.code_tools.planning import plan_rename
from tests.code_tools.python_programs import PYTHON_PROJECTS
from tests.code_tools.reading import project_of
from tests.code_tools.symbols import symbol_at
from tests.code_tools.test_generated_programs import NEW_NAME, apply, partitions, symbols

pytestmark = pytest.mark.thorough

SAME_EACH_TIME = settings(
    max_examples=30, suppress_health_check=[HealthCheck.filter_too_much], derandomize=True
)


def compiles(files: dict[str, str]) -> bool:
    try:
        for path, text in files.items():
            compile(text, path, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@SAME_EACH_TIME
@given(files=PYTHON_PROJECTS, pick=st.integers(min_value=0))
def test_a_fresh_name_there_and_back_gives_the_same_bytes(files: dict[str, str], pick: int) -> None:
    assume(compiles(files))
    project = project_of(files)
    places = symbols(project)
    assume(places)
    path, start, symbol = places[pick % len(places)]

    there = plan_rename(project, symbol, NEW_NAME)
    assume(isinstance(there, Plan))
    assert isinstance(there, Plan)
    renamed = apply(project, there)
    assert compiles(renamed)
    for name, text in renamed.items():
        assert same_tables(files[name], text, symbol.name)
    if any(" as " in edit.replacement for edit in there.edits):
        return  # a split token stays split: the way back is another text of the same meaning
    again = project_of(renamed)
    shift = sum(
        len(edit.replacement) - (edit.end - edit.start)
        for edit in there.edits
        if edit.path == path and edit.start < start
    )
    back_symbol = symbol_at(again, path, start + shift)
    assert back_symbol is not None
    back = plan_rename(again, back_symbol, symbol.name)

    assert isinstance(back, Plan), back
    assert apply(again, back) == files


@SAME_EACH_TIME
@given(
    files=PYTHON_PROJECTS, pick=st.integers(min_value=0), new_name=st.sampled_from(["a", "b", "c", "d", "f"])
)
def test_a_taken_name_is_refused_or_changes_no_meaning(
    files: dict[str, str], pick: int, new_name: str
) -> None:
    assume(compiles(files))
    project = project_of(files)
    places = symbols(project)
    assume(places)
    symbol = places[pick % len(places)][2]

    plan = plan_rename(project, symbol, new_name)

    if isinstance(plan, Plan):
        renamed = apply(project, plan)
        assert compiles(renamed)
        assert partitions(project_of(renamed)) == partitions(project)


def same_tables(old: str, new: str, name: str) -> bool:
    """Scope by scope the same names with the same kinds of places, but for the one that was changed."""
    waiting = [(symtable.symtable(old, "a", "exec"), symtable.symtable(new, "a", "exec"))]
    while waiting:
        before, after = waiting.pop()
        if len(before.get_children()) != len(after.get_children()):
            return False
        waiting.extend(zip(before.get_children(), after.get_children(), strict=True))
        left, right = (_describe(table) for table in (before, after))
        if any(left[each] != right[each] for each in left.keys() & right.keys() - {name}):
            return False
        if not left.keys() - right.keys() <= {name} or not right.keys() - left.keys() <= {NEW_NAME}:
            return False
    return True


def _describe(table: symtable.SymbolTable) -> dict[str, tuple[bool, ...]]:
    return {
        each.get_name(): (each.is_global(), each.is_local(), each.is_free(), each.is_parameter())
        for each in table.get_symbols()
    }
