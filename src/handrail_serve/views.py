"""Pages: which address of the Console shows what. A page calls operations, and a pure function draws it.

No page reads the store by itself, so each of its numbers equals the JSON of the same operation.
"""

from __future__ import annotations

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.outcome import Fault, Json, Outcome
from handrail.contract.wording import quote
from handrail.projections.html.elements import Html, element
from handrail_serve.console.catalog_views import CATALOG_PAGES, MACHINE_PAGES, TEAM_PAGES
from handrail_serve.limits import MOST_VIEW_BYTES
from handrail_serve.pages.parts import empty, head, page
from handrail_serve.routes import Matcher
from handrail_serve.session_views import SESSION_PAGES
from handrail_serve.view_parts import Call, Page, Query, View

PAGES: tuple[Page, ...] = (*SESSION_PAGES, *CATALOG_PAGES, *TEAM_PAGES, *MACHINE_PAGES)
MAIN_PAGES = {
    "/sessions": "session.list",
    "/workflows": "workflow.list",
    "/gaps": "session.gaps",
    "/builtins": "workflow.builtins",
    "/import": "session.import",
    "/settings": "self.settings",
}
"""The pages in the bar, each with the operation that it cannot do without."""
_SHARES = (1, 4, 16)
"""A list that is too large is shown with a part of its rows; its link to the next page leads to the rest."""


def render_view(call: Call, path: str, query: Query) -> View:
    """The page at this path, within its limit.

    Raises Fault E_NOT_FOUND, and what the operations of the page answer.
    """
    for row in PAGES:
        segments = Matcher(row.pattern).match(path)
        if segments is not None:
            return _render_within_limit(row, call, segments, query)
    raise Fault(
        E_NOT_FOUND,
        f"There is no page {quote(path)}.",
        hint="Go back to the list of sessions.",
    )


def _render_within_limit(row: Page, call: Call, segments: tuple[str, ...], query: Query) -> View:
    for share in _SHARES:
        asked = _Calls(call, share)
        view = row.show(asked, segments, query)
        if _size(view.html) <= MOST_VIEW_BYTES:
            return view
        if not asked.has_limit:
            break
    return View(title=view.title, html=_describe_size(view, asked.operations))


class _Calls:
    """The calls of a page, with a part of the rows that it asks for."""

    def __init__(self, call: Call, share: int) -> None:
        self._call = call
        self._share = share
        self.has_limit = False
        self.operations: list[str] = []

    def __call__(self, operation: str, params: dict[str, Json]) -> Outcome:
        self.operations.append(operation)
        limit = params.get("limit")
        if isinstance(limit, int):
            self.has_limit = True
            params = {**params, "limit": max(1, limit // self._share)}
        return self._call(operation, params)


def _size(html: Html) -> int:
    return len(html.markup.encode("utf-8", "replace"))


def _describe_size(view: View, operations: list[str]) -> Html:
    """In place of a page that is too large: how large, and where all of it can be read."""
    names = [element("li", element("code", f"/api/{name}")) for name in dict.fromkeys(operations)]
    size = f"{_size(view.html) // 1024} KB"
    return page(
        head(view.title),
        empty(
            f"This page is too large to show: {size}",
            element("p", f"A page has at most {MOST_VIEW_BYTES // 1024} KB. All of it is in the answers of:"),
            element("ul", *names),
            element("p", "`handrail reference` names the command of each."),
        ),
    )
