"""How people see what waits and what happened: sessions, needs, gaps, a timeline, a run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.engine.events import is_newer
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    ago,
    cut,
    describe_list,
    one_line,
    spell_step,
    wrap,
)

_SOUND = ("", "healthy")
_KINDS = {
    "person": "Needs your answer",
    "blocked": "Blocked",
    "gap": "Critical gap",
    "damaged": "Damaged",
    "newer": "Newer version",
}
_WHAT = {
    "step": "The agent finished",
    "checkpoint": "The agent saved its progress at",
    "blocked_attempt": "The report was not accepted at",
    "receipt": "A check ran at",
    "confirmed": "A person confirmed",
    "declined": "A person declined",
    "closed": "The run was closed at",
    "notes": "Notes of the session were kept",
    "renamed": "A person renamed the session",
    "imported": "The session was imported",
}
_MARKS = {"step": "o", "checkpoint": "#", "blocked_attempt": "x"}


def session_blocks(items: Iterable[Mapping[str, Json]], page: Page) -> list[str]:
    """Two lines for each session: what it is about, then how it stands."""
    lines: list[str] = []
    for item in items:
        named = one_line(item.get("goal") or item.get("workflow_name") or "no goal")
        lines.append(cut(f"{one_line(item['id'])}  {named}", page.width))
        lines += wrap(_join(_standing(item, page)), page.width, INDENT)
    return lines


def _standing(item: Mapping[str, Json], page: Page) -> list[str]:
    health = one_line(item.get("health", ""))
    damage = "" if health in _SOUND else "written by a newer version" if is_newer(health) else "damaged"
    done = f"{item['done']} of about {item['at_least']} steps" if item.get("at_least") else ""
    parts = f"{item['parts_done']} of {item['parts']} parts done" if item.get("parts") else ""
    pending = f"at “{one_line(item['pending_title'])}”" if item.get("pending_title") else ""
    return [
        one_line(item.get("status", "")).replace("_", " "),
        damage,
        one_line(item.get("silence", "")),
        "needs you" if item.get("needs_person") else "",
        pending,
        parts,
        done,
        one_line(item.get("workflow_name", "")),
        one_line(item.get("project", "")),
        "imported" if item.get("imported_from") else "",
        ago(item.get("last_activity", ""), page),
    ]


def _join(parts: Iterable[str]) -> str:
    return ", ".join(part for part in parts if part)


def needs_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Each thing that waits: the question, whose it is, and the line that answers it."""
    items = payload["items"]
    if not items:
        return ["Nothing needs you.", f"Looked at: {one_line(payload.get('scope', ''))}."]
    lines: list[str] = []
    for item in items:
        what = _KINDS.get(item["kind"], item["kind"]) + (", answered" if item.get("is_answered") else "")
        about = item["title"] or item["goal"] or item["workflow_name"]
        lines.append(cut(f"{what}: {one_line(about)}", page.width))
        lines += wrap(one_line(item["why"]), page.width, INDENT)
        whose = (item["goal"] if item["title"] else "", item["workflow_name"], item["project"])
        agent = one_line(item["agent"]) or "command line"
        facts = [*map(one_line, whose), agent, one_line(item["silence"]), ago(item["since"], page)]
        lines += wrap(_join(facts), page.width, INDENT)
        if item["command"]:
            lines.append(INDENT + _typed(one_line(item["command"]), page))
        lines.append("")
    return [*lines, f"{format_count(payload['total'], 'thing')} in all.", *describe_list(payload, page)[1:]]


