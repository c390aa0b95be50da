"""What a workflow can use without writing it: the catalog of the compiler, with examples to copy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from handrail.projections.html.elements import Child, Html, element
from handrail_serve.pages.parts import (
    Payload,
    cluster,
    copy_button,
    count,
    empty,
    filters,
    folded,
    head,
    meta,
    mono,
    more_rows,
    page,
    search_field,
    section,
    select,
    soft,
    table,
)

_KINDS = (
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
_ASKED = ("kind", "query")


def builtins_page(listed: Payload, asked: Mapping[str, str]) -> Html:
    """`listed` is of workflow.builtins; `asked` are the filters of the address."""
    items = listed["items"]
    return page(
        head("Builtins", meta(count(len(items), "builtin") if not listed.get("has_more") else "")),
        element(
            "p",
            "Everything that a workflow can use without writing it, from the registry of the compiler. "
            "Routines of the library are among the templates.",
        ),
        filters(
            "/builtins",
            select("kind", "Kind", _KINDS, asked.get("kind", "")),
            search_field("query", "Words", asked),
        ),
        element("div", *_groups(items), class_="stack")
        if items
        else empty(
            "Nothing is called that",
            element("p", element("a", "Show every builtin", href="/builtins")),
        ),
        more_rows("/builtins", listed, asked, _ASKED),
    )


def _groups(items: Sequence[Any]) -> Iterator[Html]:
    """One part for each kind, in the order of the list."""
    for kind, word in _KINDS:
        held = [one for one in items if one["kind"] == kind]
        if held:
            yield section(word.capitalize(), soft(_WHERE[kind]), *map(_builtin, held))


def _builtin(one: Payload) -> Html:
    example = format_json(one["example"])
    title = element("span", one["title"], " ", element("code", one["id"], class_="soft"))
    return folded(
        title,
        element("p", one["summary"]),
        _settings(one),
        element("h3", "What an author writes"),
        element("pre", example, class_="code wide", tabindex=0),
        cluster(copy_button(example, "Copy the example")),
        id_=f"builtin-{one['id']}",
    )


def _settings(one: Payload) -> Child:
    if not one["settings"]:
        return None
    rows = [
        element(
            "tr",
            element("th", mono(held["name"]), scope="row"),
            element("td", " or ".join(map(str, held["enum"])) if held["enum"] else held["type"]),
            element("td", "required" if held["required"] else _default(held["default"])),
            element("td", held["description"]),
        )
        for held in one["settings"]
    ]
    return table(("Setting", "Takes", "Default", "What"), rows, f"Settings of {one['id']}")


def _default(value: Any) -> str:
    return "none" if value is None else format_json(value)


def format_json(value: Any) -> str:
    """A value as an author writes it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
