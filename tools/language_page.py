"""docs/reference/workflow-language.md: every key that an author may write, from the tables of the reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from handrail.workflows.builtins.templates import all_builtins
from handrail.workflows.reading.grammar import OVERLAY, ROOT, SHAPES
from handrail.workflows.reading.shapes import (
    Anything,
    ByType,
    Flag,
    Items,
    Members,
    Named,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    Word,
)
from tools.page_parts import listing, page, table

_DECLARED = "declared_"
_SAME_WITH_ID = tuple(name for name in SHAPES if name.startswith(_DECLARED) and name != "declared_condition")
"""The conditions again, with an id; the page says so in one sentence."""


_CONDITION = SHAPES["condition"]
_CONDITIONS = frozenset(_CONDITION.records.values()) if isinstance(_CONDITION, Tagged) else frozenset()
"""What every other shape that can be a condition refers to."""


def language_page() -> str:
    """The whole page."""
    return page(
        "# The workflow language",
        "Every key of a workflow file, from the tables that the reader checks files with.\n"
        "`handrail workflow schema --format raw` gives the same as a JSON Schema for an editor.\n"
        "[Write a workflow](../how-to/write-a-workflow.md) begins more gently.\n"
        "[Limits](limits.md) has the sizes.\n"
        "A bold key is required, and a key without a type is a text.",
        "## Workflow\n\n" + _section(SHAPES[ROOT]),
        *(_titled(name, SHAPES[name]) for name in _in_reading_order()),
        "## Builtins\n\nWhat a workflow can use by its id; "
        "`handrail workflow builtins --mvi full` shows schemas, examples and arguments.",
        listing((f"`{one.id}`", "", one.summary) for one in all_builtins()),
        "## Contract files\n\n"
        "A contract of your own is a JSON file, in `.handrail/contracts/` of the project or `contracts/` of "
        "the home.\n"
        "Its id is the name of the file, such as `project.contracts.api_change`, unless it says another.",
        listing(
            (
                ("`id`", "", "`<namespace>.contracts.<name>`; `wr.` is reserved."),
                ("`artifactKind`", "", "The kind of the artifact; the id without `.contracts` by default."),
                (
                    "`schema`",
                    "required",
                    "A JSON Schema (2020-12) of an object; the part that contracts may use.",
                ),
                ("`example`", "required", "An artifact that fits; agents copy it."),
                ("`guidance`", "", "What an agent reads beside it; `description` stands in for it."),
                ("`$schema`", "", "For editors; without meaning here."),
            ),
        ),
    )


def _in_reading_order() -> list[str]:
    """Shapes as the workflow names them, each after the first that names it."""
    found: list[str] = []
    waiting = [*_named(SHAPES[ROOT]), OVERLAY]
    while waiting:
        name = waiting.pop(0)
        if name not in found and name not in _SAME_WITH_ID:
            found.append(name)
            waiting = [*_named(SHAPES[name]), *waiting]
    return found


def _named(shape: Shape) -> Iterator[str]:
    match shape:
        case Named(name=name):
            yield name
        case ByType(shapes=shapes):
            for one in shapes:
                yield from _named(one)
        case Items(of=of) | Members(of=of):
            yield from _named(of)
        case Record(keys=keys):
            for key in keys.values():
                yield from _named(key.shape)
        case Tagged(records=records, own_keys=own_keys):
            yield from (*records.values(), *own_keys.values())
        case Text() | Flag() | Whole() | Word() | Anything():
            pass
        case never:
            assert_never(never)


def _titled(name: str, shape: Shape) -> str:
    return f"## {name.replace('_', ' ').capitalize()}\n\n{_section(shape)}"


def _section(shape: Shape) -> str:
    match shape:
        case Record():
            return _record(shape)
        case Tagged(description=description, tag=tag, records=records, default=default, own_keys=own_keys):
            described = f"{_lines(description)}\n`{tag}` says which."
            if any(map(_is_declared, records.values())):
                return f"{described}\nIt is a [condition](#condition) with an `id` beside its keys."
            described += f"\nWithout it, it is `{default}`." if default else ""
            for key, record in own_keys.items():
                described += f"\nA part with the key `{key}` is a {_link(record)} and has no `{tag}`."
            named = [one for one in records.values() if shape is _CONDITION or one not in _CONDITIONS]
            if len(named) < len(records):
                described += "\nIt can be any [condition](#condition)."
            rows = [[f"`{value}`", _link(one)] for value, one in records.items() if one in named]
            return "\n\n".join([described, *([table((f"`{tag}`", "is"), rows)] if rows else [])])
        case _:
            return f"{_kind_of(shape).capitalize()}."


def _record(shape: Record) -> str:
    rows = [
        (f"**`{name}`**" if key.is_required else f"`{name}`", _kind_unless_text(key.shape), key.description)
        for name, key in shape.keys.items()
        if not (isinstance(key.shape, Word) and len(key.shape.values) == 1)  # the tag, which its table has
    ]
    described = _lines(shape.description)
    if shape.one_of:
        described += f"\nExactly one of {_choice(shape.one_of)} is there."
    if shape.any_of:
        described += f"\nAt least one of {_choice(shape.any_of)} is there."
    return described + ("\n\n" + listing(rows) if rows else "")


def _kind_unless_text(shape: Shape) -> str:
    kind = _kind_of(shape)
    return "" if kind == "text" else kind


def _kind_of(shape: Shape) -> str:
    match shape:
        case Named(name=name):
            return _link(name)
        case ByType(shapes=shapes):
            return " or ".join(_kind_of(one) for one in shapes)
        case Items(of=of):
            return f"list of {_kind_of(of)}"
        case Members(of=of):
            return f"object of {_kind_of(of)}"
        case Text(names=names):
            return f"id of {names}" if names else "text"
        case Flag():
            return "true or false"
        case Whole(least=least, most=most):
            return f"{least} to {most}"
        case Word(values=values):
            return f"`{'|'.join(values)}`"
        case Anything():
            return "any JSON"
        case Record() | Tagged():
            return "object"
        case never:
            assert_never(never)


def _is_declared(record: str) -> bool:
    return record in _SAME_WITH_ID


def _link(name: str) -> str:
    title = name.replace("_", " ")
    return f"[{title}](#{name.replace('_', '-')})"


def _choice(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _lines(text: str) -> str:
    return text.replace(". ", ".\n")
