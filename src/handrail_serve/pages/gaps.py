"""Gaps over all sessions: what runs went on without, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.projections.html.elements import Child, Html, element
from handrail.views.gaps import GapCounts, GapItem, GapList
from handrail_serve.pages.items import resolve_form
from handrail_serve.pages.parts import (
    Rows,
    ago,
    badge,
    count,
    empty,
    filters,
    head,
    meta,
    more_rows,
    node_path,
    page,
    reveal,
    search_field,
    select,
    soft,
    under,
)

_GAP_STATES = (("", "any state"), ("open", "open"), ("resolved", "resolved"), ("noted", "noted"))
_SEVERITIES = (("", "any severity"), ("critical", "critical"), ("warning", "warning"), ("info", "info"))
_GAP_LOOKS = {"critical": ("bad", "blocked"), "warning": ("warn", "gap"), "info": ("", "step")}
_GAP_FILTERS = ("only", "severity", "workflow")


def gaps_page(listed: Rows[GapItem], about: GapList, asked: Mapping[str, str]) -> Html:
    """`asked` are the filters of the address."""
    is_filtered = any(asked.get(name) for name in _GAP_FILTERS)
    if not listed.items:
        below: Child = _no_such_gap() if is_filtered else _no_gap()
    else:
        below = element(
            "div",
            element("ol", *(_gap_row(one) for one in listed.items), class_="rows"),
            more_rows("/gaps", listed, asked, _GAP_FILTERS),
            class_="stack",
        )
    return page(
        head("Gaps", _count_gaps(about.counts)),
        element("p", "What a run went on without. Evidence or a person resolves a gap; nothing erases one."),
        filters(
            "/gaps",
            select("only", "State", _GAP_STATES, asked.get("only", "")),
            select("severity", "Severity", _SEVERITIES, asked.get("severity", "")),
            search_field("workflow", "Workflow", asked, most=128),
        ),
        below,
        soft(f"Searched: {about.scope}."),
        live="*",
    )


def _count_gaps(counts: GapCounts) -> Html:
    critical = f"{counts.critical} critical" if counts.critical else ""
    return element(
        "div",
        meta(
            count(counts.open, "open gap"),
            critical,
            f"{counts.resolved} resolved",
            f"{counts.noted} noted",
        ),
        id="summary",
    )


def _gap_row(gap: GapItem) -> Html:
    look, glyph = _GAP_LOOKS[gap.severity] if gap.state == "open" else ("", "done")
    word = gap.severity if gap.state == "open" else f"{gap.severity}, {gap.state}"
    resolved = f"Resolved: {gap.resolved_by}" if gap.resolved_by else None
    return element(
        "li",
        element("span", badge(word, look, glyph)),
        element(
            "div",
            element(
                "a",
                gap.summary,
                href=node_path(gap.session_id, gap.run_id, gap.node_id),
                class_="row-link",
                dir="auto",
            ),
            element("span", resolved, class_="under", dir="auto") if resolved else None,
            under(
                element("span", gap.goal or gap.session_id, dir="auto"),
                *(element("span", word) for word in (gap.project, gap.workflow_name) if word),
            ),
            reveal("Resolve it", resolve_form(gap.session_id, gap.id), class_="above")
            if gap.state == "open"
            else None,
        ),
        ago(gap.at),
        data_key=gap.id,
    )


def _no_such_gap() -> Html:
    return empty(
        "No gap is like that",
        element("p", element("a", "Show every gap", href="/gaps")),
    )


def _no_gap() -> Html:
    return empty(
        "Nothing is missing",
        element("p", "Where a run goes on without something that was required, the gap shows up here."),
    )
