"""What is missing, over all sessions: open, settled or noted, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.projections.html.elements import Child, Html, element
from handrail_serve.pages.forms import settle_form
from handrail_serve.pages.parts import (
    Payload,
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

_STATES = (("", "any state"), ("open", "open"), ("settled", "settled"), ("noted", "noted"))
_SEVERITIES = (("", "any severity"), ("critical", "critical"), ("warning", "warning"), ("info", "info"))
_LOOKS = {"critical": ("bad", "blocked"), "warning": ("warn", "gap"), "info": ("", "step")}
_ASKED = ("only", "severity", "workflow")


def gaps_page(listed: Payload, asked: Mapping[str, str]) -> Html:
    """`listed` is of session.gaps; `asked` are the filters of the address."""
    counts = listed["counts"]
    is_filtered = any(asked.get(name) for name in _ASKED)
    if not listed["items"]:
        below: Child = _nothing() if is_filtered else _none_at_all()
    else:
        below = element(
            "div",
            element("ol", *(_row(one) for one in listed["items"]), class_="rows"),
            more_rows("/gaps", listed, asked, _ASKED),
            class_="stack",
        )
    return page(
        head("Gaps", _summary(counts)),
        element("p", "What a run went on without. Evidence or a person settles a gap; nothing erases one."),
        filters(
            "/gaps",
            select("only", "State", _STATES, asked.get("only", "")),
            select("severity", "Severity", _SEVERITIES, asked.get("severity", "")),
            search_field("workflow", "Workflow", asked, most=128),
        ),
        below,
        soft(f"Searched: {listed['scope']}."),
        live="*",
    )


def _summary(counts: Payload) -> Html:
    critical = f"{counts['critical']} critical" if counts["critical"] else ""
    return element(
        "div",
        meta(
            count(counts["open"], "open gap"),
            critical,
            f"{counts['settled']} settled",
            f"{counts['noted']} noted",
        ),
        id="summary",
    )


def _row(gap: Payload) -> Html:
    look, glyph = _LOOKS[gap["severity"]] if gap["state"] == "open" else ("", "done")
    word = gap["severity"] if gap["state"] == "open" else f"{gap['severity']}, {gap['state']}"
    settled = f"Settled: {gap['settled_by']}" if gap["settled_by"] else None
    return element(
        "li",
        element("span", badge(word, look, glyph)),
        element(
            "div",
            element(
                "a",
                gap["summary"],
                href=node_path(gap["session_id"], gap["run_id"], gap["node_id"]),
                class_="row-link",
                dir="auto",
            ),
            element("span", settled, class_="under", dir="auto") if settled else None,
            under(
                element("span", gap["goal"] or gap["session_id"], dir="auto"),
                *(element("span", gap[name]) for name in ("project", "workflow_name") if gap[name]),
            ),
            reveal("Settle it", settle_form(gap["session_id"], gap["id"]), class_="above")
            if gap["state"] == "open"
            else None,
        ),
        ago(gap["at"]),
        data_key=gap["id"],
    )


def _nothing() -> Html:
    return empty(
        "No gap is like that",
        element("p", element("a", "Show every gap", href="/gaps")),
    )


def _none_at_all() -> Html:
    return empty(
        "Nothing is missing",
        element("p", "Where a run goes on without something that was required, the gap shows up here."),
    )
