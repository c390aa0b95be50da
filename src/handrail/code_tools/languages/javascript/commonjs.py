"""Which assignments export something: `exports.a = …`, `module.exports = …`. Pure.

This can be told only after names are resolved, because a parameter may be called `exports`.
"""

from __future__ import annotations

from handrail.code_tools.facts.model import NONE
from handrail.code_tools.languages.javascript.draft import Draft, DraftAssignment, DraftExport


def read_commonjs(draft: Draft) -> bool:
    """Mark members of `exports`, add the exports; answers whether the file is a CommonJS module."""
    whole = _mark_exports(draft)
    _mark_escapes(draft, whole)
    for assignment in draft.assignments:
        if assignment.member in whole or _is_exports_name(draft, assignment.use):
            _export_whole(draft, assignment)
        elif assignment.member != NONE and draft.members[assignment.member].receiver == "exports":
            _export_one(draft, assignment)
    has_exports = any(each.kind == "commonjs" for each in draft.exports) or bool(whole)
    return has_exports or any(
        use.name == "require" and use.role == "call" and use.binding == NONE for use in draft.uses
    )


def _mark_exports(draft: Draft) -> set[int]:
    """Members whose receiver is the exports object; answers those that are `module.exports` itself."""
    whole: set[int] = set()
    for at, member in enumerate(draft.members):
        if member.receiver == "use":
            use = draft.uses[member.index]
            if use.binding != NONE:
                continue
            if use.name == "exports":
                draft.exports_receivers.add(member.index)
                member.receiver, member.index = "exports", NONE
            elif use.name == "module" and member.name == "exports":
                whole.add(at)
        elif member.receiver == "member" and member.index in whole:
            draft.exports_members.add(member.index)
            member.receiver, member.index = "exports", NONE
    return whole


def _mark_escapes(draft: Draft, whole: set[int]) -> None:
    """`f(exports)` and `f(module.exports)`: someone else may add names or read them."""
    held = {(member.receiver, member.index) for member in draft.members}
    computed = {start for kind, start, _ in draft.dynamic if kind == "exports"}
    for at, use in enumerate(draft.uses):
        is_whole = use.name == "exports" and use.binding == NONE and use.role == "read"
        is_whole = is_whole and use.start not in computed
        if is_whole and ("use", at) not in held and at not in draft.exports_receivers:
            draft.dynamic.append(("exports", use.start, use.end))
    for at in whole:
        member = draft.members[at]
        if member.role == "read" and ("member", at) not in held and at not in draft.exports_members:
            draft.dynamic.append(("exports", member.start, member.end))


def _is_exports_name(draft: Draft, use: int) -> bool:
    return use != NONE and draft.uses[use].name == "exports" and draft.uses[use].binding == NONE


def _export_whole(draft: Draft, assignment: DraftAssignment) -> None:
    """`module.exports = x` replaces what the module is; an object's keys are its names."""
    made = DraftExport("commonjs", "=", assignment.statement)
    made.local_use = assignment.right_use
    if assignment.right_use != NONE:
        made.local_span = (draft.uses[assignment.right_use].start, draft.uses[assignment.right_use].end)
        _mark_exported(draft, assignment.right_use)
    made.definition = assignment.right_definition
    draft.exports.append(made)
    draft.dynamic += [("exports", start, end) for start, end in assignment.spreads]
    for at in assignment.stars:
        found = draft.imports[at]
        found.is_followed = True
        star = DraftExport("star", "*", assignment.statement)
        star.module, star.module_span, star.imported = found.module, found.module_span, "*"
        draft.exports.append(star)
    for name, span, use, member in assignment.keys or ():
        key = DraftExport("commonjs", name, assignment.statement)
        key.exported_span = span
        key.member = member
        key.local_use = use
        if use != NONE:
            key.local_span = (draft.uses[use].start, draft.uses[use].end)
            _mark_exported(draft, use)
        draft.exports.append(key)


def _export_one(draft: Draft, assignment: DraftAssignment) -> None:
    member = draft.members[assignment.member]
    made = DraftExport("commonjs", member.name, assignment.statement)
    made.exported_span = (member.start, member.end)
    made.member = assignment.member
    made.local_use = assignment.right_use
    made.definition = assignment.right_definition
    if assignment.right_use != NONE:
        use = draft.uses[assignment.right_use]
        made.local_span = (use.start, use.end)
        _mark_exported(draft, assignment.right_use)
    draft.exports.append(made)


def _mark_exported(draft: Draft, use: int) -> None:
    binding = draft.uses[use].binding
    if binding != NONE:
        draft.bindings[binding].is_exported = True
