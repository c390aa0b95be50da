"""The catalog of workflows: what can be started here, and what is wrong with files that cannot. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handrail.projections.html.elements import Html, element
from handrail_serve.pages.parts import (
    Payload,
    acts,
    badge,
    button,
    count,
    empty,
    filters,
    head,
    meta,
    mono,
    more_rows,
    page,
    points,
    search_field,
    select,
    soft,
    text_field,
    workflow_path,
)

_SOURCES = (
    ("", "every source"),
    ("bundled", "bundled"),
    ("user", "of the user"),
    ("project", "of the project"),
    ("git", "git"),
    ("plugin", "plugins"),
)
_KINDS = (("", "workflows and routines"), ("workflow", "workflows"), ("routine", "routines"))
SHOWN_PROBLEMS = 3
"""Of one broken file in the catalog; its own page has the rest."""
_ASKED = ("source", "kind", "query")


def workflows_page(listed: Payload, asked: Mapping[str, str]) -> Html:
    """`listed` is of workflow.list; `asked` are the filters of the address."""
    items: Sequence[Any] = listed["items"]
    broken = [one for one in items if one.get("problems")]
    return page(
        head(
            "Workflows",
            meta(
                element("a", "New workflow", href="#new"),
                count(listed["total"], "file"),
                f"{len(broken)} cannot be used" if broken else "",
                listed["project"],
            ),
        ),
        filters(
            "/workflows",
            select("source", "Source", _SOURCES, asked.get("source", "")),
            select("kind", "Kind", _KINDS, asked.get("kind", "")),
            search_field("query", "Words", asked),
        ),
        element("ol", *(_row(one) for one in items), class_="rows") if items else _nothing(asked),
        more_rows("/workflows", listed, asked, _ASKED),
        _new(),
    )


_STARTERS = (
    ("linear", "plan, work and check"),
    ("review", "a review with findings"),
    ("loop", "rounds until it is right"),
    ("choice", "a choice of the user"),
    ("blank", "one step"),
)


def _new() -> Html:
    """Where an author begins: the file is shown, then made, and opens in the editor."""
    return element(
        "section",
        element("h2", "New workflow"),
        element(
            "form",
            text_field(
                "Its id, such as project.my_check",
                "workflowId",
                longest=128,
                class_="field grow",
                pattern="[a-z][a-z0-9_\\-]*\\.[a-z][a-z0-9_\\-]*",
                title="namespace.name in lower-case letters, digits, _ and -",
            ),
            select("template", "Begin with", _STARTERS, "linear"),
            button("Make it"),
            class_="toolbar",
            **acts(
                "workflow.new",
                {"as": "md"},
                title="Make this file?",
                word="Make it",
                then="/workflows/{workflow_id}?part=edit",
            ),
        ),
        soft("It is a Markdown file of this project, and opens in the editor."),
        class_="panel stack tight",
        id="new",
    )


def _row(one: Payload) -> Html:
    problems = one.get("problems", [])
    warned = sum(one.get("warnings", {}).values())
    return element(
        "li",
        element(
            "span",
            badge("broken", "bad", "blocked") if problems else badge(one["kind"], "", "step"),
        ),
        element(
            "div",
            element("a", one["name"], href=workflow_path(one["id"]), class_="row-link", dir="auto"),
            element("span", one["description"], class_="under", dir="auto"),
            _problems(problems) if problems else None,
        ),
        element(
            "span",
            mono(one["id"]),
            " ",
            badge(one["sourceKind"]),
            f" {count(warned, 'warning')}" if warned else "",
            class_="aside",
        ),
        data_key=f"{one['sourceKind']} {one['id']}",
    )


def _problems(problems: Sequence[Payload]) -> Html:
    shown = [f"{place(one)}{one['message']}" for one in problems[:SHOWN_PROBLEMS]]
    left = len(problems) - len(shown)
    return points([*shown, *([f"and {count(left, 'more problem')}"] if left else [])])


def place(problem: Payload) -> str:
    return f"line {problem['line']}: " if problem.get("line") else ""


def _nothing(asked: Mapping[str, str]) -> Html:
    if any(asked.get(name) for name in _ASKED):
        return empty("No workflow is like that", element("p", element("a", "Show all", href="/workflows")))
    return empty(
        "There is no workflow", element("p", "Even the bundled ones are missing; run handrail doctor.")
    )
