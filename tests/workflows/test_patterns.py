"""Which regular expressions an author may use, and that the slow ones are told from the fast ones."""

from __future__ import annotations

import re
import warnings
from time import process_time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handrail.workflows.contracts import patterns
from handrail.workflows.contracts.patterns import (
    count_atoms,
    estimate_work,
    explain_pinned_refusal,
    explain_refusal,
    is_match,
)
from handrail.workflows.limits import MAX_MATCH_WORK
from tests.cases import every_case


@every_case(
    "pattern",
    [
        "",
        "done",
        r"^##\s*Evidence\b.*$",
        r"(?i)\bverified\b",
        r"(\d{1,3}\.){3}\d{1,3}",
        r"(?:passed|failed)+",
        r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}",
        r"[\w\s()+*]+\([^)]*\)",
        r"(((a)))+",
        r"(?:a|b)?c",
        r"(\)a|\(b)*",
        r"(?#a remark, with *)x+",
        r"x{2}y{3,}z{,4}",
        r"{not a repetition}+",
        r"\(a+\)+",
        "(a{3}b)*",
        "(a+)?b",
        "(a{2}b|c)*",
        "(a{1,4}b){5}",
        "((?:a|a)?){5}",
        "x" * 500,
        "a?" * 30,
        "(a+)+",
        r"(\w|-)+",
        "(.*,){11}P",
        "((?:a+|b)*)+c",
    ],
)
def test_ordinary_patterns_are_accepted(pattern: str) -> None:
    assert explain_refusal(pattern) == ""


@every_case(
    ("pattern", "said"),
    [
        ("(", "not a regular expression: missing ), unterminated subpattern."),
        ("a**", "not a regular expression: multiple repeat."),
        ("[z-a]", "not a regular expression: bad character range z-a."),
        (r"\g", r"not a regular expression: bad escape \g."),
        ("(?<name>a)", "not a regular expression: unknown extension ?<n."),
        ("[[a]]", "may mean something else"),
        ("[a--b]", "may mean something else"),
        ("[a&&b]", "may mean something else"),
        ("(?x) a # remark", "verbose mode"),
        ("(?ix:a)", "verbose mode"),
        ("a{99999999999}", "repeats too often"),
        ("x" * 501, "has 501 characters; the limit is 500"),
    ],
)
def test_what_is_not_accepted_says_why(pattern: str, said: str) -> None:
    trouble = explain_refusal(pattern)

    assert said in trouble
    assert trouble.endswith(".")


@pytest.mark.parametrize(
    ("flags", "text", "expected"),
    [("", "DONE", False), ("i", "DONE", True), ("m", "x\ndone", True), ("", "x\ndone", False)],
)
def test_flags_mean_what_the_language_says(flags: str, text: str, expected: bool) -> None:
    assert is_match("^done", flags, text) is expected


def test_the_dot_matches_line_ends_only_when_asked() -> None:
    assert is_match("a.b", "s", "a\nb")
    assert not is_match("a.b", "im", "a\nb")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (".*" * 12 + "=x", "a" * 65_536),
        (r"\w+\w+\w+@", "a" * 65_536),
        (r"\s+$", " " * 65_535 + "q"),
        ("a*" * 10 + "b", "a" * 65_536),
        ("(a+)+b", "a" * 65_536),
        ("(a|a)*b", "a" * 65_536),
    ],
)
def test_an_accepted_pattern_is_quick_on_the_longest_notes(pattern: str, text: str) -> None:
    assert explain_refusal(pattern) == ""

    before = process_time()
    assert not is_match(pattern, "", text)
    assert process_time() - before < 5  # trying every way takes minutes to years


@every_case(
    "pattern",
    [
        "(?=a)b",
        "(?<!no )evidence",
        "(?!x)a",
        r"(x)a\1",
        "(?P<quote>x)(?P=quote)",
        "(?>a)b",
        "a++b",
        "a$b",
    ],
)
def test_what_only_trying_can_match_is_refused(pattern: str) -> None:
    assert "trying every way" in explain_refusal(pattern)


def test_a_class_that_is_large_when_written_out_is_refused() -> None:
    assert "too long on long notes" in explain_refusal(r"\w{1,900}\s{1,9}")


@pytest.mark.parametrize("pattern", ["a{1,1001}", "a{1001}", "a{1001,}"])
def test_a_pattern_does_not_count_far(pattern: str) -> None:
    assert explain_refusal(pattern) == "The pattern counts to 1001; the limit is 1000."


