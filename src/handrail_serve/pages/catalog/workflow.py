"""One workflow: what it asks, its text, what is executed, and which runs follow another text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Json
from handrail.projections.html.elements import Child, Html, element, join_html
from handrail.projections.overview import UNDER_WAY
from handrail.views.sessions import SessionView
from handrail.views.workflows import (
    InputOutline,
    SourceChange,
    StepOutline,
    WorkflowDetail,
    WorkflowDrawing,
)
from handrail_serve.pages.parts import (
    add_query,
    badge,
    cluster,
    command_line,
    copy_button,
    count,
    cut,
    drawing,
    empty,
    facts,
    folded,
    format_json,
    head,
    meta,
    moment,
    mono,
    notice,
    page,
    panel,
    prose,
    run_path,
    section,
    soft,
    spell_pointer,
    split,
    status_badge,
    table,
    tabs,
    under,
    workflow_path,
)

PARTS = (
    ("", "Overview"),
    ("graph", "Graph"),
    ("source", "Source"),
    ("compiled", "Compiled"),
    ("runs", "Runs"),
    ("problems", "Problems"),
    ("edit", "Edit"),
)
SHOWN_CHARACTERS = 60_000
"""Of a source or a compiled workflow; the rest is on the command line."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a workflow, and which of them follow another text than the files have now."""

    runs: Sequence[SessionView]
    has_more: bool
    workflow_hash: str
    """Of the workflow as it is now."""
    project: str = ""
    """Where the workflow belongs to one: its name; in another project the id means another file."""

    def is_comparable(self, run: SessionView) -> bool:
        return bool(self.workflow_hash) and self.project in ("", run.project)

    def differs(self, run: SessionView) -> bool:
        return self.is_comparable(run) and run.workflow_hash != self.workflow_hash

    @property
    def open_and_other(self) -> list[SessionView]:
        return [run for run in self.runs if run.status in UNDER_WAY and self.differs(run)]


def workflow_frame(workflow: WorkflowDetail, drift: Drift | None, part: str, *children: Child) -> Html:
    """What every part of a workflow's page has around it. `workflow` is of workflow.inspect."""
    crumbs = (("Workflows", "/workflows"),)
    return page(
        head(
            workflow.name,
            meta(
                mono(workflow.id),
                workflow.kind,
                f"from {workflow.source_kind}",
                f"version {workflow.version}" if workflow.version else "",
                count(workflow.step_count, "step") if workflow.step_count else "",
            ),
            crumbs=crumbs,
        ),
        _drift_notice(workflow, drift),
        _tabs(workflow.id, part),
        *children,
        live="*" if part == "runs" else "",
    )


class PinnedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a compiled workflow, or a loop with its steps."""

    id: str
    title: str = ""
    prompt: Json = ""
    body: tuple[PinnedPart, ...] = ()


def pinned_page(workflow: WorkflowDetail) -> Html:
    """The text that one run follows, from whichever project. `workflow` is of part pinned."""
    return page(
        head(
            workflow.name,
            meta(workflow.kind, f"from {workflow.source_kind}", count(workflow.step_count, "step")),
            crumbs=(("Workflows", "/workflows"),),
        ),
        notice(
            "",
            element("p", "This is the text that the run follows, as it was when the run began. "),
            element("p", element("a", "The workflow as it is now", href=workflow_path(workflow.id))),
        ),
        panel("What it is for", element("p", workflow.description, dir="auto")),
        *(_pinned_part(part) for part in msgspec.convert(workflow.compiled["steps"], tuple[PinnedPart, ...])),
    )


def _pinned_part(part: PinnedPart) -> Html:
    """A step with its prompt, or a loop with its steps."""
    if part.body:
        return folded(f"Repeated: {part.id}", *(_pinned_part(one) for one in part.body), is_open=True)
    prompt = part.prompt
    return folded(
        part.title or part.id,
        prose(prompt) if isinstance(prompt, str) else None,
    )


def broken_frame(workflow_id: str, message: str, part: str, *children: Child) -> Html:
    """The same for a file that cannot be used."""
    return page(
        head(workflow_id, crumbs=(("Workflows", "/workflows"),), beside=badge("broken", "bad", "blocked")),
        notice("bad", element("p", message)),
        _tabs(workflow_id, part or "problems", only=("problems", "source", "edit")),
        *children,
    )


def _tabs(workflow_id: str, part: str, only: Sequence[str] = ()) -> Html:
    shown = [(name, word) for name, word in PARTS if not only or name in only]
    links = ((word, workflow_path(workflow_id, name), name == part) for name, word in shown)
    return tabs("Parts of the workflow", links)


def _drift_notice(workflow: WorkflowDetail, drift: Drift | None) -> Child:
    if drift is None or not drift.open_and_other:
        return None
    others = drift.open_and_other
    open_runs = count(len(others), "open run follows", "open runs follow")
    return notice(
        "warn",
        element("p", element("strong", "Drift: "), f"{open_runs} another text than the files have now. "),
        element(
            "p",
            "A run keeps the workflow that it began with. ",
            element("a", "See what differs", href=workflow_path(workflow.id, "runs")),
        ),
    )


# Overview


def overview(workflow: WorkflowDetail, steps: WorkflowDetail) -> Html:
    """`workflow` is of part summary, `steps` of part steps."""
    held = workflow.recommended
    recommended = {"autonomy": held.autonomy, "riskPolicy": held.risk_policy}
    known: list[tuple[str, Child]] = [
        ("Hash", mono(workflow.workflow_hash)),
        ("Suggested id", workflow.suggested_id),
        ("Capabilities", ", ".join(f"{k} ({v})" for k, v in workflow.capabilities.items())),
        ("Recommended", ", ".join(f"{k}: {v}" for k, v in recommended.items() if v)),
    ]
    start = f"Use Handrail: start the workflow {workflow.id} and follow it step by step. The goal is: "
    return split(
        element(
            "div",
            panel("What it is for", element("p", workflow.description, dir="auto")),
            _inputs(workflow.inputs, workflow.inputs_omitted),
            _steps(steps),
            class_="stack",
        ),
        panel("Facts", facts(known)),
        panel(
            "Start it",
            soft("Say to your agent:"),
            element("p", start, "…"),
            copy_button(start, "Copy"),
            class_="stack tight",
        ),
        label="About this workflow",
    )


def _inputs(inputs: Sequence[InputOutline], omitted: int) -> Child:
    if not inputs:
        return None
    rows = [
        element(
            "tr",
            element("th", mono(one.name), scope="row"),
            element("td", str(one.type)),
            element("td", "yes" if one.required else "no"),
            element("td", one.description, dir="auto"),
        )
        for one in inputs
    ]
    return section(
        "Inputs",
        table(("Input", "Type", "Needed", "What"), rows, "Inputs"),
        element("p", f"{count(omitted, 'more input')}: the compiled form has all.") if omitted else None,
    )


def _steps(steps: WorkflowDetail) -> Html:
    rows = [_step(number, one) for number, one in enumerate(steps.steps, 1)]
    omitted = steps.steps_omitted
    return section(
        "Steps",
        element("ol", *rows, class_="rows two"),
        element("p", f"{count(omitted, 'more step')}: the compiled form has all.") if omitted else None,
    )


def _step(number: int, one: StepOutline) -> Html:
    words = [
        f"loop, at most {one.max_iterations} times" if one.max_iterations else "",
        f"in loop {one.loop}" if one.loop else "",
        f"when {one.when}" if one.when else "",
        f"contract {one.contract}" if one.contract else "",
        f"check {one.check}" if one.check else "",
        f"options {', '.join(one.options)}" if one.options else "",
    ]
    asks = one.require_confirmation
    return element(
        "li",
        element(
            "div",
            element("span", f"{number}. ", one.title or one.id, dir="auto"),
            under(*(element("span", word) for word in words if word)),
        ),
        element(
            "span",
            badge("asks a person" if asks is True else f"asks a person when {asks}", "busy wrap", "person")
            if asks
            else None,
            badge(one.type) if one.type != "step" else None,
            class_="aside cluster",
        ),
    )


# Texts


def source(workflow: WorkflowDetail) -> Html:
    """The text of the file. `workflow` is of part source."""
    return panel(
        workflow.source_ref,
        cluster(
            copy_button(workflow.source, "Copy the source"),
            element("span", mono(workflow.source_digest), class_="soft small"),
        ),
        _long_text(workflow.source, f"handrail workflow inspect {workflow.id} --part source --format raw"),
        class_="stack tight",
    )


def compiled(workflow: WorkflowDetail) -> Html:
    """What is executed. `workflow` is of part compiled."""
    text = format_json(workflow.compiled)
    return panel(
        "Compiled",
        element(
            "p",
            "What a run is pinned to: templates, features and refs are in their places. ",
            element("span", mono(workflow.workflow_hash), class_="soft small"),
        ),
        _long_text(text, f"handrail workflow inspect {workflow.id} --part compiled --compact"),
        class_="stack tight",
    )


def _long_text(text: str, command: str) -> Html:
    shown = element("pre", text[:SHOWN_CHARACTERS], class_="code wide", tabindex=0)
    if len(text) <= SHOWN_CHARACTERS:
        return shown
    return join_html(shown, element("p", "This is its beginning; the whole of it:"), command_line(command))


def graph(picture: WorkflowDrawing, as_text: WorkflowDrawing) -> Html:
    """`picture` is of workflow.graph as svg, `as_text` the same as text."""
    summary = element("summary", "The same as text")
    drawn = drawing(str(picture.drawing), str(as_text.drawing), summary)
    return panel("Graph", *drawn, class_="stack tight")


# Runs and what differs


def runs(workflow: WorkflowDetail, drift: Drift) -> Html:
    """Every session at hand with this workflow, and whether it follows the text of now."""
    if not drift.runs:
        return empty("No run of this workflow", element("p", "Runs that begin show up here."))
    rows = [
        element(
            "tr",
            element(
                "th",
                element("a", cut(run.goal or run.id), href=run_path(run.id, run.run_id)),
                scope="row",
                dir="auto",
            ),
            element("td", status_badge(run.status)),
            element("td", _text_of_run(workflow, drift, run)),
            element("td", run.project, dir="auto"),
            element("td", moment(run.last_activity)),
            data_key=run.run_id,
        )
        for run in drift.runs
    ]
    more = element("p", "There are more; the command lists them:") if drift.has_more else None
    return join_html(
        table(("Run", "Status", "Text", "Project", "Last change"), rows, "Runs"),
        more,
        command_line(f"handrail session list --workflow {workflow.id} --human") if more else None,
    )


def _text_of_run(workflow: WorkflowDetail, drift: Drift, run: SessionView) -> Child:
    if not drift.is_comparable(run):
        return badge("of another project")
    if not drift.differs(run):
        return badge("as the files are", "", "done")
    address = add_query(workflow_path(workflow.id), part="diff", run=run.run_id)
    return element(
        "span", badge("another text", "warn", "gap"), " ", element("a", "See the difference", href=address)
    )


def difference(workflow: WorkflowDetail) -> Html:
    """What differs between the workflow of a run and the files of now. `workflow` is of part diff."""
    diff = workflow.diff
    assert not isinstance(diff, UnsetType), "part diff has it"
    text = (
        "The run is pinned to the workflow as the files have it now."
        if diff.is_same
        else f"{count(diff.change_count, 'place differs', 'places differ')} "
        "between what the run is pinned to and the files of now."
    )
    shown = diff.changes
    left = diff.change_count - len(shown)
    return element(
        "div",
        notice("" if diff.is_same else "warn", element("p", text)),
        facts(
            [
                ("Run", mono(diff.run_id)),
                ("Pinned", mono(diff.pinned_hash)),
                ("Now", mono(workflow.workflow_hash)),
            ]
        ),
        *(_change(one) for one in shown),
        element("p", f"And {count(left, 'more place')}.") if left > 0 else None,
        class_="stack",
    )


def _change(one: SourceChange) -> Html:
    lines = [
        *(element("span", f"- {line}", class_="del") for line in _lines(one.before)),
        *(element("span", f"+ {line}", class_="add") for line in _lines(one.after)),
    ]
    return panel(
        spell_pointer(one.pointer),
        element("pre", *lines, class_="diff", tabindex=0)
        if lines
        else element("p", "The value is too long to be shown here.", class_="soft"),
    )


def _lines(held: Json) -> list[str]:
    if held is UNSET:
        return []
    return (held if isinstance(held, str) else format_json(held)).split("\n")
