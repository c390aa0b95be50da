"""Move a declaration to another module, or take it out of its file and import it back; or say why not. Pure.

`plan_move` changes every importer to the new module. The old module keeps exporting the name only where
package.json names the old module or an importer cannot be rewritten. An empty module goes away.
`plan_extract` leaves importers alone: the old module imports the name back and exports what it exported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from handrail_code.edit.moving.cycles import refuse_cycles
from handrail_code.edit.moving.extent import Extent, Part, read_extent
from handrail_code.edit.moving.importers import rewrite_importers
from handrail_code.edit.moving.leaving import leave_home, place_spelled, place_text
from handrail_code.edit.moving.meanings import verify_shift
from handrail_code.edit.moving.named_modules import is_named, list_named, refuse_paths
from handrail_code.edit.moving.needs import WRITING, bring_needs, drop_needless, rebase_inner
from handrail_code.edit.moving.shift import Shift, refuse_target
from handrail_code.edit.plan import Change, Edit, Plan, Refusal, apply_in_memory, read_whole, splice
from handrail_code.facts.join import Found, Project, Symbol
from handrail_code.facts.model import NONE, VALUE, FileFacts, Use
from handrail_code.facts.source import EditedSource
from handrail_code.facts.spelled_names import Local
from handrail_code.languages.javascript.layout import Inner, read_inner, read_layout


def plan_move(project: Project, symbol: Symbol, to_module: str, is_exporting: bool = False) -> Plan:
    """Everything that used the declaration uses it from `to_module`; the file is made if it is missing.

    With `is_exporting` the old module exports what the moved text needs of it; otherwise that is refused.
    Raises Refusal.
    """
    return _plan(project, symbol, to_module, is_exporting, is_extract=False)


def plan_extract(project: Project, symbol: Symbol, to_module: str, is_exporting: bool = False) -> Plan:
    """The declaration goes to `to_module` and is imported back; also a function inside of another one."""
    slot = symbol.slot
    if isinstance(slot, Local) and project.read_facts(slot.path).bindings[slot.binding].scope != 0:
        if symbol.kind in ("function", "class"):
            return lift_nested(project, symbol, to_module, is_exporting)
        message = "Of what stands inside of a function only functions and classes can be extracted."
        raise Refusal("nested", message, slot.path)
    return _plan(project, symbol, to_module, is_exporting, is_extract=True)


def _plan(project: Project, symbol: Symbol, target: str, is_exporting: bool, is_extract: bool) -> Plan:
    extent = read_extent(project, symbol)
    system = refuse_target(project, extent, target)
    if not is_extract:
        _refuse_forms(project, extent)
    shift = Shift(project, extent, target, system)
    _refuse_extent(shift, is_extract)
    refuse_paths(shift)
    bring_needs(shift, is_exporting)
    if is_extract:
        shift.kept |= {each.exported for each in extent.exports}
    else:
        rewrite_importers(shift)
    place_text(shift)
    drop_needless(shift)
    leave_home(shift)
    plan = Plan(edits=tuple(shift.edits()))
    edited = verify_shift(shift, plan)
    refuse_cycles(shift, plan, edited)
    if is_extract:
        return add_rest(project, symbol, extent, plan)
    whole = add_rest(project, symbol, extent, _drop_emptied(shift, plan, edited))
    named = tuple(each for each in list_named(project, extent.path) if each not in whole.reasons)
    return msgspec.structs.replace(whole, reasons=(*whole.reasons, *named))


def list_unrestored(
    project: Project, found: Found, target: str, changed: Mapping[str, bytes], removed: Sequence[str]
) -> list[str] | None:
    """Files that a move there, which makes `changed`, and back leaves different; None where it has no way.

    Raises Refusal where the move back is refused.
    """
    edited = Project(EditedSource(project.source, changed, removed))
    for at, each in enumerate(edited.look(target).definitions):
        symbol = edited.symbol_of(target, at) if each.name == found.definition.name else None
        if symbol is None or each.container != NONE:
            continue
        back = plan_move(edited, symbol, found.path)
        after = {**changed, **apply_in_memory(back, edited.source)}
        return sorted(path for path in after if after[path] != (project.source.text(path) or b""))
    return None


def add_rest(project: Project, symbol: Symbol, extent: Extent, plan: Plan) -> Plan:
    """What may mean the moved thing and is left alone."""
    found = project.references(symbol)
    weak = [
        each
        for each in found.unsure
        if not (each.path == extent.path and extent.holds(each.start))
        and not any(edit.path == each.path and edit.start <= each.start < edit.end for edit in plan.edits)
    ]
    return msgspec.structs.replace(plan, untouched=tuple(weak), reasons=found.reasons)


# What cannot move


def _refuse_forms(project: Project, extent: Extent) -> None:
    """Importers find one form of a module and programs load another: both would have to change."""
    twins = project.slots.twins
    source = twins.make_from(extent.path)
    others = [*twins.of(extent.path), *([source] if source is not None else [])]
    if not others or not extent.exports:
        return
    message = f"{others[0]} is another form of this module, and importers may find it there; extract it."
    raise Refusal("twin", message, extent.path, extent.parts[0])


def _refuse_extent(shift: Shift, is_extract: bool) -> None:
    facts, extent = shift.facts(shift.home), shift.extent
    layout = shift.sheet(shift.home).layout
    for span in layout.local:
        if extent.declares_at(span.start) and not _is_own_export(shift, span.start):
            raise Refusal("place_dependent", "This means something else in another file.", shift.home, span)
    for each in facts.dynamic:
        if each.kind in ("eval", "with", "require", "import") and extent.declares_at(each.start):
            raise Refusal("dynamic", "Names are made at run time here.", shift.home, each)
    for at in facts.bindings[extent.binding].uses if extent.binding != NONE else ():
        use = facts.uses[at]
        if extent.holds(use.start):
            continue
        _refuse_written(shift.home, use, WRITING)
        is_value = use.meaning & VALUE and use.role not in ("type", "doc")
        if is_value and not is_extract and _is_statement_on_load(shift, use):
            message = (
                f"This statement uses {use.name} when the module is loaded, and stays; extract it instead."
            )
            raise Refusal("side_effects", message, shift.home, use)


def _is_own_export(shift: Shift, start: int) -> bool:
    """`exports` in `exports.a = function () {}`, which moves along."""
    statement = shift.sheet(shift.home).layout.statement_at(start)
    return (
        shift.extent.binding == NONE
        and statement is not None
        and start < statement.start + len("module.exports")
    )


def _is_statement_on_load(shift: Shift, use: Use) -> bool:
    layout = shift.sheet(shift.home).layout
    statement = layout.statement_at(use.start)
    return statement is not None and statement.kind == "other" and layout.runs_on_load(use.start)


def _drop_emptied(shift: Shift, plan: Plan, edited: Project) -> Plan:
    """The plan, which removes the old module where nothing but `export {}` and directives would stay."""
    old = shift.project.source.text(shift.home)
    if old is None or shift.project.slots.modules.is_entry(shift.home):
        return plan
    if not _is_empty(shift.home, edited.source.text(shift.home) or b"") or is_named(edited, shift.home):
        return plan
    whole = Edit(path=shift.home, start=0, end=len(old), replacement="")
    others = [edit for edit in plan.edits if edit.path != shift.home]
    edits = sorted([*others, whole], key=lambda edit: (edit.path, edit.start, edit.end))
    return Plan(edits=tuple(edits), removed=(shift.home,))


def _is_empty(path: str, text: bytes) -> bool:
    rest = bytearray(text.removeprefix(b"\xef\xbb\xbf"))
    shift = len(text) - len(rest)
    for statement in read_layout(path, text).statements:
        is_nothing = (
            statement.kind == "export_list" and not statement.pieces and statement.module_span is None
        )
        if not is_nothing and statement.kind != "directive":
            return False
        at = slice(statement.start - shift, statement.end - shift)
        rest[at] = b" " * len(rest[at])
    return not rest.strip()


DECLARING = ("declaration", "pattern")


def lift_nested(project: Project, symbol: Symbol, target: str, is_exporting: bool) -> Plan:
    slot = symbol.slot
    assert isinstance(slot, Local), "what is nested is local"
    facts, text = read_whole(project, slot.path)
    uses = [facts.uses[at] for at in facts.bindings[slot.binding].uses]
    inner = _read_only_declaration(slot, uses, text)
    _refuse_inner(slot, facts, inner)
    extent = Extent(
        path=slot.path,
        binding=slot.binding,
        name=symbol.name,
        parts=(Part(statement=NONE, start=inner.lead, end=inner.tail),),
        is_type=False,
        exports=(),
    )
    system = refuse_target(project, extent, target)
    shift = Shift(project, extent, target, system)
    refuse_paths(shift)
    bring_needs(shift, is_exporting)
    changes = list(rebase_inner(shift))
    if shift.system == "es":
        changes.append((inner.start, inner.start, "export "))
    place_spelled(shift, _dedent(inner, text, changes))
    drop_needless(shift)
    shift.sheet(shift.home).cut(inner.lead, inner.tail)
    shift.want(shift.home, shift.extent.name, shift.extent.name)
    plan = Plan(edits=tuple(shift.edits()))
    refuse_cycles(shift, plan, verify_shift(shift, plan))
    return plan


def _read_only_declaration(slot: Local, uses: list[Use], text: bytes) -> Inner:
    declared = [use for use in uses if use.role in DECLARING]
    inner = read_inner(slot.path, text, declared[0].start) if len(declared) == 1 else None
    if inner is None:
        place = declared[0] if declared else uses[0]
        message = f"{place.name} is not declared by one statement of its own."
        raise Refusal("nested", message, slot.path, place)
    for use in uses:
        _refuse_written(slot.path, use, ("write",))
    return inner


def _refuse_written(path: str, use: Use, writing: tuple[str, ...]) -> None:
    if use.role in writing:
        raise Refusal("assigned", f"{use.name} is assigned here, and an import cannot be.", path, use)


def _refuse_inner(slot: Local, facts: FileFacts, inner: Inner) -> None:
    if inner.local:
        span = inner.local[0]
        raise Refusal(
            "place_dependent", "This means something else outside of the function around it.", slot.path, span
        )
    inside = (use for use in facts.uses if inner.start <= use.start < inner.end and use.role != "doc")
    lost: list[Use] = []
    for use in inside:
        at = 0 if use.binding in (NONE, slot.binding) else facts.bindings[use.binding].scope
        if at != 0 and not (inner.start <= facts.scopes[at].start and facts.scopes[at].end <= inner.end):
            lost.append(use)
    if lost:
        names = ", ".join(sorted({use.name for use in lost}))
        message = f"It closes over {names}; make parameters of them first."
        raise Refusal("closed_over", message, slot.path, lost[0])
    for binding in facts.bindings:
        if binding.scope == 0 and binding.name == facts.bindings[slot.binding].name and binding.uses:
            use = facts.uses[binding.uses[0]]
            raise Refusal("collision", f"The module has another {use.name}.", slot.path, use)


def _dedent(inner: Inner, text: bytes, changes: list[Change]) -> str:
    """Without the indentation that it had; lines inside of template strings keep theirs."""
    line = text.rfind(b"\n", 0, inner.lead) + 1
    indent = text[line : inner.lead]
    if indent and not indent.strip():
        for found in re.finditer(rb"\n" + re.escape(indent), text[inner.lead : inner.tail]):
            start = inner.lead + found.start() + 1
            if not any(span.start < start < span.end for span in inner.templates):
                changes.append((start, start + len(indent), ""))
    return splice(text, changes, inner.lead, inner.tail).decode().replace("\r\n", "\n")
