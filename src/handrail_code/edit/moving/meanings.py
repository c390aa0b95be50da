"""The last check of a move: every name must mean the same declaration, wherever that stands. Pure.

Each use in a changed file has one place afterwards: text that stays is shifted by the edits before it, text
that moves stands in the target in the same order. There must stand a use of the same name that leads, through
any imports and re-exports, to the same declaration.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import TypeAlias

from handrail_code.edit.moving.importers import importing_files
from handrail_code.edit.moving.leaving import is_spelled
from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.moving.specifiers import place_of
from handrail_code.edit.plan import Edit, Plan, Refusal, edited_project
from handrail_code.edit.verify import Places
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts, Import, Use
from handrail_code.facts.spelled_names import Exported, Local, Shared
from handrail_code.languages.javascript.layout import Layout, read_layout

Meaning: TypeAlias = tuple[str, ...]
"""`declared`, `exported` or `module` with path and name; `global` and `shared` with a name; `inner`."""


Translated: TypeAlias = Callable[[Use, Meaning], Meaning]


def verify_shift(shift: Shift, plan: Plan) -> Project:
    """The project as it would be. Raises Refusal."""
    project = shift.project
    edited = edited_project(project, plan)
    changed = sorted({edit.path for edit in plan.edits})
    for path in changed:
        before = project.facts(path)
        if before is None:
            continue
        edits = [edit for edit in plan.edits if edit.path == path]
        compare_kept(project, edited, path, edits, lambda use, meaning: translate(shift, use, meaning))
        _compare_statements(shift, edited, path, edits)
        _compare_exports(shift, edited, path)
    _compare_moved(shift, edited)
    _compare_strictness(shift, edited)
    _compare_others(shift, edited, set(changed))
    _refuse_ambiguity(shift)
    return edited


def translate(shift: Shift, use: Use | None, meaning: Meaning) -> Meaning:
    """What a meaning of before is afterwards."""
    is_it = use is not None and use.binding == shift.extent.binding != NONE
    if is_it and shift.facts(shift.home).bindings[shift.extent.binding].scope != 0:
        return ("declared", shift.target, shift.extent.name)
    if meaning == ("declared", shift.home, shift.extent.name):
        return ("declared", shift.target, shift.extent.name)
    is_assigned = shift.extent.binding == NONE and meaning == ("exported", shift.home, shift.extent.name)
    return ("exported", shift.target, shift.extent.name) if is_assigned else meaning


def meaning_of(project: Project, path: str, facts: FileFacts, use: Use) -> Meaning:
    if use.binding == NONE:
        return ("global", use.name)
    binding = facts.bindings[use.binding]
    if binding.scope != 0:
        return ("inner",)
    found = project.slots.import_of(path, use.binding)
    if found is not None:
        return meaning_of_import(project, path, found)
    slot = project.slots.slot_of_binding(path, use.binding)
    return ("shared", use.name) if isinstance(slot, Shared) else ("declared", path, binding.name)


def meaning_of_import(project: Project, path: str, found: Import) -> Meaning:
    resolved = project.slots.module_of(path, found.module)
    slot = project.slots.slot_of_import(path, found)
    if slot is None and resolved is not None and found.imported == "*":
        whole = project.slots.find_exported(resolved, "=")
        slot = whole if whole is not None and isinstance(project.slots.home_of(whole), Local) else None
    if slot is None:
        return ("module", resolved or place_of(path, found.module), found.imported)
    home = project.slots.home_of(slot)
    if isinstance(home, Local):
        facts = project.read_facts(home.path)
        below = project.slots.import_of(home.path, home.binding)
        if below is not None:
            return ("module", place_of(home.path, below.module), below.imported)
        return ("declared", home.path, facts.bindings[home.binding].name)
    if isinstance(home, Exported):
        for export in project.slots.exports_of(home.path).get(home.name, ()):
            if export.module:
                return ("module", place_of(home.path, export.module), export.imported)
        return ("exported", home.path, home.name)
    return ("shared", home.name)


def _named(facts: FileFacts) -> list[Use]:
    """Without mentions in comments, and without members of enums and namespaces, which follow their owner."""
    proven = {member.start for member in facts.members if member.is_proven}
    return [use for use in facts.uses if use.role != "doc" and use.start not in proven]


def compare_kept(
    project: Project, edited: Project, path: str, edits: Sequence[Edit], translated: Translated
) -> None:
    """The uses that stay in a changed file."""
    before, after = project.read_facts(path), edited.read_facts(path)
    places = Places(edits)
    found = {use.start: use for use in after.uses}
    pairs = []
    for use in _named(before):
        if places.is_edited(use.start):
            continue
        there = found.get(places.place(use.start))
        if there is None or there.name != use.name:
            raise Refusal("changed_meaning", "This name would no longer be one.", path, use)
        pairs.append((use, there))
    _compare_pairs(project, edited, path, path, pairs, translated)


def _compare_pairs(
    project: Project,
    edited: Project,
    path: str,
    new_path: str,
    pairs: Sequence[tuple[Use, Use]],
    translated: Translated,
) -> None:
    before, after = project.read_facts(path), edited.read_facts(new_path)
    same: dict[int, int] = {}
    back: dict[int, int] = {}
    for use, there in pairs:
        old = meaning_of(project, path, before, use)
        new = meaning_of(edited, new_path, after, there)
        if old == ("inner",) == new and translated(use, old) == old:
            is_same = same.setdefault(use.binding, there.binding) == there.binding
            if is_same and back.setdefault(there.binding, use.binding) == use.binding:
                continue
        elif translated(use, old) == new:
            continue
        elif old[0] == "global" and new[0] != "inner":
            raise Refusal("captured", f"{use.name} is a global here and would mean a declaration.", path, use)
        raise Refusal("changed_meaning", f"{use.name} would mean something else here.", path, use)


def _compare_moved(shift: Shift, edited: Project) -> None:
    before, after = shift.facts(shift.home), edited.facts(shift.target)
    assert after is not None, "the new text was read"
    sheet = shift.sheets[shift.target]
    text = edited.source.text(shift.target) or b""
    moved = shift.moved.replace("\n", sheet.eol).encode()
    start = text.rfind(moved)
    assert start != -1, "the moved text stands in the target"
    parts = [part for part in shift.extent.parts if is_spelled(shift, part)]
    old = [use for use in _named(before) if any(part.start <= use.start < part.end for part in parts)]
    new = [use for use in _named(after) if start <= use.start < start + len(moved)]
    if [use.name for use in old] != [use.name for use in new]:
        raise Refusal("changed_meaning", "The moved text would have other names.", shift.target)
    _compare_pairs(
        shift.project,
        edited,
        shift.home,
        shift.target,
        list(zip(old, new, strict=True)),
        lambda use, meaning: translate(shift, use, meaning),
    )


def _compare_statements(shift: Shift, edited: Project, path: str, edits: Sequence[Edit]) -> None:
    """A line that begins with a bracket must not run into a line that lost its neighbour."""
    places = Places(edits)
    after = {each.start for each in read_layout(path, edited.source.text(path) or b"").statements}
    for statement in shift.sheets[path].layout.statements:
        if any(edit.start <= statement.start < edit.end for edit in edits):
            continue
        if any(edit.start == statement.start == edit.end for edit in edits):
            continue
        if places.place(statement.start) not in after:
            message = "This statement would run into the one before it; end that with a semicolon first."
            raise Refusal("changed_meaning", message, path, statement)


def _compare_strictness(shift: Shift, edited: Project) -> None:
    """In CommonJS each file chooses strict mode for itself, before its first statement."""
    if shift.system == "es":
        return
    home = shift.sheets[shift.home]
    is_strict = _is_strict(home.layout, home.text)
    for path in (shift.home, shift.target):
        text = edited.source.text(path) or b""
        layout = read_layout(path, text)
        if layout.statements and _is_strict(layout, text) != is_strict:
            raise Refusal("changed_meaning", 'Only one of the files says "use strict".', path)


def _is_strict(layout: Layout, text: bytes) -> bool:
    return any(
        each.kind == "directive" and b"use strict" in text[each.start : each.end]
        for each in layout.statements
    )


def _compare_exports(shift: Shift, edited: Project, path: str) -> None:
    before = set(shift.project.slots.exports_of(path))
    after = set(edited.slots.exports_of(path))
    gone = {each.exported for each in shift.extent.exports} - shift.kept if path == shift.home else set()
    lost = before - after - gone - {"*", "="}
    if lost:
        raise Refusal("changed_meaning", f"The module would no longer export {min(lost)}.", path)


def _compare_others(shift: Shift, edited: Project, changed: set[str]) -> None:
    names = {each.exported for each in shift.extent.exports}
    for path in importing_files(shift, names | {shift.extent.name}):
        for found in shift.project.look(path).imports if path not in changed else ():
            if found.imported in ("", "*"):
                continue
            old = translate(shift, None, meaning_of_import(shift.project, path, found))
            if old != meaning_of_import(edited, path, found):
                raise Refusal(
                    "changed_meaning", "This import would find another declaration.", path, found.statement
                )


def _refuse_ambiguity(shift: Shift) -> None:
    """A name that two `export *` bring is none: the new name must not meet another one."""
    slots = shift.project.slots
    stem = posixpath.basename(shift.target).partition(".")[0]
    files = shift.project.source.files() if stem == "index" else shift.project.source.candidates(stem)
    for path in files if shift.project.facts(shift.target) is not None else ():
        for star in slots.exports_of(path).get("*", ()):
            if slots.module_of(path, star.module) != shift.target:
                continue
            found = slots.find_exported(path, shift.extent.name)
            if found is not None and slots.home_of(found) != Local(
                path=shift.home, binding=shift.extent.binding
            ):
                raise Refusal(
                    "collision", f"This would bring a second {shift.extent.name}.", path, star.statement
                )
