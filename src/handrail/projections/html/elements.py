"""HTML that is escaped by construction: text goes in as text, and only elements come out. Pure.

`Html` values are made here and in `notes.py`, nowhere else.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from handrail.contract.wording import visible

VOID = frozenset({"meta", "br", "hr", "link", "circle", "rect", "path", "line"})
"""Elements without an end tag; those of SVG are closed in themselves."""
_DRAWN = frozenset({"circle", "rect", "path", "line"})

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Html(msgspec.Struct, frozen=True, kw_only=True):
    """Markup that is safe as it stands."""

    markup: str


Child: TypeAlias = Html | str | None
"""A string is text and is escaped; None is nothing."""


def element(tag: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """One element. `class_` is `class`, `aria_label` is `aria-label`; None and False leave one out."""
    opening = tag + "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in VOID:
        assert not children, f"{tag} has no content"
        return Html(markup=f"<{opening}/>" if tag in _DRAWN else f"<{opening}>")
    return Html(markup=f"<{opening}>{joined(*children).markup}</{tag}>")


def joined(*children: Child) -> Html:
    """Several things after each other."""
    return Html(markup="".join(_markup(child) for child in children))


def style_sheet(css: str) -> Html:
    """Our own style rules. Text from outside never comes here."""
    assert "</" not in css, "a style sheet cannot end itself"
    return Html(markup=f"<style>{css}</style>")


def document(root: Html) -> str:
    """The whole page."""
    return f"<!doctype html>\n{root.markup}\n"


def _markup(child: Child) -> str:
    if child is None:
        return ""
    return child.markup if isinstance(child, Html) else visible(child).translate(_TEXT)


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{visible(str(value)).translate(_ATTRIBUTE)}"'
