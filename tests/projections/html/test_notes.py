"""Notes become harmless HTML: no tag, no address and no picture of theirs does anything by itself."""

from __future__ import annotations

import pytest

from handrail.operations.report import NOTES_LIMIT_BYTES as NOTES_BYTES
from handrail.projections.html import elements
from handrail.projections.html.elements import element, notes_html
from tests.cases import every_case
from tests.projections.html.test_elements import Seen


def check(markdown: str, *tags: str) -> Seen:
    seen = Seen(notes_html(markdown).markup)

    assert {tag for tag, _ in seen.tags} == set(tags)
    return seen


def test_plain_markdown_is_rendered() -> None:
    seen = check(
        "# Found\n\n- *one*\n- **two** `x<y`\n\n> said\n\n|a|\n|-|\n|1|\n",
        *(
            "h3",
            "ul",
            "li",
            "em",
            "strong",
            "code",
            "blockquote",
            "p",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        ),
    )

    assert "x<y" in seen.texts


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("## Goal\n\n## Rules", ["h3", "h3"]),
        ("# One\n\n### Three\n\n## Two", ["h3", "h4", "h4"]),
        ("### Three\n\n# One\n\n## Two", ["h3", "h3", "h4"]),
        ("# 1\n\n## 2\n\n### 3\n\n#### 4\n\n##### 5", ["h3", "h4", "h5", "h6", "h6"]),
    ],
)
def test_headings_stand_below_those_of_the_page(markdown: str, expected: list[str]) -> None:
    assert [tag for tag, _ in Seen(notes_html(markdown).markup).tags] == expected


@every_case(
    "markdown",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "</p></main><h1>Report</h1>",
        "<svg/onload=alert(1)>",
        "<style>*{display:none}</style>",
        "&lt;script&gt;",
    ],
)
def test_raw_html_is_shown_as_text(markdown: str) -> None:
    check(markdown, "p")


@every_case(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "vbscript:x",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "&#106;avascript:alert(1)",
    ],
)
def test_an_address_that_could_act_is_no_link(address: str) -> None:
    seen = Seen(notes_html(f"[here]({address}) and <{address}>").markup)

    hrefs = [attributes.get("href") for _, attributes in seen.tags if attributes.get("href")]
    assert hrefs == []


def test_links_tell_nobody_where_the_reader_was() -> None:
    seen = check("[a](https://example.org/x) <mailto:a@example.org>", "p", "a")

    links = [attributes for tag, attributes in seen.tags if tag == "a"]
    assert [link["href"] for link in links] == ["https://example.org/x", "mailto:a@example.org"]
    assert {link["rel"] for link in links} == {"noopener noreferrer"}


def test_a_picture_becomes_a_link() -> None:
    seen = check("![beacon](https://example.org/track.png)", "p", "a")

    assert "[picture: beacon]" in "".join(seen.texts)


def test_what_hides_or_reorders_is_shown_as_a_mark() -> None:
    seen = check("abc\u202edef\u200bghi\x1b[31m", "p")

    assert "".join(seen.texts).strip() == "abc\ufffddef\ufffdghi\ufffd[31m"


def test_the_same_notes_are_the_same_page() -> None:
    assert notes_html("a *b*").markup == notes_html("a *b*").markup


HEAVY = ("[", "![", "[[]", "**a", "[x][", "![](", "a_", "\n- ", "|-|\n", "&", "<!--")
"""What a parser tries longest, each over and over."""


@pytest.mark.thorough
@pytest.mark.parametrize("mark", HEAVY)
def test_a_full_note_of_marks_is_shown_as_it_was_written(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "_tools", lambda: pytest.fail("it is laid out"))
    text = mark * (NOTES_BYTES // len(mark))

    assert notes_html(text).markup == element("pre", text).markup


@pytest.mark.thorough
def test_a_full_note_of_ordinary_markdown_is_laid_out() -> None:
    line = "- a point with **weight**, `code` and a [link](https://example.org/x)\n"
    text = line * (NOTES_BYTES // len(line))

    assert notes_html(text).markup.count("<li>") == text.count("- a point")
