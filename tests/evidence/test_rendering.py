"""The sentence and the table of a proof, as readers see them."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.evidence.proof import CaseCounts, Cell, Cells, Proof, ProofWord
from handrail.evidence.rendering import describe, describe_cell, render_markdown, render_text


def make_cell(passed: int, failed: int = 0) -> Cell:
    counts = CaseCounts(passed=passed, failed=failed)
    return Cell(state="failed" if failed else "passed", counts=counts, exit_status=int(bool(failed)))


PROVED = Proof(
    word="proved",
    check="tests",
    command="pytest -q",
    base="a" * 40,
    head="b" * 40,
    cells=Cells(
        tests_before_code_before=make_cell(276),
        tests_before_code_after=make_cell(276),
        tests_after_code_before=make_cell(276, 1),
        tests_after_code_after=make_cell(277),
    ),
    names=("test_cachedmethod.AutospecTest.test_autospec_no_warnings",),
    names_total=1,
    new_tests=1,
    isolation="linked_folder",
    duration_ms=1234,
)


def test_text_is_the_sentence_the_table_and_the_names() -> None:
    assert render_text(PROVED) == [
        "PROVED  1 new test fails without the change and passes with it",
        "                  code before         code after",
        "  tests before    276 pass            276 pass",
        "  tests after     1 FAIL, 276 pass    277 pass",
        "  proof: test_cachedmethod.AutospecTest.test_autospec_no_warnings",
        f"  note: tests (pytest -q), trees {'a' * 12}..{'b' * 12}, in a linked copy, 1.2 s",
    ]


def test_markdown_is_one_table_for_each_check() -> None:
    assert render_markdown([PROVED], "Handrail proof").splitlines() == [
        "### Handrail proof",
        "",
        "**`tests`: PROVED** – 1 new test fails without the change and passes with it",
        "",
        "|  | code before | code after |",
        "|---|---|---|",
        "| **tests before** | 276 pass | 276 pass |",
        "| **tests after** | 1 FAIL, 276 pass | 277 pass |",
        "",
        "- proof: `test_cachedmethod.AutospecTest.test_autospec_no_warnings`",
        "",
        f"<sub>tests (pytest -q), trees {'a' * 12}..{'b' * 12}, in a linked copy, 1.2 s</sub>",
    ]


def test_name_cannot_break_out_of_the_markdown() -> None:
    name = "a`</sub>\n# **x** <img src=x> @team"
    content = render_markdown([Proof(word="new_rules", check="t", names=(name,), names_total=1)])
    sentence, listed = content.split("\n\n")[:2]
    assert sentence.endswith(r"brought: a\`\</sub\> \# \*\*x\*\* \<img src=x\> @" + "\u200bteam")
    assert listed.rstrip() == "- rules: `a'</sub> # **x** <img src=x> @team`"


@pytest.mark.parametrize(
    ("word", "known", "sentence"),
    [
        (
            "proved",
            {"names_total": 3, "new_tests": 3},
            "3 new tests fail without the change and pass with it",
        ),
        (
            "proved",
            {
                "names_total": 1,
                "new_tests": 1,
                "reason": "only because rounded is missing without the change",
            },
            "1 new test fails without the change and passes with it, "
            "only because rounded is missing without the change",
        ),
        ("proved", {"names_total": 1, "red_before": 1}, "1 test that was red before passes now"),
        ("proved", {"names_total": 2, "red_before": 2}, "2 tests that were red before pass now"),
        (
            "proved",
            {"names_total": 4, "new_tests": 2, "red_before": 1},
            "4 tests fail without the change and pass with it: 2 new, 1 red before, 1 older",
        ),
        (
            "proved",
            {"names_total": 1},
            "1 older test fails without the change and passes with it",
        ),
        (
            "proved",
            {"names_total": 1, "new_tests": 1, "still_red": 1},
            "1 new test fails without the change and passes with it; 1 test was red before and still is",
        ),
        (
            "proved",
            {"by_exit_status": True},
            "The check fails without the change and passes with it, by exit status only",
        ),
        (
            "proved",
            {"by_exit_status": True, "red_before": 1},
            "The check failed before the change and passes with it, by exit status only",
        ),
        ("kept", {}, "Every old test still passes; no test shows the change"),
        (
            "kept",
            {"by_exit_status": True},
            "The old tests still pass; no test shows the change, by exit status only",
        ),
        (
            "kept",
            {"names": ("README.md",), "names_total": 1},
            "Every old test still passes; no test shows the change; the check does not look at README.md",
        ),
        (
            "kept",
            {"still_red": 2},
            "Every old test that passed still passes; no test shows the change; "
            "2 tests were red before and still are",
        ),
        (
            "rewrote",
            {"names_total": 2},
            "It passes at the end, but 2 tests of the start fail with the new code",
        ),
        (
            "rewrote",
            {"names_total": 1, "reason": "1 test file cannot be loaded"},
            "It passes at the end, but with the old tests and the new code 1 test file cannot be loaded",
        ),
        (
            "rewrote",
            {"by_exit_status": True},
            "It passes at the end, but the tests of the start fail with the new code, by exit status only",
        ),
        ("fails", {"names_total": 1}, "The check fails at the end: 1 test fails"),
        (
            "fails",
            {"names_total": 2, "reason": "1 test fails and 1 test file cannot be loaded"},
            "The check fails at the end: 1 test fails and 1 test file cannot be loaded",
        ),
        (
            "fails",
            {"names_total": 3, "still_red": 1},
            "The check fails at the end: 2 tests fail; 1 test was red before and still is",
        ),
        (
            "fails",
            {"names_total": 1, "still_red": 1},
            "The check fails at the end; 1 test was red before and still is",
        ),
        (
            "fails",
            {"cells": Cells(tests_after_code_after=Cell(state="failed", exit_status=3))},
            "The check fails at the end with exit status 3",
        ),
        (
            "fails",
            {"reason": '"no such option"'},
            'The check fails at the end: "no such option"',
        ),
        (
            "new_rules",
            {"names": ("pytest.ini", "tox.ini"), "names_total": 2},
            "It passes only with check rules that the change brought: pytest.ini, tox.ini",
        ),
        (
            "unseen",
            {},
            "It passes even with the changed files broken on purpose: the check does not look at them",
        ),
        ("flaky", {}, "The same files gave two answers"),
        ("not_tried", {"reason": "no check is declared"}, "No check is declared"),
    ],
)
def test_sentence_states_a_fact(word: ProofWord, known: dict[str, Any], sentence: str) -> None:
    assert describe(Proof(word=word, **known)) == sentence


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell(), "not needed"),
        (Cell(state="timed_out"), "too slow"),
        (Cell(state="not_started"), "did not start"),
        (Cell(state="passed", exit_status=0), "pass"),
        (Cell(state="failed", exit_status=2), "FAIL (exit 2)"),
        (Cell(state="failed"), "FAIL"),
        (Cell(state="failed", exit_status=5, counts=CaseCounts()), "FAIL (exit 5), no tests"),
        (
            Cell(state="failed", exit_status=1, counts=CaseCounts(passed=2, failed=1, errors=3, skipped=4)),
            "1 FAIL, 3 ERROR, 2 pass, 4 skipped",
        ),
        (Cell(state="failed", exit_status=2, counts=CaseCounts(passed=2)), "FAIL (exit 2), 2 pass"),
    ],
)
def test_cell_is_short_and_begins_with_what_failed(cell: Cell, text: str) -> None:
    assert describe_cell(cell) == text


def test_not_tried_shows_no_table() -> None:
    assert render_text(Proof(word="not_tried", reason="no check is declared")) == [
        "NOT TRIED  No check is declared"
    ]


def test_text_shows_ten_names_and_a_number() -> None:
    names = tuple(f"test_{number}" for number in range(12))
    lines = render_text(Proof(word="rewrote", names=names, names_total=40))
    assert lines[-2:] == ["  fails now: test_9", "  and 30 more"]


def test_remarks_are_notes() -> None:
    lines = render_text(Proof(word="kept", remarks=("uv.lock was taken from the end in every run.",)))
    assert lines[-1] == "  note: uv.lock was taken from the end in every run."
