"""The pages beside sessions: gaps, workflows, builtins, import and export, settings, machines, the team."""

from __future__ import annotations

from handrail.contract.catalogue import (
    E_CONFIG,
    E_NOT_FOUND,
    FEATURE_DISABLED,
    WORKFLOW_ID_RESERVED,
    WORKFLOW_INVALID,
)
from handrail.contract.outcome import Failure, Fault, Json
from handrail.contract.wording import quote
from handrail.operations.checks.approve_check import MEANING
from handrail.projections.html.elements import Html, element
from handrail_serve.limits import MOST_BUNDLE_BYTES
from handrail_serve.pages.catalog import workflow as parts
from handrail_serve.pages.catalog.builtins import builtins_page
from handrail_serve.pages.catalog.editor import editor, problems
from handrail_serve.pages.catalog.workflows import workflows_page
from handrail_serve.pages.gaps import gaps_page
from handrail_serve.pages.moving import export_page, import_page
from handrail_serve.pages.parts import acts, button, cluster, head, page
from handrail_serve.pages.settings import session_preferences_page, settings_page
from handrail_serve.pages.team import no_team_page, team_page
from handrail_serve.view_parts import SETTLE, Call, Page, Query, View, is_served, payload, payload_or_none

ROWS = 100
"""Items of one view."""
_UNUSABLE = (WORKFLOW_INVALID, WORKFLOW_ID_RESERVED)


def _asked(query: Query, *names: str) -> dict[str, Json]:
    return {name: query[name] for name in names if query.get(name)}


def show_gaps(call: Call, _: tuple[str, ...], query: Query) -> View:
    """What is missing, over all sessions."""
    asked = _asked(query, "only", "severity", "workflow", "cursor")
    listed = payload(call, "session.gaps", {**asked, "limit": ROWS})
    return View(title="Gaps", html=gaps_page(listed, query, can_settle=is_served(SETTLE)))


def show_builtins(call: Call, _: tuple[str, ...], query: Query) -> View:
    """What a workflow can use."""
    listed = payload(call, "workflow.builtins", {**_asked(query, "kind", "query", "cursor"), "limit": ROWS})
    return View(title="Builtins", html=builtins_page(listed, query))


def show_workflows(call: Call, _: tuple[str, ...], query: Query) -> View:
    """Every workflow, broken files among them."""
    asked = _asked(query, "kind", "query", "cursor", "source")
    listed = payload(call, "workflow.list", {**asked, "limit": ROWS})
    return View(title="Workflows", html=workflows_page(listed, query))


# One workflow


def show_workflow(call: Call, segments: tuple[str, ...], query: Query) -> View:
    """One part of one workflow."""
    (workflow_id,) = segments
    part = query.get("part", "")
    if query.get("run") and not part:
        pinned = _inspect(call, workflow_id, "pinned", run=query["run"])
        return View(title=pinned["name"], html=parts.pinned_page(pinned))
    outcome = call("workflow.inspect", {"workflowId": workflow_id})
    if isinstance(outcome, Failure) and outcome.kind in _UNUSABLE:
        return View(title=workflow_id, html=_broken(call, workflow_id, part, outcome))
    found = payload(lambda *_: outcome, "workflow.inspect", {})
    workflow = found["workflow"]
    drift = _drift(call, workflow, found["project"])
    shown = _part(call, workflow, drift, part, query)
    return View(title=workflow["name"], html=parts.workflow_frame(workflow, drift, part, shown))


def _drift(call: Call, workflow: dict[str, Json], project: str) -> parts.Drift:
    listed = payload(call, "session.list", {"workflow": workflow["id"], "limit": ROWS})
    return parts.Drift(
        runs=listed["items"],
        has_more=bool(listed.get("has_more")),
        workflow_hash=workflow["workflowHash"],
        project=project.rstrip("/").rpartition("/")[2] if workflow["sourceKind"] == "project" else "",
    )


def _part(call: Call, workflow: dict[str, Json], drift: parts.Drift, part: str, query: Query) -> Html:
    workflow_id = workflow["id"]
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
    """A file that cannot be used goes by the name of the file, whatever id it gives itself."""
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


