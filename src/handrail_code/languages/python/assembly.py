"""From a draft to facts: bind and resolve every name by Python's rules, sort by position. Pure."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from handrail_code.facts.model import (
    NONE,
    Definition,
    Export,
    ExportKind,
    FileFacts,
    ParseTrouble,
    Role,
    Span,
)
from handrail_code.facts.python_words import BUILTIN_NAMES
from handrail_code.languages.assembly import Order, find_places, make_definition, make_facts, make_span
from handrail_code.languages.draft import FoundBinding, FoundDefinition, FoundUse
from handrail_code.languages.python.draft import Draft, DraftDefinition, DraftUse

HASHED: Final = frozenset({"function", "class", "method", "type"})


def assemble(draft: Draft, is_declaration: bool, troubles: tuple[ParseTrouble, ...]) -> FileFacts:
    _bind_all(draft)
    for use in draft.uses:
        if use.binding == NONE and use.binds is None:
            use.binding = _resolve(draft, use)
    _correct_early_reads(draft)
    listed = {draft.uses[use].name for use, _ in draft.listed} if draft.has_list else None
    _declare_members(draft)
    _note_dynamic(draft)
    order = Order(draft)
    imports = sorted(range(len(draft.imports)), key=lambda at: draft.imports[at].module_span)
    order.places |= {"this": order.places["use"], "import": find_places(imports)}
    return make_facts(
        draft,
        order,
        language="python",
        is_module=True,
        is_commonjs=False,
        is_declaration=is_declaration,
        definitions=(_definition(draft, each, listed) for each in draft.definitions),
        imports=(draft.imports[at] for at in imports),
        exports=_exports(draft, listed),
        troubles=troubles,
    )


def _bind_all(draft: Draft) -> None:
    """Who binds where: in its own scope unless `global` or `nonlocal` sends it elsewhere."""
    waiting: list[DraftUse] = []
    for use in draft.uses:
        if use.binds is None:
            continue
        declared = draft.scopes[use.scope].declared.get(use.name)
        if declared == "nonlocal":
            waiting.append(use)
        else:
            use.binding = _bind(draft, use, 0 if declared == "global" else use.scope)
    for use in waiting:
        use.binding = _resolve(draft, use)


def _bind(draft: Draft, use: DraftUse, scope: int) -> int:
    names = draft.scopes[scope].names
    assert use.binds is not None, "only what binds comes here"
    known = names.get(use.key)
    if known is None:
        draft.bindings.append(FoundBinding(use.name, use.binds, scope, is_exported=scope == 0))
        names[use.key] = known = len(draft.bindings) - 1
    elif use.binds in ("function", "class") and draft.bindings[known].kind in ("variable", "import"):
        draft.bindings[known].kind = use.binds  # what people search for
    return known


def _resolve(draft: Draft, use: DraftUse) -> int:
    """Outwards through functions; the names of a class are seen only by what stands directly in it."""
    scopes, key, at = draft.scopes, use.key, use.scope
    is_direct = True
    while at != NONE:
        scope = scopes[at]
        declared = scope.declared.get(use.name)
        if declared == "global":
            return scopes[0].names.get(key, NONE)
        if declared is None and (scope.kind != "class" or is_direct) and key in scope.names:
            return scope.names[key]
        is_direct = is_direct and scope.kind == "type"
        at = scope.parent
    return NONE


def _correct_early_reads(draft: Draft) -> None:
    """In a class, and at the top for Python's own names, a name that is not bound yet means an outer one."""
    first, first_sure = _find_effects(draft)
    for use in draft.uses:
        if use.binds is not None or use.binding == NONE or use.role == "export":
            continue
        binding = draft.bindings[use.binding]
        kind = draft.scopes[binding.scope].kind
        if not _is_read_directly(draft, use, binding.scope):
            continue
        is_class = kind == "class"
        outer = draft.scopes[0].names.get(use.key, NONE) if is_class else NONE
        is_other = outer != NONE or (kind in ("class", "module") and use.name in BUILTIN_NAMES)
        if not is_class and not is_other:
            continue
        if first[use.binding] > use.start:
            use.binding = outer
        elif is_other and first_sure.get(use.binding, use.end) > use.start:
            draft.dynamic.append(("scope", use.start, use.end))


