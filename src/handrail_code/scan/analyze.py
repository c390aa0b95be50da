"""One definition in detail: what it is, what it calls, who calls it, and where its name goes. Pure."""

from __future__ import annotations

import msgspec

from handrail_code.facts.join import Found, Project, Reference
from handrail_code.facts.model import NONE
from handrail_code.facts.slots import Trouble
from handrail_code.scan.callers import Callee, Caller, find_callers, find_uses, is_test, list_callees


class AnalyzeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    parameters: tuple[str, ...]
    calls: tuple[Callee, ...]
    callers: tuple[Caller, ...]
    exported_as: tuple[str, ...]
    imported_by: tuple[str, ...]
    tests: tuple[str, ...]
    levels: dict[str, int]
    """How many references of each level."""
    unsure: tuple[Reference | Trouble, ...]
    troubles: tuple[Trouble, ...]


def analyze(project: Project, found: Found) -> AnalyzeAnswer:
    facts = project.read_facts(found.path)
    used = find_uses(project, found)
    callers = find_callers(project, found, used)
    levels = {"exact": 0, "alias": 0, "member": 0, "possible": 0}
    for one in (*used.sure, *used.unsure):
        levels[one.level] += 1
    files = {one.path for one in used.sure} - {found.path}
    binding = found.definition.binding
    return AnalyzeAnswer(
        parameters=tuple(
            one.name for one in facts.definitions if one.kind == "parameter" and one.container == found.index
        ),
        calls=tuple(list_callees(project, found)),
        callers=callers.known,
        exported_as=tuple(
            sorted({one.exported for one in facts.exports if binding != NONE and one.binding == binding})
        ),
        imported_by=tuple(sorted({one.path for one in used.sure if one.role == "import"} - {found.path})),
        tests=tuple(sorted(path for path in files if is_test(path))),
        levels=levels,
        unsure=tuple(dict.fromkeys([*used.unsure, *callers.unsure])),
        troubles=callers.troubles,
    )
