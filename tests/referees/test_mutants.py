"""The tool that breaks modules breaks each place once, and nothing else."""

from __future__ import annotations

import ast

from tests.referees.mutants import breaks

SOURCE = """class Near(Struct, frozen=True): ...
LIMIT = 2
def is_near(a, b):
    'A docstring stays.'
    return a - b < LIMIT and not (a == 0)
"""


def test_every_place_is_broken_once_and_mended() -> None:
    tree = ast.parse(SOURCE)
    whole = ast.unparse(tree).splitlines()

    broken = [
        (list(one.lines), [text for text in ast.unparse(tree).splitlines() if text not in whole])
        for one in breaks(tree)
    ]

    assert broken == [
        ([], ["LIMIT = 3"]),
        ([5], ["    return None"]),
        ([5], ["    return a - b < LIMIT or not a == 0"]),
        ([5], ["    return a - b <= LIMIT and (not a == 0)"]),
        ([5], ["    return a + b < LIMIT and (not a == 0)"]),
        ([5], ["    return a - b < LIMIT and a == 0"]),
        ([5], ["    return a - b < LIMIT and (not a != 0)"]),
        ([5], ["    return a - b < LIMIT and (not a == 1)"]),
    ]
    assert ast.unparse(tree).splitlines() == whole
