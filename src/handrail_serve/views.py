"""Pages: which address of the Console shows what. A page calls operations, and a pure function draws it.

No page reads the store by itself, so each of its numbers equals the JSON of the same operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from handrail.contract.catalogue import (
    E_CONFIG,
    E_NOT_FOUND,
    FEATURE_DISABLED,
    RUN_NOT_FOUND,
    WORKFLOW_ID_RESERVED,
    WORKFLOW_INVALID,
)
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success, refuse_argument, success_of
from handrail.contract.wording import quote
from handrail.operations.checks.approve_check import MEANING
from handrail.projections.html.elements import Child, Html, element
from handrail.projections.overview import UNDER_WAY
from handrail.views.checks import CheckRow
from handrail.views.comparisons import Comparison
from handrail.views.diffs import CodeDiff
from handrail.views.gaps import GapItem, GapList
from handrail.views.hits import HitRow
from handrail.views.inbox import Inbox, InboxItem, key_of
from handrail.views.nodes import NodeView
from handrail.views.preferences import ShownPreferences
from handrail.views.questions import Question
from handrail.views.runs import RunView
from handrail.views.sessions import SessionList, SessionView
from handrail.views.settings import Context, ShownSettings
from handrail.views.summaries import SessionSummary
from handrail.views.team import (
    AdmittedMachine,
    AuditRow,
    Caller,
    MemberList,
    MemberRow,
    TokenRow,
    WorkspaceRow,
)
from handrail.views.timelines import MomentRow, Timeline
from handrail.views.workflows import (
    BuiltinRow,
    ValidationReport,
    WorkflowDetail,
    WorkflowDrawing,
    WorkflowInspection,
    WorkflowList,
    WorkflowRow,
)
from handrail_serve.exchange import Matcher
from handrail_serve.limits import MOST_BUNDLE_BYTES, MOST_VIEW_BYTES
from handrail_serve.pages.bundles import export_page, import_page
from handrail_serve.pages.catalog import workflow as parts
from handrail_serve.pages.catalog.editor import editor, problems
from handrail_serve.pages.catalog.workflows import builtins_page, workflows_page
from handrail_serve.pages.compare import compare_page
from handrail_serve.pages.gaps import gaps_page
from handrail_serve.pages.inbox import inbox_page
from handrail_serve.pages.items import Card, answer_panel
from handrail_serve.pages.node import node_page
from handrail_serve.pages.parts import SILENCES, Rows, acts, button, cluster, empty, head, page
from handrail_serve.pages.run_rail import MOST_SHOWN
from handrail_serve.pages.session import session_page
from handrail_serve.pages.sessions import sessions_page
from handrail_serve.pages.settings import session_preferences_page, settings_page
from handrail_serve.pages.team import no_team_page, team_page
from handrail_serve.pages.timeline import ZOOMS, timeline_page

# What a page is made from: its row in the table, and the answers of operations
Call: TypeAlias = Callable[[str, dict[str, Json]], Outcome]
"""Runs an operation of the registry as `/api/{operation}` does."""
Query: TypeAlias = Mapping[str, str]
_V = TypeVar("_V")


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the Console shows: the inside of `<main>`, and the title of the window."""

    title: str
    html: Html
    waiting: int | None = None
    """Number of items that wait for a person, if the page knows it."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of page; `*` in its pattern is an open segment."""

    pattern: str
    show: Callable[..., View]
    """Function that builds the view from the operation calls, the query, and the open segments of the
    pattern.
    """


def payload(call: Call, operation: str, params: dict[str, Json]) -> dict[str, Json]:
    """Return the payload of an operation. Raises the Fault that it answered with."""
    return data_of(call(operation, params))


def data_of(outcome: Outcome) -> dict[str, Json]:
    """Return what the command line shows under `data`. Raises the Fault of a failure."""
    data = payload_of(success_of(outcome))
    assert isinstance(data, dict), "pages are drawn from objects"
    return data


