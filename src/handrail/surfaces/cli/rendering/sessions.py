"""How people see sessions: a list, work to go on with, one of them, events, an export. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from handrail.contract.outcome import Json
from handrail.contract.wording import MORE_WORK, count_work, format_count
from handrail.engine.events import is_newer
from handrail.projections.evidence import PERSON_DOORS, PROOF, WORTH_WORDS
from handrail.projections.plain_words import (
    MOMENT_WORDS,
    MOMENTS_WITH_MORE,
    NEED_WORDS,
    spell_kind,
)
from handrail.surfaces.cli.rendering.runs import children_lines
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    ago,
    cut,
    describe_list,
    format_aligned,
    format_cell,
    item_table,
    lines_of,
    moment_text,
    one_line,
    repeat_line,
    size_text,
    spell_command,
    spell_rounds,
    spell_status,
    spell_step,
    typed_line,
    wrap,
)

_LEGEND = "o step   # checkpoint   x blocked attempt   * where the run stands"
_MOST_FACTS = 10
_FINISHED = ("complete", "complete_with_gaps", "closed")


def list_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Each session, the latest first; a selection of fields as a table."""
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
    """Work that was looked for, and the command that goes on with each."""
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
            ("Answer", item.get("personSaid", "")),
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
    """The session in a few lines, then each run with its graph."""
    health = session.get("health", {})
    reason = f" ({one_line(health['reason'])})" if health.get("reason") else ""
    facts = [
        ("Status", spell_status(session.get("status", ""))),
        ("Health", one_line(health.get("state", "")) + reason),
        ("Title", one_line(session.get("goal", ""))),
        ("Project", one_line(session.get("project", ""))),
        ("Branch", one_line(session.get("branch", ""))),
        ("Imported", _imported(session.get("imported") or {})),
        ("Events", format_cell(session.get("event_count", ""))),
        ("Last", ago(session.get("last_activity", ""), page)),
    ]
    name = one_line(session["session_id"])
    banner = one_line(health.get("banner", ""))
    lines = [f"Session {name}", *(wrap(banner, page.width) if banner else [])]
    lines += format_aligned([row for row in facts if row[1]], page.width)
    notes = _notes(session, "Notes of the session:")
    lines += ["", *notes] if notes else []
    if session.get("runs_omitted"):
        earlier = format_count(session["runs_omitted"], "earlier run")
        line = typed_line(f"handrail session show {name} --run RUN_ID --human", page)
        lines += ["", f"{earlier} left out; one of them: {line}"]
    for run in session["runs"]:
        lines += ["", *_run(run, page)]
    lines += ["", _LEGEND] if session["runs"] else ["", "It has no run."]
    if banner:
        return lines
    if session.get("status") in _FINISHED:
        report = typed_line(f"handrail session export {name} --as markdown --human", page)
        return [*lines, f"As a report: {report}"]
    return [*lines, f"Continue it: {typed_line(f'handrail session resume {name} --human', page)}"]


def _imported(label: dict[str, Json]) -> str:
    """Where a session came from that was not begun here."""
    if not label:
        return ""
    return f"from session {one_line(label['source_session_id'])} in bundle {one_line(label['bundle_id'])}"


def _notes(held: dict[str, Json], heading: str) -> list[str]:
    """Notes oldest first, as data; what is cut here is whole in an export."""
    lines = []
    if held.get("notes_omitted"):
        lines.append(f"{format_count(held['notes_omitted'], 'older note')} left out.")
    for note in held.get("notes", []):
        step = f"Notes of {spell_step(one_line(note['step_id']))}:" if note.get("step_id") else heading
        text = note["text"] + (" …" if note.get("is_cut") else "")
        lines += [step, *(f"> {line}" for line in lines_of(text))]
    return lines


