"""Law: a text that is walked part by part is taken or refused as it is when it is decoded whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.catalogue import REQUEST_TOO_LARGE
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json
from handrail.engine.bundles.reading import JsonWalk

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


def walked(text: str) -> Json:
    """Every container is entered."""
    walk = JsonWalk(text, max_depth=DEPTH)

    def here() -> Json:
        if walk.is_at("{"):
            return {name: here() for name in walk.members()}
        if walk.is_at("["):
            return [here() for _ in walk.items()]
        return walk.value()

    value = here()
    walk.finish()
    return value


def seen(text: str, *, is_walked: bool) -> str | Fault:
    """The value, or its refusal."""
    try:
        if is_walked:
            return json.dumps(walked(text))
        return json.dumps(decode_json(text, max_bytes=1_000_000, max_depth=DEPTH))
    except Fault as fault:
        return fault


@pytest.mark.thorough
@given(values, spaces, st.lists(st.tuples(st.integers(0, 200), scraps), max_size=2), st.integers(0, 200))
def test_walking_and_decoding_agree(
    value: Json, indent: int | None, inserted: list[tuple[int, str]], cut: int
) -> None:
    text = json.dumps(value, indent=indent)
    for place, scrap in inserted:
        text = text[: place % (len(text) + 1)] + scrap + text[place % (len(text) + 1) :]
    if cut < 20:
        text = text[: len(text) - cut]

    by_parts, whole = seen(text, is_walked=True), seen(text, is_walked=False)

    if isinstance(by_parts, Fault) and isinstance(whole, Fault):
        return  # a text that is both broken and too deep is refused for either
    assert by_parts == whole


@pytest.mark.parametrize("text", ["[" * 6 + "]" * 6, '{"a":' * 6 + "{}" + "}" * 6, "[" * 5 + "[1]" + "]" * 5])
def test_what_is_entered_counts_as_what_is_decoded(text: str) -> None:
    by_parts, whole = seen(text, is_walked=True), seen(text, is_walked=False)

    assert isinstance(by_parts, Fault)
    assert isinstance(whole, Fault)
    assert by_parts.kind == whole.kind == REQUEST_TOO_LARGE
