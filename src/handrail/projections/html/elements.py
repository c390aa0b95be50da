"""HTML that is escaped by construction, and notes as harmless HTML. Pure.

Text goes in as text, and only elements come out; `Html` values are made nowhere else. In notes, raw HTML is
shown as text, pictures become links, and links lead to web and mail addresses only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import msgspec

from handrail.contract.wording import mark_hidden

VOID = frozenset({"meta", "br", "hr", "link", "img", "input", "circle", "rect", "path", "line"})
"""Elements without an end tag; SVG elements close themselves."""
_DRAWN = frozenset({"circle", "rect", "path", "line"})


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the next page of a list. Its cursor is signed but not secret, so it is never masked."""

    path: str
    """The address with its query; masked like any text."""
    cursor: str


_Value: TypeAlias = str | int | bool | Address | None


class Html(msgspec.Struct, frozen=True, kw_only=True):
    """Markup that is safe to insert unescaped."""

    markup: str


Child: TypeAlias = Html | str | None
"""A child of an element. A string is text and is escaped; None adds nothing."""


def element(tag: str, /, *children: Child, **attributes: _Value) -> Html:
    """Return one element. `class_` is `class`, `aria_label` is `aria-label`; None and False leave one out."""
    opening = tag
    for key, value in attributes.items():
        if value is not None and value is not False:
            opening += _attribute(key, value)
    if tag in VOID:
        assert not children, f"{tag} has no content"
        return Html(markup=f"<{opening}/>" if tag in _DRAWN else f"<{opening}>")
    return Html(markup=f"<{opening}>{_markup(children)}</{tag}>")


def join_html(*children: Child) -> Html:
    """Join several children."""
    return Html(markup=_markup(children))


def style_sheet(css: str) -> Html:
    """Return a style sheet of our own rules. Text from outside is never passed to it."""
    assert "</" not in css, "a style sheet cannot end itself"
    return Html(markup=f"<style>{css}</style>")


def document(root: Html) -> str:
    """Return the whole page."""
    return f"<!doctype html>\n{root.markup}\n"


def _markup(children: Sequence[Child]) -> str:
    return "".join(
        [
            child.markup if isinstance(child, Html) else _escape(child)
            for child in children
            if child is not None
        ]
    )


def _attribute(key: str, value: str | int | Address) -> str:
    name = _attribute_name(key)
    if value is True:
        return f" {name}"
    if isinstance(value, int):
        return f' {name}="{value}"'
    if isinstance(value, Address):
        mark = "&amp;" if "?" in value.path else "?"
        return f' {name}="{_quote(value.path)}{mark}cursor={_quote(value.cursor, is_masked=False)}"'
    return f' {name}="{_quote(value)}"'


def _quote(text: str, *, is_masked: bool = True) -> str:
    """Return the text inside the quotation marks of an attribute."""
    escaped = _escape(text) if is_masked else _escape_marks(text)
    return escaped.replace('"', "&quot;").replace("'", "&#39;")


@cache
def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _escape(text: str) -> str:
    return _escape_marks(mark_hidden(text))


def _escape_marks(text: str) -> str:
    # Three replacements take a third of the time that one `translate` takes.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# Notes: Markdown in, HTML out

_TAGS = frozenset(
    {
        *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
    }
)
_SCHEMES = frozenset({"http", "https", "mailto"})
_RULE = " \t>:|-"
"""Characters of the line below the header of a table."""
MOST_INVENTED_CELLS = 1_000
"""Most cells of a table; larger tables are shown as they were written."""
_CHARACTERS = 16
"""This many plain characters take as much work as one mark."""
_MARKS = {**dict.fromkeys("]()*_`<&\\~|#>-+!\n", 1), "[": 5}
MOST_MARKUP_WORK = 30_000
"""More marks than long notes of lists, links and tables need; they take a fraction of a second."""
_HEADINGS_DOWN = 2
"""Notes start at this heading level, because the page uses the first two."""


def count_markup(markdown: str) -> int:
    """Return how much work the marks of a text are. All count the same, except starts of links, which cost
    most.
    """
    return len(markdown) // _CHARACTERS + sum(markdown.count(mark) * work for mark, work in _MARKS.items())


def notes_html(markdown: str) -> Html:
    """Return the notes as safe HTML for a page; text with too many marks is returned as it was written."""
    if count_markup(markdown) > MOST_MARKUP_WORK:
        return element("pre", mark_hidden(markdown))
    parser, plain, _ = _tools()
    shown = mark_hidden(markdown)
    tokens = (plain if _invents_cells(shown) else parser).parse(shown)
    _lower_headings(tokens)
    return _render(tokens)


def is_laid_out(markdown: str) -> bool:
    """Whether notes inside a report are formatted with it; otherwise they are inserted as they were
    written.
    """
    return count_markup(markdown) <= MOST_MARKUP_WORK and not _invents_cells(markdown)


def report_html(markdown: str) -> Html:
    """Return a report of ours as HTML; a heading inside quoted notes never becomes one of the report."""
    tokens = _tools()[0].parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close") and token.level:
            token.tag = "h6"
    return _render(tokens)


def _render(tokens: Sequence[Any]) -> Html:
    parser, _, clean = _tools()
    for token in tokens:
        for place, inner in enumerate(token.children or ()):
            if inner.type == "image":
                token.children[place : place + 1] = _as_link(inner)
    rendered = parser.renderer.render(tokens, parser.options, {})
    return Html(
        markup=clean(
            rendered,
            tags=set(_TAGS),
            attributes={"a": {"href"}},
            attribute_filter=_keep_whole_address,
            url_schemes=set(_SCHEMES),
            link_rel="noopener noreferrer",
        )
    )


def _lower_headings(tokens: Sequence[Any]) -> None:
    """Lower headings below those of the page without skipping a level, which would look like a missing
    heading.
    """
    above: list[str] = []
    for token in tokens:
        if token.type == "heading_open":
            above = [*(tag for tag in above if tag < token.tag), token.tag]
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, len(above) + _HEADINGS_DOWN)}"


def _keep_whole_address(tag: str, attribute: str, value: str) -> str | None:
    """Neutralise addresses without a scheme: they would lead into the page itself, or to a hidden host."""
    del tag
    scheme, colon, _ = value.partition(":")
    return value if attribute != "href" or (colon and scheme.lower() in _SCHEMES) else None


@cache
def _tools() -> tuple[Any, Any, Any]:
    """Load the Markdown parser late: it takes a third of a second, and most calls show no notes."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - paid for by those who show notes
    from nh3 import clean  # noqa: PLC0415 - as above

    plain = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return parser, plain, clean


def _invents_cells(text: str) -> bool:
    """Whether its tables would get far more cells than their text has, because short rows are filled up."""
    invented = columns = 0
    for line in text.split("\n"):
        if "-" in line and not line.strip(_RULE):
            columns = max(columns, line.count("|") + 1)
        elif not line.strip():
            columns = 0
        else:
            invented += max(0, columns - line.count("|") - 1)
            if invented > MOST_INVENTED_CELLS:
                return True
    return False


def _as_link(image: Any) -> list[Any]:
    """Turn a picture into a link: a browser loads pictures when the page opens, but links only on a click."""
    words = type(image)("text", "", 0)
    words.content = f"[picture: {image.content or 'without a name'}]"
    start = type(image)("link_open", "a", 1)
    start.attrSet("href", str(image.attrGet("src") or ""))
    return [start, words, type(image)("link_close", "a", -1)]
