"""ES imports and exports. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail_code.facts.model import EVERY_MEANING, NONE, Role
from handrail_code.languages.draft import FoundImport, like, part_of, parts_of, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.javascript.declarations import quoted, unquoted
from handrail_code.languages.javascript.draft import Draft, DraftExport
from handrail_code.languages.javascript.expressions import read_chain


def visit_import(draft: Draft, node: Node, scope: int, definition: int) -> None:
    source = node.child_by_field_name("source")
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    required = next((child for child in node.named_children if child.type == "import_require_clause"), None)
    if required is not None:
        source = required.child_by_field_name("source")
    module = quoted(source) if source is not None else None
    if module is None:
        return
    taken = FoundImport("bare", draft.name_of(module), span_of(module), span_of(node))
    taken.is_type_only = any(child.type == "type" for child in node.children)
    names: list[tuple[FoundImport, Node]] = []
    if required is not None:
        named = [child for child in required.named_children if child.type == "identifier"]
        names = [(like(taken, kind="require", imported="*"), local) for local in named]
    elif clause is None:
        draft.imports.append(taken)
    else:
        names += _list_names(draft, clause, taken)
    for made, local in names:
        role: Role = "import" if made.imported_span == span_of(local) else "declaration"
        made.use = draft.declare(local, "import", EVERY_MEANING, scope, definition, role)
        draft.define(local, "import", node, definition, made.use)
        draft.imports.append(made)
    draft.is_module = True


def _list_names(draft: Draft, clause: Node, taken: FoundImport) -> Iterator[tuple[FoundImport, Node]]:
    """Each name of a clause as an import like this one, and where its local name stands."""
    for child in clause.named_children:
        if child.type == "identifier":
            yield like(taken, kind="default", imported="default"), child
        elif child.type == "namespace_import":
            for name in child.named_children:
                if name.type == "identifier":
                    yield like(taken, kind="namespace", imported="*"), name
        # In a text with mistakes other things may stand among the names.
        for specifier in child.named_children if child.type == "named_imports" else ():
            if specifier.type != "import_specifier":
                continue
            name = part_of(specifier, "name")
            named, local = unquoted(name), specifier.child_by_field_name("alias") or name
            if named is not None and local.type == "identifier":
                made = like(taken, kind="named", imported=draft.name_of(named), imported_span=span_of(named))
                made.kind = "default" if made.imported == "default" else "named"
                is_type = any(each.type in ("type", "typeof") for each in specifier.children)
                made.is_type_only = is_type or taken.is_type_only
                yield made, local


def visit_import_alias(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`import N = A.B`: a local name for a member of a namespace."""
    parts = parts_of(node)
    use = draft.declare(parts[0], "import", EVERY_MEANING, scope, definition)
    draft.define(parts[0], "import", node, definition, use)
    for part in parts[1:]:
        if part.type == "identifier":
            draft.use(part, "read", scope, EVERY_MEANING, definition)
        else:
            read_chain(draft, part, scope, definition, "read")


def visit_export(draft: Draft, node: Node, scope: int, definition: int) -> None:
    if draft.scopes[scope].kind == "module":
        draft.is_module = True
    tokens = {child.type for child in node.children if not child.is_named}
    source = node.child_by_field_name("source")
    module = quoted(source) if source is not None else None
    for decorator in node.children_by_field_name("decorator"):
        draft.stack.append((decorator, scope, definition))
    declaration = node.child_by_field_name("declaration")
    value = node.child_by_field_name("value")
    clause = next((child for child in node.named_children if child.type == "export_clause"), None)
    if declaration is not None:
        draft.anchors[declaration.id] = node.start_byte
        draft.exported[declaration.id] = (span_of(node), "default" in tokens)
        draft.stack.append((declaration, scope, definition))
    elif value is not None:
        _export_value(draft, node, value, scope, definition)
    elif clause is not None:
        for specifier in clause.named_children:
            if specifier.type == "export_specifier":
                _export_specifier(draft, node, specifier, module, scope, definition, "type" in tokens)
    elif module is not None:
        _export_all(draft, node, module)
    else:
        _export_equals(draft, node, tokens, scope, definition)


