"""The pages about sessions: which operations each of them asks."""

from __future__ import annotations

from handrail.contract.catalogue import RUN_NOT_FOUND, VALIDATION_ERROR
from handrail.contract.outcome import Failure, Fault, Json
from handrail.contract.wording import quote
from handrail.projections.html.elements import Child, join_html
from handrail.projections.overview import UNDER_WAY
from handrail_serve.pages.compare import compare_page
from handrail_serve.pages.forms import close_form, rename_form
from handrail_serve.pages.needs import SHOWN_NEEDS, Card, door_panel
from handrail_serve.pages.node import node_page
from handrail_serve.pages.session import session_page
from handrail_serve.pages.sessions import sessions_page
from handrail_serve.pages.timeline import ZOOMS, timeline_page
from handrail_serve.view_parts import (
    RENAME,
    SETTLE,
    Call,
    Page,
    Query,
    View,
    is_served,
    payload,
    payload_or_none,
)

ROWS = 100
"""Sessions of one view, and needs."""
MOMENTS = 200
"""Of one view of the timeline."""
_LONGEST_NUMBER = 12
SILENT = ("idle", "stalled")


def show_sessions(call: Call, _: tuple[str, ...], query: Query) -> View:
    """What needs a person, then the sessions; words are also looked for in notes and artifacts."""
    names = ("status", "workflow", "project", "branch", "account", "agent", "cursor")
    given = {name: query[name] for name in names if query.get(name)}
    if "project" in given:
        given["projectName"] = given.pop("project")
    if given.get("status") in SILENT:
        given["silence"] = given.pop("status")
    words = query.get("q", "").strip()
    asked: dict[str, Json] = {**given, "limit": ROWS, **({"query": words} if words else {})}
    listed = payload(call, "session.list", asked)
    needs = payload(call, "session.needs", {"limit": ROWS, "whose": "me"})
    hits = payload(call, "session.search", {"query": words}) if words else None
    cards = [Card(row=row, can_settle=is_served(SETTLE)) for row in needs["items"]]
    if not any(name in query for name in (*names, "q")):
        cards[:SHOWN_NEEDS] = [find_card(call, row) for row in needs["items"][:SHOWN_NEEDS]]
    me = None if listed["items"] else payload_or_none(call, "team.whoami", {})
    html = sessions_page(listed, needs, hits, query, cards, "" if me is None else me["server"])
    title = f"{words} in sessions" if words else "Sessions"
    return View(title=title, html=html, waiting=needs["total"] - needs["answered"])


def find_card(call: Call, row: dict[str, Json]) -> Card:
    """A need with its report and its question; those that cannot be read are left out."""
    if not row["node_id"]:
        return Card(row=row)
    node = payload_or_none(call, "run.node", {"sessionId": row["session_id"], "node": row["node_id"]})
    question = find_question(call, row) if row["kind"] in ("person", "blocked") else None
    if row["kind"] == "blocked" and question and question.get("asked", "confirm") == "confirm":
        question = None  # the agent corrects its report; nobody is asked
    run = None
    if question and question["asked"] == "confirm":
        of_run = {"sessionId": row["session_id"], "run": row["run_id"]}
        shown = payload_or_none(call, "session.show", of_run) or {"runs": []}
        run = next((one for one in shown["runs"] if one["id"] == row["run_id"]), None)
    return Card(row=row, node=node, question=question, run=run, can_settle=is_served(SETTLE))


def find_question(call: Call, row: dict[str, Json]) -> dict[str, Json] | None:
    """What a person is asked where the run waits; None where nobody can be asked."""
    asked = {"session": row["session_id"], "run": row["run_id"], "show": True}
    question = payload_or_none(call, "run.confirm", asked)
    is_asked = question is not None and question["is_asked"] and question["node_id"] == row["node_id"]
    return question if is_asked else None


def show_session(call: Call, segments: tuple[str, ...], query: Query) -> View:
    """A session at the run that it is about."""
    (session_id,) = segments
    return _show_run(call, {"sessionId": session_id}, query)


def show_run(call: Call, segments: tuple[str, ...], query: Query) -> View:
    """A session at one of its runs."""
    session_id, run_id = segments
    return _show_run(call, {"sessionId": session_id, "run": run_id}, query)