def _run(run: dict[str, Json], page: Page) -> list[str]:
    # What an agent, a workflow or a bundle wrote passes `one_line`, else a line end or an escape in it would
    # forge a line of this page. Equal lines of the graph are told once with their number: a loop of a hundred
    # rounds is one thing to a reader.
    name, workflow_id = one_line(run.get("workflow_name", "")), one_line(run.get("workflow_id", ""))
    status = spell_status(run.get("status", ""))
    lines = [f"Run {one_line(run['id'])}: {name} ({workflow_id}), {status}"]
    for line, equal in itertools.groupby(one_line(one) for one in run.get("graph", [])):
        times = len(list(equal))
        lines.append(INDENT + cut(line, page.width - 12) + (f"  ({times} times)" if times > 1 else ""))
    earlier = run.get("omitted", {}).get("graph", 0)
    if earlier:
        lines.insert(1, f"{INDENT}{format_count(earlier, 'line')} of the graph before these.")
    preferences = run.get("preferences", {})
    caveat = one_line(run.get("evidence_caveat") or "") if any(run.get("evidence", {}).values()) else ""
    forks = run.get("fork_count", 0)
    rows = [
        ("Handed out", f"as {one_line(run['child_id'])}" if run.get("child_id") else ""),
        ("Worker", f"{one_line(run['worker'])}, by their own word" if run.get("worker") else ""),
        ("Closed", _closed(run.get("closed") or {})),
        ("Mode", ", ".join(one_line(str(value)) for value in preferences.values())),
        ("Forks", str(forks) if forks else ""),
        ("Skipped", one_line(run.get("not_run_told") or "")),
        ("Summary", one_line(run.get("summary") or "")),
        ("Evidence", ", ".join(filter(None, (_evidence(run.get("evidence", {})), caveat)))),
    ]
    lines += [INDENT + row for row in format_aligned([row for row in rows if row[1]])]
    lines += _gaps(run, page)
    lines += [part for fact in _describe_facts(run) for part in wrap(fact, page.width, INDENT)]
    return lines + [INDENT + line for line in _notes(run, "Notes:")]


def _gaps(run: dict[str, Json], page: Page) -> list[str]:
    """Each gap, and below an open one the line that settles it."""
    lines: list[str] = []
    for gap in run.get("gaps", [])[:_MOST_FACTS]:
        state = "open" if gap.get("is_open") else "settled"
        what = f"Gap ({one_line(gap['severity'])}, {state})"
        what = f"Settled by {one_line(gap['who'])}" if gap.get("who") else what
        lines += wrap(f"{what}: {one_line(gap['summary'])}", page.width, INDENT)
        if gap.get("is_open") and gap.get("id"):
            lines.append(
                INDENT + typed_line(f"handrail session resolve {one_line(gap['id'])} --note TEXT", page)
            )
    return lines


def _describe_facts(run: dict[str, Json]) -> Iterator[str]:
    """What is known of a run, a sentence for each fact."""
    for one in run.get("divergences", [])[:_MOST_FACTS]:
        where = f" at {spell_step(one_line(one['step_id']))}" if one.get("step_id") else ""
        yield f"Left the instructions{where} ({one_line(one['reason'])}): {one_line(one['summary'])}"
    for artifact in run.get("artifacts", [])[:_MOST_FACTS]:
        checked = "well-formed" if artifact.get("is_validated") else "no contract asks for it"
        step = spell_step(one_line(artifact.get("step_id") or ""))
        where = f" of {step}" if step else " from after the end"
        yield f"{one_line(spell_kind(artifact['kind']))}{where}, {checked}"
    for answer in run.get("confirmations", [])[-_MOST_FACTS:]:
        what = one_line(answer.get("said") or answer["answer"])
        note = f": {one_line(answer['note'])}" if answer.get("note") else ""
        door = PERSON_DOORS.get(answer["door"], one_line(answer["door"]))
        where = spell_step(one_line(answer["step_id"]))
        yield f"A person {what} at {where}: {one_line(answer['who'])} ({door}){note}"
    claims = run.get("claims", [])
    words = [one["text"] for one in claims if _is_agents_word(one)]
    for text in list(dict.fromkeys(map(one_line, words)))[-_MOST_FACTS:]:
        yield f"{WORTH_WORDS['claimed'].capitalize()}: {text}"
    held = (one for one in claims if one["verdict"] == "holds" and one["level"] in PROOF)
    proofs = {(WORTH_WORDS[one["level"]], one_line(one["text"]), one_line(one["fact"])) for one in held}
    for worth, text, fact in sorted(proofs)[:_MOST_FACTS]:
        yield f"{worth.capitalize()}: {text}{f' ({fact})' if fact else ''}"
    doubted = [claim for claim in claims if claim["verdict"] in ("contradicted", "stale")]
    for claim in doubted[-_MOST_FACTS:]:
        place = spell_step(one_line(claim["step_id"]))
        yield f"{one_line(claim['verdict']).capitalize()} at {place}: {one_line(claim['fact'])}"


