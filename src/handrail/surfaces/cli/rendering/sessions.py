"""Text for people about sessions and inbox items: a line that names each, then facts and its
command. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from handrail.contract.outcome import Json
from handrail.contract.wording import MORE_WORK, count_work, format_count
from handrail.engine.events import is_newer
from handrail.projections.evidence import EVIDENCE_WORDS
from handrail.projections.plain_words import (
    NEED_WORDS,
)
from handrail.surfaces.cli.rendering.runs import children_lines
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    ago,
    cut,
    describe_list,
    format_aligned,
    item_table,
    lines_of,
    moment_text,
    one_line,
    repeat_line,
    size_text,
    spell_command,
    spell_status,
    spell_step,
    typed_line,
    wrap,
)

_LEGEND = "o step   # checkpoint   x blocked attempt   * where the run stands"
_MOST_FACTS = 10
_FINISHED = ("complete", "complete_with_gaps", "closed")


def list_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return a block for each session, the latest first; a selection of fields becomes a table."""
    items = payload["items"]
    if not items:
        return ["No session was found.", _searched(payload), *_how_to_start(page)]
    more = describe_list(payload, page)[1:]
    is_whole = all("id" in item and "status" in item for item in items)
    return [
        *(session_blocks(items, page) if is_whole else item_table(items, page)),
        "",
        f"{format_count(len(items), 'session')} shown.",
        *more,
        "One of them: " + typed_line("handrail session show ID --human", page),
    ]


def _how_to_start(page: Page) -> list[str]:
    return [
        "See what can be started: " + typed_line("handrail workflow list --human", page),
        "Start one: " + typed_line("handrail run start WORKFLOW_ID --request-id KEY --human", page),
    ]


def _searched(payload: dict[str, Json]) -> str:
    return f"Searched: {one_line(payload['scope'])}." if isinstance(payload.get("scope"), str) else ""


