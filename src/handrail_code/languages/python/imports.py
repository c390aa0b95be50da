"""`import` and `from … import`: which local name stands for what of which module. Pure."""

from __future__ import annotations

from handrail_code.languages.draft import FoundImport, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.python.draft import Draft


def visit_import(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`import a.b` binds `a`; `import a.b as c` binds the module `a.b`."""
    for child in node.named_children:
        path = child.child_by_field_name("name") if child.type == "aliased_import" else child
        alias = child.child_by_field_name("alias")
        if path is None or path.type != "dotted_name":
            continue
        module = "".join(draft.name_of(path).split())
        made = FoundImport("namespace", module, span_of(path), span_of(node), definition, "*")
        local = alias if alias is not None else path.named_children[0]
        made.use = draft.bind(local, "import", scope, definition, node)
        if alias is None and len(path.named_children) == 1:
            made.imported_span = span_of(path)
        draft.imports.append(made)


def visit_from(draft: Draft, node: Node, scope: int, definition: int) -> None:
    module = node.child_by_field_name("module_name")
    if module is None and node.type == "future_import_statement":
        module = next((child for child in node.children if child.type == "__future__"), None)
    if module is None:
        return
    name = "".join(draft.name_of(module).split())
    for child in node.named_children:
        if child == module or child.type == "comment":
            continue
        if child.type == "wildcard_import":
            draft.imports.append(FoundImport("star", name, span_of(module), span_of(node), definition, "*"))
            continue
        imported = child.child_by_field_name("name") if child.type == "aliased_import" else child
        alias = child.child_by_field_name("alias")
        if imported is None or imported.type != "dotted_name":
            continue
        made = FoundImport("named", name, span_of(module), span_of(node), definition)
        made.imported, made.imported_span = draft.name_of(imported), span_of(imported)
        local = alias if alias is not None else imported
        made.use = draft.bind(
            local if local.type == "identifier" else local.named_children[0],
            "import",
            scope,
            definition,
            node,
            role="declaration" if alias is not None else "import",
        )
        draft.imports.append(made)
