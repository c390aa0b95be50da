"""Sources that nobody would write: they get facts or a reason, never a crash or a long wait."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail_code.facts.model import FileFacts, ReadFile, Unreadable
from handrail_code.languages.reading import MAX_BYTES, read_facts
from tests.cases import every_case

pytestmark = pytest.mark.thorough

PATHS = ["a.js", "a.jsx", "a.ts", "a.tsx", "a.d.ts"]
DEEP = 5_000
SOURCE = """
import a, {b as c} from './x'; export * from './y';
export default class A extends a.B { #p = 1; m({x = c}) {} }
/** @param {Array<a>} q {@link c} */
export const f = async (q, ...rest) => { for (const k of q) label: break label };
module.exports = {a, b: c, f() {}}; const {d, ...e} = require('./z'); `t${a}`;
enum E { X = 1 } type T<U> = U[];
"""


def check_facts(facts: ReadFile, size: int) -> None:
    """Facts are whole: every span lies in the text, every index names something, and they can be stored."""
    assert msgspec.json.decode(msgspec.json.encode(facts), type=FileFacts | Unreadable) == facts
    if isinstance(facts, Unreadable):
        return
    is_sound = not facts.troubles  # where the grammar misses a name, it puts an empty one
    for use in facts.uses:
        assert 0 <= use.start <= use.end <= size
        assert use.start < use.end or not is_sound
        assert -1 <= use.binding < len(facts.bindings)
        assert -1 <= use.definition < len(facts.definitions)
    for binding in facts.bindings:
        assert all(facts.uses[at].binding >= 0 for at in binding.uses)
        assert 0 <= binding.scope < len(facts.scopes)
    for member in facts.members:
        assert 0 <= member.start <= member.end <= size
    for definition in facts.definitions:
        assert 0 <= definition.extent_start <= definition.start <= definition.end
        assert definition.end <= definition.extent_end <= size


DEEPLY_NESTED = {
    "parentheses": b"(" * DEEP + b"a" + b")" * DEEP,
    "arrays": b"[" * DEEP + b"]" * DEEP,
    "blocks": b"{" * DEEP + b"}" * DEEP,
    "functions": b"function f(){" * 3_000 + b"}" * 3_000,
    "arrows": b"a=>" * DEEP + b"a",
    "members": b"a" + b".a" * DEEP,
    "calls": b"a" + b"(a)" * DEEP,
    "operators": b"a" + b"+a" * DEEP,
    "templates": b"`${" * 3_000 + b"a" + b"}`" * 3_000,
    "elements": b"x = " + b"<A>" * 3_000 + b"</A>" * 3_000,
    "patterns": b"let " + b"{a:" * 3_000 + b"b" + b"}" * 3_000 + b" = c",
    "classes": b"class A extends " * 2_000 + b"{}" * 2_000,
    "open only": b"([{" * DEEP,
    "types": b"type T = " + b"A<" * 3_000 + b"B" + b">" * 3_000,
    "conditional types": b"type T = " + b"A extends infer B ? B : " * 400 + b"C",
    "else if": b"if (a) {} else " * DEEP + b"{}",
    "namespaces": b"namespace A" + b".B" * 3_000 + b" {}",
    "assignments": b"a=" * DEEP + b"1",
    "comments": b"/** @param " + b"{" * DEEP + b" */ function f(a) {}",
}


@pytest.mark.parametrize("path", ["a.js", "a.ts"])
@pytest.mark.parametrize("case", DEEPLY_NESTED)
def test_deep_nesting_has_facts_or_a_reason(case: str, path: str) -> None:
    text = DEEPLY_NESTED[case]

    check_facts(read_facts(path, text), len(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"let a = '\xff'", "not_text"),
        (b"let a\0", "not_text"),
        (b"\x7fELF\0\0", "not_text"),
        (b" " * (MAX_BYTES + 1), "too_large"),
        (b"function f(){" * 3_000 + b"}" * 3_000, "too_deep"),
    ],
)
def test_what_cannot_be_read_says_why(text: bytes, reason: str) -> None:
    facts = read_facts("a.js", text)

    assert isinstance(facts, Unreadable)
    assert facts.reason == reason


def test_a_caller_with_a_clock_stops_the_parser() -> None:
    answers = iter([True] * 3)

    facts = read_facts("a.js", b"a extends infer b ? c : " * 10_000, lambda: next(answers, False))

    assert facts == Unreadable(reason="too_long_to_parse")


def test_one_long_line_is_read() -> None:
    text = b"var a=1;" * 10_000

    facts = read_facts("a.js", text)

    check_facts(facts, len(text))
    assert isinstance(facts, FileFacts)
    assert len(facts.bindings) == 1


def test_an_unknown_extension_has_no_facts() -> None:
    assert read_facts("a.css", b"a {}") == Unreadable(reason="unknown_language")


@settings(derandomize=True)
@given(text=st.binary(max_size=200), path=st.sampled_from(PATHS))
def test_random_bytes_do_not_crash(text: bytes, path: str) -> None:
    check_facts(read_facts(path, text), len(text))


def mutate(source: str, count: int) -> Iterator[bytes]:
    """Sources with words left out, doubled, turned and cut; the same ones in every run."""
    print("seed 20261116")
    chance = random.Random(20261116)
    pieces = source.encode().split(b" ")
    for _ in range(count):
        mutated = list(pieces)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(mutated))
            match chance.randrange(4):
                case 0:
                    del mutated[at : at + 2]
                case 1:
                    mutated.insert(at, chance.choice(pieces))
                case 2:
                    mutated[at] = mutated[at][::-1]
                case _:
                    mutated[at] = mutated[at][: chance.randrange(len(mutated[at]) + 1)]
        yield b" ".join(mutated)


@every_case("path", PATHS)
def test_mutated_sources_do_not_crash(path: str) -> None:
    for text in mutate(SOURCE, 120):
        check_facts(read_facts(path, text), len(text))


def test_the_same_bytes_have_the_same_facts() -> None:
    first, second = (read_facts("a.ts", SOURCE.encode()) for _ in range(2))

    assert msgspec.json.encode(first) == msgspec.json.encode(second)