def _find_effects(draft: Draft) -> tuple[dict[int, int], dict[int, int]]:
    """From where on each binding is perhaps bound, and from where on it certainly is."""
    first: dict[int, int] = {}
    first_sure: dict[int, int] = {}
    for use in draft.uses:
        if use.binds is None or use.binding == NONE:
            continue
        first[use.binding] = min(use.effect, first.get(use.binding, use.effect))
        if not _is_in_branch(draft, use, draft.bindings[use.binding].scope):
            first_sure[use.binding] = min(use.effect, first_sure.get(use.binding, use.effect))
    return first, first_sure


def _is_in_branch(draft: Draft, use: DraftUse, scope: int) -> bool:
    """What a function binds by `global` happens perhaps as well."""
    branches = draft.scopes[scope].branches
    at = bisect_right(branches, (use.start, use.start)) - 1
    return use.scope != scope or (at >= 0 and use.start < branches[at][1])


def _is_read_directly(draft: Draft, use: DraftUse, scope: int) -> bool:
    at = use.scope
    while at != scope and draft.scopes[at].kind in ("type", "block"):
        at = draft.scopes[at].parent
    return at == scope


def _declare_members(draft: Draft) -> None:
    """What a class binds is a member of it; that its name also stands in a scope is the lesser half."""
    for use in draft.uses:
        scope = draft.bindings[use.binding].scope if use.binding != NONE else 0
        if draft.scopes[scope].kind == "class":
            role: Role = use.role if use.binds is None else "declaration"
            draft.member_at(use.name, (use.start, use.end), role, "this", NONE, use.definition)


def _definition(draft: Draft, each: DraftDefinition, listed: set[str] | None) -> Definition:
    binding = draft.uses[each.use].binding if each.use != NONE else NONE
    scope = draft.bindings[binding].scope if binding != NONE else NONE
    is_member = scope != NONE and draft.scopes[scope].kind == "class"
    is_hashed = each.kind in HASHED or (each.kind in ("variable", "property") and each.end != each.extent[1])
    is_public = each.name in listed if listed is not None else _is_public(each)
    return make_definition(
        draft.text,
        each,
        binding=NONE if is_member else binding,
        is_exported=scope == 0 and is_public,
        doc=each.doc,
        head=each.head if is_hashed else None,
        head_end=":",
    )


def _is_public(each: DraftDefinition) -> bool:
    return each.kind != "import" and not each.name.startswith("_")


def _exports(draft: Draft, listed: set[str] | None) -> list[Export]:
    """The names in `__all__`; without one, every public name at the top that is no import."""
    made = []
    for at, (start, end) in draft.listed:
        use = draft.uses[at]
        made.append(_export("named", use.name, use, use.binding, (start, end)))
    seen: set[int] = set()
    for each in draft.definitions if listed is None else ():
        binding = draft.uses[each.use].binding if each.use != NONE else NONE
        if binding == NONE or draft.bindings[binding].scope != 0 or binding in seen or not _is_public(each):
            continue
        seen.add(binding)
        made.append(_export("declared", each.name, each, binding, each.extent))
    return sorted(made, key=lambda each: each.exported_span or each.statement)


def _export(
    kind: ExportKind, name: str, place: FoundUse | FoundDefinition, binding: int, statement: tuple[int, int]
) -> Export:
    span = Span(start=place.start, end=place.end)
    return Export(
        kind=kind,
        exported=name,
        exported_span=span,
        binding=binding,
        local_span=span,
        statement=make_span(statement),
    )


def _note_dynamic(draft: Draft) -> None:
    """What makes names at run time, now that it is known whether a called name is Python's own."""
    for use, kind, start, end in draft.builtin_calls:
        if draft.uses[use].binding != NONE:
            continue
        scope = draft.uses[use].scope
        while draft.scopes[scope].kind in ("block", "type"):
            scope = draft.scopes[scope].parent
        draft.dynamic.append(("globals" if kind == "locals" and scope == 0 else kind, start, end))
    for each in draft.definitions:
        if each.name == "__getattr__" and each.kind == "function" and each.container == NONE:
            draft.dynamic.append(("exports", each.start, each.end))
