"""The last check of a plan: the edited files are read again, and every name must mean what it meant. Pure.

The idea: an edit of names moves every identifier by a known distance. So each old use has one place in the
new text, and there must stand a use that resolves to the same binding as before. Whatever goes wrong with a
new name shows as a difference: it is caught by an inner declaration (shadowed), it catches the uses of an
outer one (captured), or it falls together with another name of the same scope (collision).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence

from handrail_code.edit.plan import Edit, Plan, Refusal, edited_project
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts, Use
from handrail_code.facts.python_words import is_python


def verify_plan(project: Project, plan: Plan, left: Collection[tuple[str, int]] = ()) -> Project:
    """The project as it would be. Raises Refusal where an edited file would mean something else.

    What the names at the places of `left` mean, somebody has judged.
    """
    edited = edited_project(project, plan)
    for path in sorted({edit.path for edit in plan.edits}):
        before, after = project.read_facts(path), edited.read_facts(path)
        edits = [edit for edit in plan.edits if edit.path == path]
        _compare_names(path, before, after, edits, {start for where, start in left if where == path})
        _compare_modules(project, edited, path)
    return edited


class Places:
    """Where each place of the old text is in the new one."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = sorted(edits, key=lambda each: (each.start, each.end))
        self._ends = [edit.end for edit in self._edits]
        self._shifts = [0]
        for edit in self._edits:
            grown = len(edit.replacement.encode()) - (edit.end - edit.start)
            self._shifts.append(self._shifts[-1] + grown)

    def is_edited(self, start: int) -> bool:
        return any(edit.start <= start < edit.end for edit in self._edits)

    def place(self, start: int) -> int:
        return start + self._shifts[bisect_right(self._ends, start)]


def _second_name(replacement: str) -> int:
    """Where the local one begins, where a name became two."""
    found = re.search(": | as ", replacement)
    return 0 if found is None else len(replacement[: found.end()].encode())


def _compare_names(
    path: str, before: FileFacts, after: FileFacts, edits: Sequence[Edit], left: Collection[int]
) -> None:
    places = Places(edits)
    first_sided = {each.local_span for each in before.exports if each.kind == "named"}
    local_first = {span.start for span in first_sided if span is not None}
    inside = {
        each.start: 0 if each.start in local_first else _second_name(each.replacement) for each in edits
    }
    found: dict[int, Use] = {use.start: use for use in after.uses}
    same: dict[int, int] = {}
    back: dict[int, int] = {}
    for use in before.uses:
        if use.start in left:
            continue
        there = found.get(places.place(use.start) + inside.get(use.start, 0))
        if there is None:
            raise Refusal("changed_meaning", "This name would no longer be one.", path, use)
        if use.binding == NONE:
            if there.binding != NONE:
                raise Refusal("captured", "This use of an outer name would mean the renamed one.", path, use)
            continue
        if there.binding == NONE:
            raise Refusal("changed_meaning", "This use would no longer be resolved.", path, use)
        expected = same.setdefault(use.binding, there.binding)
        owner = back.setdefault(there.binding, use.binding)
        if expected == there.binding and owner == use.binding:
            continue
        raise _explain(path, before, use, owner, use.start in inside)
    if len(after.uses) != len(before.uses):
        raise Refusal("changed_meaning", "The edited file would have other names.", path)


def _explain(path: str, before: FileFacts, use: Use, owner: int, is_edited: bool) -> Refusal:
    """Two bindings would become one, or one would become two."""
    mine, other = before.bindings[use.binding], before.bindings[owner]
    if mine.scope == other.scope and mine != other:
        return Refusal("collision", "The scope already has this name.", path, use)
    if is_edited:
        return Refusal("shadowed", "An inner declaration of this name would catch this use.", path, use)
    return Refusal("captured", "This use would mean another declaration.", path, use)


def _compare_modules(project: Project, edited: Project, path: str) -> None:
    """Every import must still find its name, and no two exports may share one that did not before."""
    before, after = project.read_facts(path), edited.read_facts(path)
    is_same_size = len(before.imports) == len(after.imports)
    if not is_python(path):  # in Python a name becomes public or private by its first letter
        is_same_size = is_same_size and len(before.exports) == len(after.exports)
    if not is_same_size:
        raise Refusal("changed_meaning", "The edited file would import other names.", path)
    for old, new in zip(before.imports, after.imports, strict=True):
        slots = (project.slots.slot_of_import(path, old), edited.slots.slot_of_import(path, new))
        if (slots[0] is None) != (slots[1] is None):
            message = "This import would no longer find its name."
            raise Refusal("changed_meaning", message, path, old.statement)
    if is_python(path):
        return
    partners: dict[str, set[str]] = {}
    for exported, now in zip(before.exports, after.exports, strict=True):
        if now.exported != "*":
            partners.setdefault(now.exported, set()).add(exported.exported)
    for exported, now in zip(before.exports, after.exports, strict=True):
        if len(partners.get(now.exported, ())) > 1 and exported.exported != now.exported:
            place = exported.exported_span or exported.statement
            raise Refusal("collision", "The module already exports this name.", path, place)


def verify_importers(project: Project, edited: Project, plan: Plan, new_name: str) -> None:
    """What other files import under the new name must come from where it came from before."""
    changed = {edit.path for edit in plan.edits}
    is_from_python = is_python(plan.edits[0].path)
    for path in project.source.candidates(new_name):
        if is_python(path) != is_from_python:
            continue
        if is_from_python:
            _compare_members(project, edited, plan, path, new_name)
        named = [each for each in project.look(path).imports if each.imported == new_name]
        for found in named if path not in changed else ():
            old, new = (each.slots.slot_of_import(path, found) for each in (project, edited))
            if old != new:
                message = "This import of the new name would find the renamed declaration."
                raise Refusal("captured", message, path, found.statement)


def _compare_members(project: Project, edited: Project, plan: Plan, path: str, new_name: str) -> None:
    """`module.name`: as many mean something as did before and were changed."""
    before, after = project.facts(path), edited.facts(path)
    if before is None or after is None:
        return
    changed = {edit.start for edit in plan.edits if edit.path == path}
    named = [each for each in before.members if each.name == new_name or each.start in changed]
    meant = [each for each in named if project.slots.slot_of_member(path, before, each) is not None]
    now = [each for each in after.members if each.name == new_name]
    if len(meant) == sum(edited.slots.slot_of_member(path, after, each) is not None for each in now):
        return
    place = next((each for each in named if each.name == new_name), None)
    message = "A member of the module of this name would mean the renamed declaration."
    raise Refusal("captured", message, path, place)