def gaps_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Each gap with the id that settles it."""
    items = payload["items"]
    counts = payload["counts"]
    lines: list[str] = []
    for item in items:
        told = f"{item['state']}, {item['severity']}: {one_line(item['summary'])}"
        lines += wrap(told[:1].upper() + told[1:], page.width)
        whose = (one_line(item["goal"]), one_line(item["project"]), ago(item["at"], page))
        lines += wrap(_join(whose), page.width, INDENT)
        if item["settled_by"]:
            lines += wrap(f"Settled: {one_line(item['settled_by'])}", page.width, INDENT)
        elif item["state"] == "open":
            named = f"{one_line(item['id'])} --session {one_line(item['session_id'])}"
            lines.append(INDENT + _typed(f"handrail session settle {named} --note TEXT", page))
        lines.append("")
    sums = _join(f"{number} {name}" for name, number in counts.items())
    return [*lines, f"Gaps: {sums}.", *describe_list(payload, page)[1:]]


def timeline_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What happened, oldest first, as a story."""
    lines = wrap(one_line(payload["banner"]), page.width) if payload.get("banner") else []
    if payload["earlier"]:
        lines.append(f"{format_count(payload['earlier'], 'moment')} before these.")
    day = ""
    for item in reversed(payload["items"]):
        if item["at"][:10] != day:
            day = item["at"][:10]
            lines.append(day)
        lines.append(cut(f"{INDENT}{item['at'][11:16]}  {_moment(item)}", page.width))
    return [*lines, *describe_list(payload, page)[1:]]


def _moment(item: Mapping[str, Json]) -> str:
    title = one_line(item["title"])
    if item["what"] == "step" and not item["step_id"]:
        return f"{one_line(item['workflow_name'])} was started"
    told = f"A person {one_line(item['said'])} at" if item["said"] else _WHAT.get(item["what"], item["what"])
    seconds = item["seconds"] or 0
    took = f" after {seconds // 60} min" if seconds >= 60 else ""
    return f"{told} {title}".strip() + took


def graph_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """A run from its start to where it stands."""
    named = one_line(payload["workflow_name"]) or one_line(payload["workflow_id"])
    status = one_line(payload["status"]).replace("_", " ")
    done = f"{payload['done']} of about {payload['at_least']} steps done" if payload["at_least"] else ""
    lines = wrap(_join([f"{named}: {status}", done, one_line(payload["agent"])]), page.width)
    lines += wrap(one_line(payload["banner"]), page.width) if payload["banner"] else []
    lines.append("")
    if payload["nodes_omitted"]:
        lines.append(f"{format_count(payload['nodes_omitted'], 'step')} before these.")
    for node in payload["nodes"]:
        lines.append(cut(_node(node, payload["preferred_tip"]), page.width))
    for child in payload["children"]:
        status = one_line(child["status"]).replace("_", " ")
        facts = [
            f"{one_line(child['child_id'])}: {status}",
            *map(one_line, (child["pending_title"], child["worker"])),
        ]
        lines.append(cut(f"{INDENT}> {_join(facts)}", page.width))
    if payload["pending_title"]:
        lines.append(f"* {one_line(payload['pending_title'])}")
    lines += [f"  {one_line(one['title'])}" for one in payload["ahead"]]
    lines.append("")
    for need in payload["waiting"]:
        lines += wrap(f"Waits: {one_line(need['why'])}", page.width)
    told = one_line(payload["evidence_told"])
    lines += wrap(told[:1].upper() + told[1:] + ".", page.width) if told else []
    return lines


def _node(node: Mapping[str, Json], tip: str) -> str:
    mark = _MARKS.get(node["kind"], "o")
    lane = INDENT * min(int(node["lane"]), 3)
    step = spell_step(one_line(node["step_id"]))
    round_told = step.partition(", ")[2]
    facts = [
        one_line(node["title"]),
        round_told,
        {"checkpoint": "saved", "blocked_attempt": "refused"}.get(node["kind"], ""),
        format_count(node["gap_count"], "gap") if node["gap_count"] else "",
        "the way that counts ends here" if node["id"] == tip and not node["is_tip"] else "",
    ]
    return f"{lane}{mark} {_join(facts)}"


def _typed(line: str, page: Page) -> str:
    """A line of ours as it is typed here."""
    return page.program + line.removeprefix("handrail")
