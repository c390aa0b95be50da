"""The catalog: what can be started here, what is wrong with files that cannot, what a workflow uses. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from handrail.contract.outcome import Json
from handrail.projections.html.elements import Child, Html, element
from handrail.views.workflows import BuiltinRow, WorkflowList, WorkflowProblem, WorkflowRow
from handrail_serve.pages.parts import (
    Rows,
    acts,
    badge,
    button,
    cluster,
    copy_button,
    count,
    empty,
    filters,
    folded,
    format_json,
    head,
    meta,
    mono,
    more_rows,
    page,
    points,
    search_field,
    section,
    select,
    soft,
    table,
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
_FILTERS = ("source", "kind", "query")


def workflows_page(listed: Rows[WorkflowRow], about: WorkflowList, asked: Mapping[str, str]) -> Html:
    """`listed` is of workflow.list; `asked` are the filters of the address."""
    items = listed.items
    broken = [one for one in items if one.problems]
    return page(
        head(
            "Workflows",
            meta(
                element("a", "New workflow", href="#new"),
                count(about.total, "file"),
                f"{len(broken)} cannot be used" if broken else "",
                about.project,
            ),
        ),
        filters(
            "/workflows",
            select("source", "Source", _SOURCES, asked.get("source", "")),
            select("kind", "Kind", _KINDS, asked.get("kind", "")),
            search_field("query", "Words", asked),
        ),
        element("ol", *(_row(one) for one in items), class_="rows") if items else _nothing(asked),
        more_rows("/workflows", listed, asked, _FILTERS),
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


def _row(one: WorkflowRow) -> Html:
    problems = one.problems
    warned = sum(one.warnings.values())
    return element(
        "li",
        element(
            "span",
            badge("broken", "bad", "blocked") if problems else badge(one.kind, "", "step"),
        ),
        element(
            "div",
            element("a", one.name, href=workflow_path(one.id), class_="row-link", dir="auto"),
            element("span", one.description, class_="under", dir="auto"),
            _problems(problems) if problems else None,
        ),
        element(
            "span",
            mono(one.id),
            " ",
            badge(one.source_kind),
            f" {count(warned, 'warning')}" if warned else "",
            class_="aside",
        ),
        data_key=f"{one.source_kind} {one.id}",
    )


def _problems(problems: Sequence[WorkflowProblem]) -> Html:
    shown = [f"{place(one)}{one.message}" for one in problems[:SHOWN_PROBLEMS]]
    left = len(problems) - len(shown)
    return points([*shown, *([f"and {count(left, 'more problem')}"] if left else [])])


def place(problem: WorkflowProblem) -> str:
    return f"line {problem.line}: " if problem.line else ""


def _nothing(asked: Mapping[str, str]) -> Html:
    if any(asked.get(name) for name in _FILTERS):
        return empty("No workflow is like that", element("p", element("a", "Show all", href="/workflows")))
    return empty(
        "There is no workflow", element("p", "Even the bundled ones are missing; run handrail doctor.")
    )


# What a workflow can use without writing it, with examples to copy


_BUILTIN_KINDS = (
    ("", "every kind"),
    ("template", "templates"),
    ("feature", "features"),
    ("contract", "contracts"),
    ("ref", "refs"),
    ("capability", "capabilities"),
)
_WHERE = {
    "template": "Stands in the list of steps, and becomes steps when the workflow is compiled.",
    "feature": "Stands in features, and adds its text where it belongs.",
    "contract": "Named by a step as its contract; this is an artifact that fits it.",
    "ref": "Stands among the blocks of a prompt, and becomes its text.",
    "capability": "Stands in capabilities, and makes the agent find out whether it has it.",
}
_OF_BUILTINS = ("kind", "query")


def builtins_page(listed: Rows[BuiltinRow], asked: Mapping[str, str]) -> Html:
    """`listed` is of workflow.builtins; `asked` are the filters of the address."""
    items = listed.items
    return page(
        head("Builtins", meta(count(len(items), "builtin") if not listed.has_more else "")),
        element(
            "p",
            "Everything that a workflow can use without writing it, from the registry of the compiler. "
            "Routines of the library are among the templates.",
        ),
        filters(
            "/builtins",
            select("kind", "Kind", _BUILTIN_KINDS, asked.get("kind", "")),
            search_field("query", "Words", asked),
        ),
        element("div", *_groups(items), class_="stack")
        if items
        else empty(
            "Nothing is called that",
            element("p", element("a", "Show every builtin", href="/builtins")),
        ),
        more_rows("/builtins", listed, asked, _OF_BUILTINS),
    )


def _groups(items: Sequence[BuiltinRow]) -> Iterator[Html]:
    """One part for each kind, in the order of the list."""
    for kind, word in _BUILTIN_KINDS:
        held = [one for one in items if one.kind == kind]
        if held:
            yield section(word.capitalize(), soft(_WHERE[kind]), *map(_builtin, held))


def _builtin(one: BuiltinRow) -> Html:
    example = format_json(one.example)
    title = element("span", one.title, " ", element("code", one.id, class_="soft"))
    return folded(
        title,
        element("p", one.summary),
        _settings(one),
        element("h3", "What an author writes"),
        element("pre", example, class_="code wide", tabindex=0),
        cluster(copy_button(example, "Copy the example")),
        id_=f"builtin-{one.id}",
    )


def _settings(one: BuiltinRow) -> Child:
    if not one.settings:
        return None
    rows = [
        element(
            "tr",
            element("th", mono(held.name), scope="row"),
            element("td", " or ".join(map(str, held.enum)) if held.enum else held.type),
            element("td", "required" if held.required else _default(held.default)),
            element("td", held.description),
        )
        for held in one.settings
    ]
    return table(("Setting", "Takes", "Default", "What"), rows, f"Settings of {one.id}")


def _default(value: Json) -> str:
    return "none" if value is None else format_json(value)