@every_case(
    ("pattern", "text", "expected"),
    [
        (r"\A(?![\s\S]*draft)", "a\nfinal text", True),
        (r"\A(?![\s\S]*draft)", "a\nDraft", False),
        (r"\A(?![\s\S]*(?:\A(?![\s\S]*done)))", "all done", True),
        (r"\A(?![\s\S]*(?:\A(?![\s\S]*done)))", "all", False),
        (r"(?<!no )evidence(?=:)", "The evidence: a test", True),
        (r"(?<!no )evidence(?=:)", "no evidence: a test", False),
        (r"(?P<quote>['\"])x(?P=quote)", "'x'", True),
        (r"(?P<quote>['\"])x(?P=quote)", "'x\"", False),
    ],
)
def test_a_pattern_of_an_older_workflow_still_means_the_same(pattern: str, text: str, expected: bool) -> None:
    assert explain_pinned_refusal(pattern, "i") == ""
    assert is_match(pattern, "i", text) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\A(?![\s\S]*(?:a+a+a+@|q))", "a" * 65_535 + "q"),
        (r"(?=q)q{0,9}q{0,9}q{0,9}z", "q" * 65_536),
        (r"(['\"])x{1,500}\1", "'" + "x" * 65_535),
    ],
)
def test_a_pinned_pattern_is_quick_on_the_longest_notes(pattern: str, text: str) -> None:
    assert explain_pinned_refusal(pattern, "") == ""

    before = process_time()
    assert not is_match(pattern, "", text)
    assert process_time() - before < 5


@every_case(
    ("pattern", "flags"),
    [
        ("(?=a)(a+)+b", ""),
        ("(?=(a+)+)b", ""),
        ("(?!x)(a|ab){9,}c", ""),
        ("(?<!no )evidence.*(?=:)", ""),
        (r"(x)a{0,99}a{0,99}\1", ""),
        ("(?:(?:(?:){1000}){1000}){1000}(?=a)", ""),
        (r"\A(?![\s\S]*a)(?=(b+)+c)", ""),
        ("(?a:(a+)+b)", "i"),
        (r"\w{60}(a+)+b", ""),
        ("(?=a)((((a{0,20}){0,20}){0,20}){0,20}){0,20}b", ""),
    ],
)
def test_a_pinned_pattern_that_tries_for_long_is_refused(pattern: str, flags: str) -> None:
    assert "too long on long notes" in explain_pinned_refusal(pattern, flags)
    assert estimate_work(pattern, flags, 65_536) > MAX_MATCH_WORK  # so a step does not begin to match it


@pytest.mark.parametrize("count", ["9" * 400 + ",3", "3," + "9" * 400, "5,2", "9" * 200])
def test_a_pattern_that_nobody_checked_can_be_counted(count: str) -> None:
    assert 0 <= count_atoms(f"(((a|b){{{count}}}){{{count}}}){{0}}c") <= MAX_MATCH_WORK


TEXTS = ["", "a", "ab", "aé", "1٣", "x y", "a\n", "\n", "b\na\n", "[]{}", "-&~<", "A1_", "a\nb", "ÀB"]
CLASSES = [r"\w", r"\W", r"\d", r"\D", r"\s", r"\b", r"\Z", r"\.", r"\<", r"[\w"]
PIECES = [*"ab()[]{}|*+?^$.,-1x é\n&~", *CLASSES, "[^", "(?:", "(?i)", "(?m)", "{1,2}", "{,2}"]


@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join), st.sampled_from(["", "i", "ms"])
)
def test_a_pattern_means_what_it_means_to_the_standard_library(pattern: str, flags: str) -> None:
    assume(explain_refusal(pattern) == "")
    letters = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    compiled = re.compile(pattern, sum(letters[flag] for flag in flags))

    found = [text for text in TEXTS if is_match(pattern, flags, text)]

    assert found == [text for text in TEXTS if compiled.search(text)]


@given(st.text(alphabet="ab()[]{}|*+?\\^$.,-:=!<>P#12xi&~ ", max_size=24))
def test_whatever_is_accepted_compiles_without_a_warning(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        if explain_refusal(pattern) == "":
            re.compile(pattern)


@pytest.mark.parametrize("pattern", [r"\b[0-9]{1,3}\b", "(?i)done", "^## Risks$"])
def test_a_light_pattern_is_accepted_without_the_linear_engine(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(pattern: str, flags: str) -> None:
        raise AssertionError("the engine is large")

    monkeypatch.setattr(patterns, "_linear", load)

    assert explain_refusal(pattern) == ""
