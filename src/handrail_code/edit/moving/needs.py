"""What the moved text needs where it goes, and what the old module no longer needs. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from handrail_code.edit.moving.sheet import Want
from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.moving.specifiers import place_of
from handrail_code.edit.plan import Change, Refusal
from handrail_code.facts.model import NONE, VALUE, FileFacts, Import, Use
from handrail_code.languages.javascript.layout import Piece

WRITING = ("write", "pattern")
MAKER = re.compile(rb"@jsx(?:Frag)?\s+([\w$]+)")


def bring_needs(shift: Shift, is_exporting: bool) -> None:
    """Imports for the target; with `is_exporting` the old module exports what it did not."""
    facts = shift.facts(shift.home)
    lost: list[Use] = []
    for binding, uses in sorted(_outer_uses(shift, facts).items()):
        written = next((use for use in uses if use.role in WRITING), None)
        if written is not None:
            message = f"It assigns {written.name}, and an imported name cannot be assigned."
            raise Refusal("assigned", message, shift.home, written)
        found = shift.project.slots.import_of(shift.home, binding)
        if found is not None:
            _bring_import(shift, facts, found, binding, uses)
        elif not _bring_local(shift, facts, binding, uses, is_exporting):
            lost.append(uses[0])
    if lost:
        names = ", ".join(use.name for use in lost)
        message = f"It needs {names}, which the module does not export."
        raise Refusal("not_exported", message, shift.home, lost[0], tuple(use.name for use in lost))


def _outer_uses(shift: Shift, facts: FileFacts) -> dict[int, list[Use]]:
    """Uses in the moved text of names that the module declares elsewhere; mentions in comments are none."""
    found: dict[int, list[Use]] = {}
    for use in facts.uses:
        if not shift.extent.declares_at(use.start) or use.binding in (NONE, shift.extent.binding):
            continue
        if facts.bindings[use.binding].scope == 0 and use.role != "doc":
            found.setdefault(use.binding, []).append(use)
    for binding in _makers_of_elements(shift, facts):
        if any(shift.extent.declares_at(span.start) for span in shift.sheet(shift.home).layout.elements):
            found.setdefault(binding, [facts.uses[facts.bindings[binding].uses[0]]])
    return found


def _makers_of_elements(shift: Shift, facts: FileFacts) -> list[int]:
    """What JSX may call: React, or the name that a comment says."""
    sheet = shift.sheet(shift.home)
    names = {"React", *(found[1].decode() for found in MAKER.finditer(sheet.text))}
    return [
        at
        for at, binding in enumerate(facts.bindings)
        if sheet.layout.elements and binding.scope == 0 and binding.kind == "import" and binding.name in names
    ]


def _is_type_only(shift: Shift, uses: list[Use]) -> bool:
    is_typed = shift.home.endswith((".ts", ".tsx", ".mts", ".cts"))
    return is_typed and all(use.role == "type" and not use.meaning & VALUE for use in uses)


def _bring_import(shift: Shift, facts: FileFacts, found: Import, binding: int, uses: list[Use]) -> None:
    local = facts.bindings[binding].name
    resolved = shift.project.slots.module_of(shift.home, found.module)
    place = uses[0]
    if found.kind == "dynamic" or (found.kind == "require") != (shift.form == "require"):
        raise Refusal(
            "module_system", f"{local} is imported in a way that cannot be repeated.", shift.home, place
        )
    if resolved == shift.target:
        _refuse_other_name(shift, found, local, place)
        return
    if _is_there(shift, binding, local, uses):
        return
    if resolved is not None and found.module.startswith("."):
        specifier = shift.specifier(shift.target, resolved)
    elif found.module.startswith("."):
        specifier = rebase(found.module, shift.home, shift.target)
    else:
        specifier = found.module
    shift.sheet(shift.target).want(
        Want(
            form=shift.form,
            specifier=specifier,
            name=found.imported,
            local=local,
            is_type=found.is_type_only,
        )
    )


def rebase(specifier: str, old: str, new: str) -> str:
    """A relative specifier of something that is no source, from another folder."""
    relative = posixpath.relpath(place_of(old, specifier), posixpath.dirname(new) or ".")
    return relative if relative.startswith(".") else "./" + relative


def _refuse_other_name(shift: Shift, found: Import, local: str, place: Use) -> None:
    """What it imports from the target is at home there; it must have the same name."""
    slot = shift.project.slots.slot_of_import(shift.home, found)
    below = None if slot is None else shift.project.slots.home_of(slot)
    slots = shift.project.slots
    for at, binding in enumerate(shift.facts(shift.target).bindings if below is not None else ()):
        is_named = binding.scope == 0 and binding.name == local
        if is_named and slots.home_of(slots.slot_of_binding(shift.target, at)) == below:
            return
    raise Refusal("collision", f"The target knows {local} by another name.", shift.home, place)


def _is_there(shift: Shift, binding: int, local: str, uses: list[Use]) -> bool:
    """Whether the target has the same thing under the same name; refused where it has another one so.

    Where it imports the type alone and the moved text needs a value, that import goes, and another one comes.
    """
    slots = shift.project.slots
    facts = shift.project.look(shift.target)
    for at, other in enumerate(facts.bindings):
        if other.scope != 0 or other.name != local:
            continue
        first, second = slots.import_of(shift.home, binding), slots.import_of(shift.target, at)
        is_same = slots.home_of(slots.slot_of_binding(shift.home, binding)) == slots.home_of(
            slots.slot_of_binding(shift.target, at)
        ) or (
            first is not None
            and second is not None
            and first.imported == second.imported
            and _find_module(shift, shift.home, first) == _find_module(shift, shift.target, second)
        )
        is_type = _is_type_only(shift, uses) or (first is not None and first.is_type_only)
        if is_same and (is_type or second is None or not second.is_type_only):
            return True
        if is_same and second is not None and drop_import(shift, shift.target, second, local) is not None:
            return False
        use = facts.uses[other.uses[0]]
        raise Refusal(
            "collision", f"It needs {local}, and the target has another {local}.", shift.target, use
        )
    return False


def _find_module(shift: Shift, path: str, found: Import) -> str:
    return shift.project.slots.module_of(path, found.module) or place_of(path, found.module)


def _bring_local(shift: Shift, facts: FileFacts, binding: int, uses: list[Use], is_exporting: bool) -> bool:
    """A neighbour in the old module becomes an import from there; False where it is not exported."""
    local = facts.bindings[binding].name
    if _is_there(shift, binding, local, uses):
        return True
    names = sorted(
        each.exported for each in facts.exports if each.binding == binding and each.exported not in ("=", "*")
    )
    if not names:
        if not is_exporting or not _export_neighbour(shift, facts, binding, local):
            return False
        names = [local]
    name = local if local in names else names[0]
    shift.want(shift.target, name, local, module=shift.home, is_type=_is_type_only(shift, uses))
    return True


def _export_neighbour(shift: Shift, facts: FileFacts, binding: int, local: str) -> bool:
    sheet = shift.sheet(shift.home)
    declared = [facts.uses[at] for at in facts.bindings[binding].uses if facts.uses[at].role == "declaration"]
    if shift.system == "commonjs":
        for at, statement in enumerate(sheet.layout.statements):
            if statement.kind == "exports_object":
                sheet.add_piece(at, local)
                return True
        return False
    starts = set()
    for use in declared:
        around = sheet.layout.statement_at(use.start)
        if around is None or around.is_exported or len(around.declarators) > 1:
            return False
        starts.add(around.declared_at)
    for start in sorted(starts):
        sheet.replace(start, start, "export ")
        sheet.has_new_export = True
    return bool(starts)


def drop_needless(shift: Shift) -> None:
    """Imports of the old module that only the moved text used go away."""
    facts = shift.facts(shift.home)
    for binding in sorted(_outer_uses(shift, facts)):
        found = shift.project.slots.import_of(shift.home, binding)
        if found is None or not _is_only_in_extent(shift, facts, binding):
            continue
        drop_import(shift, shift.home, found, facts.bindings[binding].name)


def _is_only_in_extent(shift: Shift, facts: FileFacts, binding: int) -> bool:
    if binding in _makers_of_elements(shift, facts):
        elements = shift.sheet(shift.home).layout.elements
        if any(not shift.extent.holds(span.start) for span in elements):
            return False
    for at in facts.bindings[binding].uses:
        use = facts.uses[at]
        if use.role in ("declaration", "import") or _is_declared_by_pattern(facts, use, binding):
            continue
        if not shift.extent.holds(use.start):
            return False
    return True


def _is_declared_by_pattern(facts: FileFacts, use: Use, binding: int) -> bool:
    return use.role == "pattern" and any(
        found.binding == binding
        and found.imported_span is not None
        and found.imported_span.start == use.start
        for found in facts.imports
    )


def drop_import(shift: Shift, path: str, found: Import, local: str) -> tuple[int, bool] | None:
    """Take one name out of the statement that imports it; None where its form does not allow that.

    Answers the statement, and whether it took a type.
    """
    sheet = shift.sheet(path)
    statement = sheet.layout.statement_at(found.statement.start)
    if statement is None or statement.kind not in ("import", "require"):
        return None
    at, piece = sheet.layout.statements.index(statement), piece_of(statement.pieces, found.imported, local)
    if piece is not None:
        sheet.take_out(at, piece)
    elif found.kind == "default" and statement.default_span is not None:
        sheet.take_default_out(at)
    elif found.imported == "*" and statement.braces is None and statement.default_span is None:
        sheet.remove(at)
    else:
        return None
    return at, statement.is_type or (piece is not None and piece.is_type)


def piece_of(pieces: tuple[Piece, ...], outside: str, inside: str) -> Piece | None:
    return next((each for each in pieces if each.outside == outside and each.inside == inside), None)


def rebase_inner(shift: Shift) -> Iterator[Change]:
    """Relative modules that the moved text loads by itself, as `import("./x")`."""
    facts = shift.facts(shift.home)
    seen: set[int] = set()
    for found in facts.imports:
        span = found.module_span
        if not shift.extent.holds(span.start) or not found.module.startswith(".") or span.start in seen:
            continue
        seen.add(span.start)
        resolved = shift.project.slots.module_of(shift.home, found.module)
        if resolved is not None:
            yield span.start, span.end, shift.specifier(shift.target, resolved)
        else:
            yield span.start, span.end, rebase(found.module, shift.home, shift.target)
