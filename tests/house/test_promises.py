"""Promises and journeys are compared in both directions: none without the other."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.journeys.promises import PROMISES

JOURNEYS = Path(__file__).parent.parent / "journeys"


def shown_promises() -> set[str]:
    """The ids that journeys name in their `promise` marks."""
    found = set()
    for path in JOURNEYS.glob("test_*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.promise":
                found |= {argument.value for argument in call.args if isinstance(argument, ast.Constant)}
    return {str(name) for name in found}


def test_every_promise_has_a_journey_and_every_journey_a_promise() -> None:
    promised = {promise.id for promise in PROMISES}

    shown = shown_promises()

    assert promised - shown == set(), "no journey shows these promises: write one or drop the promise"
    assert shown - promised == set(), "these journeys name promises that are not in promises.py"


def test_promise_ids_are_unique() -> None:
    ids = [promise.id for promise in PROMISES]

    assert len(ids) == len(set(ids))
