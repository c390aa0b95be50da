"""A page without the forms that its reader may not send; the server refuses those as well. Pure.

The markup is ours, and every value in it is escaped: no `>` stands inside a tag, and no form inside a form.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_FORM = r'<form\b[^>]*\bdata-operation="([^"]+)"[^>]*>(?:(?!</form>).)*</form>'
_FOLDED = re.compile(rf"<details[^>]*><summary[^>]*>[^<]*</summary>{_FORM}</details>", re.DOTALL)
"""A form that a reader opens first goes with what opens it."""
_PLAIN = re.compile(_FORM, re.DOTALL)


def drop_forms(markup: str, may: Callable[[str], bool]) -> str:
    """The page with the forms of those operations alone that the reader may perform."""
    if "data-operation" not in markup:
        return markup

    def keep(found: re.Match[str]) -> str:
        return found.group() if may(found[1]) else ""

    return _PLAIN.sub(keep, _FOLDED.sub(keep, markup))
