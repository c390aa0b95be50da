"""The moved text in its new home, exported in the way of that file; and the old module without it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail_code.edit.moving.extent import Part
from handrail_code.edit.moving.needs import rebase_inner
from handrail_code.edit.moving.sheet import Sheet
from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.plan import Refusal, splice
from handrail_code.facts.model import NONE, VALUE, Dynamic, Span, Use


def place_text(shift: Shift) -> None:
    """Put the text into the target, exported there."""
    if shift.public_name in ("default", "=") or any(
        each.exported == "default" for each in shift.extent.exports
    ):
        _refuse_default(shift)
    parts = [part for part in shift.extent.parts if is_spelled(shift, part)]
    made = ""
    for before, part in zip((None, *parts), parts, strict=False):
        if before is not None:
            # Overloads stand directly below each other, as they did; other parts get a blank line.
            between = shift.sheet(shift.home).text[before.end : part.start]
            is_close = not between.strip() and between.count(b"\n") == 1
            made += "\n" if is_close else "\n\n"
        made += _spell_part(shift, part)
    place_spelled(shift, made)


def place_spelled(shift: Shift, moved: str) -> None:
    """Put the text at the end of the target, or before the exports at its end."""
    sheet, home = shift.sheet(shift.target), shift.sheet(shift.home)
    if not sheet.layout.statements:
        for statement in home.layout.statements:
            if statement.kind == "directive":
                sheet.begin(home.text[statement.start : statement.end].decode())
    shift.moved = moved
    if shift.system == "es":
        sheet.append(shift.moved)
        for at, statement in enumerate(sheet.layout.statements):
            if statement.kind == "export_list" and not statement.pieces and statement.module_span is None:
                sheet.remove(at)
        return
    place_commonjs(shift, sheet)


def is_spelled(shift: Shift, part: Part) -> bool:
    """All but an `exports.a = a` that becomes a name in the target's object."""
    statements = shift.sheet(shift.home).layout.statements
    if not part.is_export_only or statements[part.statement].kind != "exports_name":
        return True
    return not any(each.kind == "exports_object" for each in shift.sheet(shift.target).layout.statements)


def _spell_part(shift: Shift, part: Part) -> str:
    home = shift.sheet(shift.home)
    statement = home.layout.statements[part.statement]
    start, end = part.start, part.end
    changes = [each for each in rebase_inner(shift) if start <= each[0] < end]
    needs_export = shift.system == "es" and not part.is_export_only and not statement.is_exported
    needs_export = needs_export and shift.public_name != "default"
    if part.declarator != NONE:
        word = "export " if shift.system == "es" and shift.public_name != "default" else ""
        inside = splice(home.text, changes, start, end).decode().replace("\r\n", "\n")
        return f"{word}{statement.keyword} {inside}{';' if statement.has_semicolon else ''}"
    if needs_export:
        changes.append((statement.declared_at, statement.declared_at, "export "))
    return splice(home.text, changes, start, end).decode().replace("\r\n", "\n")


def _refuse_default(shift: Shift) -> None:
    for export in shift.project.look(shift.target).exports:
        is_taken = export.exported in ("default", "=") or (shift.public_name == "=" and export.exported)
        is_back = bool(export.module) and shift.leads_home(shift.target, export.module)
        if is_taken and not is_back:
            message = "The target already has a default export."
            raise Refusal("default_export", message, shift.target, export.statement)


def place_commonjs(shift: Shift, sheet: Sheet) -> None:
    """The text, and its name among the exports in the way of the target."""
    names = sorted({each.exported for each in shift.extent.exports} - {"="})
    layout = sheet.layout
    _refuse_exports(shift, sheet)
    at = next((at for at, each in enumerate(layout.statements) if each.kind == "exports_object"), None)
    own = shift.extent.name
    if at is not None:
        lead = layout.statements[at].lead
        sheet.replace(lead, lead, shift.moved.replace("\n", sheet.eol) + sheet.eol + sheet.eol)
        for name in names or [own]:
            sheet.add_piece(at, name if name == own else f"{name}: {own}")
        return
    sheet.append(shift.moved)
    exported = _exported_by_parts(shift)
    rest = [name for name in names or [own] if name not in exported]
    if shift.extent.binding == NONE or "=" in exported or not rest:
        return
    end = ";" if sheet.style.has_semicolons else ""
    if exported or _names_exports(shift):
        sheet.append("\n".join(f"exports.{name} = {own}{end}" for name in rest))
    else:
        blank = sheet.style.blank
        shown = ", ".join(name if name == own else f"{name}: {own}" for name in rest)
        sheet.append(f"module.exports = {{{blank}{shown}{blank}}}{end}")


_HARMLESS = re.compile(rb"module\s*\.\s*(?:exports\s*\.\s*[\w$]|id\b|parent\b|children\b|filename\b|paths\b)")
_ASKED_MAIN = re.compile(rb"require\s*\.\s*main\s*[!=]==?\s*$")


def _refuse_exports(shift: Shift, sheet: Sheet) -> None:
    """The target must say plainly what it exports: a name beside anything else would be lost, or lose it."""
    found = [each for each in sheet.layout.statements if each.kind in ("exports_whole", "exports_object")]
    for at, each in enumerate(found):
        if each.kind == "exports_whole" or at > 0:
            message = "The target exports one value; it cannot have names besides."
            raise Refusal("default_export", message, shift.target, each)
        if shift.extent.binding == NONE:
            message = "The target replaces its exports, so that this assignment would be lost."
            raise Refusal("module_system", message, shift.target, each)
        facts = shift.facts(shift.target)
        loose: list[Dynamic | Span] = [one for one in facts.dynamic if one.kind == "exports"]
        loose += [one.statement for one in facts.exports if one.kind == "star"]
        if any(each.start <= one.start < each.end for one in loose):
            message = "The target exports what it takes from elsewhere, perhaps this."
            raise Refusal("module_system", message, shift.target, each)
    plain = {
        each.start for each in sheet.layout.statements if each.kind in ("exports_object", "exports_name")
    }
    for use in _uses_of_exports(shift):
        before, after = sheet.text[: use.start], sheet.text[use.start :]
        is_plain = use.start in plain or _HARMLESS.match(after) or _ASKED_MAIN.search(before)
        if not is_plain and (use.name == "module" or use.role == "write"):
            message = "What else the target exports is unknown, because of this."
            raise Refusal("module_system", message, shift.target, use)


def _names_exports(shift: Shift) -> bool:
    """Names are added to what the target exports, in whatever way, so that it must not be replaced."""
    layout = shift.sheet(shift.target).layout
    text = shift.sheet(shift.target).text
    has_this = any(text[each.start : each.end] == b"this" for each in layout.local)
    return has_this or any(True for _ in _uses_of_exports(shift))


def _uses_of_exports(shift: Shift) -> Iterator[Use]:
    for use in shift.project.look(shift.target).uses:
        if use.name in ("module", "exports") and use.binding == NONE and use.role != "doc":
            yield use


def _exported_by_parts(shift: Shift) -> set[str]:
    """The names that the moved statements export themselves."""
    statements = shift.sheet(shift.home).layout.statements
    made: set[str] = set()
    for part in shift.extent.parts:
        if part.statement == NONE:
            continue
        statement = statements[part.statement]
        if statement.kind == "exports_name":
            made.add(statement.pieces[0].outside)
        elif statement.kind == "exports_whole":
            made.add("=")
    return made


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
