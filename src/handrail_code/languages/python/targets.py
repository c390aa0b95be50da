"""Where names are bound without `def` and `class`: assignments, loops, `with`, patterns, imports. Pure."""

from __future__ import annotations

from handrail_code.facts.model import NONE, Kind, ReceiverKind
from handrail_code.languages.draft import FoundImport, part_of, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.python.draft import Draft
from handrail_code.languages.python.expressions import list_names, visit_attribute

NESTED = frozenset(
    {
        *("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "tuple", "list"),
        *("list_splat", "parenthesized_expression", "expression_list", "as_pattern_target"),
    }
)
"""Targets that hold targets."""
LIST = "__all__"


def bind_target(draft: Draft, target: Node, scope: int, definition: int, extent: Node, kind: Kind) -> int:
    """Bind every name in a target. Answers the definition of the only name, or NONE."""
    waiting = [target]
    before = len(draft.definitions)
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            draft.bind(node, kind, scope, definition, extent)
        elif node.type in NESTED:
            waiting.extend(reversed(node.named_children))
        elif node.type == "attribute":
            visit_attribute(draft, node, scope, definition, "write")
            _define_attribute(draft, node, scope, definition, extent)
        else:
            draft.stack.append((node, scope, definition))
    is_only = target.type == "identifier" and len(draft.definitions) == before + 1
    return before if is_only else NONE


def _define_attribute(draft: Draft, node: Node, scope: int, definition: int, extent: Node) -> None:
    """`self.a = …` in a method defines an attribute of the class, the first time."""
    receiver, name = draft.scopes[scope].receiver, part_of(node, "attribute")
    if not receiver or draft.name_of(part_of(node, "object")) != receiver:
        return
    container = draft.definitions[definition].container
    key = (container, draft.name_of(name))
    if key not in draft.attributes:
        draft.attributes.add(key)
        draft.define(name, "property", extent, container, NONE)


def visit_assignment(draft: Draft, node: Node, scope: int, definition: int) -> None:
    left, right = part_of(node, "left"), node.child_by_field_name("right")
    annotation = node.child_by_field_name("type")
    if draft.text[left.start_byte : left.end_byte] == LIST.encode() and scope == 0 and right is not None:
        list_names(draft, right, node, scope, definition)
    kind: Kind = "function" if right is not None and right.type == "lambda" else "variable"
    made = bind_target(draft, left, scope, definition, node, kind)
    beside = [each.type for each in (node.parent, right) if each is not None]
    if left.type == "identifier" and "assignment" in beside:
        draft.dynamic.append(("handed_on", *span_of(left)))
    # Calls in a function belong to the function; those at the top belong to the variable that holds them.
    is_top = made != NONE and draft.scopes[scope].kind in ("module", "class")
    inside = made if is_top else definition
    draft.push([each for each in (annotation, right) if each is not None], scope, inside)


def visit_augmented(draft: Draft, node: Node, scope: int, definition: int) -> None:
    left, right = part_of(node, "left"), part_of(node, "right")
    if draft.text[left.start_byte : left.end_byte] == LIST.encode() and scope == 0:
        list_names(draft, right, node, scope, definition)
    bind_target(draft, left, scope, definition, node, "variable")
    draft.stack.append((right, scope, definition))


def visit_walrus(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`(a := 1)` in a comprehension binds outside of it."""
    home = scope
    while draft.scopes[home].kind == "block":
        home = draft.scopes[home].parent
    name = part_of(node, "name")
    draft.bind(name, "variable", home, definition, node)
    draft.dynamic.append(("handed_on", *span_of(name)))
    draft.stack.append((part_of(node, "value"), scope, definition))


def visit_for(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.count_branch(definition)
    draft.note_branch(node, scope)
    left = part_of(node, "left")
    bind_target(draft, left, scope, definition, left, "variable")
    draft.push([child for child in node.named_children if child != left], scope, definition)


def visit_as(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`with x as a`, `except X as a`."""
    alias = node.child_by_field_name("alias")
    if alias is not None:
        bind_target(draft, alias, scope, definition, alias, "variable")
    draft.push([child for child in node.named_children if child != alias], scope, definition)


def visit_delete(draft: Draft, node: Node, scope: int, definition: int) -> None:
    for child in node.named_children:
        bind_target(draft, child, scope, definition, child, "variable")


def visit_declared(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`global a` and `nonlocal a`."""
    for child in node.named_children:
        if child.type == "identifier":
            is_global = node.type == "global_statement"
            draft.scopes[scope].declared[draft.name_of(child)] = "global" if is_global else "nonlocal"
            use = draft.read(child, "write", scope, definition)
            if is_global:
                draft.uses[use].binds = "variable"


def visit_case(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.count_branch(definition)
    for child in node.named_children:
        if child.type == "case_pattern":
            _bind_pattern(draft, child, scope, definition)
        else:
            draft.stack.append((child, scope, definition))


def _bind_pattern(draft: Draft, pattern: Node, scope: int, definition: int) -> None:
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        children = node.named_children
        match node.type:
            case "dotted_name" if len(children) == 1:
                if draft.name_of(node) != "_":
                    draft.bind(children[0], "variable", scope, definition)
            case "dotted_name":
                visit_dotted(draft, node, scope, definition)
            case "class_pattern":
                if children and children[0].type == "dotted_name":
                    visit_dotted(draft, children[0], scope, definition)
                    children = children[1:]
                waiting.extend(reversed(children))
            case "keyword_pattern":
                if children and children[0].type == "identifier":
                    draft.member(children[0], "read", "unknown", NONE, definition)
                    children = children[1:]
                waiting.extend(reversed(children))
            case "identifier":  # `… as a`, `*a`, `**a`
                if draft.name_of(node) != "_":
                    draft.bind(node, "variable", scope, definition)
            case "string" | "concatenated_string" | "integer" | "float" | "attribute":
                draft.stack.append((node, scope, definition))
            case _:
                waiting.extend(reversed(children))


def visit_dotted(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`a.b.c` outside of an expression: a name and members."""
    names = [child for child in node.named_children if child.type == "identifier"]
    if not names:
        return
    receiver: ReceiverKind = "use"
    index = draft.read(names[0], "read", scope, definition)
    for name in names[1:]:
        index, receiver = draft.member(name, "read", receiver, index, definition), "member"


def visit_decision(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.count_branch(definition)
    draft.push(node.named_children, scope, definition)


def visit_branch(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.count_branch(definition)
    visit_perhaps(draft, node, scope, definition)


def visit_perhaps(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.note_branch(node, scope)
    draft.push(node.named_children, scope, definition)


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
    module = module or next(child for child in node.children if child.type == "__future__")
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
