"""Law: a workflow is the same in every spelling, whatever its texts hold, and a layout is laid out once."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.outcome import Json
from handrail.workflows.limits import Spelling
from handrail.workflows.spellings.decoded import Comment
from handrail.workflows.spellings.spelling import decode_document, decode_spelled, write_document

SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)

ODD = (
    *(
        "no",
        "~",
        "1",
        "0o7",
        "1e3",
        "null",
        "- a",
        "1. a",
        "# a",
        "## a {#b}",
        "a: b",
        "a #b",
        " a",
        "a ",
        "\n",
    ),
    *("```", "```step", "~~~prompt\n~~~", "---", "...", "[x](wr.refs.y)", "[x", "{a", "*a", "&a", "!a", "%a"),
    *(
        "a\r\nb",
        "\t",
        "a\n\n b",
        "\u0085",
        "\u2028",
        "\ufeff",
        "\x00",
        "\x7f",
        '"',
        "'",
        "\\",
        "<<",
        "?",
        "a:",
    ),
    *(
        "a\n# b",
        "> a",
        "| a",
        "2001-01-01",
        "yes",
        "a\n",
        "\na",
        "- a\n- b",
        "a\n```\n# b\n```",
        "é 😀",
        "#a",
    ),
    *(
        "<!--\n",
        "-->\n",
        "<pre>\n",
        "</pre>",
        "\n  ## a {#b}",
        "\n### Verify\n",
        "a {#b}\n---",
        "\n ## Verify",
    ),
)
texts = st.lists(st.sampled_from(ODD) | st.text(max_size=6), min_size=1, max_size=3).map("".join) | st.just(
    "Do it."
)
names = st.text(min_size=1, max_size=8) | st.sampled_from(ODD)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
refs = st.builds(
    lambda name: {"kind": "ref", "refId": f"wr.refs.{name}"}, st.sampled_from(["a", "small_steps"])
)
block = texts | refs | st.lists(texts | refs, min_size=1, max_size=3)
blocks = st.fixed_dictionaries(
    {"verify": block},
    optional={
        "goal": block,
        "procedure": block,
        "outputRequired": st.dictionaries(names, texts | refs, min_size=1, max_size=3),
    },
)
heads = {"id": st.sampled_from(["a", "b-1", "c_2"])}
steps = st.one_of(
    st.fixed_dictionaries({**heads, "title": texts, "prompt": texts}, optional={"when": values}),
    st.fixed_dictionaries({**heads, "title": texts, "promptBlocks": blocks}),
    st.fixed_dictionaries({"type": st.just("template_call")}, optional={"title": texts, "args": values}),
    st.fixed_dictionaries(
        {**heads, "type": st.just("action"), "operation": texts}, optional={"params": values}
    ),
)
parts = st.recursive(
    steps,
    lambda inner: st.fixed_dictionaries(
        {**heads, "type": st.just("loop"), "body": st.lists(inner, min_size=1, max_size=2)},
        optional={"title": texts},
    ),
    max_leaves=4,
)
documents = st.fixed_dictionaries(
    {"id": st.just("project.x"), "steps": st.lists(parts, min_size=1, max_size=3)},
    optional={"name": texts, "extra": values, "tags": st.lists(texts, max_size=4)},
)
remarks = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10)


def written(
    document: dict[str, Json], spelling: Spelling, comments: dict[str, Comment] | None = None
) -> bytes:
    return write_document(document, spelling, comments or {}).encode()


def read(content: bytes, spelling: Spelling) -> Any:
    if spelling != "json":
        assert decode_spelled(content, spelling).problems == (), content.decode()
    return decode_document(content, spelling)


@pytest.mark.thorough
@settings(max_examples=150)
@given(document=documents)
def test_a_document_comes_back_through_every_order_of_spellings(document: dict[str, Any]) -> None:
    for way in permutations(SPELLINGS):
        held = document
        for spelling in way:
            held = read(written(held, spelling), spelling)

        assert json.dumps(held, sort_keys=True) == json.dumps(document, sort_keys=True), way


@settings(max_examples=100)
@given(document=documents, remark=remarks, aside=remarks)
@pytest.mark.thorough
def test_comments_and_layout_stay_between_yaml_and_markdown(
    document: dict[str, Any], remark: str, aside: str
) -> None:
    comments = {
        "/id": Comment(before=(remark,), beside=f" {aside}"),
        "/steps/0": Comment(before=("one",)),
        "": Comment(before=("end",)),
    }
    first = written(document, "yaml", comments)

    page = written(read(first, "yaml"), "md", decode_spelled(first, "yaml").comments)
    again = written(read(page, "md"), "yaml", decode_spelled(page, "md").comments)

    texts: dict[Literal["md", "yaml"], bytes] = {"md": page, "yaml": again}
    for spelling, text in texts.items():
        kept = decode_spelled(text, spelling).comments
        assert (kept["/id"].before, kept["/id"].beside.strip()) == ((remark,), aside.strip())
        assert {"one", "end"} <= {words for one in kept.values() for words in one.before}
        assert written(read(text, spelling), spelling, kept) == text
