"""A module that a move leaves with nothing in it goes away, unless somebody names it. Pure."""

from __future__ import annotations

from handrail.code_tools.edit.moving.entries import is_entry
from handrail.code_tools.edit.moving.meanings import edited_project
from handrail.code_tools.edit.moving.named_modules import is_named
from handrail.code_tools.edit.moving.shift import Shift
from handrail.code_tools.edit.plan import Edit, Plan, Refusal, hash_text
from handrail.code_tools.languages.javascript.layout import read_layout


def drop_emptied(shift: Shift, plan: Plan) -> Plan:
    """The plan, which removes the old module where nothing but `export {}` and directives would stay."""
    edited = edited_project(shift.project, plan)
    old = shift.project.source.text(shift.home)
    if isinstance(edited, Refusal) or old is None or is_entry(shift.project, shift.home):
        return plan
    if not _is_empty(shift.home, edited.source.text(shift.home) or b"") or is_named(edited, shift.home):
        return plan
    whole = Edit(path=shift.home, start=0, end=len(old), replacement="", before_hash=hash_text(old))
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
