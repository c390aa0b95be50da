"""Promises and journeys are compared in both directions: none without the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.house.normative_sentences import binding_sentences, command_line_sentences, headings
from tests.house.promise_marks import marks, shown_by_tests
from tests.house.tree import ROOT, Source, python_files
from tests.journeys.promises import command_line_later_sentences, execution, resumption_pack, sentences
from tests.journeys.promises.manifest import COMMAND_LINE, PROMISES

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


SPECIFICATIONS = {"EXEC": "001*.txt", "PACK": "002*.txt", "CLI": "003*.txt"}
SENTENCES = {"EXEC": sentences.EXEC, "PACK": sentences.PACK, "CLI": command_line_later_sentences.CLI}
LEAST = {"EXEC": 50, "PACK": 50, "CLI": 400}
"""Fewer would mean that the reading of the sentences broke."""


def specification(name: str) -> str:
    found = list((Path(ROOT).parent / "shared" / "spec").glob(SPECIFICATIONS[name]))
    if not found:
        pytest.skip(f"the text of {name} is not beside this repository")
    return found[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_every_binding_sentence_is_answered(name: str) -> None:
    text = specification(name)
    found = command_line_sentences(text) if name == "CLI" else binding_sentences(name, text)
    bound = {sentence.key: sentence.text for sentence in found}

    answered = SENTENCES[name]

    assert len(bound) >= LEAST[name]
    assert {key: text for key, text in bound.items() if key not in answered} == {}
    assert set(answered) - set(bound) == set(), "these sentences are not in the specification"


def test_every_heading_of_the_execution_contract_has_promises_or_a_reason() -> None:
    places = {promise.source.removeprefix("EXEC, ") for promise in execution.PROMISES}

    found = headings(specification("EXEC"))

    assert [place for place in found if place not in places and place not in sentences.EXEC_PLACES] == []
    assert (places | set(sentences.EXEC_PLACES)) - set(found) == set(), "these headings are not in EXEC"
    assert places & set(sentences.EXEC_PLACES) == set(), "a heading with rows needs no other answer"


def test_the_places_of_the_pack_are_its_headings() -> None:
    found = headings(specification("PACK"))

    assert [
        row.id for row in resumption_pack.PROMISES if row.source.removeprefix("PACK, ") not in found
    ] == []


def test_sentences_are_answered_by_promises_that_exist() -> None:
    answers = [answer for each in SENTENCES.values() for answer in each.values()]
    answers += sentences.EXEC_PLACES.values()

    named = {name for answer in answers if isinstance(answer, tuple) for name in answer}

    assert named - PROMISED == set()
    assert all(answer for answer in answers)


def test_every_promise_of_the_command_line_answers_a_sentence() -> None:
    named = {name for answer in SENTENCES["CLI"].values() if isinstance(answer, tuple) for name in answer}

    assert {promise.id for promise in COMMAND_LINE} - named == set()


def test_the_places_of_the_command_line_are_its_sections() -> None:
    places = {sentence.heading.partition(" ")[0] for sentence in command_line_sentences(specification("CLI"))}

    assert {promise.source.removeprefix("CLI, ") for promise in COMMAND_LINE} <= places
