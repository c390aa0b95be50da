"""Everyone who takes the moved name from the old module takes it from the new one. Pure.

Where that cannot be written, the old module goes on exporting the name: the whole module is handed around,
a name in the importer is taken, a function asks for its `this`, or package.json names the old module or
another one beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail_code.edit.moving.needs import drop_import, piece_of
from handrail_code.edit.moving.sheet import Form
from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.plan import Refusal, refuse_troubles
from handrail_code.facts.model import NONE, Export, FileFacts, Import, Member, list_ties


def rewrite_importers(shift: Shift) -> None:
    """Changes every importer; `shift.kept` has the names that the old module must keep."""
    names = {each.exported for each in shift.extent.exports}
    if not names:
        return
    if shift.project.slots.modules.is_entry(shift.home) or _hands_exports_on(shift):
        shift.kept |= names
    for path in importing_files(shift, names):
        facts = shift.project.look(path)
        imports = [
            each for each in facts.imports if each.kind != "mentioned" and shift.leads_home(path, each.module)
        ]
        exports = [each for each in facts.exports if each.module and shift.leads_home(path, each.module)]
        if facts.troubles and (imports or exports):
            raise refuse_troubles(path, facts)
        if path == shift.home:
            shift.kept |= names if imports or exports else set()
            continue
        if any(_is_conditional(shift, path, each.module) for each in list_ties(facts)):
            shift.kept |= names  # only the name of the old module leads to the others
            continue
        for found in imports:
            _rewrite_import(shift, path, facts, found, names)
        for export in exports:
            _rewrite_export(shift, path, export, names)


def _hands_exports_on(shift: Shift) -> bool:
    """Whether the old module itself takes one of its exports, or gives all of them to somebody."""
    facts = shift.facts(shift.home)
    names = {each.exported for each in shift.extent.exports}
    is_taken = any(
        each.name in names
        and (each.receiver == "exports" or (each.receiver == "this" and each.index == NONE))
        and each.role != "write"
        for each in facts.members
    )
    return is_taken or any(each.kind == "exports" for each in facts.dynamic)


def importing_files(shift: Shift, names: set[str]) -> Sequence[str]:
    """Files that may import the old module: they spell its name, or the name that moves."""
    named = (path for name in names - {"default", "=", "*"} for path in shift.project.source.candidates(name))
    return sorted({*shift.project.importers_of(shift.home), *named})


def _is_conditional(shift: Shift, path: str, module: str) -> bool:
    """Whether package.json has further modules for this name of the old one."""
    found = shift.project.slots.resolve(path, module)
    if found is None or shift.home not in (found.path, *found.others):
        return False
    return bool(found.others) or shift.project.slots.modules.leads_outside(path, module)


def _rewrite_import(shift: Shift, path: str, facts: FileFacts, found: Import, names: set[str]) -> None:
    if found.imported == "*" or (found.imported == "default" and shift.system == "commonjs"):
        _rewrite_whole(shift, path, facts, found, names)
        return
    if found.imported not in names or found.imported == "":
        return
    name = shift.exported_name(found.imported)
    local = facts.bindings[found.binding].name if found.binding != NONE else ""
    if path == shift.target and local != shift.extent.name:
        raise _refuse_alias(shift, path, found)
    gone = drop_import(shift, path, found, local)
    if gone is not None and path != shift.target:
        at, is_type = gone
        shift.want(path, name, local, form=_form(facts), is_type=is_type, origin=at, like=found.module)
    elif gone is None and path == shift.target:
        raise _refuse_alias(shift, path, found)
    elif gone is None:
        _rewrite_call(shift, path, facts, found)


def _form(facts: FileFacts) -> Form:
    return "require" if facts.is_commonjs else "import"


def _rewrite_call(shift: Shift, path: str, facts: FileFacts, found: Import) -> None:
    """`const {a} = await import("x")`, `require("x").a`: another module where only this name is taken."""
    beside = _list_beside(facts, found)
    others = [each for each in beside if each.imported != "*"]
    whole = [each for each in (found, *beside) if each.imported == "*"]
    is_held = any(each.binding != NONE or not each.is_followed for each in whole)
    if others or is_held or path == shift.target:
        shift.kept.add(found.imported)
        return
    _retarget(shift, path, found)


def _list_beside(facts: FileFacts, found: Import) -> list[Import]:
    """What else the same naming of the module takes."""
    return [each for each in facts.imports if each.module_span == found.module_span and each != found]


def _retarget(shift: Shift, path: str, found: Import) -> None:
    span = found.module_span
    shift.sheet(path).replace(span.start, span.end, shift.specifier(path, shift.target, found.module))


def _rewrite_whole(shift: Shift, path: str, facts: FileFacts, found: Import, names: set[str]) -> None:
    """`import * as x`, `x = require("y")`, `require("y").a`."""
    # Whoever holds the module as a whole may reach any name of it. So a moved name is taken from its new
    # place only where every reach for it can be seen; else it is `kept`: the old module hands it on.
    at = facts.imports.index(found)
    if found.binding == NONE:
        if any(each.imported in names for each in _list_beside(facts, found)):
            return  # the names that it takes are imports of their own
        members = [each for each in facts.members if each.receiver == "import" and each.index == at]
        if not members:
            shift.kept |= set() if found.is_followed else names
        elif members[0].name in names and path != shift.target and members[0].name != "default":
            _retarget(shift, path, found)
        elif members[0].name in names:
            shift.kept.add(members[0].name)
        return
    # A use without a member behind it (`f(x)`, `{...x}`) passes the module on to where nobody follows it.
    places = facts.bindings[found.binding].uses
    members = [each for each in facts.members if each.receiver == "use" and each.index in places]
    free = [
        facts.uses[at]
        for at in sorted({*places} - {each.index for each in members})
        if facts.uses[at].role not in ("declaration", "import", "doc")
    ]
    if "=" in names:
        _rewrite_single(shift, path, facts, found)
        return
    if shift.system == "commonjs" and any(each.name == "default" for each in members):
        shift.kept |= names  # that is the module again
        return
    if free or not shift.sheet(path).layout.runs_on_load(found.statement.start) or found.kind == "dynamic":
        shift.kept |= names  # what is loaded late stays so
        return
    wanted = [each for each in members if each.name in names]
    if not wanted:
        return
    if not _can_stand_alone(shift, path, facts, wanted):
        shift.kept |= {each.name for each in wanted}
        return
    _replace_members(shift, path, facts, found, wanted, len(members) == len(wanted))


def _rewrite_single(shift: Shift, path: str, facts: FileFacts, found: Import) -> None:
    """The module is the moved thing: `module.exports = a`."""
    if path == shift.target or _list_beside(facts, found):
        raise _refuse_alias(shift, path, found)
    _retarget(shift, path, found)


def _can_stand_alone(shift: Shift, path: str, facts: FileFacts, wanted: list[Member]) -> bool:
    """`x.a` can be written as `a`: nothing else is called a there, and no call depends on what it is on."""
    text = shift.sheet(path).text
    home = shift.sheet(shift.home)
    name = wanted[0].name
    if name == "default" or any(each.name != name for each in wanted):
        return False
    is_own = path == shift.target
    local = shift.extent.name if is_own else name
    if any(use.name == local for use in facts.uses) or any(each.name == local for each in facts.bindings):
        return False
    if any(shift.extent.holds(span.start) for span in home.layout.receivers):
        return False
    return all(
        text[facts.uses[each.index].end : each.start] == b"." and each.role not in ("write", "doc")
        for each in wanted
    )


def _replace_members(
    shift: Shift, path: str, facts: FileFacts, found: Import, wanted: list[Member], is_last: bool
) -> None:
    sheet = shift.sheet(path)
    local = shift.extent.name if path == shift.target else wanted[0].name
    for member in wanted:
        sheet.replace(facts.uses[member.index].start, member.end, local)
    if is_last and not any(facts.uses[use].role == "doc" for use in facts.bindings[found.binding].uses):
        drop_import(shift, path, found, facts.bindings[found.binding].name)
    if path != shift.target:
        name, form = shift.exported_name(wanted[0].name), _form(facts)
        is_type = found.is_type_only or (shift.extent.is_type and form == "import")
        shift.want(path, name, local, form=form, is_type=is_type, like=found.module)


def _rewrite_export(shift: Shift, path: str, export: Export, names: set[str]) -> None:
    if export.kind == "star" and not shift.project.look(path).is_commonjs:
        _add_to_star(shift, path, export, names)
        return
    is_default_whole = export.imported == "default" and shift.system == "commonjs"
    if export.kind in ("star", "namespace") or is_default_whole:
        shift.kept |= names
        return
    if export.kind != "reexport" or export.imported not in names:
        return
    sheet = shift.sheet(path)
    statement = sheet.layout.statement_at(export.statement.start)
    pieces = () if statement is None else statement.pieces
    piece = piece_of(pieces, export.exported, export.imported)
    if statement is None or piece is None:  # in quotes, or inside of a declared module
        shift.kept.add(export.imported)
        return
    at = sheet.layout.statements.index(statement)
    if path == shift.target:
        if export.exported != shift.public_name:
            raise Refusal("collision", "The target re-exports it under another name.", path, piece)
        sheet.take_out(at, piece)
        return
    sheet.take_out(at, piece)
    name, is_type = shift.exported_name(export.imported), statement.is_type or piece.is_type
    given = export.exported
    shift.want(path, name, given, form="export", is_type=is_type, origin=at, like=export.module)


def _add_to_star(shift: Shift, path: str, export: Export, names: set[str]) -> None:
    """`export *` had the name without saying it; now it is said, unless another star has it."""
    slots = shift.project.slots
    if path == shift.target:
        return
    explicit = slots.exports_of(path)
    has_star = any(slots.module_of(path, each.module) == shift.target for each in explicit.get("*", ()))
    for name in sorted(names - {"default"}):
        if name in shift.kept or name in explicit or (has_star and shift.exported_name(name) == name):
            continue
        taken, is_type = shift.exported_name(name), export.is_type_only or shift.extent.is_type
        shift.want(path, taken, name, form="export", is_type=is_type, like=export.module)


def _refuse_alias(shift: Shift, path: str, found: Import) -> Refusal:
    message = f"The target imports {shift.extent.name} under another name; rename that first."
    return Refusal("collision", message, path, found.statement)
