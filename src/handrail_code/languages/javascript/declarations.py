"""Functions, classes, variables and the patterns that declare them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail_code.facts.model import NAMESPACE, NONE, TYPE, VALUE, Kind, Role
from handrail_code.languages.draft import part_of, parts_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.javascript.draft import Draft

PATTERNS = frozenset({"object_pattern", "array_pattern", "rest_pattern"})
PLAIN_KEYS = frozenset({"property_identifier", "private_property_identifier", "string_fragment"})
PROPERTY_MARKS = frozenset({"accessibility_modifier", "override_modifier", "readonly"})
"""What makes a parameter a property of its class as well."""
FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})


def visit_function_declaration(draft: Draft, node: Node, scope: int, definition: int) -> None:
    name = part_of(node, "name")
    text = draft.name_of(name)
    target = draft.hoist(text, scope) if draft.var_scope(scope) == scope else scope
    use = draft.declare(name, "function", VALUE, target, definition)
    binding = draft.uses[use].binding
    draft.bindings[binding].is_var = True
    if target == scope and draft.var_scope(scope) != scope and not draft.scopes[scope].is_strict:
        draft.sloppy_functions.append((scope, binding))
    visit_signature(draft, node, scope, draft.define(name, "function", node, definition, use))


def visit_function_expression(draft: Draft, node: Node, scope: int, definition: int) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        scope = draft.open_scope("name", node, scope)
        use = draft.declare(name, "function", VALUE, scope, definition)
        definition = draft.define(name, "function", node, definition, use)
    visit_signature(draft, node, scope, definition)


def visit_signature(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """Parameters, their types and the body of anything that has parameters."""
    # Parameters have a scope around that of the body, as in the language: a default sees the parameters and
    # none of the body's names. They are declared first and everything else is visited `later`, because a
    # return type or a default may name any of them.
    parameters = draft.open_scope("parameters", node, scope)
    anchor = draft.anchors.get(node.id, node.start_byte)
    if node.type in FUNCTION_VALUES:
        draft.function_values.add(node.start_byte)
    draft.signatures.setdefault(anchor, parameters)
    draft.generics.setdefault(anchor, parameters)
    if node.type != "arrow_function":  # an arrow keeps the `this` around it
        is_own = "method" in node.type and not is_static(node)
        draft.scopes[parameters].this = draft.owner(scope) if is_own else NONE
    later: list[Node] = []
    body: Node | None = None
    for child in node.named_children:
        match child.type:
            case "type_parameters":
                declare_type_parameters(draft, child, parameters, definition)
            case "formal_parameters":
                for parameter in child.named_children:
                    declare_parameter(draft, parameter, parameters, definition)
            case "identifier" if node.type == "arrow_function" and child == node.child_by_field_name(
                "parameter"
            ):
                declare_pattern(draft, child, "parameter", parameters, definition)
            case "statement_block":
                body = child
            case "identifier" | "property_identifier" | "private_property_identifier" if (
                child == node.child_by_field_name("name")
            ):
                pass
            case _:
                later.append(child)
    shown = node.child_by_field_name("body") if node.type == "arrow_function" and body is None else body
    if shown is not None and definition != NONE and draft.definitions[definition].head_end == NONE:
        draft.definitions[definition].head_end = shown.start_byte
        draft.count_branch(definition)
    if body is not None:
        visit_body(draft, body, draft.open_scope("function", body, parameters), definition)
    draft.push(later, parameters, definition)


def visit_body(draft: Draft, body: Node, scope: int, definition: int) -> None:
    statements = body.named_children
    for statement in statements:
        if statement.type == "comment":
            continue
        if statement.type != "expression_statement" or statement.named_child_count != 1:
            break
        directive = statement.named_children[0]
        if directive.type != "string":
            break
        if draft.text[directive.start_byte + 1 : directive.end_byte - 1] == b"use strict":
            draft.scopes[scope].is_strict = True
    draft.push(statements, scope, definition)


def declare_parameter(draft: Draft, node: Node, scope: int, definition: int) -> None:
    if node.type not in ("required_parameter", "optional_parameter"):
        declare_pattern(draft, node, "parameter", scope, definition)
        return
    pattern = part_of(node, "pattern")
    for child in node.named_children:
        if child != pattern:
            # A decorator runs when the class is made, where no parameter has a name yet.
            is_outside = child.type == "decorator"
            draft.stack.append((child, draft.scopes[scope].parent if is_outside else scope, definition))
    if pattern.type == "this":
        draft.scopes[scope].this = NONE
        return
    if pattern.type == "identifier" and any(child.type in PROPERTY_MARKS for child in node.children):
        draft.member(pattern, "declaration", definition)
    declare_pattern(draft, pattern, "parameter", scope, definition)


def declare_pattern(
    draft: Draft, pattern: Node, kind: Kind, scope: int, definition: int, is_var: bool = False
) -> list[int]:
    """Bind every name in a pattern; defaults and computed keys are expressions. Answers the uses."""
    made: list[int] = []
    whole = pattern
    if whole.type in ("assignment_pattern", "rest_pattern"):
        whole = next(iter(parts_of(whole)), whole)
    for node in list_targets(draft, pattern, scope, definition, PATTERNS):
        if node.type not in ("identifier", "shorthand_property_identifier_pattern"):
            draft.stack.append((node, scope, definition))
            continue
        role: Role = "declaration" if node.type == "identifier" else "pattern"
        target = draft.hoist(draft.name_of(node), scope) if is_var else scope
        use = draft.declare(node, kind, VALUE, target, definition, role)
        draft.bindings[draft.uses[use].binding].is_var |= is_var
        draft.define(node, kind, node, definition, use)
        made.append(use)
        if kind == "parameter" and node == whole:
            draft.whole_parameters.add(draft.uses[use].binding)
    return made


def list_targets(
    draft: Draft, pattern: Node, scope: int, definition: int, holders: frozenset[str]
) -> Iterator[Node]:
    """What a pattern gives values to, one after the other; its keys and defaults are read on the way."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if node.type in ("assignment_pattern", "object_assignment_pattern"):
            target, *defaults = parts_of(node)
            waiting.append(target)
            draft.push(defaults, scope, definition)
        elif node.type == "pair_pattern":
            visit_key(draft, part_of(node, "key"), scope, definition, "pattern")
            waiting.append(part_of(node, "value"))
        elif node.type in holders:
            waiting.extend(reversed(node.named_children))
        else:
            yield node


