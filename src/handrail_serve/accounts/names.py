"""Names in place of the opaque ids of accounts, where a person reads a page. Pure.

Events and answers keep the id; a name is joined when something is shown, and only in text: what a button
sends stays as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping

_TAG_OR_ID = re.compile(r"<[^>]*>|\bacc_[0-9a-f]{16}\b")


def join_names(markup: str, find: Callable[[], Mapping[str, str]]) -> str:
    """The page with the names that are known; `find` is asked only where there is an id."""
    if "acc_" not in markup:
        return markup
    names = find()

    def named(found: re.Match[str]) -> str:
        text = found.group()
        return html.escape(names.get(text) or text) if text.startswith("acc_") else text

    return _TAG_OR_ID.sub(named, markup)