def payload_or_none(call: Call, operation: str, params: dict[str, Json]) -> dict[str, Json] | None:
    """Return the same where a page can do without it: None when the operation refuses."""
    outcome = call(operation, params)
    return data_of(outcome) if isinstance(outcome, Success) else None


def read(call: Call, operation: str, params: dict[str, Json], kind: type[_V]) -> _V:
    """Return the payload of an operation as a typed view. Raises the Fault that it answered with."""
    return msgspec.convert(payload(call, operation, params), kind)


def read_or_none(call: Call, operation: str, params: dict[str, Json], kind: type[_V]) -> _V | None:
    """Return the same where a page can do without it: None when the operation refuses."""
    found = payload_or_none(call, operation, params)
    return None if found is None else msgspec.convert(found, kind)


# The pages about sessions: which operations each of them asks


ROWS = 100
"""Items of one view."""
MOMENTS = 200
"""Of one view of the timeline."""
_LONGEST_NUMBER = 12
_SWITCHES = ("needs", "stated", "damaged")
"""States of a filter that are parameters of their own."""


def show_inbox(call: Call, query: Query) -> View:
    """Return what waits for a person, with the first item open."""
    return _show_inbox(call, query, None)


def show_inbox_item(call: Call, query: Query, session_id: str, key: str) -> View:
    """Return the same with this item open."""
    return _show_inbox(call, query, (session_id, key))


def _show_inbox(call: Call, query: Query, asked: tuple[str, str] | None) -> View:
    data = payload(call, "session.inbox", {**_asked(query, "cursor"), "limit": ROWS, "assigned": "me"})
    listed, inbox = _rows(data, InboxItem), _as(data, Inbox)
    if asked is None and not listed.items and not inbox.session_count:
        return msgspec.structs.replace(show_sessions(call, {}), waiting=0)  # how to begin
    fits = [one for one in listed.items if asked is None or (one.session_id, key_of(one)) == asked]
    card = find_card(call, fits[0]) if fits else None
    html = inbox_page(listed, inbox, card, is_open=asked is not None, is_gone=asked is not None and not fits)
    return View(title="Inbox", html=html, waiting=inbox.total - inbox.answered)


def show_sessions(call: Call, query: Query) -> View:
    """Return the sessions that fit; words are also looked for in notes and artifacts."""
    given = _asked(query, "status", "workflow", "project", "branch", "account", "agent", "cursor")
    given |= _asked(query, "sort", "group")
    if "project" in given:
        given["projectName"] = given.pop("project")
    status = given.get("status")
    if status in SILENCES:
        given["silence"] = given.pop("status")
    elif status in _SWITCHES:
        given[str(given.pop("status"))] = True
    given |= {name: f"{query[name]}T{time}Z" for name, time in _DAYS if query.get(name)}
    words = query.get("q", "").strip()
    given |= {"query": words} if words else {}
    data = payload(call, "session.list", {**given, "limit": ROWS, "values": True})
    hits = _rows(payload(call, "session.search", {"query": words}), HitRow) if words else None
    listed = _rows(data, SessionView)
    me = None if listed.items else read_or_none(call, "team.whoami", {}, Caller)
    html = sessions_page(listed, _as(data, SessionList), hits, query, "" if me is None else me.server)
    return View(title=f"{words} in sessions" if words else "Sessions", html=html)


_DAYS = (("since", "00:00:00"), ("until", "23:59:59.999"))


def _rows(data: dict[str, Json], kind: type[_V]) -> Rows[_V]:
    """Return the items of a list as typed views."""
    return msgspec.convert(data, Rows[kind])  # type: ignore[valid-type]


def _as(data: dict[str, Json], kind: type[_V]) -> _V:
    return msgspec.convert(data, kind)


def find_card(call: Call, row: InboxItem) -> Card:
    """Return an item with its report and its question, as far as they can be read."""
    if not row.node_id:
        return Card(row=row)
    node = read_or_none(call, "run.node", {"sessionId": row.session_id, "node": row.node_id}, NodeView)
    question = find_question(call, row) if row.kind in ("person", "blocked") else None
    if row.kind == "blocked" and question and question.asked == "confirm":
        question = None  # the agent corrects its report; nobody is asked
    run = None
    if question and question.asked == "confirm":
        of_run = {"sessionId": row.session_id, "run": row.run_id}
        shown = read_or_none(call, "session.show", of_run, SessionSummary)
        run = next((one for one in shown.runs if one.id == row.run_id), None) if shown else None
    return Card(row=row, node=node, question=question, run=run)


