"""Text mode: a session, a preview and a batch have a look of their own; the rest is plain text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.outcome import Json
from handrail.surfaces.cli.text import as_aligned, as_cell, as_table, one_line, text_of

_INDENT = "  "
_LEGEND = "o step   # checkpoint   x blocked attempt   * where the run stands"
_MOST_FACTS = 10


def human_text(payload: Json, columns: Sequence[str]) -> str:
    """The whole payload for people, one newline at the end."""
    lines = None
    if isinstance(payload, dict):
        if isinstance(payload.get("preview"), dict):
            lines = _preview(payload["preview"], payload)
        elif isinstance(payload.get("runs"), list) and "session_id" in payload:
            lines = _session(payload)
        elif isinstance(payload.get("summary"), dict) and _is_batch(payload.get("items")):
            lines = _batch(payload)
    if lines is None:
        return text_of(payload, columns)
    return "\n".join(one.rstrip() for one in lines) + "\n"


def _preview(preview: dict[str, Json], payload: dict[str, Json]) -> list[str]:
    """What would change, one line each, and what to add to do it."""
    rows = [
        [change["action"], change["resource"], one_line(change["id"]), _difference(change)]
        for change in preview["changes"]
    ]
    lines = [f"Would {one_line(preview['action'])}:", *(_INDENT + row for row in as_table(rows))]
    for change in preview["changes"]:
        hunks = (change.get("diff") or {}).get("hunks", [])
        lines += [_INDENT + one_line(text) for hunk in hunks for text in hunk.split("\n")]
    if preview["unchanged"]:
        lines.append("Nothing is left to do.")
    rows_below = [
        ("Reach", one_line(preview["blast_radius"])),
        ("Until", one_line(payload.get("expires_at", ""))),
        ("Do it with", f"--confirm {one_line(payload.get('confirm_token', ''))}"),
    ]
    return [*lines, "", *as_aligned(rows_below)]


def _difference(change: dict[str, Json]) -> str:
    """The parts that differ, as `name: before -> after`."""
    before, after = change.get("before"), change.get("after")
    if not isinstance(after, dict):
        return ", ".join(f"{name}: {as_cell(value)}" for name, value in (before or {}).items())
    held = before if isinstance(before, dict) else {}
    parts = [
        f"{one_line(name)}: {as_cell(held[name])} -> {as_cell(value)}"
        if name in held
        else f"{one_line(name)}: {as_cell(value)}"
        for name, value in after.items()
        if held.get(name) != value
    ]
    return ", ".join(parts)


def _is_batch(items: Json) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) and "target" in item for item in items)


def _batch(payload: dict[str, Json]) -> list[str]:
    """One line per target, then the tally."""
    rows = [[_mark(item), one_line(item["target"]), _trouble(item)] for item in payload["items"]]
    rows += [["skipped", one_line(target), ""] for target in payload.get("skipped", [])]
    summary = payload["summary"]
    tally = ", ".join(f"{name} {count}" for name, count in summary.items())
    return [*as_table(rows), "", f"{tally}."]


def _mark(item: dict[str, Json]) -> str:
    return "ok" if item.get("ok") else "failed"


def _trouble(item: dict[str, Json]) -> str:
    error = item.get("error")
    if isinstance(error, dict):
        return f"{error.get('code', '')}: {one_line(error.get('message', ''))}"
    problems = item.get("problems")
    return f"{len(problems)} problems" if isinstance(problems, list) and problems else ""


def _session(session: dict[str, Json]) -> list[str]:
    """The session in a few lines, then each run with its graph."""
    health = session.get("health", {})
    sound = health.get("state", "")
    reason = f" ({one_line(health['reason'])})" if health.get("reason") else ""
    facts = [
        ("Status", one_line(session.get("status", ""))),
        ("Health", one_line(sound) + reason),
        ("Goal", one_line(session.get("goal", ""))),
        ("Branch", one_line(session.get("branch", ""))),
        ("Events", as_cell(session.get("event_count", ""))),
        ("Last", one_line(session.get("last_activity", ""))),
    ]
    lines = [f"Session {one_line(session['session_id'])}", *as_aligned([row for row in facts if row[1]])]
    for run in session["runs"]:
        lines += ["", *_run(run)]
    return [*lines, "", _LEGEND] if session["runs"] else lines


def _run(run: dict[str, Json]) -> list[str]:
    name, workflow_id = one_line(run.get("workflow_name", "")), one_line(run.get("workflow_id", ""))
    lines = [f"Run {one_line(run['id'])}: {name} ({workflow_id}), {one_line(run.get('status', ''))}"]
    lines += [_INDENT + one_line(one) for one in run.get("graph", [])]
    if run.get("nodes_omitted"):
        lines.append(f"{_INDENT}{run['nodes_omitted']} older nodes are not in the list of nodes.")
    preferences = run.get("preferences", {})
    rows = [
        ("Pending", one_line(run.get("pending_step") or "-")),
        ("Mode", ", ".join(one_line(str(value)) for value in preferences.values())),
        ("Forks", as_cell(run.get("fork_count", 0))),
    ]
    lines += [_INDENT + row for row in as_aligned(rows)]
    for gap in run.get("gaps", [])[:_MOST_FACTS]:
        state = "open" if gap.get("is_open") else "settled"
        lines.append(f"{_INDENT}Gap ({one_line(gap['severity'])}, {state}): {one_line(gap['summary'])}")
    for artifact in run.get("artifacts", [])[:_MOST_FACTS]:
        checked = "checked" if artifact.get("is_validated") else "not checked"
        lines.append(
            f"{_INDENT}Artifact {one_line(artifact['kind'])} of {one_line(artifact['step_id'])}, {checked}"
        )
    return lines
