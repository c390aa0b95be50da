"""Statements that open scopes, declare variables or jump. Pure."""

from __future__ import annotations

from handrail_code.facts.model import EVERY_MEANING, NONE, VALUE, Kind
from handrail_code.languages.draft import LABEL, part_of, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.javascript.declarations import FUNCTION_VALUES, declare_pattern
from handrail_code.languages.javascript.draft import Draft
from handrail_code.languages.javascript.expressions import hand_on, read_chain, visit_target
from handrail_code.languages.javascript.loading import (
    bind_module,
    import_like,
    link_pattern,
    loading_call_of,
    read_loading_call,
)


def visit_block(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.push(node.named_children, draft.open_scope("block", node, scope), definition)


def visit_variables(draft: Draft, node: Node, scope: int, definition: int) -> None:
    is_var = node.type == "variable_declaration"
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    for child in node.named_children:
        if child.type != "variable_declarator":
            draft.stack.append((child, scope, definition))
    for declarator in declarators:
        value = declarator.child_by_field_name("value")
        anchor = declarator.start_byte
        if declarator is declarators[0]:
            anchor = draft.anchors.get(node.id, node.start_byte)
        draft.anchors[declarator.id] = anchor
        if value is not None:
            draft.anchors[value.id] = anchor
        _visit_declarator(draft, declarator, value, scope, definition, is_var)


def _visit_declarator(
    draft: Draft, node: Node, value: Node | None, scope: int, definition: int, is_var: bool
) -> None:
    name = part_of(node, "name")
    inner, first_member = definition, len(draft.members)
    if name.type == "identifier":
        kind: Kind = "variable"
        if value is not None and value.type in FUNCTION_VALUES:
            kind = "function"
        elif value is not None and value.type == "class":
            kind = "class"
        target = draft.hoist(draft.name_of(name), scope) if is_var else scope
        uses = [draft.declare(name, kind, VALUE, target, definition)]
        draft.bindings[draft.uses[uses[0]].binding].is_var |= is_var
        inner = draft.define(name, kind, node, definition, uses[0])
        hand_on(draft, name, node)
    else:
        uses = declare_pattern(draft, name, "variable", scope, definition, is_var)
    for child in node.named_children:
        if child != name and child != value:
            draft.stack.append((child, scope, definition))
    if value is not None and value.type == "identifier" and name.type == "object_pattern":
        use = draft.use(value, "read", scope, VALUE, definition)
        link_pattern(draft, name, use, first_member, definition)
    elif value is not None and not _read_required(draft, name, value, uses, scope, definition):
        draft.stack.append((value, scope, inner))


def _read_required(
    draft: Draft, name: Node, value: Node, uses: list[int], scope: int, definition: int
) -> bool:
    """`x = require("y")`, `{a, b: c} = require("y")`, `x = require("y").z` as imports of the names."""
    call = loading_call_of(value)
    if call is not None:
        made = read_loading_call(draft, call, scope, definition)
        if made == NONE:
            return False
        bind_module(draft, made, name, {draft.uses[use].start: use for use in uses})
        return True
    if value.type != "member_expression" or name.type != "identifier":
        return False
    call = loading_call_of(part_of(value, "object"))
    if call is None:
        return False
    member = read_chain(draft, value, scope, definition, "read")
    if member != NONE and draft.members[member].receiver == "import":
        read = draft.members[member]
        taken = import_like(draft.imports[read.index], read.name, (read.start, read.end))
        taken.use = uses[0]
        draft.bindings[draft.uses[uses[0]].binding].meaning = EVERY_MEANING
        draft.imports.append(taken)
    return True


def visit_for_in(draft: Draft, node: Node, scope: int, definition: int) -> None:
    inside = draft.open_scope("block", node, scope)
    left, kind = part_of(node, "left"), node.child_by_field_name("kind")
    draft.push_others(node, left, inside, definition)
    if kind is None:
        visit_target(draft, left, inside, definition)
    else:
        is_var = draft.text[kind.start_byte : kind.end_byte] == b"var"
        declare_pattern(draft, left, "variable", inside, definition, is_var)


def visit_catch(draft: Draft, node: Node, scope: int, definition: int) -> None:
    inside = draft.open_scope("block", node, scope)
    parameter = node.child_by_field_name("parameter")
    if parameter is not None:
        declare_pattern(draft, parameter, "variable", inside, definition)
    draft.push_others(node, parameter, inside, definition)


def visit_labeled(draft: Draft, node: Node, scope: int, definition: int) -> None:
    inside = draft.open_scope("block", node, scope)
    label = part_of(node, "label")
    name = LABEL + draft.name_of(label)
    use = draft.use(label, "declaration", inside, VALUE, definition, name)
    draft.uses[use].binding = draft.bind(name, "label", VALUE, inside)
    draft.push_others(node, label, inside, definition)


def visit_jump(draft: Draft, node: Node, scope: int, definition: int) -> None:
    for child in node.named_children:
        if child.type == "statement_identifier":
            draft.use(child, "label", scope, VALUE, definition, LABEL + draft.name_of(child))


def visit_with(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.dynamic.append(("with", *span_of(node)))
    draft.push(node.named_children, scope, definition)


def visit_expression_statement(draft: Draft, node: Node, scope: int, definition: int) -> None:
    for child in node.named_children:
        draft.anchors[child.id] = node.start_byte
    draft.push(node.named_children, scope, definition)


def visit_decision(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.count_branch(definition)
    match node.type:
        case "for_statement":
            visit_block(draft, node, scope, definition)
        case "for_in_statement":
            visit_for_in(draft, node, scope, definition)
        case "catch_clause":
            visit_catch(draft, node, scope, definition)
        case _:
            draft.push(node.named_children, scope, definition)


def visit_binary(draft: Draft, node: Node, scope: int, definition: int) -> None:
    if part_of(node, "operator").type in ("&&", "||", "??"):
        draft.count_branch(definition)
    draft.push(node.named_children, scope, definition)


def visit_comment(draft: Draft, node: Node, scope: int, definition: int) -> None:
    if draft.text.startswith(b"/**", node.start_byte) and node.end_byte - node.start_byte > 4:
        draft.comments.append((*span_of(node), scope, definition))
