"""Mistakes in the form of a page or of its YAML, which the tables of planted_mistakes.py hold too."""

from __future__ import annotations

from tests.operations.intended_files import Base, Mistake, meant, unsure, written


def in_markdown(name: str, right: str, wrong: str, marker: str = "") -> Mistake:
    return written(name, right, wrong, marker or wrong)._replace(base="markdown", name=f"page {name}")


def in_yaml(name: str, right: str, wrong: str, *changes: tuple[str, str]) -> Mistake:
    mistake = written(name, right, wrong, wrong)._replace(base="yaml", name=f"yaml text {name}")
    return meant(mistake, *changes)


_KEYS = "type: loop\nwhen: is_large\ncount: 3\nmaxIterations: 3\n"
_NOTE = "{{note}} for a {{size}} change."
_COLON = "Every construct: that a mistake is planted into."
_SPELLED: tuple[Base, ...] = ("yaml", "markdown")
_COMPARED = "    kind: compare\n    input: size\n    op: equals\n    value: large\n"
_LIST = f"  - id: is_large\n{_COMPARED}  - id: keep_going\n"
_UNDER_NAMES = f"  is_large:\n{_COMPARED}  keep_going:\n"
PAGES = (
    in_markdown("heading without a space", "## Report {#report}", "##Report {#report}"),
    in_markdown("id without a sign", "## Report {#report}", "## Report {report}"),
    in_markdown("id with spaces", "## Report {#report}", "## Report { #report }"),
    in_markdown("id as a link", "## Report {#report}", "## Report (#report)"),
    in_markdown("block with a colon", "### Procedure", "### Procedure:"),
    in_markdown("block of another tool", "### Procedure", "### Instructions"),
    in_markdown("heading of the goal", "The plan of", "### Goal\n\nThe plan of", "### Goal"),
    in_markdown("block too deep", "### Procedure", "#### Procedure"),
    in_markdown("name as a heading", "---\n\n## Plan", "---\n\n# Intended\n\n## Plan", "# Intended\n"),
    in_markdown("another heading", "---\n\n## Plan", "---\n\n# Read me\n\n## Plan", "# Read me\n"),
    in_markdown("front matter not closed", "---\n\n## Plan", "\n## Plan", "---\n"),
    in_markdown("id in the fence", "```step\nguidance", "```step\nid: plan\nguidance", "id: plan\n"),
    in_markdown("other id in the fence", "```step\nguidance", "```step\nid: p\nguidance", "id: p\n"),
    in_markdown(
        "fence open in the middle",
        "count: 3\nmaxIterations: 3\n```\n",
        "count: 3\nmaxIterations: 3\n",
        "```step\ntype: loop\nwhen",
    ),
    Mistake(
        "page slot with an id",
        "unknown_key",
        "/steps/9/id",
        "{#before_end}",
        changes=(("/steps/-", {"id": "before_end", "slot": "before_end", "title": "End"}),),
        base="markdown",
        meant=(("/steps/-", {"slot": "before_end", "title": "End"}),),
    ),
    in_markdown("keys without a fence", f"```step\n{_KEYS}```\n", _KEYS, _KEYS),
    in_markdown("tab in a fence", "  field: goal", "\tfield: goal"),
    meant(
        in_markdown(
            "colon in a text", "description: Every construct that", "description: Every construct: that"
        ),
        ("/description", _COLON),
    ),
    in_yaml("colon", "construct that a", "construct: that a", ("/description", _COLON)),
    in_yaml("no space", "name: Intended", "name:Intended"),
    in_yaml("placeholder", "prompt: Plan {{note}}", "prompt: {{note}}", ("/steps/0/prompt", _NOTE)),
    in_yaml("star", "title: Plan the work", "title: *Plan* it", ("/steps/0/title", "*Plan* it")),
    in_yaml("bracket", "name: Intended", "name: [draft] Intended", ("/name", "[draft] Intended")),
    in_yaml("backtick", "title: Plan the work", "title: `Plan` it", ("/steps/0/title", "`Plan` it")),
    *(
        written(f"{base} conditions under their names", _LIST, _UNDER_NAMES, "is_large:\n")._replace(
            base=base, code="wrong_type", pointer="/conditions", name=f"{base} conditions under their names"
        )
        for base in _SPELLED
    ),
    in_yaml("tag", "name: Intended", "name: !!str Intended"),
    unsure(in_yaml("condition in one line", "when: is_large", "when: kind: compare")),
)
"""Mistakes in the form of a page or of its YAML."""
