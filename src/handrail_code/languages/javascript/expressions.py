"""Expressions: names, members, calls, assignments, and the CommonJS forms among them. Pure."""

from __future__ import annotations

from handrail_code.facts.model import NONE, VALUE, Kind, ReceiverKind, Role
from handrail_code.languages.draft import FoundImport, Visit, part_of, parts_of, span_of
from handrail_code.languages.grammars import Node, imported_module
from handrail_code.languages.javascript.declarations import (
    FUNCTION_VALUES,
    PATTERNS,
    list_targets,
    quoted,
    unquoted,
)
from handrail_code.languages.javascript.draft import MODULE, Draft, DraftAssignment
from handrail_code.languages.javascript.loading import (
    is_importing,
    loading_call_of,
    read_loading_call,
    read_then,
)

EXPORTS = frozenset({b"exports", b"module.exports"})
PASSING_ON = frozenset({"assignment_expression", "parenthesized_expression", "sequence_expression"})
PROMISE = frozenset({b"then", b"catch", b"finally"})
ALONE = frozenset({"expression_statement", "lexical_declaration", "variable_declaration", "for_statement"})
"""Where an assignment stands that nobody takes the value of."""
HOLDERS = PATTERNS | {"parenthesized_expression", "non_null_expression"}
CHAINS = frozenset({"member_expression", "subscript_expression", "nested_identifier"})


def read_as(role: Role, meaning: int = VALUE) -> Visit[Draft]:
    """The visitor of a plain name."""

    def visit(draft: Draft, node: Node, scope: int, definition: int) -> None:
        draft.use(node, role, scope, meaning, definition)

    return visit


# One shape for all.
def visit_stray_property(draft: Draft, node: Node, scope: int, definition: int) -> None:  # noqa: ARG001
    draft.member(node, "read", definition)


def visit_chain(draft: Draft, node: Node, scope: int, definition: int) -> None:
    read_chain(draft, node, scope, definition, "read")


def read_chain(draft: Draft, node: Node, scope: int, definition: int, role: Role) -> int:
    """`a.b["c"].d`: the root, then one member per link that has a plain name.

    Answers the last member, or NONE when the last link is computed.
    """
    # The tree has the last link outermost, and a name means something only by what stands before it: so go in
    # to the root first, then out again, and hand each link the receiver that the one before it became.
    links: list[Node] = []
    while node.type in CHAINS or node.type in ("parenthesized_expression", "non_null_expression"):
        if node.type in CHAINS:
            links.append(node)
        node = part_of(node, "object") if node.type in CHAINS else parts_of(node)[0]
    receiver, index = _read_root(draft, node, scope, definition)
    if receiver == "import" and is_importing(node) and _is_of_promise(draft, links):
        receiver, index = "unknown", NONE
    last = NONE
    for position, link in enumerate(reversed(links)):
        is_last = position == len(links) - 1  # only that one is written or called; those before it are read
        last = NONE
        name = link.child_by_field_name("property")
        if name is None:
            subscript = part_of(link, "index")
            if subscript.type == "string":
                name = quoted(subscript)
            else:
                draft.stack.append((subscript, scope, definition))
                # Which member is computed: one that nobody sees may be any of these.
                if receiver == "exports" or _may_be_exports(draft, receiver, index):
                    draft.dynamic.append(("exports", *span_of(link)))
                elif receiver == "this" and subscript.type != "number":
                    draft.dynamic.append(("this", *span_of(link)))
        if name is not None and name.type == "private_property_identifier":
            draft.use(name, role if is_last else "read", scope, VALUE, definition)
            receiver, index = "unknown", NONE
        elif name is not None:
            last = draft.member(name, role if is_last else "read", definition, receiver, index)
            receiver, index = "member", last
        else:
            receiver, index = "unknown", NONE
        _visit_type_arguments(draft, link, scope, definition)
    return last


def _is_of_promise(draft: Draft, links: list[Node]) -> bool:
    """`import("x").then`: what has not been awaited is no module."""
    name = links[-1].child_by_field_name("property") if links else None
    return name is not None and draft.text[name.start_byte : name.end_byte] in PROMISE


def _visit_type_arguments(draft: Draft, link: Node, scope: int, definition: int) -> None:
    arguments = link.child_by_field_name("type_arguments")
    if arguments is not None:
        draft.stack.append((arguments, scope, definition))


def _may_be_exports(draft: Draft, receiver: ReceiverKind, index: int) -> bool:
    if receiver == "use":
        return draft.uses[index].name == "exports"
    return receiver == "member" and draft.members[index].name == "exports"


