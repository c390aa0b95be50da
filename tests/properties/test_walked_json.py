"""Law: a long text that is only checked is taken or refused as it is when it is decoded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.catalogue import REQUEST_TOO_LARGE
from handrail.contract.json.strict import check_json, decode_json, utf8_text
from handrail.contract.outcome import Fault, Json

DEPTH = 5
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
spaces = st.sampled_from([None, 0, 3])
scraps = st.sampled_from(
    [
        *'[]{},:" \\',
        "1e999",
        "NaN",
        "\\ud800",
        '"a":1,"a":2',
        "{}",
        "[[[[[[]]]]]]",
        "tru",
        "\n",
        "\ufeff",
        "é",
    ]
)


def refusal(text: str, *, is_checked: bool) -> Fault | None:
    try:
        if is_checked:
            check_json(utf8_text(text, 1_000_000), DEPTH)
        else:
            decode_json(text, max_bytes=1_000_000, max_depth=DEPTH)
    except Fault as fault:
        return fault
    return None


@pytest.mark.thorough
@given(values, spaces, st.lists(st.tuples(st.integers(0, 200), scraps), max_size=2), st.integers(0, 200))
def test_checking_and_decoding_agree(
    value: Json, indent: int | None, inserted: list[tuple[int, str]], cut: int
) -> None:
    text = json.dumps(value, indent=indent)
    for place, scrap in inserted:
        text = text[: place % (len(text) + 1)] + scrap + text[place % (len(text) + 1) :]
    if cut < 20:
        text = text[: len(text) - cut]

    checked, decoded = refusal(text, is_checked=True), refusal(text, is_checked=False)

    if checked is None and decoded is not None:
        assert "half of a surrogate pair" in decoded.message  # its parts are decoded and refused
    else:
        assert str(checked) == str(decoded)


@pytest.mark.parametrize("text", ["[" * 6 + "]" * 6, '{"a":' * 6 + "{}" + "}" * 6, "[" * 5 + "[1]" + "]" * 5])
def test_depth_counts_alike(text: str) -> None:
    checked, decoded = refusal(text, is_checked=True), refusal(text, is_checked=False)

    assert checked is not None
    assert checked.kind == REQUEST_TOO_LARGE
    assert str(checked) == str(decoded)
