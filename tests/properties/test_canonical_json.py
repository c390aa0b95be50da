"""Canonical JSON has one spelling per meaning, and strangers agree on it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from random import Random

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.json.canonical import canonical_bytes, canonical_bytes_of_decoded, digest
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json

WHOLE_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
LATE_CHARACTERS = st.text(st.sampled_from("aZ\u00e9\u20ac\ue000\ufb33\uffff\U00010000\U0001f600"), max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WHOLE_TEXT
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(WHOLE_TEXT | LATE_CHARACTERS, inner, max_size=5)
    ),
    max_leaves=20,
)

NODE = shutil.which("node")
NODE_PROGRAM = """
const canonical = (value) => {
  if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']';
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return '{' + keys.map((key) => JSON.stringify(key) + ':' + canonical(value[key])).join(',') + '}';
};
const lines = require('fs').readFileSync(0, 'utf8').split('\\n').filter((line) => line);
process.stdout.write(lines.map((line) => canonical(JSON.parse(line))).join('\\n'));
"""


@pytest.mark.thorough
@given(VALUES)
def test_another_library_writes_the_same_bytes(value: Json) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


ASCII = st.text(st.characters(max_codepoint=127), max_size=8)


@given(
    VALUES
    | st.recursive(
        st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | ASCII,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ASCII, inner, max_size=4),
    )
)
@pytest.mark.thorough
def test_short_way_of_large_documents_gives_the_same_bytes(value: Json) -> None:
    decoded = json.loads(json.dumps(value))

    assert spelt(canonical_bytes_of_decoded, decoded) == spelt(canonical_bytes, decoded)


def spelt(write: Callable[[Json], bytes], value: Json) -> bytes | str:
    try:
        return write(value)
    except Fault as fault:
        return fault.message


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_another_library_writes_the_same_number(number: float) -> None:
    assert canonical_bytes(number) == rfc8785.dumps(number)


@given(VALUES)
def test_reading_and_writing_again_changes_nothing(value: Json) -> None:
    written = canonical_bytes(value)

    assert canonical_bytes(decode_json(written, max_bytes=1_000_000)) == written


@given(st.dictionaries(WHOLE_TEXT | LATE_CHARACTERS, SCALARS, max_size=8), st.randoms(use_true_random=False))
def test_key_order_and_white_space_of_the_source_do_not_matter(
    members: dict[str, Json], chance: Random
) -> None:
    shuffled = sorted(members.items(), key=lambda _: chance.random())
    source = json.dumps(dict(shuffled), indent=3, ensure_ascii=True)

    assert digest(decode_json(source, max_bytes=1_000_000)) == digest(members)


@pytest.mark.thorough
@given(VALUES)
def test_strict_reading_takes_whatever_a_strict_writer_wrote(value: Json) -> None:
    text = json.dumps(value, ensure_ascii=False)

    assert decode_json(text, max_bytes=1_000_000) == json.loads(text)


@pytest.mark.thorough
@pytest.mark.skipif(NODE is None, reason="node is not on PATH")
def test_ecmascript_itself_writes_the_same_bytes() -> None:
    assert NODE is not None
    values: list[Json] = []

    @settings(database=None)
    @given(VALUES)
    def collect(value: Json) -> None:
        values.append(value)

    collect()
    lines = "\n".join(json.dumps(value) for value in values)
    answer = subprocess.run(
        [NODE, "-e", NODE_PROGRAM], input=lines.encode(), capture_output=True, timeout=60, check=True
    )

    ours = b"\n".join(canonical_bytes(value) for value in values)
    assert answer.stdout == ours