def visit_key(draft: Draft, key: Node, scope: int, definition: int, role: Role) -> int:
    """The name of a property: a member, or an expression when it is computed. Answers the member."""
    name = unquoted(key)
    if name is not None and name.type in PLAIN_KEYS:
        return draft.member(name, role, definition)
    draft.push([] if name is None else [name], scope, definition)
    return NONE


def quoted(string: Node) -> Node | None:
    """The text between the quotes, where it is plain."""
    parts = string.named_children
    return parts[0] if len(parts) == 1 and parts[0].type == "string_fragment" else None


def unquoted(name: Node | None) -> Node | None:
    """A name, or the plain text of a string in its place."""
    return quoted(name) if name is not None and name.type == "string" else name


def declare_type_parameters(draft: Draft, node: Node, scope: int, definition: int) -> None:
    for parameter in node.named_children:
        if parameter.type != "type_parameter":
            draft.stack.append((parameter, scope, definition))
            continue
        name = part_of(parameter, "name")
        declare_named(draft, name, "type_parameter", TYPE, scope, definition, parameter)
        draft.push_others(parameter, name, scope, definition)


def declare_named(
    draft: Draft, name: Node, kind: Kind, meaning: int, scope: int, container: int, extent: Node
) -> int:
    """Bind a plain name and define it; answers the definition."""
    use = draft.declare(name, kind, meaning, scope, container)
    return draft.define(name, kind, extent, container, use)


