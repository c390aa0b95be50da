"""What TypeScript adds: types, interfaces, namespaces, ambient declarations. Pure."""

from __future__ import annotations

from handrail_code.facts.model import NAMESPACE, NONE, TYPE, VALUE, ReceiverKind
from handrail_code.languages.draft import part_of, parts_of, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.javascript.declarations import (
    declare_named,
    declare_type_parameters,
    quoted,
    visit_key,
)
from handrail_code.languages.javascript.draft import Draft
from handrail_code.languages.javascript.expressions import read_chain, read_name
from handrail_code.languages.javascript.loading import read_loading_call


def visit_nested_type_name(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`A.B.C` as a type: the first name is a namespace."""
    module, name = part_of(node, "module"), part_of(node, "name")
    receiver: ReceiverKind
    if module.type == "identifier":
        receiver, index = read_name(draft, module, "type", scope, NAMESPACE, definition)
    else:
        before = len(draft.uses)
        index = read_chain(draft, module, scope, definition, "type")
        receiver = "unknown" if index == NONE else "member"
        if len(draft.uses) > before:
            draft.uses[before].meaning = NAMESPACE
    draft.member(name, "type", definition, receiver, index, TYPE)


def visit_lookup_type(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`typeof import("x")["a"]` and `typeof x["a"]` name a member."""
    parts = parts_of(node)
    inside = parts[0].named_children if parts[0].type == "type_query" else []
    key = parts[1].named_children if len(parts) == 2 and parts[1].type == "literal_type" else []
    name = quoted(key[0]) if key and key[0].type == "string" else None
    receiver: ReceiverKind = "unknown"
    index = NONE
    if name is not None and len(inside) == 1 and inside[0].type == "identifier":
        receiver, index = read_name(draft, inside[0], "read", scope, VALUE, definition)
    elif name is not None and len(inside) == 1 and inside[0].type == "call_expression":
        index = read_loading_call(draft, inside[0], scope, definition)
        receiver = "unknown" if index == NONE else "import"
    if name is None or index == NONE:
        draft.push(node.named_children, scope, definition)
        return
    draft.member(name, "type", definition, receiver, index)


def visit_type_alias(draft: Draft, node: Node, scope: int, definition: int) -> None:
    name = part_of(node, "name")
    definition = declare_named(draft, name, "type", TYPE, scope, definition, node)
    inside = draft.generic_scope(definition, node, scope)
    for child in node.named_children:
        if child.type == "type_parameters":
            declare_type_parameters(draft, child, inside, definition)
        elif child != name:
            draft.stack.append((child, inside, definition))


def visit_interface(draft: Draft, node: Node, scope: int, definition: int) -> None:
    at = len(draft.definitions)
    visit_type_alias(draft, node, scope, definition)
    draft.definitions[at].head_end = part_of(node, "body").start_byte


def visit_property_signature(draft: Draft, node: Node, scope: int, definition: int) -> None:
    name = part_of(node, "name")
    visit_key(draft, name, scope, definition, "declaration")
    if name.type == "property_identifier":
        draft.define(name, "property", node, definition)
    draft.push_others(node, name, scope, definition)


def visit_index_signature(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`[key: string]: T` and the mapped `[K in T]: U`."""
    inside = draft.open_scope("type", node, scope)
    name = node.child_by_field_name("name")
    for child in node.named_children:
        if child == name and child.type == "identifier":
            declare_named(draft, child, "parameter", VALUE, inside, definition, child)
        elif child.type == "mapped_type_clause":
            mapped = part_of(child, "name")
            declare_named(draft, mapped, "type_parameter", TYPE, inside, definition, child)
            draft.push_others(child, mapped, inside, definition)
        else:
            draft.stack.append((child, inside, definition))


def visit_conditional_type(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """Names after `infer` are known in the rest of the condition and where it holds."""
    inside = draft.open_scope("infer", node, scope)
    seen = [node.child_by_field_name("right"), node.child_by_field_name("consequence")]
    for child in node.named_children:
        draft.stack.append((child, inside if child in seen else scope, definition))


def visit_infer(draft: Draft, node: Node, scope: int, definition: int) -> None:
    target = scope
    while draft.scopes[target].kind != "infer" and draft.scopes[target].parent != NONE:
        target = draft.scopes[target].parent
    names = [child for child in node.named_children if child.type == "type_identifier"]
    for child in node.named_children:
        if names and child == names[0] and draft.scopes[target].kind == "infer":
            declare_named(draft, child, "type_parameter", TYPE, target, definition, node)
        else:
            draft.stack.append((child, scope, definition))


def visit_tuple_member(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """A parameter outside of a list of parameters is a named part of a tuple: its name is no variable."""
    name = node.child_by_field_name("name")
    draft.push_others(node, name, scope, definition)


def visit_ambient(draft: Draft, node: Node, scope: int, definition: int) -> None:
    marked = draft.exported.pop(node.id, None)
    for child in node.named_children:
        draft.anchors[child.id] = draft.anchors.get(node.id, node.start_byte)
        if marked is not None:
            draft.exported[child.id] = marked
        if child.type == "statement_block":  # declare global { … }
            draft.dynamic.append(("global", child.start_byte, child.end_byte))
            draft.push(child.named_children, draft.open_scope("global", child, scope), definition)
        else:
            draft.stack.append((child, scope, definition))


def visit_namespace(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`namespace A.B {}`; parts of one namespace see each other's exported names."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None and name.type == "string":
        inside = draft.open_scope("namespace", node, scope)
        module = quoted(name)
        if module is not None:
            draft.augmented[inside] = (draft.name_of(module), span_of(module), span_of(node))
        if body is not None:
            draft.push(body.named_children, inside, definition)
        return
    names: list[Node] = []
    while name is not None and name.type == "nested_identifier":
        last = name.child_by_field_name("property")
        names.extend([last] if last is not None else [])
        name = name.child_by_field_name("object")
    names.extend([name] if name is not None else [])
    for position, part in enumerate(reversed(names)):
        definition = declare_named(draft, part, "namespace", VALUE | NAMESPACE, scope, definition, node)
        binding = draft.bindings[draft.definitions[definition].binding]
        binding.is_exported = binding.is_exported or position > 0
        if binding.inner == NONE:
            binding.inner = draft.open_scope("namespace", node, scope)
        scope = binding.inner
    if body is not None:
        draft.definitions[definition].head_end = body.start_byte
        draft.push(body.named_children, scope, definition)
