"""Promises and journeys are compared in both directions: none without the other."""

from __future__ import annotations

from collections.abc import Sequence

from tests.house.promise_marks import marks, shown_by_tests
from tests.house.tree import Source, python_files
from tests.journeys.promises.manifest import PROMISES

PROMISED = {promise.id for promise in PROMISES}


def unknown_marks(sources: Sequence[Source]) -> list[str]:
    problems = []
    for source in sources:
        for name, node, test in marks(source):
            where = f"{source.path}:{getattr(node, 'lineno', 0)}"
            if name not in PROMISED:
                problems.append(f"{where}: {name} is no promise; write its row in tests/journeys/promises/")
            elif not test:
                problems.append(f"{where}: {name} stands on something pytest does not run; mark a test")
    return problems


def test_every_promise_is_shown_by_a_test() -> None:
    assert PROMISED - set(shown_by_tests()) == set(), "no journey shows these: write one or drop the promise"


def test_every_journey_names_a_promise_that_exists() -> None:
    assert unknown_marks(python_files("tests/")) == []


def test_a_promise_is_one_sentence_in_our_words() -> None:
    wrong = [promise.id for promise in PROMISES if not promise.says.endswith(".") or "MUST" in promise.says]

    assert wrong == []
