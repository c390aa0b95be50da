"""Pages: which address of the Console shows what. A page calls operations, and a pure function draws it.

No page reads the store by itself, so each of its numbers equals the JSON of the same operation.
"""

from __future__ import annotations

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.surfaces.http.console.catalog_views import CATALOG_PAGES
from handrail.surfaces.http.routes import Matcher
from handrail.surfaces.http.session_views import SESSION_PAGES
from handrail.surfaces.http.view_parts import Call, Page, Query, View

PAGES: tuple[Page, ...] = (*SESSION_PAGES, *CATALOG_PAGES)


def render_view(call: Call, path: str, query: Query) -> View:
    """The page at this path.

    Raises Fault E_NOT_FOUND, and what the operations of the page answer.
    """
    for page in PAGES:
        segments = Matcher(page.pattern).match(path)
        if segments is not None:
            return page.show(call, segments, query)
    raise Fault(
        E_NOT_FOUND,
        f"There is no page {quote(path)}.",
        hint="Go back to the list of sessions.",
    )
