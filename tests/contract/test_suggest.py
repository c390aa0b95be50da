"""The nearest known name: it begins like what was written, or is a slip away; the inside of a word is not."""

from __future__ import annotations

from handrail.contract.suggest import find_nearest, find_only_near
from tests.cases import every_case

REASONS = ("abandoned", "done_elsewhere", "superseded")


@every_case(
    ("written", "meant"),
    [
        ("done", "done_elsewhere"),
        ("elsewhere", "done_elsewhere"),
        ("abandon", "abandoned"),
        ("abandonned", "abandoned"),
        ("super", "superseded"),
        ("finished", ""),
        ("one", ""),
        ("seeded", ""),
    ],
)
def test_beginning_of_a_word_is_meant_and_its_inside_is_not(written: str, meant: str) -> None:
    assert find_only_near(written, REASONS) == meant
    assert find_nearest(written, REASONS) == ([meant] if meant else [])


def test_beginning_of_the_name_comes_first() -> None:
    assert find_nearest("run", ["dry_run", "runs", "truncate"])[0] == "runs"
    assert find_nearest("change", ["wr.small_change", "change_files"]) == ["change_files", "wr.small_change"]


def test_other_word_with_similar_letters_is_not_offered() -> None:
    assert find_nearest("--session", ["--version", "--query"]) == []


@every_case(
    ("written", "nearest"),
    [
        ("lit", ["limit"]),  # two letters are missing
        ("lt", ["lit"]),
        ("lm", []),  # three are
    ],
)
def test_a_name_may_lack_as_many_letters_as_a_slip_may_change(written: str, nearest: list[str]) -> None:
    assert find_nearest(written, ["lit" if written == "lt" else "limit"]) == nearest
