"""The editor of a workflow: its text in any spelling, and beside it what it means while it is written. Pure.

Problems stand with the line that they are about; the steps and the drawing are of the compiled text. Nothing
of the text is executed: it is shown as text, and the drawing as a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.projections.html.elements import Child, Html, element
from handrail.views.workflows import ValidationReport, WorkflowDetail, WorkflowDrawing, WorkflowProblem
from handrail_serve.pages.parts import (
    acts,
    badge,
    button,
    cluster,
    count,
    drawing,
    json_text,
    notice,
    panel,
    spell_pointer,
    workflow_path,
)

# Problems


def problems(report: ValidationReport) -> Html:
    """What is wrong, each at its place. `report` is of workflow.validate."""
    counts = report.counts
    found = [one for item in report.items for one in item.problems]
    totals = ", ".join(count(number, word) for word, number in counts.items() if number) or "nothing is wrong"
    return panel(
        "Problems",
        element("p", f"The checker found: {totals}."),
        problem_list(found),
        class_="stack tight",
    )


_SHOWN_LINE = 120
_SEVERITIES = {"error": ("bad", "blocked"), "warning": ("warn", "gap"), "hint": ("", "step")}


def problem_list(found: Sequence[WorkflowProblem], text: str = "") -> Html:
    """Problems with their messages, fixes and places; with a text, the line itself and the way to it."""
    lines = text.split("\n")
    rows = [
        element(
            "li",
            cluster(
                badge(one.severity, *_SEVERITIES[one.severity]),
                element("span", _place(one, has_text=bool(text)), class_="aside"),
            ),
            element(
                "div",
                element("span", one.message, dir="auto"),
                element("span", one.fix, class_="under", dir="auto") if one.fix else None,
                _line_of(one, lines),
            ),
        )
        for one in found
    ]
    return element("ol", *rows, class_="rows one") if rows else element("p", "No problems.", class_="soft")


def _where(one: WorkflowProblem) -> str:
    return f"line {one.line}, column {one.column}" if one.line else spell_pointer(one.pointer)


def _place(one: WorkflowProblem, *, has_text: bool) -> Child:
    if not has_text or not one.line:
        return _where(one)
    return element(
        "button",
        _where(one),
        type="button",
        class_="button plain",
        data_line=str(one.line),
        data_column=str(one.column),
    )


def _line_of(one: WorkflowProblem, lines: Sequence[str]) -> Child:
    if not 0 < one.line <= len(lines) or not lines[one.line - 1].strip():
        return None
    return element("code", lines[one.line - 1].strip()[:_SHOWN_LINE], class_="line", dir="auto")


# The editor


def editor(workflow: WorkflowDetail, report: ValidationReport, drawn: Sequence[WorkflowDrawing]) -> Html:
    """`workflow` is of part source, `report` of workflow.validate, `drawn` of workflow.graph: svg and text.

    Without `drawn` the text cannot be compiled yet.
    """
    is_own = workflow.source_kind == "project" and "/" not in workflow.source_ref
    file = workflow.source_ref if is_own else ""
    saved = {"file": file, "base": workflow.source_digest} if is_own else {"base": "absent"}
    name = workflow.source_ref.rpartition("/")[2]
    found = [one for item in report.items for one in item.problems]
    return element(
        "form",
        None if is_own else _copy_notice(workflow),
        element(
            "div",
            _text_column(workflow, name, saved),
            _meaning_column(found, workflow, drawn),
            class_="split even",
        ),
        class_="stack",
        **acts("workflow.save", {"document": {"source": name}}, done="Saved."),
    )


def _text_column(workflow: WorkflowDetail, name: str, saved: Mapping[str, str]) -> Html:
    """The text and what can be done with it; it stays in sight beside what it means."""
    checked = {"documents": [{"source": name}], "reportOnly": True}
    save = acts(
        "workflow.save",
        saved,
        title="Save the workflow?",
        word="Save it",
        then="/workflows/{workflow_id}?part=edit",
        done="Saved.",
    )
    simulate = acts("workflow.simulate", {"reportOnly": True}, answer="#simulated", render="simulation")
    fix = acts("workflow.fmt", {"fix": True}, render="text", refused="Nothing is fixed")
    return element(
        "div",
        element(
            "label",
            f"The text of {workflow.source_ref}",
            element(
                "textarea",
                workflow.source,
                name="document.text",
                class_="code",
                spellcheck="false",
                autocomplete="off",
                autocapitalize="off",
                aria_describedby="checked",
                data_type="text",
                data_check="workflow.validate",
                data_check_input=json_text(checked),
                data_check_field="documents.0.text",
                data_check_into="#checked",
                data_preview="workflow.graph",
                data_preview_input=json_text({"document": {"source": name}}),
                data_preview_field="document.text",
                data_preview_into="#preview",
            ),
            class_="field",
        ),
        cluster(
            button("Save", "main", **save),
            button("Simulate", **simulate),
            button("Apply certain fixes", **fix),
            element("a", "Discard", href=workflow_path(workflow.id, "source"), class_="button plain"),
            element("span", id="at-line", class_="soft small"),
        ),
        class_="side",
    )


def _meaning_column(
    found: Sequence[WorkflowProblem], workflow: WorkflowDetail, drawn: Sequence[WorkflowDrawing]
) -> Html:
    """What the checker, the compiler and the simulator say about the text as it is."""
    return element(
        "div",
        panel(
            "Problems",
            element("div", problem_list(found, workflow.source), id="checked", aria_live="polite"),
            id_="problems",
        ),
        _preview_panel(drawn),
        panel(
            "Simulation",
            element(
                "p", "Walks every branch with the same judgement as a run, without an agent.", class_="soft"
            ),
            element("div", id="simulated", aria_live="polite", tabindex=0),
            class_="stack tight",
        ),
        class_="stack",
    )


def _preview_panel(drawn: Sequence[WorkflowDrawing]) -> Html:
    return panel(
        "Preview",
        element("p", "The steps that a run goes through, and what an agent reads at each.", class_="soft"),
        element("div", *_preview(drawn), id="preview", class_="stack tight"),
        element(
            "details",
            element("summary", "What an agent reads", class_="small"),
            element("ol", class_="rows one"),
            data_reads=True,
        ),
        class_="stack tight",
    )


def _preview(drawn: Sequence[WorkflowDrawing]) -> list[Html]:
    if not drawn:
        return [element("p", "It is drawn once the text has no errors.", class_="soft")]
    picture, outline = (str(one.drawing) for one in drawn)
    return drawing(picture, outline, element("summary", "As text", class_="small"))


def _copy_notice(workflow: WorkflowDetail) -> Html:
    return notice(
        "",
        element(
            "p",
            f"This file is not in the project's folder of workflows ({workflow.source_kind}). "
            "To change some of its steps, write a customisation, which follows it: a file of the project "
            f"with extends: {workflow.id} and an id of its own. Or give this text an id of your own, such as "
            "project.my_review: then it is saved as a copy.",
        ),
    )
