"""Which regular expressions an author may use, and that the slow ones are told from the fast ones."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.workflows.patterns import compiled_pattern, pattern_trouble

SLOW = "can itself match in several ways"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "done",
        r"^##\s*Evidence\b.*$",
        r"(?i)\bverified\b",
        r"(\d{1,3}\.){3}\d{1,3}",
        r"(?:passed|failed)+",
        r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}",
        r"(?P<quote>['\"])x(?P=quote)",
        r"[\w\s()+*]+\([^)]*\)",
        r"(?<!no )evidence(?=:)",
        r"(((a)))+",
        r"(?:a|b)?c",
        r"(\)a|\(b)*",
        r"(?#a remark, with *)x+",
        r"x{2}y{3,}z{,4}",
        r"{not a repetition}+",
        r"\(a+\)+",
        r"a++b",
        "(a{3}b)*",
        "(a+)?b",
        "(a{2}b|c)*",
        "(a{1,4}b){5}",
        "((?:a|a)?){5}",
        "x" * 500,
        "a?" * 20,
    ],
)
def test_ordinary_patterns_are_accepted(pattern: str) -> None:
    assert pattern_trouble(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a*)*b",
        "(a|a)*",
        "(a|ab)*c",
        "(A|a)*",
        r"(\w|-)+",
        "(|a)+",
        "(a?|b)+",
        "(?:a+|b)+",
        "((a|a))+",
        "(.*,){11}P",
        "(a?){20}",
        "((a?){9}){9}",
        "((a{1,4}){4}){4}",
        r"(?P<word>\w+\s?)*$",
        "(?=(a+)+)b",
        "(?>a+)+",
        "([ab]+c?)*",
        "(a{1,7}b){3}",
        "(a+){2}",
        "(a{0}b|b)*",
        "(x{,1})*",
        "(x{2,}y)*",
    ],
)
def test_a_repetition_of_what_can_match_in_several_ways_is_refused(pattern: str) -> None:
    assert SLOW in pattern_trouble(pattern)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "not a regular expression: missing ), unterminated subpattern."),
        ("a**", "not a regular expression: multiple repeat."),
        ("[z-a]", "not a regular expression: bad character range z-a."),
        (r"\g", r"not a regular expression: bad escape \g."),
        ("(?<name>a)", "not a regular expression: unknown extension ?<n."),
        ("[[a]]", "will mean something else"),
        ("[a--b]", "will mean something else"),
        ("[a&&b]", "will mean something else"),
        ("(?x) a # remark", "verbose mode"),
        ("(?ix:a)", "verbose mode"),
        ("a{99999999999}", "repeats too often"),
        ("x" * 501, "has 501 characters; the limit is 500"),
        ("a?" * 21, "has 21 repetitions; the limit is 20"),
    ],
)
def test_what_is_not_accepted_says_why(pattern: str, said: str) -> None:
    trouble = pattern_trouble(pattern)

    assert said in trouble
    assert trouble.endswith(".")


@pytest.mark.parametrize(
    ("flags", "text", "is_found"),
    [("", "DONE", False), ("i", "DONE", True), ("m", "x\ndone", True), ("", "x\ndone", False)],
)
def test_flags_mean_what_the_language_says(flags: str, text: str, is_found: bool) -> None:
    assert bool(compiled_pattern("^done", flags).search(text)) is is_found


def test_the_dot_matches_line_ends_only_when_asked() -> None:
    assert compiled_pattern("a.b", "s").search("a\nb")
    assert not compiled_pattern("a.b", "im").search("a\nb")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab()[]{}|*+?\\^$.,-:=!<>P#12xi&~ ", max_size=24))
def test_whatever_is_accepted_compiles_without_a_warning(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        if pattern_trouble(pattern) == "":
            re.compile(pattern)


ATOM = st.sampled_from(["a", "b", "[ab]", ".", "ab"])


@settings(max_examples=150, deadline=None)
@given(
    inner=ATOM,
    repeat=st.sampled_from(["*", "+", "{2,}", "{,40}", "*?"]),
    around=st.sampled_from(["({})", "(?:{})", "(x{})", "((?:{})y)", "(?P<n>{})"]),
    outer=st.sampled_from(["*", "+", "{3,}", "{40}", "+?"]),
    tail=st.sampled_from(["", "$", "z", "(z|y)"]),
)
def test_a_repetition_inside_a_repetition_is_found_however_it_is_written(
    inner: str, repeat: str, around: str, outer: str, tail: str
) -> None:
    pattern = around.format(f"(?:{inner}){repeat}") + outer + tail

    assert SLOW in pattern_trouble(pattern)
