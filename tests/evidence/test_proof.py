"""The words of a proof, their order and their bounds, as users read them."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from handrail.evidence.proof import (
    LABELS,
    SATISFIED_BY,
    WORST_FIRST,
    CaseCounts,
    Cell,
    Cells,
    Proof,
    ProofWord,
    bound_names,
    choose_worst,
)


def test_every_word_has_a_label_and_a_rank() -> None:
    assert set(LABELS) == set(WORST_FIRST) == set(get_args(ProofWord))
    assert [LABELS[word] for word in WORST_FIRST] == [
        "FAILS",
        "NOT TRIED",
        "FLAKY",
        "UNSEEN",
        "NEW RULES",
        "REWROTE",
        "KEPT",
        "PROVED",
    ]


@pytest.mark.parametrize(
    ("words", "worst"),
    [
        ((), "not_tried"),
        (("proved",), "proved"),
        (("proved", "kept"), "kept"),
        (("not_tried", "fails", "flaky"), "fails"),
        (("unseen", "new_rules", "rewrote"), "unseen"),
    ],
)
def test_the_worst_word_stands_for_several_checks(words: tuple[ProofWord, ...], worst: str) -> None:
    assert choose_worst(words) == worst


def test_flaky_satisfies_no_step() -> None:
    assert [want for want, words in SATISFIED_BY.items() if "flaky" in words] == []


def test_a_stronger_word_satisfies_every_weaker_wish() -> None:
    assert SATISFIED_BY["proved"] < SATISFIED_BY["kept"] < SATISFIED_BY["passes"]


def test_names_are_bounded_in_number_and_length() -> None:
    kept = bound_names([f"test_{number}" for number in range(51)] + ["x" * 400])
    assert (len(kept), kept[-1]) == (50, "test_49")
    assert len(bound_names(["x" * 400])[0]) == 300


def test_a_proof_round_trips_and_leaves_out_what_is_not_known() -> None:
    proof = Proof(
        word="proved",
        check="tests",
        base="1" * 40,
        head="2" * 40,
        cells=Cells(
            tests_after_code_after=Cell(state="passed", counts=CaseCounts(passed=277), exit_status=0)
        ),
        names=("test_a",),
        names_total=1,
        new_tests=1,
        isolation="bind_mount",
    )
    content = msgspec.json.encode(proof)
    assert msgspec.json.decode(content, type=Proof) == proof
    assert msgspec.json.decode(content) == {
        "word": "proved",
        "check": "tests",
        "base": "1" * 40,
        "head": "2" * 40,
        "cells": {
            "testsAfterCodeAfter": {
                "state": "passed",
                "counts": {"passed": 277, "failed": 0, "errors": 0, "skipped": 0},
                "exitStatus": 0,
            }
        },
        "names": ["test_a"],
        "namesTotal": 1,
        "newTests": 1,
        "isolation": "bind_mount",
    }