def _export_value(draft: Draft, node: Node, value: Node, scope: int, definition: int) -> None:
    draft.anchors[value.id] = node.start_byte
    made = DraftExport("default", "default", span_of(node), definition=definition)
    use = NONE
    if (
        value.type in ("as_expression", "satisfies_expression")
        and value.named_children[0].type == "identifier"
    ):
        draft.push(value.named_children[1:], scope, definition)
        value = value.named_children[0]
    if value.type == "identifier":
        use = draft.use(value, "export", scope, EVERY_MEANING, definition)
    else:
        draft.stack.append((value, scope, definition))
    draft.export(made, use)


def _export_specifier(
    draft: Draft,
    node: Node,
    specifier: Node,
    module: Node | None,
    scope: int,
    definition: int,
    is_type_only: bool,
) -> None:
    name = unquoted(specifier.child_by_field_name("name"))
    alias = unquoted(specifier.child_by_field_name("alias"))
    if name is None:
        return
    shown = alias if alias is not None else name
    made = DraftExport("named" if module is None else "reexport", draft.name_of(shown), span_of(node))
    made.exported_span, made.local_span, made.definition = span_of(shown), span_of(name), definition
    made.is_type_only = is_type_only or any(child.type == "type" for child in specifier.children)
    if module is None:
        draft.export(made, draft.use(name, "export", scope, EVERY_MEANING, definition))
        return
    made.module, made.module_span, made.imported = *_named(draft, module), draft.name_of(name)
    draft.export(made)


def _named(draft: Draft, module: Node) -> tuple[str, tuple[int, int]]:
    return draft.name_of(module), span_of(module)


def _export_all(draft: Draft, node: Node, module: Node) -> None:
    named = next((child for child in node.named_children if child.type == "namespace_export"), None)
    name = None if named is None else unquoted(named.children[-1])  # `default` is a word of the grammar
    made = DraftExport("star" if name is None else "namespace", "*", span_of(node))
    if name is not None:
        made.exported, made.exported_span = draft.name_of(name), span_of(name)
    made.module, made.module_span, made.imported = *_named(draft, module), "*"
    draft.export(made)


def _export_equals(draft: Draft, node: Node, tokens: set[str], scope: int, definition: int) -> None:
    """`export = x`, or `export as namespace X`, which names a global."""
    rest = [child for child in node.named_children if child.type not in ("comment", "decorator")]
    if "namespace" in tokens:
        draft.dynamic.append(("global", *span_of(node)))
        if rest and rest[0].type == "identifier":
            draft.export(DraftExport("global", draft.name_of(rest[0]), span_of(node), span_of(rest[0])))
        return
    if "=" not in tokens or not rest:
        draft.push(rest, scope, definition)
        return
    use = NONE
    if rest[0].type == "identifier":
        use = draft.use(rest[0], "export", scope, EVERY_MEANING, definition)
    else:
        draft.push(rest, scope, definition)
    draft.export(DraftExport("assign", "=", span_of(node)), use)


def record_exported(draft: Draft, node: Node, scope: int, first_use: int) -> None:
    """After a declaration under `export` was read: the names it declared in this scope are exported."""
    statement, is_default = draft.exported.pop(node.id)
    for use in range(first_use, len(draft.uses)):
        found = draft.uses[use]
        if found.binding == NONE or found.role not in ("declaration", "pattern"):
            continue
        binding = draft.bindings[found.binding]
        if binding.scope != scope or binding.kind == "label":
            continue
        binding.is_exported = True
        if draft.scopes[scope].kind != "module":
            continue
        made = DraftExport("default" if is_default else "declared", "default", statement)
        if not is_default:
            made.exported, made.exported_span = found.name, (found.start, found.end)
        draft.export(made, use)
