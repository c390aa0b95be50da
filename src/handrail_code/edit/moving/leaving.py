"""The old module without the moved text: it imports or re-exports the name where that is needed. Pure."""

from __future__ import annotations

from handrail_code.edit.moving.sheet import Sheet
from handrail_code.edit.moving.shift import Shift
from handrail_code.facts.model import NONE, VALUE, Use


def leave_home(shift: Shift) -> None:
    home, extent = shift.sheet(shift.home), shift.extent
    by_statement: dict[int, list[int]] = {}
    stays: set[int] = set()
    for part in extent.parts:
        statement = home.layout.statements[part.statement]
        if part.is_export_only and statement.kind != "export_default" and shift.kept:
            stays.add(part.statement)
        elif part.declarator != NONE:
            by_statement.setdefault(part.statement, []).append(part.declarator)
        elif extent.binding == NONE and _is_member_used(shift):
            specifier = shift.specifier(shift.home, shift.target)
            quote = home.style.quote
            left = home.text[statement.pieces[0].start : statement.pieces[0].end].split(b"=")[0].decode()
            end = ";" if statement.has_semicolon else ""
            shown = f"{left}= require({quote}{specifier}{quote}).{extent.name}{end}"
            home.replace(statement.lead, statement.tail, shown)
        else:
            home.cut(part.start, part.end)
    for at, gone in by_statement.items():
        _split_declarators(home, at, gone)
    _keep_exports(shift)
    if _is_used_at_home(shift, stays):
        _import_back(shift)
    _keep_module(shift)


def _is_member_used(shift: Shift) -> bool:
    """`exports.a` is used in its own file besides, or others cannot be rewritten."""
    facts = shift.facts(shift.home)
    return bool(shift.kept) or any(
        each.receiver == "exports" and each.name == shift.extent.name and not shift.extent.holds(each.start)
        for each in facts.members
    )


def _split_declarators(home: Sheet, at: int, gone: list[int]) -> None:
    """`const a = 1, b = 2` without one of them."""
    statement = home.layout.statements[at]
    spans = statement.declarators
    kept = [index for index in range(len(spans)) if index not in gone]
    if not kept:
        home.cut(statement.lead, statement.tail)
        return
    last = kept[-1]
    for index in sorted(gone):
        if index < last:
            home.replace(spans[index].start, spans[index + 1].start, "")
    if last + 1 < len(spans):
        home.replace(spans[last].end, spans[-1].end, "")


def _keep_exports(shift: Shift) -> None:
    """Names in lists of exports go, or are re-exported from the new module."""
    home, extent = shift.sheet(shift.home), shift.extent
    for at, statement in enumerate(home.layout.statements):
        if statement.kind not in ("export_list", "exports_object") or statement.module_span is not None:
            continue
        for piece in statement.pieces:
            is_mine = any(
                each.local_span is not None and piece.start <= each.local_span.start < piece.end
                for each in extent.exports
            )
            if is_mine and not (statement.kind == "exports_object" and piece.outside in shift.kept):
                home.take_out(at, piece)
    if shift.system == "commonjs":
        return
    for name in sorted(shift.kept):
        shift.want(shift.home, shift.exported_name(name), name, form="export", is_type=extent.is_type)


def _is_used_at_home(shift: Shift, stays: set[int]) -> bool:
    facts, home = shift.facts(shift.home), shift.sheet(shift.home)
    if shift.extent.binding == NONE:
        return False
    for at in facts.bindings[shift.extent.binding].uses:
        use = facts.uses[at]
        statement = home.layout.statement_at(use.start)
        if use.role == "doc" or statement is None:
            continue
        index = home.layout.statements.index(statement)
        if index in stays:
            return True
        is_listed = statement.kind == "export_list" or (
            statement.kind == "exports_object" and _is_taken(shift, use)
        )
        if not shift.extent.holds(use.start) and not is_listed:
            return True
    return False


def _is_taken(shift: Shift, use: Use) -> bool:
    """A name in the object of exports that goes away."""
    exported = {
        each.exported
        for each in shift.extent.exports
        if each.local_span is not None and each.local_span.start == use.start
    }
    return bool(exported) and not exported & shift.kept


def _import_back(shift: Shift) -> None:
    facts = shift.facts(shift.home)
    uses = [facts.uses[at] for at in facts.bindings[shift.extent.binding].uses]
    outside = [use for use in uses if not shift.extent.holds(use.start) and use.role != "doc"]
    is_typed = shift.home.endswith((".ts", ".tsx", ".mts", ".cts"))
    is_type = is_typed and all(
        use.role == "type" and not use.meaning & VALUE for use in outside if use.role != "export"
    )
    is_type = is_type and any(use.role == "type" for use in outside)
    name = "*" if shift.public_name == "=" else shift.public_name
    shift.want(shift.home, name, shift.extent.name, is_type=shift.extent.is_type or is_type)


def _keep_module(shift: Shift) -> None:
    """A file that loses its last import or export would become a script, whose names everyone shares."""
    home = shift.sheet(shift.home)
    if shift.system != "es" or shift.home.endswith((".mjs", ".mts")):
        return
    gone = {part.statement for part in shift.extent.parts if part.declarator == NONE}
    if not home.is_module_left(gone):
        home.append(f"export {{}}{';' if home.style.has_semicolons else ''}")
