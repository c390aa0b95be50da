"""Elements escape what they are given, whatever it is; only `Html` passes as it stands."""

from __future__ import annotations

import html.parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.wording import mark_hidden
from handrail.projections.html.elements import document, element, join_html, style_sheet


class Seen(html.parser.HTMLParser):
    """What an independent reader finds in a page."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


printable = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f\xad"), max_size=30
)


@given(printable, printable)
def test_text_and_attributes_come_out_as_they_went_in(text: str, value: str) -> None:
    seen = Seen(element("p", text, title=value).markup)

    assert [tag for tag, _ in seen.tags] == ["p"]
    assert "".join(seen.texts) == mark_hidden(text)
    assert seen.tags[0][1]["title"] == mark_hidden(value)


def test_what_is_none_or_false_is_left_out() -> None:
    made = element("details", None, "x", open=False, id=None, class_="a", aria_label="b")

    assert made.markup == '<details class="a" aria-label="b">x</details>'
    assert element("details", open=True).markup == "<details open></details>"


def test_elements_without_content_have_no_end() -> None:
    assert element("meta", charset="utf-8").markup == '<meta charset="utf-8">'
    assert element("circle", r=6).markup == '<circle r="6"/>'
    with pytest.raises(AssertionError):
        element("br", "x")


def test_a_style_sheet_cannot_end_itself() -> None:
    with pytest.raises(AssertionError):
        style_sheet("</style><script>")


def test_elements_stand_in_order_and_a_page_begins_with_its_type() -> None:
    assert join_html("a<", element("b", "c"), None).markup == "a&lt;<b>c</b>"
    assert document(element("html")) == "<!doctype html>\n<html></html>\n"
