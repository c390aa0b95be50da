"""From an edit that a caller asks for to the files after it. More kinds of edits are more rows of `PLANS`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import msgspec

from handrail.contract.catalogue import E_USAGE, EDIT_REFUSED
from handrail.contract.outcome import HINT_LIMIT, Fault, Json, NextCall
from handrail.contract.wording import format_count
from handrail_code.edit.move import list_unrestored, plan_extract, plan_move
from handrail_code.edit.moving.specifiers import suggest_module
from handrail_code.edit.plan import Plan, Refusal, apply_in_memory
from handrail_code.edit.rename import ACCEPTABLE, Answers, plan_member_rename, plan_rename
from handrail_code.edit.replace import plan_replace
from handrail_code.facts.class_members import find_member_uses
from handrail_code.facts.join import Found, Project, Style, Symbol
from handrail_code.facts.model import NONE, Export
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import line_and_column
from handrail_code.scan.ids import make_id


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that can be made."""

    plan: Plan
    texts: dict[str, bytes]
    """Every file that it changes, as it becomes."""
    to: str
    """The new name or module; empty where there is none."""
    note: str


Planner = Callable[[Project, Found, Mapping[str, Json]], Plan]

TARGETS = {"rename": "to", "move": "to_module", "extract": "to_module", "replace": "with_text"}
"""The parameter that each kind of edit takes beside the definition."""


def make_plan(project: Project, action: str, found: Found, asked: Mapping[str, Json]) -> Planned:
    """The edit of one definition. Raises Fault EDIT_REFUSED with the place, E_USAGE for what is missing."""
    is_suggested = action == "extract" and not asked.get("to_module")
    if is_suggested:
        asked = {**asked, "to_module": suggest_module(found.path, found.definition.name)}
    try:
        if is_suggested:
            _refuse_existing(project, str(asked["to_module"]))
        made = PLANS[action](project, found, asked)
        changed = apply_in_memory(made, project.source)
    except Refusal as refusal:
        raise _explain(project, action, found, asked, refusal) from None
    to = "" if action == "replace" else str(asked[TARGETS[action]]).removeprefix("./")
    note = ""
    if action == "rename":
        note = _warn_of_public(project, found, made, asked)
    elif action == "move":
        note = _describe_way_back(project, found, to, changed, made.removed)
    elif action == "replace":
        note = _describe_misfits(project, made)
    return Planned(plan=made, texts=changed, to=to, note=note)


def _rename(project: Project, found: Found, asked: Mapping[str, Json]) -> Plan:
    new_name = _require(asked, "to", "A rename needs the new name.", "--to NEW")
    symbol = project.symbol_of(found.path, found.index)
    style: Style = "public" if asked.get("public") == "follow" else "keep"
    answers = Answers(
        also=_list_places(asked, "also"),
        leave=_list_places(asked, "leave"),
        accept=str(asked.get("accept", "")),
    )
    if symbol is None:
        return plan_member_rename(project, found, new_name, answers)
    return plan_rename(project, symbol, new_name, style, answers)


def _list_places(asked: Mapping[str, Json], name: str) -> frozenset[str]:
    return frozenset(str(one).removeprefix("./") for one in asked.get(name, ()))


