"""A module that a move leaves with nothing in it goes away, unless somebody names it. Pure."""

from __future__ import annotations

import posixpath
import re

from handrail.code_tools.edit.moving.entries import is_entry
from handrail.code_tools.edit.moving.meanings import edited_project
from handrail.code_tools.edit.moving.shift import Shift
from handrail.code_tools.edit.moving.specifiers import split_extension
from handrail.code_tools.edit.plan import Edit, Plan, Refusal, hash_text
from handrail.code_tools.facts.join import Project
from handrail.code_tools.facts.resolution import Resolved
from handrail.code_tools.languages.javascript.layout import read_layout


def drop_emptied(shift: Shift, plan: Plan) -> Plan:
    """The plan, which removes the old module where nothing but `export {}` and directives would stay."""
    edited = edited_project(shift.project, plan)
    old = shift.project.source.text(shift.home)
    if isinstance(edited, Refusal) or old is None or is_entry(shift.project, shift.home):
        return plan
    if not _is_empty(shift.home, edited.source.text(shift.home) or b"") or _is_named(edited, shift.home):
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


def _is_named(edited: Project, path: str) -> bool:
    """An import of it, or any text in quotes that leads to it, such as that of a mock or a worker."""
    stem = posixpath.basename(split_extension(path)[0])
    wanted = posixpath.basename(posixpath.dirname(path)) if stem == "index" else stem
    pattern = re.compile(rb"""(['"`])([^'"`\n]{1,500})\1""")
    files = edited.source.files() if stem == "index" else edited.source.candidates(wanted)
    for other in files:
        for found in pattern.finditer(edited.source.text(other) or b"") if other != path else ():
            spelled = found[2].decode(errors="replace")
            resolved = edited.resolve_module(other, spelled) if "." in spelled or wanted in spelled else None
            if isinstance(resolved, Resolved) and resolved.path == path:
                return True
    return False
