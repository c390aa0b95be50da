"""The last check of a plan: the edited files are read again, and every name must mean what it meant. Pure.

The idea: an edit of names moves every identifier by a known distance. So each old use has one place in the
new text, and there must stand a use that resolves to the same binding as before. Whatever goes wrong with a
new name shows as a difference: it is caught by an inner declaration (shadowed), it catches the uses of an
outer one (captured), or it falls together with another name of the same scope (collision).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from handrail_code.edit.plan import Edit, Plan, Refusal, edited_project
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts, Import, Use
from handrail_code.facts.python_words import is_python
from handrail_code.facts.spelled_names import Slot


def verify_plan(project: Project, plan: Plan) -> Project:
    """The project as it would be. Raises Refusal where an edited file would mean something else."""
    edited = edited_project(project, plan)
    for path in sorted({edit.path for edit in plan.edits}):
        before, after = project.read_facts(path), edited.read_facts(path)
        moved = Moved([edit for edit in plan.edits if edit.path == path], before)
        _compare_names(path, before, after, moved)
        _compare_modules(project, edited, path)
    return edited


class Moved:
    """Where each place of the old text is in the new one."""

    def __init__(self, edits: Sequence[Edit], facts: FileFacts) -> None:
        ordered = sorted(edits, key=lambda each: each.start)
        self._starts = [edit.start for edit in ordered]
        self._shifts = [0]
        for edit in ordered:
            grown = len(edit.replacement.encode()) - (edit.end - edit.start)
            self._shifts.append(self._shifts[-1] + grown)
        first_sided = {
            export.local_span.start
            for export in facts.exports
            if export.kind == "named" and export.local_span is not None
        }
        self._inside = {
            edit.start: 0 if edit.start in first_sided else _second_name(edit.replacement) for edit in ordered
        }

    def is_edited(self, start: int) -> bool:
        return start in self._inside

    def place(self, start: int) -> int:
        """Of an identifier. Where it became two names, of the local one."""
        before = bisect_right(self._starts, start - 1)
        return start + self._shifts[before] + self._inside.get(start, 0)


def _second_name(replacement: str) -> int:
    for between in (": ", " as "):
        at = replacement.find(between)
        if at != -1:
            return len(replacement[: at + len(between)].encode())
    return 0


def _compare_names(path: str, before: FileFacts, after: FileFacts, moved: Moved) -> None:
    found: dict[int, Use] = {use.start: use for use in after.uses}
    same: dict[int, int] = {}
    back: dict[int, int] = {}
    for use in before.uses:
        there = found.get(moved.place(use.start))
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
        raise _explain(path, before, use, owner, moved.is_edited(use.start))
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
        if (project.slots.slot_of_import(path, old) is None) != (
            edited.slots.slot_of_import(path, new) is None
        ):
            raise Refusal(
                "changed_meaning", "This import would no longer find its name.", path, old.statement
            )
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
        for found in project.look(path).imports if path not in changed else ():
            if found.imported == new_name and _moves(project, edited, path, found):
                raise Refusal(
                    "captured",
                    "This import of the new name would find the renamed declaration.",
                    path,
                    found.statement,
                )


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
    raise Refusal(
        "captured", "A member of the module of this name would mean the renamed declaration.", path, place
    )


def _moves(project: Project, edited: Project, path: str, found: Import) -> bool:
    old: Slot | None = project.slots.slot_of_import(path, found)
    return old != edited.slots.slot_of_import(path, found)