def resume_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return the work that a search found, and the command that continues each."""
    items = payload["items"]
    searched = _searched(payload)
    if not items:
        return ["No work to continue was found.", searched, *_how_to_start(page)]
    lines = [] if payload.get("matched", True) else ["Nothing matches. The latest work instead:", ""]
    for item in items:
        status = item.get("status", "")
        title = one_line(item.get("pendingTitle") or item.get("status", ""))
        lines += [cut(f"{one_line(item['sessionId'])}  {title}", page.width)]
        facts = [
            ("Workflow", item.get("workflowId")),
            ("Title", item.get("title")),
            ("Goal", item.get("goal")),
            ("Status", status),
            ("Branch", f"ends at {item['nodeId']}" if item.get("nodeId") else ""),
            ("Project", "" if item.get("isHere", True) else item.get("project") or "unknown, not this one"),
            ("Evidence", _evidence(item.get("evidence") or {})),
            ("Answer", item.get("personAnswer", "")),
            ("So far", item.get("sinceStep", "")),
            ("Imported", f"from {item['importedFrom']}" if item.get("importedFrom") else ""),
        ]
        shown = [(label, cut(one_line(value), page.width - 12)) for label, value in facts if value]
        label = (
            "Read it" if status in _FINISHED else "Continue" if item.get("isHere", True) else "Continue there"
        )
        shown += [(label, spell_command(item["nextCall"], page))] if item.get("nextCall") else []
        shown += [("Fork", spell_command(item["forkCall"], page))] if item.get("forkCall") else []
        lines += [INDENT + line for line in format_aligned(shown)]
        lines += [INDENT + line for line in children_lines(item, page)]
        for warning in item.get("warnings", []):
            lines += wrap(f"Warning: {one_line(warning['message'])}", page.width, INDENT)
        lines.append("")
    more = [MORE_WORK] if payload.get("truncated") else []
    if payload.get("next_cursor"):
        more.append(f"More: {repeat_line(page, cursor=one_line(payload['next_cursor']))}")
    return [*lines, f"{count_work(items)} found.", *more, searched]


def session_lines(session: dict[str, Json], page: Page) -> list[str]:
    """Return the session in a few lines, then each run with its graph; an export has all of it."""
    health = session.get("health", {})
    reason = f" ({one_line(health['reason'])})" if health.get("reason") else ""
    imported = session.get("imported") or {}
    facts = [
        ("Status", spell_status(session.get("status", ""))),
        ("Health", one_line(health.get("state", "")) + reason),
        ("Title", one_line(session.get("goal", ""))),
        ("Project", one_line(session.get("project", ""))),
        ("Branch", one_line(session.get("branch", ""))),
        ("Imported", _origin(imported) if imported else ""),
        ("Last", ago(session.get("last_activity", ""), page)),
    ]
    name = one_line(session["session_id"])
    banner = one_line(health.get("banner", ""))
    lines = [f"Session {name}", *(wrap(banner, page.width) if banner else [])]
    lines += format_aligned([row for row in facts if row[1]], page.width)
    notes = _notes(session)
    lines += ["", *notes] if notes else []
    if session.get("runs_omitted"):
        earlier = format_count(session["runs_omitted"], "earlier run")
        line = typed_line(f"handrail session show {name} --run RUN_ID --human", page)
        lines += ["", f"{earlier} left out; one of them: {line}"]
    for run in session["runs"]:
        lines += ["", *_run(run, page)]
    lines += ["", _LEGEND] if session["runs"] else ["", "It has no run."]
    lines.append(f"As a report: {typed_line(f'handrail session export {name} --as markdown --human', page)}")
    if banner or session.get("status") in _FINISHED:
        return lines
    return [*lines, f"Continue it: {typed_line(f'handrail session resume {name} --human', page)}"]


def _origin(label: dict[str, Json]) -> str:
    return f"from session {one_line(label['source_session_id'])} in bundle {one_line(label['bundle_id'])}"


def _run(run: dict[str, Json], page: Page) -> list[str]:
    # Text of an agent, a workflow or a bundle passes `one_line`; otherwise a line end or an escape in it
    # would forge a line of this page. Equal lines of the graph are shown once with their number: a loop of
    # a hundred iterations is one thing to a reader.
    name, workflow_id = one_line(run.get("workflow_name", "")), one_line(run.get("workflow_id", ""))
    status = spell_status(run.get("status", ""))
    lines = [f"Run {one_line(run['id'])}: {name} ({workflow_id}), {status}"]
    for line, equal in itertools.groupby(one_line(one) for one in run.get("graph", [])):
        times = len(list(equal))
        lines.append(INDENT + cut(line, page.width - 12) + (f"  ({times} times)" if times > 1 else ""))
    earlier = run.get("omitted", {}).get("graph", 0)
    if earlier:
        lines.insert(1, f"{INDENT}{format_count(earlier, 'line')} of the graph before these.")
    closing = run.get("closed") or {}
    rows = [
        ("Child", one_line(run.get("child_id") or "")),
        ("Worker", f"{one_line(run['worker'])}, as they state" if run.get("worker") else ""),
        ("Closed", _closed(closing) if closing else ""),
        ("Mode", ", ".join(one_line(str(value)) for value in run.get("preferences", {}).values())),
        ("Skipped", one_line(run.get("not_run_summary") or "")),
        ("Summary", one_line(run.get("summary") or "")),
        ("Evidence", _evidence(run.get("evidence", {}))),
    ]
    lines += [INDENT + row for row in format_aligned([row for row in rows if row[1]])]
    lines += _gaps(run, page)
    lines += [part for fact in _describe_people(run) for part in wrap(fact, page.width, INDENT)]
    return lines + [INDENT + line for line in _notes(run)]


def _describe_people(run: dict[str, Json]) -> Iterator[str]:
    """Yield where an agent left the instructions, and what people answered."""
    for one in run.get("divergences", [])[:_MOST_FACTS]:
        where = f" at {spell_step(one_line(one['step_id']))}" if one.get("step_id") else ""
        yield f"Left the instructions{where} ({one_line(one['reason'])}): {one_line(one['summary'])}"
    for answer in run.get("confirmations", [])[-_MOST_FACTS:]:
        what = one_line(answer.get("summary") or answer["answer"])
        note = f": {one_line(answer['note'])}" if answer.get("note") else ""
        place = spell_step(one_line(answer["step_id"]))
        yield f"A person {what} at {place}: {one_line(answer['who'])}{note}"


def _notes(held: dict[str, Json]) -> list[str]:
    """Return notes oldest first, as data; an export has the full text of what is cut here."""
    lines = []
    for note in held.get("notes", []):
        step = f" of {spell_step(one_line(note['step_id']))}" if note.get("step_id") else ""
        text = note["text"] + (" …" if note.get("is_cut") else "")
        lines += [f"Notes{step}:", *(f"> {line}" for line in lines_of(text))]
    return lines


def _closed(closing: dict[str, Json]) -> str:
    note = f": {one_line(closing['note'])}" if closing.get("note") else ""
    return f"{one_line(closing['reason']).replace('_', ' ')}, {moment_text(closing['at'])}{note}"


def _gaps(run: dict[str, Json], page: Page) -> list[str]:
    """Return each gap, and below an open one the command that resolves it."""
    lines: list[str] = []
    for gap in run.get("gaps", [])[:_MOST_FACTS]:
        state = "open" if gap.get("is_open") else "resolved"
        what = f"Gap ({one_line(gap['severity'])}, {state})"
        what = f"Resolved by {one_line(gap['who'])}" if gap.get("who") else what
        lines += wrap(f"{what}: {one_line(gap['summary'])}", page.width, INDENT)
        if gap.get("is_open") and gap.get("id"):
            lines.append(
                INDENT + typed_line(f"handrail session resolve {one_line(gap['id'])} --note TEXT", page)
            )
    return lines


def _evidence(counts: dict[str, Json]) -> str:
    return ", ".join(f"{counts[name]} {words}" for name, words in EVIDENCE_WORDS.items() if counts.get(name))


# Text for people about what waits and what happened: sessions, needs, gaps, a timeline, a run.


_SOUND = ("", "healthy")


def session_blocks(items: Iterable[Mapping[str, Json]], page: Page) -> list[str]:
    """Return two lines for each session: its goal, then its state."""
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
        spell_status(item.get("status", "")),
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
    """Return each inbox item: the question, the session, and the command that answers it."""
    items = payload["items"]
    if not items:
        return ["Nothing needs you.", f"Looked at: {one_line(payload.get('scope', ''))}."]
    lines: list[str] = []
    for item in items:
        what = "Answered" if item.get("is_answered") else NEED_WORDS.get(item["kind"], item["kind"])
        about = item["title"] or item["goal"] or item["workflow_name"]
        lines.append(cut(f"{what}: {one_line(about)}", page.width))
        lines += wrap(one_line(item["why"]), page.width, INDENT)
        whose = (item["goal"] if item["title"] else "", item["workflow_name"], item["project"])
        agent = one_line(item["agent"]) or "command line"
        facts = [*map(one_line, whose), agent, one_line(item["silence"]), ago(item["since"], page)]
        lines += wrap(_join(facts), page.width, INDENT)
        if item["command"]:
            lines.append(INDENT + typed_line(one_line(item["command"]), page))
        elif item.get("fix"):
            lines += wrap(one_line(item["fix"]), page.width, INDENT)
        lines.append("")
    waiting = format_count(payload["total"] - payload.get("answered", 0), "thing")
    taken = f" {payload['answered']} answered, not taken up yet." if payload.get("answered") else ""
    return [*lines, f"Open: {waiting}.{taken}", *describe_list(payload, page)[1:]]


def export_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return what was written and where; without a file, the report itself, or how to get the bundle."""
    session_id, form = one_line(payload["session_id"]), one_line(payload["as"])
    if "path" in payload:
        rows = [
            ("File", one_line(payload["path"])),
            ("Size", size_text(payload["bytes"])),
            ("SHA-256", one_line(payload["sha256"])),
            ("Events", str(payload["event_count"])),
            ("Health", one_line(payload["health"])),
        ]
        following = f"handrail session import {one_line(payload['path'])} --dry-run --human"
        after = ["", f"On another machine: {following}"] if form == "bundle" else []
        return [f"Session {session_id} exported as {form}.", *format_aligned(rows), *after]
    if form == "markdown" and isinstance(payload.get("content"), str):
        return lines_of(payload["content"].rstrip("\n"))
    size = format_count(payload["event_count"], "event")
    return [
        f"Session {session_id} as {form}: {size}, {one_line(payload['health'])}.",
        f"Into a file: {repeat_line(page, out='FILE')}",
    ]