def find_question(call: Call, row: InboxItem) -> Question | None:
    """Return the question for a person at the node where the run waits; None if no person can be asked."""
    asked = {"session": row.session_id, "run": row.run_id, "show": True}
    question = read_or_none(call, "run.answer", asked, Question)
    return question if question and question.is_asked and question.node_id == row.node_id else None


def show_session(call: PageCalls, query: Query, session_id: str) -> View:
    """Return a session at the run that it is about."""
    return _show_run(call, {"sessionId": session_id}, query)


def show_run(call: PageCalls, query: Query, session_id: str, run_id: str) -> View:
    """Return a session at one of its runs."""
    return _show_run(call, {"sessionId": session_id, "run": run_id}, query)


def _show_run(call: PageCalls, asked: dict[str, Json], query: Query) -> View:
    session_id = asked["sessionId"]
    outcome = call("run.graph", asked)
    if isinstance(outcome, Failure) and outcome.kind is RUN_NOT_FOUND and "run" not in asked:
        shown = read(call, "session.show", asked, SessionSummary)
        return View(title=shown.goal or session_id, html=session_page(shown, None))
    graph = _as(data_of(outcome), RunView)
    shown = read(call, "session.show", {"sessionId": session_id, "run": graph.run_id}, SessionSummary)
    cards = [find_card(call, item) for item in graph.waiting]
    files = find_files(call, graph)
    html = session_page(
        shown,
        graph,
        before=_read_number(query, "before"),
        most=call.share_of(MOST_SHOWN),
        cards=cards,
        files=files,
    )
    return View(title=shown.goal or graph.workflow_name, html=html)


def find_files(call: Call, graph: RunView) -> CodeDiff | None:
    """Return the files that a run changed; None if it changed none, or if this server cannot compare them."""
    trees = {node.tree_id for node in graph.nodes if node.is_on_path and node.tree_id}
    outcome = graph.outcome
    if len(trees) < 2:
        return None
    pair = {"before": outcome.first_tree, "after": outcome.last_tree, "session": graph.session_id}
    found = read_or_none(call, "code.diff", pair, CodeDiff)
    return found if found is not None and found.differing else None


def show_node(call: Call, _: Query, session_id: str, _run: str, node_id: str) -> View:
    """Return one node, with the files that differ from its parent's where both are recorded."""
    node = read(call, "run.node", {"sessionId": session_id, "node": node_id}, NodeView)
    files = None
    if node.tree is not None and node.parent is not None:
        pair = {"before": node.parent.id, "after": node_id, "session": session_id}
        files = read_or_none(call, "code.diff", pair, CodeDiff)
    html = node_page(node, person=_person(call, node), files=files)
    return View(title=f"{node.title} in {node.goal or session_id}", html=html)


def _person(call: Call, node: NodeView) -> Child:
    """Return the answers of the step that waits for a person at the end of an open run."""
    pending = node.pending
    if pending is None or not pending.needs_person or not _is_open_end(node):
        return None
    graph = read(call, "run.graph", {"sessionId": node.session_id, "run": node.run_id}, RunView)
    item = next((one for one in graph.waiting if one.kind == "person"), None)
    question = None if item is None else find_question(call, item)
    if item is None or question is None:
        return None
    return answer_panel(Card(row=item, node=node, question=question))


def _is_open_end(node: NodeView) -> bool:
    return node.is_preferred_tip and node.run_status in UNDER_WAY


def show_comparison(call: Call, _: Query, session_id: str, one: str, other: str) -> View:
    """Two nodes of a session."""
    found = read(call, "run.compare", {"sessionId": session_id, "one": one, "other": other}, Comparison)
    files = None
    if found.one.tree_id and found.other.tree_id:
        pair = {"before": one, "after": other, "session": session_id}
        files = read_or_none(call, "code.diff", pair, CodeDiff)
    return View(title=f"Two ways compared in {found.goal or session_id}", html=compare_page(found, files))


