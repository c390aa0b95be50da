"""The tool that breaks modules breaks each place once, and nothing else."""

from __future__ import annotations

import ast

from tests.referees.mutants import mutants

SOURCE = """class Near(Struct, frozen=True): ...
LIMIT = 2
def is_near(a, b):
    'A docstring stays.'
    return a - b < LIMIT and not (a == 0)
"""


def test_every_place_is_broken_once() -> None:
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()

    broken = [
        (line, [text for text in made.splitlines() if text not in whole]) for line, made in mutants(SOURCE)
    ]

    assert broken == [
        (2, ["LIMIT = 3"]),
        (5, ["    return None"]),
        (5, ["    return a - b < LIMIT or not a == 0"]),
        (5, ["    return a - b <= LIMIT and (not a == 0)"]),
        (5, ["    return a + b < LIMIT and (not a == 0)"]),
        (5, ["    return a - b < LIMIT and a == 0"]),
        (5, ["    return a - b < LIMIT and (not a != 0)"]),
        (5, ["    return a - b < LIMIT and (not a == 1)"]),
    ]
