"""Python sources that nobody would write: they get facts or a reason, never a crash or a long wait."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail_code.facts.model import FileFacts, Unreadable
from handrail_code.languages.reading import read_facts
from tests.code_tools.languages.test_hostile_sources import check_facts, mutate

pytestmark = pytest.mark.thorough

DEEP = 3_000
SOURCE = """
import a.b, c as d
from ..x import (y as z, w)
from m import *
__all__ = ["f", 'K'] + a.__all__
@d.e(k=1)
async def f[T](p, /, q: "List[K]" = x, *r, s, **t) -> "K | None":
    global x; nonlocal n
    x = lambda *u, v=q: [p for p in r if (n := p)]  # type: (K) -> K
    match x:
        case {"k": [K(a, b=c), *rest], **more} | a.b as g: yield f"{x!r:>{n}}"
    try: getattr(a, "b"); eval("x"); patch("a.b.c"); __all__.extend(["h"])
    except* (A, B) as e: del e, x[0]
class K(f, metaclass=M):
    x = x
    def __m(self): return __m
type A[U] = dict[U, 'K']
type(a).b = 'c'
"""
NESTED = {
    "parentheses": b"(" * DEEP + b"a" + b")" * DEEP,
    "lists": b"[" * DEEP + b"]" * DEEP,
    "functions": b"".join(b" " * at + b"def f():\n" for at in range(1_000)) + b" " * 1_000 + b"pass",
    "classes": b"".join(b" " * at + b"class A:\n" for at in range(1_000)) + b" " * 1_000 + b"pass",
    "lambdas": b"lambda a=" * DEEP + b"1" + b": a" * DEEP,
    "members": b"a" + b".a" * DEEP,
    "calls": b"a" + b"(b=a)" * DEEP,
    "operators": b"a" + b" + a" * DEEP,
    "comprehensions": b"[a for a in " * 1_000 + b"a" + b"]" * 1_000,
    "strings": b"f'{" * 200 + b"a" + b"}'" * 200,
    "targets": b"(" * DEEP + b"a" + b",)" * DEEP + b" = b",
    "types": b"x: " + b"A[" * DEEP + b"'B'" + b"]" * DEEP,
    "types in a string": b"x: '" + b"A[" * DEEP + b"B" + b"]" * DEEP + b"'",
    "a type comment": b"x = 1  # type: " + b"(" * DEEP + b"B" + b")" * DEEP,
    "patterns": b"match a:\n case " + b"[" * DEEP + b"a" + b"]" * DEEP + b": pass",
    "conditions": b"a if b else " * DEEP + b"c",
    "a list of names": b"__all__ = " + b"['a'] + " * DEEP + b"['b']",
    "open only": b"([{" * DEEP,
    "assignments": b"a = " * DEEP + b"1",
    "decorators": b"@a\n" * DEEP + b"def f(): pass",
}


@pytest.mark.parametrize("case", NESTED)
def test_deep_nesting_has_facts_or_a_reason(case: str) -> None:
    text = NESTED[case]

    check_facts(read_facts("a.py", text), len(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [(b"a = '\xff'", "not_text"), (b"a\0", "not_text"), (NESTED["functions"], "too_deep")],
)
def test_what_cannot_be_read_says_why(text: bytes, reason: str) -> None:
    facts = read_facts("a.py", text)

    assert isinstance(facts, Unreadable)
    assert facts.reason == reason


@settings(derandomize=True)
@given(text=st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_random_bytes_do_not_crash(text: bytes) -> None:
    check_facts(read_facts("a.py", text), len(text))


def test_the_source_that_is_mutated_is_sound() -> None:
    facts = read_facts("a.py", SOURCE.encode())

    assert isinstance(facts, FileFacts)
    assert facts.troubles == ()


def test_mutated_sources_do_not_crash() -> None:
    for text in mutate(SOURCE, 200):
        check_facts(read_facts("a.py", text), len(text))