def _read_root(draft: Draft, node: Node, scope: int, definition: int) -> tuple[ReceiverKind, int]:
    match node.type:
        case "identifier":
            return read_name(draft, node, "read", scope, VALUE, definition)
        case "this":
            return "this", _read_this(draft, node, scope)
        case "await_expression":
            inside = parts_of(node)[0]
            if inside.type == "call_expression":
                return _read_call_root(draft, inside, scope, definition)
        case "call_expression":
            return _read_call_root(draft, node, scope, definition)
        case _:
            pass
    draft.stack.append((node, scope, definition))
    return "unknown", NONE


def visit_this(draft: Draft, node: Node, scope: int, definition: int) -> None:  # noqa: ARG001 - one shape for all
    _read_this(draft, node, scope)


def _read_this(draft: Draft, node: Node, scope: int) -> int:
    """The class of which it is an instance."""
    this = NONE if draft.scopes[scope].kind == "class" else draft.scopes[scope].this
    if this == MODULE:
        draft.module_receivers.append(span_of(node))
    return NONE if this == MODULE else this


def read_name(
    draft: Draft, node: Node, role: Role, scope: int, meaning: int, definition: int
) -> tuple[ReceiverKind, int]:
    """A plain name, or `import("x")` where the grammar was given a name instead."""
    module = imported_module(draft.text, node.start_byte, node.end_byte)
    if module is None:
        return "use", draft.use(node, role, scope, meaning, definition)
    name = draft.text[slice(*module)].decode()
    draft.imports.append(
        FoundImport("dynamic", name, module, span_of(node), definition, "*", is_type_only=True)
    )
    return "import", len(draft.imports) - 1


def _read_call_root(draft: Draft, call: Node, scope: int, definition: int) -> tuple[ReceiverKind, int]:
    made = read_loading_call(draft, call, scope, definition)
    if made != NONE:
        return "import", made
    draft.stack.append((call, scope, definition))
    return "unknown", NONE


def visit_call(draft: Draft, node: Node, scope: int, definition: int) -> None:
    if read_loading_call(draft, node, scope, definition) != NONE:
        return
    is_read = read_then(draft, node, scope, definition)
    function = node.child_by_field_name("function") or part_of(node, "constructor")
    draft.push_others(node, function, scope, definition)
    if is_read:
        return
    if function.type == "identifier":
        use = draft.use(function, "call", scope, VALUE, definition)
        if draft.uses[use].name in ("eval", "Function"):  # the second sees globals alone
            draft.dynamic.append(("eval" if draft.uses[use].name == "eval" else "exec", *span_of(node)))
    elif function.type in CHAINS:
        read_chain(draft, function, scope, definition, "call")
    else:
        draft.stack.append((function, scope, definition))


def visit_assignment(draft: Draft, node: Node, scope: int, definition: int) -> None:
    left, right = part_of(node, "left"), part_of(node, "right")
    use, member = NONE, NONE
    if left.type == "identifier":
        use = draft.use(left, "write", scope, VALUE, definition)
        hand_on(draft, left, node)
    elif left.type in CHAINS:
        member = read_chain(draft, left, scope, definition, "write")
    else:
        visit_target(draft, left, scope, definition)
    made = DraftAssignment(use, member, span_of(node), _is_held(draft, node))
    inner = definition
    if member != NONE or (use != NONE and draft.uses[use].name == "exports"):
        draft.assignments.append(made)
    anchor = draft.anchors.get(node.id, node.start_byte)
    if right.type in FUNCTION_VALUES or right.type == "class":
        draft.anchors[right.id] = anchor
        if member != NONE:
            inner = _define_assigned(draft, left, right, node, definition)
            made.right_definition = inner
    elif right.type == "assignment_expression":
        draft.anchors[right.id] = anchor
    if made.right_definition == NONE and member != NONE and _names_export(draft, left, right):
        inner = made.right_definition = _define_assigned(draft, left, right, node, definition)
    if right.type == "identifier":
        made.right_use = draft.use(right, "read", scope, VALUE, definition)
    elif right.type == "call_expression" and _may_be_exports_target(draft, use, member):
        star = read_loading_call(draft, right, scope, definition)
        if star == NONE:
            draft.stack.append((right, scope, inner))
        else:
            made.stars.append(star)
    elif right.type == "object" and (member != NONE or use != NONE):
        made.keys = []
        draft.stack.append((right, scope, inner))
        draft.objects[right.id] = made
    else:
        draft.stack.append((right, scope, inner))


def hand_on(draft: Draft, name: Node, statement: Node) -> None:
    """Others get the value of the name: it is one of several in `a = b.c = …`, or stands in an expression."""
    value, above = statement.named_children[-1], statement.parent
    while value.type == "parenthesized_expression":
        value = value.named_children[-1]
    while above is not None and above.type in ("parenthesized_expression", "sequence_expression"):
        above = above.parent
    if value.type == "assignment_expression" or (above is not None and above.type not in ALONE):
        draft.dynamic.append(("handed_on", *span_of(name)))


