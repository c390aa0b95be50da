"""What moves with a name: its declarations, their comments, and the statements that only export it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail_code.edit.plan import Refusal, read_whole
from handrail_code.facts.join import Project, Symbol
from handrail_code.facts.model import NONE, VALUE, Export, FileFacts, Span, Use
from handrail_code.facts.spelled_names import Exported, Local, Shared
from handrail_code.languages.javascript.layout import Layout, Statement, read_layout

DECLARING = ("declaration", "pattern")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One statement that moves, or one declarator of it."""

    statement: int
    declarator: int = NONE
    start: int
    end: int
    is_export_only: bool = False
    """`export default a`, `exports.a = a`: it moves along, and declares nothing."""


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    binding: int
    """NONE for `exports.a = function () {}`."""
    name: str
    parts: tuple[Part, ...]
    is_type: bool
    """Nothing of it exists at run time."""
    exports: tuple[Export, ...]

    def holds(self, offset: int) -> bool:
        return any(part.start <= offset < part.end for part in self.parts)

    def declares_at(self, offset: int) -> bool:
        return any(part.start <= offset < part.end for part in self.parts if not part.is_export_only)


def read_extent(project: Project, symbol: Symbol) -> Extent:
    """The extent of a declaration at the top of a module; an imported name means its home."""
    home = project.slots.home_of(symbol.slot)
    if isinstance(home, Shared):
        raise Refusal("module_system", f"{symbol.name} stands in a script, which has no imports or exports.")
    facts, text = read_whole(project, home.path)
    if facts.is_declaration:
        raise Refusal("external", "A declaration file describes code that stands elsewhere.", home.path)
    layout = read_layout(home.path, text)
    if isinstance(home, Exported):
        return _read_assigned(home, facts, layout)
    return _read_declared(home, facts, layout)


def _read_assigned(home: Exported, facts: FileFacts, layout: Layout) -> Extent:
    """`exports.a = function () {}`: the statement is all there is."""
    exports = [each for each in facts.exports if each.exported == home.name]
    for at, statement in enumerate(layout.statements):
        is_it = statement.kind == "exports_name" and statement.pieces[0].outside == home.name
        if is_it and len(exports) == 1 and exports[0].kind == "commonjs":
            part = Part(statement=at, start=statement.lead, end=statement.tail)
            return Extent(
                path=home.path,
                binding=NONE,
                name=home.name,
                parts=(part,),
                is_type=False,
                exports=tuple(exports),
            )
    raise Refusal("nested", "This is no declaration at the top of a module.", home.path)


def _read_declared(home: Local, facts: FileFacts, layout: Layout) -> Extent:
    binding = facts.bindings[home.binding]
    declared = [facts.uses[at] for at in binding.uses if facts.uses[at].role in DECLARING]
    if binding.scope != 0 or not declared:
        place = declared[0] if declared else None
        raise Refusal("nested", f"{binding.name} is not declared at the top of the module.", home.path, place)
    parts: dict[tuple[int, int], Part] = {}
    for use in declared:
        found = _part_of(home, facts, layout, use)
        parts[found.statement, found.declarator] = found
    exports = tuple(each for each in facts.exports if each.binding == home.binding)
    for part in _exporting(layout, binding.name, exports):
        parts[part.statement, part.declarator] = part
    return Extent(
        path=home.path,
        binding=home.binding,
        name=binding.name,
        parts=tuple(sorted(parts.values(), key=lambda each: each.start)),
        is_type=not binding.meaning & VALUE,
        exports=exports,
    )


def _part_of(home: Local, facts: FileFacts, layout: Layout, use: Use) -> Part:
    at = next((at for at, each in enumerate(layout.statements) if each.start <= use.start < each.end), NONE)
    statement = layout.statements[at] if at != NONE else None
    if statement is None or statement.kind not in ("declaration", "variables"):
        what = "imported" if statement is not None and statement.kind in ("import", "require") else "declared"
        message = f"{use.name} is {what} here by a statement that cannot move."
        raise Refusal("nested" if what == "declared" else "external", message, home.path, use)
    if statement.kind == "declaration" or len(statement.declarators) == 1:
        part = Part(statement=at, start=statement.lead, end=statement.tail)
        span = Span(start=statement.start, end=statement.end)
    else:
        inside = next(
            index for index, each in enumerate(statement.declarators) if each.start <= use.start < each.end
        )
        span = statement.declarators[inside]
        part = Part(statement=at, declarator=inside, start=span.start, end=span.end)
    for other in facts.uses:
        is_other = other.role in DECLARING and other.binding not in (home.binding, NONE)
        if not is_other or not span.start <= other.start < span.end:
            continue
        if facts.bindings[other.binding].scope == 0:
            message = f"{other.name} is declared by the same pattern; declare them apart first."
            raise Refusal("side_effects", message, home.path, other)
    return part


def _exporting(layout: Layout, name: str, exports: tuple[Export, ...]) -> Iterator[Part]:
    """Statements that do nothing but export this name."""
    starts = {each.local_span.start for each in exports if each.local_span is not None}
    for at, statement in enumerate(layout.statements):
        if statement.kind in ("exports_name", "exports_whole", "export_default"):
            is_mine = any(statement.start <= start < statement.end for start in starts)
            if is_mine and _is_plain(statement, name):
                yield Part(statement=at, start=statement.lead, end=statement.tail, is_export_only=True)


def _is_plain(statement: Statement, name: str) -> bool:
    return statement.kind != "exports_name" or statement.pieces[0].inside == name
