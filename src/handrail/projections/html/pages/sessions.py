"""The page of all sessions, drawn from the payload of `session.list`. Pure."""

from __future__ import annotations

from typing import Any

from handrail.projections.html.elements import Html, element, join_html


def sessions_page(data: dict[str, Any]) -> Html:
    """The list, last activity first."""
    rows = data["items"]
    if not rows:
        return join_html(element("h1", "Sessions"), element("p", "There are no sessions here."))
    head = element("tr", *(element("th", name, scope="col") for name in ("Goal", "Workflow", "Status")))
    return join_html(
        element("h1", "Sessions"),
        element(
            "table",
            element("thead", head),
            element("tbody", *(_row(row) for row in rows)),
        ),
    )


def _row(row: dict[str, Any]) -> Html:
    link = element("a", row["goal"] or row["id"], href=f"/sessions/{row['id']}")
    return element("tr", element("td", link), element("td", row["workflow_id"]), element("td", row["status"]))
