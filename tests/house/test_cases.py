"""A test over many cases runs each of them, and names each that fails."""

from __future__ import annotations

import inspect

import pytest

from tests.cases import every_case


def test_every_case_runs_and_each_that_fails_is_named() -> None:
    ran = []

    @every_case(("number", "most"), [(1, 2), (4, 2), (3, 2), (0, 2)])
    def test(number: int, most: int) -> None:
        ran.append(number)
        assert number <= most

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases fail") as told:
        test()

    assert ran == [1, 4, 3, 0]
    assert [one.__notes__ for one in told.value.exceptions] == [["The case: 4, 2"], ["The case: 3, 2"]]


def test_a_failure_that_pytest_itself_raises_names_its_case() -> None:
    @every_case("text", ["1", "x"])
    def test(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(pytest.fail.Exception) as told:
        test()

    assert told.value.__notes__ == ["The case: '1'"]


def test_cases_multiply_and_other_names_are_asked_of_fixtures() -> None:
    seen = []

    @every_case("first", [1, 2])
    @every_case("second", "ab")
    def test(given: str, first: int, second: str) -> None:
        seen.append((given, first, second))

    test(given="x")

    assert list(inspect.signature(test).parameters) == ["given"]
    assert seen == [("x", 1, "a"), ("x", 1, "b"), ("x", 2, "a"), ("x", 2, "b")]


def test_a_test_whose_cases_are_not_here_is_skipped_with_the_reason() -> None:
    @every_case("name", [])
    def test(name: str) -> None:
        raise AssertionError(name)

    (mark,) = vars(test)["pytestmark"]
    assert (mark.name, mark.kwargs) == ("skip", {"reason": "no case of name is here"})