def _show_run(call: Call, asked: dict[str, Json], query: Query) -> View:
    session_id = asked["sessionId"]
    outcome = call("run.graph", asked)
    if isinstance(outcome, Failure) and outcome.kind is RUN_NOT_FOUND and "run" not in asked:
        shown = payload(call, "session.show", asked)
        return View(title=shown["goal"] or session_id, html=session_page(shown, None, actions=_rename(shown)))
    graph = payload(lambda *_: outcome, "run.graph", asked)
    shown = payload(call, "session.show", {"sessionId": session_id, "run": graph["run_id"]})
    is_sound = not shown["health"]["banner"]
    html = session_page(
        shown,
        graph,
        before=_read_number(query, "before"),
        actions=join_html(
            _rename(shown),
            close_form(graph["run_id"]) if is_sound and graph["status"] in UNDER_WAY else None,
        ),
        resume=graph["resume_prompt"] if is_sound else "",
        cards=[find_card(call, {**_whose(shown, graph), **need}) for need in graph["waiting"]],
        can_settle=is_sound and is_served(SETTLE),
    )
    return View(title=shown["goal"] or graph["workflow_name"], html=html)


def _rename(shown: dict[str, Json]) -> Child:
    is_sound = not shown["health"]["banner"]
    return rename_form(shown["session_id"], shown["goal"]) if is_sound and is_served(RENAME) else None


def _whose(shown: dict[str, Json], graph: dict[str, Json]) -> dict[str, Json]:
    """What the card of a need says beside the need itself, on the page of its own session."""
    own = {name: shown[name] for name in ("session_id", "goal", "project", "branch")}
    of_run = {
        name: graph[name]
        for name in ("run_id", "workflow_id", "workflow_name", "agent", "account", "machine")
    }
    return {**own, **of_run, "silence": "", "command": ""}


def show_node(call: Call, segments: tuple[str, ...], _: Query) -> View:
    """One node, with the files that differ from its parent's where both are recorded."""
    session_id, _run, node_id = segments
    asked = {"sessionId": session_id, "node": node_id}
    node = payload(call, "run.node", asked)
    files = None
    if node["tree"] is not None and node["parent"] is not None:
        pair = {"before": node["parent"]["id"], "after": node_id, "session": session_id}
        files = payload_or_none(call, "code.diff", pair)
    html = node_page(node, person=_person(call, node), files=files)
    return View(title=f"{node['title']} in {node['goal'] or session_id}", html=html)


def _person(call: Call, node: dict[str, Json]) -> Child:
    """The door for the step that waits for a person at the end of an open run."""
    pending = node["pending"]
    if pending is None or not pending["needs_person"] or not _is_open_end(node):
        return None
    row = {
        **{name: node[name] for name in ("session_id", "run_id", "node_id", "goal")},
        "kind": "person",
        "title": pending["title"],
        "reply": node["resume_prompt"],
    }
    question = find_question(call, row)
    if question is None:
        return None
    row["is_answered"] = question["answer"] is not None
    return door_panel(Card(row=row, node=node, question=question))


def _is_open_end(node: dict[str, Json]) -> bool:
    return bool(node["is_preferred_tip"]) and node["run_status"] in UNDER_WAY


def show_comparison(call: Call, segments: tuple[str, ...], _: Query) -> View:
    """Two nodes of a session."""
    session_id, one, other = segments
    found = payload(call, "run.compare", {"sessionId": session_id, "one": one, "other": other})
    files = None
    if found["one"]["tree_id"] and found["other"]["tree_id"]:
        pair = {"before": one, "after": other, "session": session_id}
        files = payload_or_none(call, "code.diff", pair)
    return View(title=f"Two ways compared in {found['goal'] or session_id}", html=compare_page(found, files))


def show_timeline(call: Call, segments: tuple[str, ...], query: Query) -> View:
    """What happened in a session."""
    (session_id,) = segments
    before = _read_number(query, "before")
    asked: dict[str, Json] = {"sessionId": session_id, "limit": MOMENTS}
    found = payload(call, "session.timeline", asked | ({} if before is None else {"before": before}))
    shown = payload(call, "session.show", {"sessionId": session_id})
    zoom = query.get("zoom", "step")
    known = zoom if zoom in dict(ZOOMS) else "step"
    html = timeline_page(shown, found, known)
    return View(title=f"Timeline of {shown['goal'] or session_id}", html=html)


def _read_number(query: Query, name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise Fault(
            VALIDATION_ERROR,
            f"{quote(text)} is not a number.",
            details={"problems": [{"param": name, "problem": "is not a number"}]},
        )
    return int(text)


SESSION_PAGES: tuple[Page, ...] = (
    Page(pattern="/sessions", show=show_sessions),
    Page(pattern="/sessions/*", show=show_session),
    Page(pattern="/sessions/*/timeline", show=show_timeline),
    Page(pattern="/sessions/*/runs/*", show=show_run),
    Page(pattern="/sessions/*/runs/*/nodes/*", show=show_node),
    Page(pattern="/sessions/*/compare/*/*", show=show_comparison),
)