def _may_be_exports_target(draft: Draft, use: int, member: int) -> bool:
    name = draft.uses[use].name if use != NONE else draft.members[member].name if member != NONE else ""
    return name == "exports"


def _names_export(draft: Draft, left: Node, right: Node) -> bool:
    """`exports.a = 1`: the value has no name of its own."""
    return _is_of_exports(draft, left) and right.type not in ("identifier", "undefined")


def _is_of_exports(draft: Draft, left: Node) -> bool:
    owner = left.child_by_field_name("object")
    return owner is not None and draft.text[slice(*span_of(owner))] in EXPORTS


def _is_held(draft: Draft, node: Node) -> bool:
    """Whether more than exports get the value; `exports.a = exports.b = c` is a statement for both."""
    above = node.parent
    while above is not None and above.type in PASSING_ON:
        left = above.child_by_field_name("left")
        is_export = left is None or draft.text[slice(*span_of(left))] in EXPORTS
        if not is_export and left is not None and not _is_of_exports(draft, left):
            return True
        above = above.parent
    return above is None or above.type != "expression_statement"


def _define_assigned(draft: Draft, left: Node, right: Node, node: Node, definition: int) -> int:
    """`x.y = function () {}` defines y, as people read it."""
    name = left.child_by_field_name("property")
    if name is None or name.type != "property_identifier":
        return definition
    kind: Kind = "variable"
    if right.type in FUNCTION_VALUES or right.type == "class":
        kind = "class" if right.type == "class" else "method"
    return draft.define(name, kind, node, definition)


def visit_object(draft: Draft, node: Node, scope: int, definition: int) -> None:
    assignment = draft.objects.pop(node.id, None)
    if assignment is None or assignment.keys is None:
        draft.push(node.named_children, scope, definition)
        return
    for child in node.named_children:
        match child.type:
            case "shorthand_property_identifier":
                use = draft.use(child, "shorthand", scope, VALUE, definition)
                assignment.keys.append((draft.uses[use].name, span_of(child), use, NONE))
            case "pair" | "method_definition":
                _read_key(draft, child, assignment, scope, definition)
            case _:
                if child.type == "spread_element":
                    call = loading_call_of(child.named_children[0])
                    star = NONE if call is None else read_loading_call(draft, call, scope, definition)
                    if star != NONE:
                        assignment.stars.append(star)
                        continue
                    assignment.spreads.append(span_of(child))
                draft.stack.append((child, scope, definition))


def _read_key(draft: Draft, child: Node, assignment: DraftAssignment, scope: int, definition: int) -> None:
    key = unquoted(child.child_by_field_name("key") or part_of(child, "name"))
    value = child.child_by_field_name("value")
    assert assignment.keys is not None, "only objects with keys come here"
    member = use = NONE
    if key is not None and key.type in ("property_identifier", "string_fragment"):
        if value is not None and value.type == "identifier":
            member = draft.member(key, "declaration", definition)
            use = draft.use(value, "read", scope, VALUE, definition)
        assignment.keys.append((draft.name_of(key), span_of(key), use, member))
    if use == NONE:
        draft.stack.append((child, scope, definition))


def visit_target(draft: Draft, target: Node, scope: int, definition: int) -> None:
    """What is assigned to: `a`, `a.b`, `[a, b.c]`, `{a, b: c = d}`."""
    for node in list_targets(draft, target, scope, definition, HOLDERS):
        match node.type:
            case "identifier":
                draft.use(node, "write", scope, VALUE, definition)
            case "shorthand_property_identifier_pattern":
                draft.use(node, "pattern", scope, VALUE, definition)
            case "member_expression" | "subscript_expression":
                read_chain(draft, node, scope, definition, "write")
            case _:
                draft.stack.append((node, scope, definition))


def visit_changed(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`a++` and `a += b`."""
    target = node.child_by_field_name("argument") or part_of(node, "left")
    visit_target(draft, target, scope, definition)
    draft.push_others(node, target, scope, definition)


def visit_jsx_name(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """An opening, closing or self-closing element; a small first letter means the host's own element."""
    name = node.child_by_field_name("name")
    draft.push_others(node, name, scope, definition)
    if name is None:
        return
    if name.type == "identifier":
        if (
            not draft.text[name.start_byte : name.start_byte + 1].islower()
            and b"-" not in draft.text[name.start_byte : name.end_byte]
        ):
            draft.use(name, "jsx", scope, VALUE, definition)
    elif name.type in CHAINS:
        read_chain(draft, name, scope, definition, "jsx")


def visit_jsx_attribute(draft: Draft, node: Node, scope: int, definition: int) -> None:
    for position, child in enumerate(node.named_children):
        if position == 0 and child.type == "property_identifier":
            draft.member(child, "jsx", definition)
        elif child.type != "jsx_namespace_name":
            draft.stack.append((child, scope, definition))
