"""The editor of a workflow: its text with the problems at their places, a simulation, and saving. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.projections.html.elements import Html, element
from handrail_serve.pages.parts import (
    Payload,
    badge,
    count,
    json_text,
    notice,
    panel,
    workflow_path,
)

# Problems


def problems(report: Payload) -> Html:
    """What is wrong, each at its place. `report` is of workflow.validate."""
    counts = report["counts"]
    found = [one for item in report["items"] for one in item["problems"]]
    told = ", ".join(count(number, word) for word, number in counts.items() if number) or "nothing is wrong"
    return panel(
        "Problems",
        element("p", f"The checker found: {told}."),
        problem_list(found),
        class_="stack tight",
    )


_SEVERITIES = {"error": ("bad", "blocked"), "warning": ("warn", "gap"), "hint": ("", "step")}


def problem_list(found: Sequence[Payload]) -> Html:
    """Problems with their lines, messages and fixes."""
    rows = [
        element(
            "li",
            element("span", badge(one["severity"], *_SEVERITIES[one["severity"]])),
            element(
                "div",
                element("span", one["message"], dir="auto"),
                element("span", one["fix"], class_="under", dir="auto") if one["fix"] else None,
            ),
            element("span", _where(one), class_="aside"),
        )
        for one in found
    ]
    return element("ol", *rows, class_="rows") if rows else element("p", "No problems.", class_="soft")


def _where(one: Payload) -> str:
    return f"line {one['line']}, column {one['column']}" if one.get("line") else one["pointer"]


# The editor


def editor(workflow: Payload, report: Payload) -> Html:
    """`workflow` is of part source, `report` of workflow.validate."""
    is_own = workflow["sourceKind"] == "project" and "/" not in workflow["sourceRef"]
    file = workflow["sourceRef"] if is_own else ""
    saved = {"file": file, "base": workflow["sourceDigest"]} if is_own else {"base": "absent"}
    name = workflow["sourceRef"].rpartition("/")[2]
    checked = {"documents": [{"source": name}], "reportOnly": True}
    found = [one for item in report["items"] for one in item["problems"]]
    return element(
        "form",
        None if is_own else _copy_notice(workflow),
        element(
            "label",
            f"The text of {workflow['sourceRef']}",
            element(
                "textarea",
                workflow["source"],
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
            ),
            class_="field",
        ),
        element(
            "div",
            _button("Save", "workflow.save", saved, "main", gated=True, then=None),
            _button(
                "Simulate", "workflow.simulate", {"reportOnly": True}, "", gated=False, then="#simulated"
            ),
            element("a", "Discard", href=workflow_path(workflow["id"], "source"), class_="button plain"),
            class_="cluster",
        ),
        panel(
            "Problems", element("div", problem_list(found), id="checked", aria_live="polite"), id_="problems"
        ),
        panel(
            "Simulation",
            element(
                "p", "Walks every branch with the same judgement as a run, without an agent.", class_="soft"
            ),
            element("div", id="simulated", aria_live="polite", tabindex=0),
            class_="stack tight",
        ),
        class_="stack",
        data_operation="workflow.save",
        data_input=json_text({"document": {"source": name}}),
        data_done="Saved.",
    )


def _button(
    word: str, operation: str, more: dict[str, Any], look: str, *, gated: bool, then: str | None
) -> Html:
    return element(
        "button",
        word,
        type="submit",
        class_=f"button {look}".rstrip(),
        data_operation=operation,
        data_input=json_text(more),
        data_gated=gated or None,
        data_answer=then,
        data_render="simulation" if then else None,
        data_title="Save the workflow?" if gated else None,
        data_word="Save it" if gated else None,
        data_done="Saved." if gated else None,
    )


def _copy_notice(workflow: Payload) -> Html:
    return notice(
        "",
        element(
            "p",
            f"This file is not in the project's folder of workflows ({workflow['sourceKind']}). "
            "Give the workflow an id of your own, such as project.my_review: then it is saved as a copy.",
        ),
    )
