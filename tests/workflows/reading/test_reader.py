"""Reading a file as a whole: what cannot be decoded, hostile content, and files that are broken at random."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.reading.breaking import break_somewhere, places_in
from tests.workflows.reading.documents import (
    EVERYTHING,
    SMALLEST,
    everything,
    source,
    with_step,
)


@every_case(
    ("content", "word", "place"),
    [
        (b"", "ends too early", (1, 1)),
        (b'{\n  "id": ', "ends too early", (2, 9)),
        (b'{\n  "id": "a",\n}', "there is a comma before a closing bracket", (2, 12)),
        (b"\xef\xbb\xbf{}", "byte order mark", (1, 1)),
        (b'{"id":\n "\xff"}', "not UTF-8", (2, 3)),
        (b'{"id": "a",\n "id": "b"}', 'the key "id" appears twice', (2, 2)),
        (b'{"id": NaN}', "not finite", (1, 8)),
        (b'{"id": 1e999}', "not finite", (1, 8)),
        (b'{"id": ' + b"9" * 5_000 + b"}", "too many digits", (1, 8)),
        (b'{"id": "\\ud800"}', "half of a surrogate pair", (1, 8)),
        (b'{"id": "' + b"x" * 1_000_000 + b'"}', "the limit is 1000000", (1, 1)),
        (b"[" * 10_000 + b"]" * 10_000, "more than 64 levels deep", (1, 65)),
        (b'{"steps":\n' + b"[" * 10_000 + b"]" * 10_000 + b"}", "more than 64 levels deep", (2, 64)),
        (b"[" * 10_000, "", (1, 65)),
        (b'{"a":' * 10_000, "", (1, 321)),
    ],
)
def test_undecodable_file_is_one_problem_at_its_place(
    content: bytes, word: str, place: tuple[int, int]
) -> None:
    reading = read_workflow(content)

    assert reading.workflow is None
    (problem,) = reading.problems
    assert (problem.code, problem.pointer) == ("unreadable", "")
    assert word in problem.message
    assert (problem.line, problem.column) == place
    assert problem.fix.endswith(".")


def test_a_file_of_five_megabytes_is_refused_by_its_size() -> None:
    (problem,) = read_workflow(source(with_step(prompt="p" * 5_000_000))).problems

    assert problem.code == "unreadable"
    assert problem.fix == "Split the workflow, or move long texts into the documents that it refers to."


ENDLESS: dict[str, tuple[object, str]] = {
    "100 000 steps without anything": (SMALLEST | {"steps": [{}] * 100_000}, "too_large"),
    "100 000 steps that are numbers": (SMALLEST | {"steps": [7] * 100_000}, "too_large"),
    "steps spread over loop bodies": (SMALLEST | {"steps": [{"body": [{}] * 900}] * 200}, "too_large"),
    "70 000 unknown keys": (SMALLEST | {f"k{n}": 0 for n in range(70_000)}, "too_many_problems"),
    "70 000 inputs": (SMALLEST | {"inputs": {f"k{n}": 0 for n in range(70_000)}}, "too_large"),
    "100 000 enum members": (SMALLEST | {"inputs": {"a": {"enum": [0] * 100_000}}}, "too_large"),
    "70 000 ids": (SMALLEST | {"conditions": [{"id": "a"}] * 70_000}, "too_large"),
    "one endless id": (with_step(id="a" * 900_000), "too_large"),
    "one endless key": (with_step(**{"k" * 900_000: 1}), "unknown_key"),
    "one endless word": (with_step(type="t" * 900_000), "bad_value"),
    "an endless key around many numbers": (
        SMALLEST | {"inputs": {"a": {"default": {"k" * 400_000: [2**60 + 1] * 20_000}}}},
        "bad_value",
    ),
    "an endless pattern": (with_step(validation=[{"type": "regex", "pattern": "(" * 900_000}]), "too_large"),
}


@pytest.mark.parametrize(("document", "code"), list(ENDLESS.values()), ids=list(ENDLESS))
@pytest.mark.thorough
def test_endless_content_gives_few_problems_of_bounded_size(document: object, code: str) -> None:
    content = source(document)
    assert len(content) <= 1_000_000

    reading = read_workflow(content)

    assert reading.workflow is None
    assert code in {problem.code for problem in reading.problems}
    assert len(reading.problems) <= 201
    assert sum(len(one.message) + len(one.fix) + len(one.pointer) for one in reading.problems) < 2_000_000


def test_the_same_content_gives_the_same_problems() -> None:
    content = source(SMALLEST | {"steps": [{"id": "A", "titel": 1}], "inputs": {"a b": 1}, "x": 1, "y": 1})

    one, other = read_workflow(content), read_workflow(content)

    assert one.problems == other.problems


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_a_file_broken_at_random_is_read_or_explained(seed: int, breaks: int) -> None:
    chance = random.Random(seed)
    document = everything()
    for _ in range(breaks):
        if places_in(document):
            break_somewhere(document, chance)
    content = json.dumps(document, indent=chance.choice([None, 2])).encode()

    reading = read_workflow(content)

    assert (reading.workflow is None) == bool(reading.problems)
    lines = content.decode().split("\n")
    for problem in reading.problems:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1])
        assert problem.message
        assert problem.fix


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:\\u0 \nidsteps', max_size=60).map(str.encode))
def test_no_content_makes_it_raise(content: bytes) -> None:
    assert read_workflow(content).workflow is None


@given(st.integers(0, 2**32))
def test_a_cut_file_is_one_problem(seed: int) -> None:
    whole = source(EVERYTHING)

    reading = read_workflow(whole[: seed % len(whole)])

    assert [problem.code for problem in reading.problems] == ["unreadable"]