def _is_agents_word(claim: dict[str, Json]) -> bool:
    return bool(claim["level"] == "claimed" and claim["verdict"] != "contradicted")


def _evidence(counts: dict[str, Json]) -> str:
    return ", ".join(f"{counts[name]} {words}" for name, words in WORTH_WORDS.items() if counts.get(name))


def _closed(closing: dict[str, Json]) -> str:
    if not closing:
        return ""
    note = f": {one_line(closing['note'])}" if closing.get("note") else ""
    return f"{one_line(closing['reason']).replace('_', ' ')}, {moment_text(closing['at'])}{note}"


# How people see what waits and what happened: sessions, needs, gaps, a timeline, a run.


_SOUND = ("", "healthy")
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
    """Each thing that waits: the question, whose it is, and the line that answers it."""
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


def gaps_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Each gap with the id that settles it."""
    items = payload["items"]
    counts = payload["counts"]
    lines: list[str] = []
    for item in items:
        text = f"{item['state']}, {item['severity']}: {one_line(item['summary'])}"
        lines += wrap(text[:1].upper() + text[1:], page.width)
        whose = (
            *(one_line(item[name]) for name in ("goal", "workflow_name", "project")),
            ago(item["at"], page),
        )
        lines += wrap(_join(whose), page.width, INDENT)
        if item["settled_by"]:
            lines += wrap(f"Settled: {one_line(item['settled_by'])}", page.width, INDENT)
        elif item["state"] == "open":
            named = f"{one_line(item['id'])} --session {one_line(item['session_id'])}"
            lines.append(INDENT + typed_line(f"handrail session resolve {named} --note TEXT", page))
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
        more = one_line(item["said"]) if item["what"] in MOMENTS_WITH_MORE else ""
        lines += wrap(more, page.width, INDENT + " " * 7) if more else []
    return [*lines, *describe_list(payload, page)[1:]]


def _moment(item: Mapping[str, Json]) -> str:
    title = one_line(item["title"])
    if item["what"] == "step" and not item["step_id"]:
        return f"{one_line(item['workflow_name'])} was started"
    answer = "" if item["what"] in MOMENTS_WITH_MORE else one_line(item["said"])
    what = f"A person {answer} at" if answer else MOMENT_WORDS.get(item["what"], item["what"])
    seconds = item["seconds"] or 0
    took = f" after {seconds // 60} min" if seconds >= 60 else ""
    return f"{what} {title}".strip() + took


def graph_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """A run from its start to where it stands."""
    named = one_line(payload["workflow_name"]) or one_line(payload["workflow_id"])
    status = spell_status(payload["status"])
    done = f"{payload['done']} of about {payload['at_least']} steps done" if payload["at_least"] else ""
    lines = wrap(
        _join([f"{named}: {status}", one_line(payload["silence"]), done, one_line(payload["agent"])]),
        page.width,
    )
    lines += wrap(one_line(payload["banner"]), page.width) if payload["banner"] else []
    lines.append("")
    if payload["nodes_omitted"]:
        lines.append(f"{format_count(payload['nodes_omitted'], 'step')} before these.")
    for node in payload["nodes"]:
        lines.append(cut(_node(node, payload["preferred_tip"]), page.width))
    for child in payload["children"]:
        status = spell_status(child["status"])
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
    evidence = one_line(payload["evidence_told"])
    lines += wrap(evidence[:1].upper() + evidence[1:] + ".", page.width) if evidence else []
    return lines


def _node(node: Mapping[str, Json], tip: str) -> str:
    mark = _MARKS.get(node["kind"], "o")
    lane = INDENT * min(int(node["lane"]), 3)
    facts = [
        one_line(node["title"]),
        *spell_rounds(one_line(node["step_id"])),
        {"checkpoint": "saved", "blocked_attempt": "refused"}.get(node["kind"], ""),
        format_count(node["gap_count"], "gap") if node["gap_count"] else "",
        "the way that counts ends here" if node["id"] == tip and not node["is_tip"] else "",
    ]
    return f"{lane}{mark} {_join(facts)}"


def export_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What was written where; without a file, the report itself, or how to get the bundle."""
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
