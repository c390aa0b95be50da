"""From an edit that a caller asks for to the files after it. More kinds of edits are more rows of `PLANS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from handrail.code_tools.edit.extract import apply_with_new_files, plan_extract
from handrail.code_tools.edit.plan import Plan, Refusal
from handrail.code_tools.edit.rename import plan_rename
from handrail.code_tools.facts.join import Found, Project
from handrail.code_tools.facts.places import line_and_column
from handrail.code_tools.facts.source import Source
from handrail.contract.catalogue import E_USAGE, EDIT_REFUSED
from handrail.contract.outcome import Fault, Json


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that can be made."""

    plan: Plan
    texts: dict[str, bytes]
    """Every file that it changes, as it becomes."""


Planner = Callable[[Project, Source, Found, Mapping[str, Json]], Plan | Refusal]


def make_plan(
    project: Project, source: Source, action: str, found: Found, asked: Mapping[str, Json]
) -> Planned:
    """The edit of one definition. Raises Fault EDIT_REFUSED with the place, E_USAGE for what is missing."""
    made = PLANS[action](project, source, found, asked)
    if isinstance(made, Refusal):
        raise _refuse(source, action, made)
    paths = sorted({edit.path for edit in made.edits if edit.before_hash})
    old = {path: source.text(path) or b"" for path in paths}
    return Planned(plan=made, texts=apply_with_new_files(made, old))


def _rename(project: Project, source: Source, found: Found, asked: Mapping[str, Json]) -> Plan | Refusal:
    del source
    new_name = asked.get("to", "")
    if not new_name:
        raise Fault(
            E_USAGE,
            "A rename needs the new name.",
            details={"usage": "--to NEW"},
            hint="Send the same call with --to and the new name.",
        )
    symbol = project.symbol_of(found.path, found.index)
    if symbol is None:
        return Refusal(
            code="member",
            message="This is a member, and which objects have it cannot be proven",
            path=found.path,
            start=found.definition.start,
            end=found.definition.end,
        )
    return plan_rename(project, symbol, str(new_name))


def _extract(project: Project, source: Source, found: Found, asked: Mapping[str, Json]) -> Plan | Refusal:
    del source
    return plan_extract(project, found, str(asked.get("to_module", "")))


PLANS: dict[str, Planner] = {"rename": _rename, "extract": _extract}


def _refuse(source: Source, action: str, refusal: Refusal) -> Fault:
    details: dict[str, Json] = {"reason": refusal.code}
    where = ""
    if refusal.path:
        line, column = line_and_column(source.text(refusal.path) or b"", refusal.start)
        details |= {"file": refusal.path, "line": line, "column": column}
        where = f" ({refusal.path}:{line}:{column})"
    message = f"The {action} is refused: {refusal.message.removesuffix('.')}{where}."
    return Fault(EDIT_REFUSED, message[:1000], details=details)
