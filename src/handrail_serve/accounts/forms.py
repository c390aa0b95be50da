"""A page as its reader may see it: without forms they may not send, with names in place of ids. Pure.

The server refuses those forms as well. The markup is ours, and every value in it is escaped: no `>` stands
inside a tag, and no form inside a form. Events and answers keep the opaque id of an account; a name is joined
when something is shown, and only in text: what a button sends stays as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping

from handrail.contract.catalogue import E_HUMAN_REQUIRED
from handrail.runtime.operation import Registry

_FORM = r'<form\b[^>]*\bdata-operation="([^"]+)"[^>]*>(?:(?!</form>).)*</form>'
_FOLDED = re.compile(rf"<details[^>]*><summary[^>]*>[^<]*</summary>{_FORM}</details>", re.DOTALL)
"""A form that a reader opens first goes with what opens it."""
_PLAIN = re.compile(_FORM, re.DOTALL)


_WITHOUT_ANSWERS = (
    '<div class="notice warn" role="note"><p>This tab has the key of programs: it shows all, and takes '
    "no answer of a person. Open the Console with <code>handrail console</code>, or enter the "
    "<code>consoleToken</code> of the server's file.</p></div>"
)


def drop_answers(markup: str, registry: Registry) -> str:
    """The page without what only a person may send, and with the reason, for a key that is no person's."""

    def may(operation: str) -> bool:
        called = registry.operation(operation)
        return called.effect != "record" or E_HUMAN_REQUIRED.code not in called.errors

    kept = drop_forms(markup, may)
    return markup if kept == markup else _WITHOUT_ANSWERS + kept


def drop_forms(markup: str, may: Callable[[str], bool]) -> str:
    """The page with the forms of those operations alone that the reader may perform."""
    if "data-operation" not in markup:
        return markup

    def keep(found: re.Match[str]) -> str:
        return found.group() if may(found[1]) else ""

    return _PLAIN.sub(keep, _FOLDED.sub(keep, markup))


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