def _draw(call: Call, workflow_id: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """The picture and the outline: the same graph that the command line draws."""
    asked: dict[str, Json] = {"workflowId": workflow_id}
    picture = payload(call, "workflow.graph", {**asked, "as": "svg"})
    return picture, payload(call, "workflow.graph", {**asked, "as": "text"})


def _inspect(call: Call, workflow_id: str, part: str, **more: str) -> dict[str, Json]:
    asked: dict[str, Json] = {"workflowId": workflow_id, "part": part, **more}
    found: dict[str, Json] = payload(call, "workflow.inspect", asked)["workflow"]
    return found


def _validate(call: Call, workflow_id: str) -> dict[str, Json]:
    return payload(call, "workflow.validate", {"workflowIds": [workflow_id], "reportOnly": True})


# Import, export, settings


def show_import(_: Call, __: tuple[str, ...], ___: Query) -> View:
    """Where a bundle is dropped."""
    return View(title="Import", html=import_page(MOST_BUNDLE_BYTES))


def show_export(call: Call, segments: tuple[str, ...], _: Query) -> View:
    """The forms in which a session can be taken along."""
    (session_id,) = segments
    shown = payload(call, "session.show", {"sessionId": session_id})
    return View(title=f"Export {shown['goal'] or session_id}", html=export_page(shown))


def show_settings(call: Call, _: tuple[str, ...], __: Query) -> View:
    """Every setting, the preferences of new sessions, and the checks that Handrail may run itself."""
    declared = payload_or_none(call, "check.list", {})
    html = settings_page(
        payload(call, "self.settings", {}),
        payload(call, "preferences.show", {}),
        payload(call, "self.context", {}),
        [] if declared is None else declared["items"],
        MEANING,
    )
    return View(title="Settings", html=html)


def show_preferences(call: Call, segments: tuple[str, ...], _: Query) -> View:
    """The preferences of one session."""
    (session_id,) = segments
    shown = payload(call, "session.show", {"sessionId": session_id})
    held = payload(call, "preferences.show", {"session": session_id})
    return View(title="Preferences", html=session_preferences_page(held, shown["goal"]))


CATALOG_PAGES: tuple[Page, ...] = (
    Page(pattern="/gaps", show=show_gaps),
    Page(pattern="/builtins", show=show_builtins),
    Page(pattern="/workflows", show=show_workflows),
    Page(pattern="/workflows/*", show=show_workflow),
    Page(pattern="/import", show=show_import),
    Page(pattern="/sessions/*/export", show=show_export),
    Page(pattern="/sessions/*/preferences", show=show_preferences),
    Page(pattern="/settings", show=show_settings),
)


# The page of a team


def show_team(call: Call, _: tuple[str, ...], query: Query) -> View:
    """Members, tokens and audit; or that there is no team here."""
    del query
    found = call("team.members", {})
    if isinstance(found, Failure) and found.kind in (FEATURE_DISABLED, E_CONFIG):
        return View(title="Team", html=no_team_page())
    members = payload(lambda *_: found, "team.members", {})
    tokens = payload(call, "team.tokens", {})
    audit = payload_or_none(call, "team.audit", {"limit": 50})
    workspaces = payload(call, "team.workspaces", {})
    return View(title=members["workspace"], html=team_page(members, tokens, audit, workspaces))


TEAM_PAGES: tuple[Page, ...] = (Page(pattern="/team", show=show_team),)


# The page on which a person lets a machine in that runs `handrail login`


def show_machine(call: Call, segments: tuple[str, ...], _: Query) -> View:
    """Which machine shows this code, and the button that lets it in."""
    (code,) = segments
    asking = payload(call, "team.admit", {"code": code, "show": True})
    return View(title="Let a machine in", html=_draw_machines(str(asking["machine"]), code))


def _draw_machines(machine: str, code: str) -> Html:
    told = f"The machine {machine} shows the code {code} and asks to work as an agent of yours."
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
    return page(head("Let a machine in"), element("p", told), form)


MACHINE_PAGES: tuple[Page, ...] = (Page(pattern="/machines/*", show=show_machine),)
