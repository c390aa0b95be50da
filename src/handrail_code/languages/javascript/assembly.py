"""From a draft to facts: resolve every use, find what is exported, sort everything by position. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail_code.facts.model import NONE, Definition, Export, FileFacts, Language, ParseTrouble
from handrail_code.languages.assembly import (
    Order,
    make_definition,
    make_fact,
    make_facts,
    make_optional_span,
    make_span,
)
from handrail_code.languages.draft import FoundImport, FoundUse
from handrail_code.languages.javascript.documentation import read_documentation
from handrail_code.languages.javascript.draft import Draft, DraftAssignment, DraftDefinition, DraftExport
from handrail_code.languages.javascript.loading import bind_loaded

COMPARED = re.compile(rb"(?:\btypeof|[!=]==?)\s*\Z")
"""What only asks whether there is such a thing, or which: `typeof module`, `require.main === module`."""
HASHED = frozenset({"function", "class", "method", "type", "enum", "namespace"})


def assemble(
    draft: Draft, language: Language, is_declaration: bool, troubles: tuple[ParseTrouble, ...]
) -> FileFacts:
    bind_loaded(draft)
    _hoist_functions(draft)
    docs = read_documentation(draft, language)
    for use in draft.uses:
        if use.binding == NONE:
            use.binding = resolve(draft, use)
    _resolve_inner_members(draft)
    _read_augmentations(draft)
    is_script = language in ("javascript", "jsx") and not draft.is_module
    is_commonjs = is_script and read_commonjs(draft)
    order = Order(draft)
    assigned = {each.definition for each in draft.exports if each.kind == "commonjs" and each.member != NONE}
    return make_facts(
        draft,
        order,
        language=language,
        is_module=draft.is_module or is_commonjs,
        is_commonjs=is_commonjs and not draft.is_module,
        is_declaration=is_declaration,
        definitions=(
            _definition(draft, each, docs.get(at, ""), at in assigned)
            for at, each in enumerate(draft.definitions)
        ),
        imports=draft.imports,
        exports=_exports(draft, order.places["member"]),
        troubles=troubles,
    )


def resolve(draft: Draft, use: FoundUse) -> int:
    """The innermost binding of this name that has the wanted meaning, outwards.

    A comment may call a value a type, so one that passes over a value of its name is not resolved.
    """
    scopes, bindings = draft.scopes, draft.bindings
    name, meaning, at = use.name, use.meaning, use.scope
    while at != NONE:
        scope = scopes[at]
        found = scope.names.get(name)
        if found is not None and (use.role == "doc" or bindings[found].meaning & meaning):
            return found if bindings[found].meaning & meaning else NONE
        at = scope.parent
    return NONE


def _hoist_functions(draft: Draft) -> None:
    """A function in a block of sloppy code is also a `var`, unless a parameter or `let` has its name.

    (ECMAScript, annex B.3.2.) Both are called one name here, because a rename has to change both.
    """
    joined: dict[int, int] = {}
    for block, binding in draft.sloppy_functions:
        name, at = draft.bindings[binding].name, draft.scopes[block].parent
        top = draft.var_scope(block)
        is_free = True
        while is_free:
            known = draft.scopes[at].names.get(name)
            is_free = known is None or draft.bindings[known].is_var
            if at == top:
                break
            at = draft.scopes[at].parent
        parameters = draft.scopes[top].parent
        if parameters != NONE and draft.scopes[parameters].kind == "parameters":
            is_free = is_free and name not in draft.scopes[parameters].names
        if is_free and binding not in joined:
            target = draft.bind(name, "function", draft.bindings[binding].meaning, top)
            draft.bindings[target].is_var = True
            draft.scopes[block].names[name] = target
            joined[binding] = target
    for use in draft.uses:
        use.binding = joined.get(use.binding, use.binding)
    for definition in draft.definitions:
        definition.binding = joined.get(definition.binding, definition.binding)


def _resolve_inner_members(draft: Draft) -> None:
    """`Enum.Member` and `Namespace.name`, where the enum or namespace is in this file, are proven uses."""
    inner_of: dict[int, int] = {}
    for at, member in enumerate(draft.members):
        if member.receiver == "use":
            owner = draft.uses[member.index].binding
        elif member.receiver == "member":
            owner = inner_of.get(member.index, NONE)
        else:
            continue
        if owner == NONE or draft.bindings[owner].inner == NONE:
            continue
        inner = draft.bindings[owner].inner
        found = draft.scopes[inner].names.get(member.name)
        if found is None:
            continue
        inner_of[at] = found
        place = (member.name, member.start, member.end, member.role)
        draft.uses.append(FoundUse(*place, inner, member.definition, member.meaning, found))
        member.is_proven = True


def _read_augmentations(draft: Draft) -> None:
    """Names in `declare module "x" {}` are names of that module."""
    for at, use in enumerate(draft.uses):
        if use.role != "declaration" or use.binding == NONE:
            continue
        augmented = draft.augmented.get(draft.bindings[use.binding].scope)
        if augmented is not None:
            module, module_span, statement = augmented
            made = FoundImport("augmentation", module, module_span, statement, use.definition, use.name)
            made.imported_span, made.use, made.is_type_only = (use.start, use.end), at, True
            draft.imports.append(made)


def _definition(draft: Draft, each: DraftDefinition, doc: str, is_assigned: bool) -> Definition:
    start, end = each.extent
    is_hashed = each.kind in HASHED or (each.kind == "variable" and each.start != start)
    exported = is_assigned or (each.binding != NONE and draft.bindings[each.binding].is_exported)
    head = (start, end if each.head_end == NONE else each.head_end)
    return make_definition(
        draft.text,
        each,
        binding=each.binding,
        is_exported=exported,
        doc=doc,
        head=head if is_hashed else None,
    )


def _exports(draft: Draft, member_place: list[int]) -> Iterator[Export]:
    for each in sorted(draft.exports, key=lambda each: (each.statement, each.local_span or (0, 0))):
        yield make_fact(
            Export,
            each,
            exported_span=make_optional_span(each.exported_span),
            binding=NONE if each.local_use == NONE else draft.uses[each.local_use].binding,
            local_span=make_optional_span(each.local_span),
            module_span=make_optional_span(each.module_span),
            statement=make_span(each.statement),
            member=NONE if each.member == NONE else member_place[each.member],
        )


# Which assignments export something: `exports.a = …`, `module.exports = …`. This is known only after names
# are resolved, because a parameter may be called `exports`.


def read_commonjs(draft: Draft) -> bool:
    """Mark members of `exports`, add the exports; answers whether the file is a CommonJS module."""
    whole = _mark_exports(draft)
    _mark_escapes(draft, whole)
    _pass_on(draft)
    for assignment in draft.assignments:
        if assignment.member in whole or _is_exports_name(draft, assignment.use):
            _export_whole(draft, assignment)
        elif assignment.member != NONE and draft.members[assignment.member].receiver == "exports":
            _export_one(draft, assignment)
        else:
            continue
        if assignment.is_held:
            draft.dynamic.append(("exports", *assignment.statement))
    has_exports = any(each.kind == "commonjs" for each in draft.exports) or bool(whole)
    if has_exports:
        draft.dynamic += [("exports", *span) for span in draft.module_receivers]
    return has_exports or any(
        use.name == "require" and use.role == "call" and use.binding == NONE for use in draft.uses
    )


def _pass_on(draft: Draft) -> None:
    """In `exports.a = exports.b = c` both get `c`."""
    last = {each.statement[1]: each for each in draft.assignments if each.right_use != NONE}
    for each in draft.assignments:
        inner = last.get(each.statement[1])
        is_named = each.member != NONE and each.right_use == NONE
        if inner is not None and is_named and each.statement[0] < inner.statement[0]:
            each.right_use = inner.right_use


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
    """`f(exports)`, `f(module)` and `f(module.exports)`: someone else may add names or read them."""
    held = {(member.receiver, member.index) for member in draft.members}
    computed = {start for kind, start, _ in draft.dynamic if kind == "exports"}
    for at, use in enumerate(draft.uses):
        is_whole = use.name in ("exports", "module") and use.binding == NONE
        is_whole = is_whole and use.role in ("read", "shorthand") and use.start not in computed
        is_whole = is_whole and not COMPARED.search(draft.text, max(0, use.start - 20), use.start)
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
    made = DraftExport("commonjs", "=", assignment.statement, definition=assignment.right_definition)
    _export(draft, made, assignment.right_use)
    draft.dynamic += [("exports", start, end) for start, end in assignment.spreads]
    for at in assignment.stars:
        found = draft.imports[at]
        found.is_followed = True
        star = DraftExport("star", "*", assignment.statement)
        star.module, star.module_span, star.imported = found.module, found.module_span, "*"
        draft.exports.append(star)
    for name, span, use, member in assignment.keys or ():
        key = DraftExport("commonjs", name, assignment.statement, exported_span=span, member=member)
        _export(draft, key, use)


def _export_one(draft: Draft, assignment: DraftAssignment) -> None:
    member = draft.members[assignment.member]
    made = DraftExport("commonjs", member.name, assignment.statement, (member.start, member.end))
    made.member, made.definition = assignment.member, assignment.right_definition
    _export(draft, made, assignment.right_use)


def _export(draft: Draft, made: DraftExport, use: int) -> None:
    draft.export(made, use)
    if use != NONE and draft.uses[use].binding != NONE:
        draft.bindings[draft.uses[use].binding].is_exported = True