def visit_class(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """A declaration, or an expression, whose name only the class itself knows."""
    name = node.child_by_field_name("name")
    if name is None:
        generic = draft.open_scope("type", node, scope)
    else:
        scope = draft.open_scope("name", node, scope) if node.type == "class" else scope
        definition = declare_named(draft, name, "class", VALUE | TYPE, scope, definition, node)
        generic = draft.generic_scope(definition, node, scope)
    inside = draft.open_scope("class", node, generic)
    draft.scopes[inside].is_strict = True
    draft.scopes[inside].this = NONE if name is None else definition
    if definition != NONE and draft.definitions[definition].head_end == NONE:
        draft.definitions[definition].head_end = part_of(node, "body").start_byte
    for child in node.named_children:
        match child.type:
            case "type_parameters":
                declare_type_parameters(draft, child, generic, definition)
            case "class_body":
                for member in child.named_children:
                    _declare_private_name(draft, member, inside)
                draft.push(child.named_children, inside, definition)
            case _ if child == name:
                pass
            case _:
                draft.stack.append((child, inside, definition))


def _declare_private_name(draft: Draft, node: Node, scope: int) -> None:
    """`#name` is lexical: all of a class's private names are known before its first member runs."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is not None and name.type == "private_property_identifier":
        kind: Kind = "method" if node.type == "method_definition" else "property"
        draft.bind(draft.name_of(name), kind, VALUE, scope)


def visit_method(draft: Draft, node: Node, scope: int, definition: int) -> None:
    made = _define_member(draft, part_of(node, "name"), "method", node, scope, definition)
    visit_signature(draft, node, scope, made)


def visit_field(draft: Draft, node: Node, scope: int, definition: int) -> None:
    name = node.child_by_field_name("name") or part_of(node, "property")
    value = node.child_by_field_name("value")
    is_function = value is not None and value.type in FUNCTION_VALUES
    inner = _define_member(draft, name, "method" if is_function else "property", node, scope, definition)
    if value is not None:
        draft.anchors[value.id] = draft.anchors.get(node.id, node.start_byte)
    inside = draft.open_scope("function", node, scope) if value is not None else scope
    if value is not None and not is_static(node):
        draft.scopes[inside].this = draft.owner(scope)
    for child in node.named_children:
        if child != name:
            draft.stack.append((child, inside if child == value else scope, inner))


def visit_pair(draft: Draft, node: Node, scope: int, definition: int) -> None:
    key, value = part_of(node, "key"), part_of(node, "value")
    inner = definition
    if value.type in FUNCTION_VALUES:
        draft.anchors[value.id] = node.start_byte
        inner = _define_member(draft, key, "method", node, scope, definition)
    else:
        visit_key(draft, key, scope, definition, "declaration")
    draft.stack.append((value, scope, inner))


def _define_member(draft: Draft, name: Node, kind: Kind, extent: Node, scope: int, container: int) -> int:
    match name.type:
        case "private_property_identifier":
            use = draft.use(name, "declaration", scope, VALUE, container)
            draft.uses[use].binding = draft.scopes[scope].names.get(draft.uses[use].name, NONE)
            return draft.define(name, kind, extent, container, use)
        case "property_identifier":
            member = visit_key(draft, name, scope, container, "declaration")
            if draft.owner(scope) != NONE:
                draft.members[member].receiver, draft.members[member].index = "this", draft.owner(scope)
            return draft.define(name, kind, extent, container)
        case "string" if (fragment := quoted(name)) is not None:
            visit_key(draft, name, scope, container, "declaration")
            return draft.define(fragment, kind, extent, container)
        case _:
            draft.stack.append((name, scope, container))
            return container


def is_static(node: Node) -> bool:
    return any(child.type == "static" for child in node.children)


def visit_static_block(draft: Draft, node: Node, scope: int, definition: int) -> None:
    body, inside = part_of(node, "body"), draft.open_scope("function", node, scope)
    draft.push(body.named_children, inside, definition)


def declare_enum(draft: Draft, node: Node, scope: int, definition: int) -> None:
    name, body = part_of(node, "name"), part_of(node, "body")
    made = declare_named(draft, name, "enum", VALUE | TYPE | NAMESPACE, scope, definition, node)
    draft.definitions[made].head_end = body.start_byte
    binding = draft.bindings[draft.definitions[made].binding]
    if binding.inner == NONE:
        binding.inner = draft.open_scope("enum", node, scope)
    inside = draft.open_scope("block", body, binding.inner)
    for member in body.named_children:
        key = unquoted(member.child_by_field_name("name") if member.type == "enum_assignment" else member)
        if key is not None and key.type in ("property_identifier", "string_fragment"):
            declare_named(draft, key, "enum_member", VALUE | TYPE, binding.inner, made, member)
        elif key is not None:
            draft.stack.append((key, inside, made))
        value = member.child_by_field_name("value")
        if value is not None:
            draft.stack.append((value, inside, made))
