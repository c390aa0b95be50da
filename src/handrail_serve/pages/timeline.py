"""What happened in a session, from top to bottom, with a lane per run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.projections.html.elements import Child, Html, element
from handrail.projections.plain_words import MOMENT_WORDS, MOMENTS_WITH_MORE
from handrail.views.summaries import SessionSummary
from handrail.views.timelines import SESSION_LANE, MomentRow, Timeline
from handrail_serve.pages.parts import (
    add_query,
    count,
    damage_notice,
    duration,
    empty,
    head,
    meta,
    moment,
    more_link,
    node_path,
    page,
    run_path,
    session_path,
    status_badge,
    tabs,
    timeline_path,
)
from handrail_serve.pages.run_rail import loop_words

ZOOMS = (("step", "Every step"), ("hour", "Hours"), ("day", "Days"))
MOST_LANES = 8
"""Lanes that are drawn beside each other; further runs share the last one."""
LANE = 14
ROW = 30


def timeline_page(
    shown: SessionSummary, found: Timeline, listed: Sequence[MomentRow], zoom: str = "step"
) -> Html:
    """The page reads from top to bottom; `listed` has the newest moment first."""
    session_id = found.session_id
    moments = listed[::-1]
    lanes = [SESSION_LANE, *(run.id for run in shown.runs)]
    return page(
        head(
            "What happened",
            meta(count(len(moments), "moment")),
            crumbs=(("Sessions", "/sessions"), (shown.goal or "Session", session_path(session_id))),
        ),
        damage_notice(found.banner),
        _tabs(session_id, zoom),
        _legend(shown, lanes),
        _earlier(found, moments, zoom),
        element("ol", *_rows(session_id, moments, lanes, zoom), class_="lanes", id="lanes")
        if moments
        else empty("Nothing has happened in this session yet"),
        live=session_id,
        new="moment",
    )


def _tabs(session_id: str, zoom: str) -> Html:
    path = timeline_path(session_id)
    zooms = [
        (word, add_query(path, zoom="" if name == "step" else name), name == zoom) for name, word in ZOOMS
    ]
    return tabs("Zoom", (*zooms, ("Back to the run", session_path(session_id), False)))


def _legend(shown: SessionSummary, lanes: Sequence[str]) -> Html:
    own = element("li", _drawing(lanes, SESSION_LANE, "step"), element("b", "The session itself"))
    rows = [
        element(
            "li",
            _drawing(lanes, run.id, "step"),
            element("a", run.workflow_name, href=run_path(shown.session_id, run.id)),
            " ",
            status_badge(run.status),
        )
        for run in shown.runs
    ]
    return element("ul", own, *rows, class_="legend lanes")


def _earlier(found: Timeline, moments: Sequence[MomentRow], zoom: str) -> Child:
    if not found.earlier or not moments:
        return None
    path = add_query(
        timeline_path(found.session_id),
        zoom="" if zoom == "step" else zoom,
        before=str(moments[0].index),
    )
    return more_link(count(found.earlier, "earlier moment"), path)


def _rows(session_id: str, moments: Sequence[MomentRow], lanes: Sequence[str], zoom: str) -> Iterator[Html]:
    if zoom in ("hour", "day"):
        yield from _grouped(session_id, moments, lanes, zoom)
        return
    for entry in moments:
        yield element(
            "li",
            moment(entry.at),
            _drawing(lanes, entry.lane, entry.what),
            _words(session_id, entry),
            data_key=str(entry.index),
        )


def _grouped(
    session_id: str, moments: Sequence[MomentRow], lanes: Sequence[str], zoom: str
) -> Iterator[Html]:
    """One row per hour or day and lane, in the order in which they began."""
    width = 13 if zoom == "hour" else 10
    groups: dict[tuple[str, str], list[MomentRow]] = {}
    for entry in moments:
        groups.setdefault((entry.at[:width], entry.lane), []).append(entry)
    for (when, lane), entries in groups.items():
        blocked = sum(entry.what == "blocked_attempt" for entry in entries)
        number = count(len(entries), "moment") + (f", {blocked} blocked" if blocked else "")
        yield element(
            "li",
            moment(entries[0].at),
            _drawing(lanes, lane, "blocked_attempt" if blocked else "step"),
            element("span", f"{number} from then on, up to ", _link(session_id, entries[-1])),
            data_key=f"{when} {lane}",
        )


def _words(session_id: str, entry: MomentRow) -> Html:
    loop = loop_words(entry.step_id) if entry.what == "step" else ""
    is_start = entry.what == "step" and not entry.step_id
    took = f" after {duration(entry.seconds)}" if entry.seconds else ""
    more = entry.summary if entry.what in MOMENTS_WITH_MORE else entry.note
    return element(
        "span",
        "The run " if is_start else _describe_answer(entry) or _name_moment(entry.what),
        _link(session_id, entry),
        element("span", f", {entry.who}" if entry.who else "", dir="auto"),
        element("span", f", {loop}" if loop else "", took, class_="soft"),
        element("span", ": ", element("bdi", more), class_="soft") if more else None,
    )


def _name_moment(what: str) -> str:
    """With a space where the name of a step follows."""
    words = MOMENT_WORDS.get(what, what)
    return words if what in ("notes", "renamed", "imported") else f"{words} "


def _describe_answer(entry: MomentRow) -> str:
    """What a person chose, gave, confirmed or declined."""
    answer = "" if entry.what in MOMENTS_WITH_MORE else entry.summary
    return f"A person {answer} at " if answer else ""


def _link(session_id: str, entry: MomentRow) -> Child:
    if not entry.node_id:
        return None
    title = entry.title or ("started" if entry.what == "step" else "this step")
    return element("a", title, href=node_path(session_id, entry.lane, entry.node_id))


def _drawing(lanes: Sequence[str], lane: str, what: str) -> Html:
    """The lanes as lines, and a mark in the one that the row is about."""
    shown = min(len(lanes), MOST_LANES)
    place = min(lanes.index(lane), shown - 1) if lane in lanes else 0
    x = LANE // 2 + place * LANE
    y = ROW // 2
    lines = [
        element("line", x1=LANE // 2 + n * LANE, y1=0, x2=LANE // 2 + n * LANE, y2="100%")
        for n in range(shown)
    ]
    match what:
        case "blocked_attempt":
            mark = element("path", d=f"M{x} {y - 6}L{x + 6} {y + 5}H{x - 6}Z", class_="mark blocked")
        case "checkpoint" | "notes":
            mark = element("rect", x=x - 5, y=y - 5, width=10, height=10, class_="mark")
        case "step":
            mark = element("circle", cx=x, cy=y, r=5, class_="mark")
        case _:
            mark = element("circle", cx=x, cy=y, r=3, class_="mark other")
    width = shown * LANE
    return element(
        "svg",
        *lines,
        mark,
        width=width,
        height=ROW,
        aria_hidden="true",
        focusable="false",
    )