def show_timeline(call: Call, query: Query, session_id: str) -> View:
    """Return what happened in a session."""
    before = _read_number(query, "before")
    asked: dict[str, Json] = {"sessionId": session_id, "limit": MOMENTS}
    found = payload(call, "session.timeline", asked | ({} if before is None else {"before": before}))
    shown = read(call, "session.show", {"sessionId": session_id}, SessionSummary)
    zoom = query.get("zoom", "step")
    known = zoom if zoom in dict(ZOOMS) else "step"
    html = timeline_page(shown, _as(found, Timeline), _rows(found, MomentRow).items, known)
    return View(title=f"Timeline of {shown.goal or session_id}", html=html)


def _read_number(query: Query, name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise refuse_argument(f"{quote(text)} is not a number.", name, "is not a number")
    return int(text)


# The pages about workflows, builtins, settings, bundles and a team


_UNUSABLE = (WORKFLOW_INVALID, WORKFLOW_ID_RESERVED)


def _asked(query: Query, *names: str) -> dict[str, Json]:
    return {name: query[name] for name in names if query.get(name)}


def show_gaps(call: Call, query: Query) -> View:
    """Return what is missing, over all sessions."""
    asked = _asked(query, "only", "severity", "workflow", "cursor")
    listed = payload(call, "session.gaps", {**asked, "limit": ROWS})
    return View(title="Gaps", html=gaps_page(_rows(listed, GapItem), _as(listed, GapList), query))


def show_builtins(call: Call, query: Query) -> View:
    """Return what a workflow can use."""
    listed = payload(call, "workflow.builtins", {**_asked(query, "kind", "query", "cursor"), "limit": ROWS})
    return View(title="Builtins", html=builtins_page(_rows(listed, BuiltinRow), query))


def show_workflows(call: Call, query: Query) -> View:
    """Return every workflow, broken files among them."""
    asked = _asked(query, "kind", "query", "cursor", "source")
    listed = payload(call, "workflow.list", {**asked, "limit": ROWS})
    html = workflows_page(_rows(listed, WorkflowRow), _as(listed, WorkflowList), query)
    return View(title="Workflows", html=html)


# One workflow


def show_workflow(call: Call, query: Query, workflow_id: str) -> View:
    """Return one part of one workflow."""
    part = query.get("part", "")
    if query.get("run") and not part:
        pinned = _inspect(call, workflow_id, "pinned", run=query["run"])
        return View(title=pinned.name, html=parts.pinned_page(pinned))
    outcome = call("workflow.inspect", {"workflowId": workflow_id})
    if isinstance(outcome, Failure) and outcome.kind in _UNUSABLE:
        return View(title=workflow_id, html=_broken(call, workflow_id, part, outcome))
    found = _as(data_of(outcome), WorkflowInspection)
    workflow = found.workflow
    drift = _drift(call, workflow, found.project)
    shown = _part(call, workflow, drift, part, query)
    return View(title=workflow.name, html=parts.workflow_frame(workflow, drift, part, shown))


def _drift(call: Call, workflow: WorkflowDetail, project: str) -> parts.Drift:
    asked: dict[str, Json] = {"workflow": workflow.id, "limit": ROWS}
    listed = _rows(payload(call, "session.list", asked), SessionView)
    return parts.Drift(
        runs=listed.items,
        has_more=listed.has_more,
        workflow_hash=workflow.workflow_hash,
        project=project.rstrip("/").rpartition("/")[2] if workflow.source_kind == "project" else "",
    )


def _part(call: Call, workflow: WorkflowDetail, drift: parts.Drift, part: str, query: Query) -> Html:
    workflow_id = workflow.id
    match part:
        case "":
            return parts.overview(workflow, _inspect(call, workflow_id, "steps"))
        case "graph":
            return parts.graph(*_draw(call, workflow_id))
        case "source":
            return parts.source(_inspect(call, workflow_id, "source"))
        case "compiled":
            return parts.compiled(_inspect(call, workflow_id, "compiled"))
        case "runs":
            return parts.runs(workflow, drift)
        case "diff":
            return parts.difference(_inspect(call, workflow_id, "diff", run=query.get("run", "")))
        case "problems":
            return problems(_validate(call, workflow_id))
        case "edit":
            source, report = _inspect(call, workflow_id, "source"), _validate(call, workflow_id)
            return editor(source, report, _draw(call, workflow_id))
        case _:
            raise Fault(
                E_NOT_FOUND,
                f"A workflow has no part {quote(part)}.",
                hint="Go back to its overview.",
            )


def _broken(call: Call, asked: str, part: str, failure: Failure) -> Html:
    """Return the page of a workflow file that cannot be used. Its address is the name of the file, whatever
    id it declares.
    """
    workflow_id = str(failure.details.get("workflow_id", asked))
    source = _inspect(call, workflow_id, "source")
    report = _validate(call, workflow_id)
    match part:
        case "source":
            shown = parts.source(source)
        case "edit":
            shown = editor(source, report, ())
        case _:
            shown = problems(report)
    return parts.broken_frame(workflow_id, failure.message, part, shown)


def _draw(call: Call, workflow_id: str) -> tuple[WorkflowDrawing, WorkflowDrawing]:
    """Return the picture and the outline: the same graph that the command line draws."""
    asked: dict[str, Json] = {"workflowId": workflow_id}
    picture = read(call, "workflow.graph", {**asked, "as": "svg"}, WorkflowDrawing)
    return picture, read(call, "workflow.graph", {**asked, "as": "text"}, WorkflowDrawing)


def _inspect(call: Call, workflow_id: str, part: str, **more: str) -> WorkflowDetail:
    asked: dict[str, Json] = {"workflowId": workflow_id, "part": part, **more}
    return read(call, "workflow.inspect", asked, WorkflowInspection).workflow


def _validate(call: Call, workflow_id: str) -> ValidationReport:
    asked: dict[str, Json] = {"workflowIds": [workflow_id], "reportOnly": True}
    return read(call, "workflow.validate", asked, ValidationReport)


# Import, export, settings


def show_import(_: Call, __: Query) -> View:
    """Return the page to import a bundle."""
    return View(title="Import", html=import_page(MOST_BUNDLE_BYTES))


def show_export(call: Call, _: Query, session_id: str) -> View:
    """Return the forms in which a session can be taken along."""
    shown = read(call, "session.show", {"sessionId": session_id}, SessionSummary)
    return View(title=f"Export {shown.goal or session_id}", html=export_page(shown))


def show_settings(call: Call, _: Query) -> View:
    """Return every setting, the preferences of new sessions, and the checks that Handrail may run itself."""
    declared = payload_or_none(call, "check.list", {})
    html = settings_page(
        read(call, "self.settings", {}, ShownSettings),
        read(call, "preferences.show", {}, ShownPreferences),
        read(call, "self.context", {}, Context),
        () if declared is None else _rows(declared, CheckRow).items,
        MEANING,
    )
    return View(title="Settings", html=html)


def show_preferences(call: Call, _: Query, session_id: str) -> View:
    """Return the preferences of one session."""
    shown = read(call, "session.show", {"sessionId": session_id}, SessionSummary)
    held = read(call, "preferences.show", {"session": session_id}, ShownPreferences)
    return View(title="Preferences", html=session_preferences_page(held, shown.goal))


# The page of a team


def show_team(call: Call, _: Query) -> View:
    """Members, tokens and audit; or that there is no team here."""
    found = call("team.members", {})
    if isinstance(found, Failure) and found.kind in (FEATURE_DISABLED, E_CONFIG):
        return View(title="Team", html=no_team_page())
    data, audit = data_of(found), payload_or_none(call, "team.audit", {"limit": 50})
    about = _as(data, MemberList)
    html = team_page(
        about,
        _rows(data, MemberRow).items,
        _rows(payload(call, "team.tokens", {}), TokenRow).items,
        None if audit is None else _rows(audit, AuditRow).items,
        _rows(payload(call, "team.workspaces", {}), WorkspaceRow).items,
    )
    return View(title=about.workspace, html=html)


# The page on which a person lets a machine in that runs `handrail login`


def show_machine(call: Call, _: Query, code: str) -> View:
    """Return which machine shows this code, and the button that lets it in."""
    asking = read(call, "team.admit", {"code": code, "show": True}, AdmittedMachine)
    return View(title="Let a machine in", html=_draw_machines(asking.machine, code))


def _draw_machines(machine: str, code: str) -> Html:
    text = f"The machine {machine} shows the code {code} and asks to work as an agent of yours."
    means = (
        "Let it in only if you started this yourself just now. Its agent then works in this workspace "
        "under your name; it never confirms, invites or deletes, and you end its token at any time."
    )
    form = element(
        "form",
        element("p", means, class_="small"),
        cluster(button("Let it in", "main")),
        element("p", id="let-in"),
        class_="stack tight",
        **acts("team.admit", {"code": code}, answer="#let-in", answer_field="next"),
    )
    return page(head("Let a machine in"), element("p", text), form)


PAGES = (
    Page(pattern="/inbox", show=show_inbox),
    Page(pattern="/inbox/*/*", show=show_inbox_item),
    Page(pattern="/sessions", show=show_sessions),
    Page(pattern="/sessions/*", show=show_session),
    Page(pattern="/sessions/*/timeline", show=show_timeline),
    Page(pattern="/sessions/*/runs/*", show=show_run),
    Page(pattern="/sessions/*/runs/*/nodes/*", show=show_node),
    Page(pattern="/sessions/*/compare/*/*", show=show_comparison),
    Page(pattern="/gaps", show=show_gaps),
    Page(pattern="/builtins", show=show_builtins),
    Page(pattern="/workflows", show=show_workflows),
    Page(pattern="/workflows/*", show=show_workflow),
    Page(pattern="/import", show=show_import),
    Page(pattern="/sessions/*/export", show=show_export),
    Page(pattern="/sessions/*/preferences", show=show_preferences),
    Page(pattern="/settings", show=show_settings),
    Page(pattern="/team", show=show_team),
    Page(pattern="/machines/*", show=show_machine),
)
MAIN_PAGES = {
    "/inbox": "session.inbox",
    "/sessions": "session.list",
    "/workflows": "workflow.list",
    "/gaps": "session.gaps",
    "/builtins": "workflow.builtins",
    "/import": "session.import",
    "/settings": "self.settings",
}
"""The pages in the navigation bar, each with the operation that it requires."""
_SHARES = (1, 4, 16)
"""A list that is too large is shown with a part of its rows; its link to the next page leads to the rest."""


def render_view(call: Call, path: str, query: Query) -> View:
    """Return the page at this path, within its limit.

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
        asked = PageCalls(call, share)
        view = row.show(asked, query, *segments)
        if _size(view.html) <= MOST_VIEW_BYTES:
            return view
        if not asked.is_divided:
            break
    return View(title=view.title, html=_describe_size(view, asked.operations))


class PageCalls:
    """The operation calls of a page. If the page is too large, it is built again with a share of its rows."""

    def __init__(self, call: Call, share: int) -> None:
        self._call = call
        self._share = share
        self.is_divided = False
        self.operations: list[str] = []

    def __call__(self, operation: str, params: dict[str, Json]) -> Outcome:
        self.operations.append(operation)
        limit = params.get("limit")
        if isinstance(limit, int):
            params = {**params, "limit": self.share_of(limit)}
        return self._call(operation, params)

    def share_of(self, most: int) -> int:
        """Return how many of at most so many rows the page shows."""
        self.is_divided = True
        return max(1, most // self._share)


def _size(html: Html) -> int:
    return len(html.markup.encode("utf-8", "replace"))


def _describe_size(view: View, operations: list[str]) -> Html:
    """Return the text that replaces a page that is too large: its size, and where all of it can be read."""
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