def _list_some(shown: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = len(shown) - _MOST_LISTED
    return ", ".join(shown[:_MOST_LISTED]) + (
        f" and {format_count(more, 'more', 'more')}" if more > 0 else ""
    )


_DECIDED = {"renamed_unproven": "Renamed too", "left_unproven": "Left as it is"}


def _describe_misfits(project: Project, plan: Plan) -> str:
    """In a sentence: the calls that no longer fit, each with what is wrong."""
    shown = [f"{_show_place(project, one.path, one.start)} ({one.why})" for one in plan.misfits]
    return f"Calls that no longer fit: {_list_some(shown)}." if shown else ""


def _warn_of_public(project: Project, found: Found, plan: Plan, asked: Mapping[str, Json]) -> str:
    """In sentences: what others still call it, or have to call it now, and what somebody decided."""
    sentences: list[str] = []
    for code, said in _DECIDED.items():
        decided = [one for one in plan.reasons if one.code == code]
        if decided:
            places = ", ".join(_show_place(project, one.path, one.start) for one in decided)
            sentences.append(f"{said}, not proven: {places}.")
    name, is_followed = found.definition.name, asked.get("public") == "follow"
    own = [one for one in project.slots.links(found.path).exports if _is_named_after(one, found)]
    if is_followed and own:
        sentences.append(
            f"Others have to call it {asked['to']} too: code outside of this project still says {name}."
        )
    edited = {(one.path, one.start) for one in plan.edits}
    split = {(one.path, one.start) for one in plan.edits if re.search(" as |: ", one.replacement)}
    spelled = {(found.path, one.exported_span.start) for one in own if one.exported_span is not None}
    keys = split - _list_shared(project, {path for path, _ in split})
    if kept := (split - keys) | (spelled - edited):
        more = "" if is_followed else "; `code rename` with `--public follow` changes it there too"
        places = _show_places(project, kept)
        sentences.append(f"{name} stays the name at {places}, so that what others import still works{more}.")
    if keys:
        places = _show_places(project, keys)
        sentences.append(f"{name} stays the name at {places}, the key of an object that others may know.")
    return " ".join(sentences)


def _is_named_after(export: Export, found: Found) -> bool:
    """Whether others see a definition by its own name."""
    binding = found.definition.binding
    is_it = export.definition == found.index or (binding != NONE and export.binding == binding)
    return is_it and export.exported == found.definition.name


def _list_shared(project: Project, paths: Collection[str]) -> set[tuple[str, int]]:
    """Where modules spell the names that they export or import."""
    links = {path: project.slots.links(path) for path in paths}
    spans = [(path, one.exported_span) for path in paths for one in links[path].exports]
    spans += [(path, one.imported_span) for path in paths for one in links[path].imports]
    return {(path, span.start) for path, span in spans if span is not None}


def _describe_way_back(
    project: Project, found: Found, to: str, changed: Mapping[str, bytes], removed: Sequence[str]
) -> str:
    """What a move back would not restore: text goes behind what stands in a module, names behind names."""
    try:
        left = list_unrestored(project, found, to, changed, removed)
    except Refusal as refusal:
        return f"A move back is refused: {refusal.message}"
    if not left:
        return "A move back is refused." if left is None else ""
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    return f"A move back does not restore {', '.join(left[:_MOST_NAMED])}{more}: what is moved comes last."


def _show_places(project: Project, places: Collection[tuple[str, int]]) -> str:
    (path, start), *rest = sorted(places)
    return _show_place(project, path, start) + (f" and {len(rest)} more places" if rest else "")


def _show_place(project: Project, path: str, start: int) -> str:
    line, column = line_and_column(project.source.text(path) or b"", start)
    return f"{path}:{line}:{column}"


def _relocate(
    plan: Callable[[Project, Symbol, str, bool], Plan],
    project: Project,
    found: Found,
    asked: Mapping[str, Json],
) -> Plan:
    target = _require(asked, "to_module", "A move needs the module that it goes to.", "--to-module FILE")
    symbol = _find_movable(project, found)
    return plan(project, symbol, target.removeprefix("./"), asked.get("export_needs") is True)


def _replace(project: Project, found: Found, asked: Mapping[str, Json]) -> Plan:
    text = _require(asked, "with_text", "A replacement needs the new text.", "--with-file FILE")
    return plan_replace(project, found, text)


_MOST_NAMED = 5
_MOST_LISTED = 10
PROVEN_FOR_PYTHON = ("replace", "rename")
PLANS: dict[str, Planner] = {
    "rename": _rename,
    "move": partial(_relocate, plan_move),
    "extract": partial(_relocate, plan_extract),
    "replace": _replace,
}


def list_plans(project: Project, found: Found) -> tuple[str, ...]:
    """The kinds of edits that can fit this definition; each may still be refused."""
    is_whole = bool(found.definition.digest)
    if project.symbol_of(found.path, found.index) is None:
        is_proven = find_member_uses(project, found) is not None
        return (*(("replace",) if is_whole else ()), *(("rename",) if is_proven else ()))
    if not is_whole:
        return ("rename",)
    return PROVEN_FOR_PYTHON if is_python(found.path) else ("extract", "replace", "rename", "move")


def _require(asked: Mapping[str, Json], name: str, message: str, usage: str) -> str:
    value = asked.get(name, "")
    if not value:
        raise Fault(E_USAGE, message, details={"usage": usage}, hint=f"Send the same call with {usage}.")
    return str(value)


def _find_movable(project: Project, found: Found) -> Symbol:
    """The symbol of a definition that can go to another module. Raises Refusal."""
    if is_python(found.path):
        message = "Python's modules run when they are imported, so only renames and replacements are proven"
        raise Refusal("language", message, found.path, found.definition)
    symbol = project.symbol_of(found.path, found.index)
    if symbol is None:
        message = "This is a member, and which objects have it cannot be proven"
        raise Refusal("member", message, found.path, found.definition)
    return symbol


def _refuse_existing(project: Project, target: str) -> None:
    if project.source.text(target) is not None:
        message = f"The module {target} exists; name one with --to-module"
        raise Refusal("collision", message, target)


_ANSWERS_HINT = (
    "Look at each of details.places. --also PLACE renames it too, --not PLACE leaves it, and details.accept "
    "leaves all that have no answer"
)
_OTHER_HINT = "Look at the place in details, then change the code there first or make the edit by hand."
_HINTS = {
    "cycle": "Move what needs each other together, with the tokens of --names A,B, or choose another module.",
    "language": "Rename or replace it where it is, or move it by hand and let its tests judge.",
    "member": "Its uses are listed by --analyze; change them by hand and let tests judge.",
    "twin": "Extract it, or name a module that no declaration file describes.",
    "invalid_path": "Name another module.",
}
"""What helps where neither another name nor other code would."""


def _explain(
    project: Project, action: str, found: Found, asked: Mapping[str, Json], refusal: Refusal
) -> Fault:
    """The refusal for a caller, with the place and with what helps."""
    details: dict[str, Json] = {"reason": refusal.code}
    where = ""
    if refusal.path:
        line, column = line_and_column(project.source.text(refusal.path) or b"", refusal.start)
        details |= {"file": refusal.path, "line": line, "column": column}
        where = f" ({refusal.path}:{line}:{column})"
    if refusal.places:
        where += f"; unproven: {_list_some(refusal.places)}"
    message = f"The {action} is refused: {refusal.message.removesuffix('.')}{where}."
    hint = _HINTS.get(refusal.code, "" if action == "rename" else _OTHER_HINT)
    if refusal.places:
        details |= {"places": [*refusal.places], "accept": refusal.token}
        hint = _describe_answers(found, asked, refusal)
    fault = Fault(EDIT_REFUSED, message[:1000], details=details, hint=hint)
    if refusal.code == "not_exported":
        _offer_exports(fault, action, found, asked, refusal.needs)
    return fault


def _describe_answers(found: Found, asked: Mapping[str, Json], refusal: Refusal) -> str:
    """With the whole line where it fits, as not every command that renames has the flags."""
    words = ["handrail", "code", "rename", make_id(found), "--to", str(asked["to"])]
    follow = ["--public", "follow"] if asked.get("public") == "follow" else []
    also = sorted(_list_places(asked, "also")) if refusal.code in ACCEPTABLE else []
    kept = ["--also", ",".join(also)] if also else []
    hint = f"{_ANSWERS_HINT}: `{shlex.join([*words, *follow, *kept, '--accept', refusal.token])}`."
    return hint if len(hint) <= HINT_LIMIT else f"{_ANSWERS_HINT}."


def _offer_exports(
    fault: Fault, action: str, found: Found, asked: Mapping[str, Json], needs: tuple[str, ...]
) -> None:
    """The call that exports what is needed; where that was asked for and cannot be done, somebody has to."""
    names = ", ".join(needs[:_MOST_NAMED])
    if asked.get("export_needs") is True:
        fault.hint = f"It cannot be exported by an edit: export {names} yourself first."
        return
    together = ",".join([found.definition.name, *needs[:_MOST_NAMED]])
    fault.hint = (
        f"The next call exports {names} as well (--export-needs). "
        f"To move all of it instead, use a token of --names {together}."
    )
    target = {"toModule": str(asked["to_module"])} if asked.get("to_module") else {}
    params: dict[str, Json] = {action: make_id(found), **target, "exportNeeds": True, "aiMode": True}
    fault.next_call = NextCall(operation="code.edit", params=params)
