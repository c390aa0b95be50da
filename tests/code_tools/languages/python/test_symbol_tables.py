"""Python's own compiler is the judge: is a name of a scope local, global, or of a scope around it?"""

from __future__ import annotations

import importlib.util
import symtable
from bisect import bisect_right
from typing import TypeAlias

import pytest

from handrail_code.facts.model import NONE
from handrail_code.languages.grammars import parse_text
from handrail_code.languages.python.assembly import assemble
from handrail_code.languages.python.walk import walk

Table: TypeAlias = dict[tuple[str, int, str], set[str]]
"""Kind of scope, its first line and a name -> `own`, `global` or `outer`."""

MODULES = ["argparse", "ast", "dataclasses", "enum", "functools", "inspect", "shutil", "statistics", "typing"]
COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.thorough
def test_every_name_is_where_the_compiler_has_it(name: str) -> None:
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    with open(found.origin, "rb") as file:
        text = file.read()

    theirs, ours = compiler_table(text.decode()), our_table(text)

    wrong = {
        key: (places, ours.get(key)) for key, places in theirs.items() if not places & ours.get(key, set())
    }
    assert wrong == {}
    assert len(theirs) > 100


def compiler_table(text: str) -> Table:
    made: Table = {}
    waiting = [symtable.symtable(text, "a.py", "exec")]
    while waiting:
        table = waiting.pop()
        waiting.extend(table.get_children())
        kind = str(table.get_type())
        if table.get_name() in COMPREHENSIONS:
            kind = "block"
        if kind not in ("module", "function", "class", "block"):  # newer ones have tables of annotations
            continue
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if name.startswith(".") or name == "__class__":  # what the compiler itself adds
                continue
            if not (symbol.is_referenced() or symbol.is_assigned()):
                continue
            if kind == "module":  # there everything is global; what nothing binds is Python's own
                place = "own" if symbol.is_assigned() or symbol.is_imported() else "global"
            else:
                place = "outer" if symbol.is_free() else "global" if symbol.is_global() else "own"
            made.setdefault((kind, table.get_lineno(), name), set()).add(place)
    return made


def our_table(text: bytes) -> Table:
    root = parse_text("python", text, lambda: True)
    assert root is not None
    assert not root.has_error
    draft = walk(root, text)
    assert draft is not None
    assemble(draft, False, ())
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    made: Table = {}
    for use in draft.uses:
        if use.role in ("export", "type"):  # in strings, which the compiler does not look into
            continue
        scope = draft.scopes[use.scope]
        home = NONE if use.binding == NONE else draft.bindings[use.binding].scope
        place = "own" if home == use.scope else "global" if home in (0, NONE) else "outer"
        first_line = 0 if scope.kind == "module" else bisect_right(starts, scope.start)
        made.setdefault((scope.kind, first_line, use.key), set()).add(place)
    return made
