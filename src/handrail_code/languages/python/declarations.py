"""Functions, classes, parameters, type parameters and comprehensions: what opens a scope. Pure."""

from __future__ import annotations

from typing import Final

from handrail_code.facts.model import NONE, Kind
from handrail_code.languages.draft import span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.python.draft import Draft
from handrail_code.languages.python.expressions import visit_attribute
from handrail_code.languages.python.targets import bind_target
from handrail_code.languages.python.type_syntax import mark_seen, visit_type

DOC_LENGTH: Final = 600
COMPREHENSIONS: Final = frozenset(
    {"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"}
)
PLAIN_DECORATORS: Final = frozenset(
    {
        *("staticmethod", "classmethod", "property", "abstractmethod", "overload", "override", "final"),
        *("wraps", "cache", "lru_cache", "cached_property", "contextmanager", "asynccontextmanager"),
        *("setter", "getter", "deleter", "abstractproperty", "singledispatch", "total_ordering"),
    }
)
"""Decorators that hand their arguments on under the names that they have."""


def visit_decorated(draft: Draft, node: Node, scope: int, definition: int) -> None:
    inner = node.child_by_field_name("definition")
    decorators = [child for child in node.named_children if child.type == "decorator"]
    if inner is None:
        draft.push(node.named_children, scope, definition)
        return
    visit = visit_class if inner.type == "class_definition" else visit_function
    visit(draft, inner, scope, definition, node)
    name = inner.child_by_field_name("name")
    if name is not None and not all(_is_plain(draft, decorator) for decorator in decorators):
        draft.dynamic.append(("decorator", *span_of(name)))
    draft.push(decorators, scope, definition)


def _is_plain(draft: Draft, decorator: Node) -> bool:
    found = decorator.named_children[0] if decorator.named_children else None
    if found is not None and found.type == "call":
        found = found.child_by_field_name("function")
    if found is None:
        return False
    return draft.name_of(found).rpartition(".")[2] in PLAIN_DECORATORS


def visit_function(
    draft: Draft, node: Node, scope: int, definition: int, decorated: Node | None = None
) -> None:
    """`decorated` is the function with its decorators."""
    extent = node if decorated is None else decorated
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        draft.push(node.named_children, scope, definition)
        return
    made = _define(draft, "function", name, node, extent, body, scope, definition)
    around = _open_type_parameters(draft, node, scope, made)
    inside = draft.open_scope("function", node, around)
    parameters, returned = node.child_by_field_name("parameters"), node.child_by_field_name("return_type")
    listed = [] if parameters is None else parameters.named_children
    comments = [child for child in (*node.named_children, *listed) if child.type == "comment"]
    draft.push(comments, inside, made)
    if body is not None:
        draft.stack.append((body, inside, made))
    if returned is not None:
        draft.stack.append((returned, around, made))
    if parameters is not None:
        is_bound = draft.scopes[scope].kind == "class" and not _is_static(draft, extent)
        _declare_parameters(draft, parameters, inside, around, scope, made, made, is_bound=is_bound)


def _is_static(draft: Draft, extent: Node) -> bool:
    decorators = [child for child in extent.named_children if child.type == "decorator"]
    return any(draft.text[each.start_byte : each.end_byte] == b"@staticmethod" for each in decorators)


def _define(
    draft: Draft,
    kind: Kind,
    name: Node,
    node: Node,
    extent: Node,
    body: Node | None,
    scope: int,
    definition: int,
) -> int:
    """Every `def` and `class` is a definition, also where it replaces another of its name."""
    before = len(draft.definitions)
    use = draft.bind(name, kind, scope, definition, extent)
    if len(draft.definitions) == before:
        is_global = draft.scopes[scope].declared.get(draft.name_of(name)) == "global"
        home, container = (0, NONE) if is_global else (scope, definition)
        draft.define(name, draft.kind_in(kind, home), extent, container, use)
    draft.uses[use].role = "declaration"
    made = draft.definitions[before]
    made.complexity = 0 if kind == "class" else 1
    end = body.start_byte if body is not None else node.end_byte
    made.head = (node.start_byte, end)
    made.doc = _docstring(draft, body)
    return before


def _docstring(draft: Draft, body: Node | None) -> str:
    first = body.named_children[0] if body is not None and body.named_children else None
    if first is None or first.type != "expression_statement" or not first.named_children:
        return ""
    text = first.named_children[0]
    if text.type != "string" or text.named_child_count < 3:
        return ""
    start, end = text.named_children[0].end_byte, text.named_children[-1].start_byte
    lines = draft.text[start:end].decode().strip().splitlines()
    doc = "\n".join(line.strip() for line in lines)
    return doc if len(doc) <= DOC_LENGTH else doc[: DOC_LENGTH - 1] + "…"


def _open_type_parameters(draft: Draft, node: Node, scope: int, definition: int) -> int:
    """The scope of `[T]`, or the one that is there."""
    listed = node.child_by_field_name("type_parameters")
    if listed is None:
        return scope
    inside = draft.open_scope("type", node, scope)
    declare_type_parameters(draft, listed, inside, definition)
    return inside


def declare_type_parameters(draft: Draft, listed: Node, scope: int, definition: int) -> None:
    """`[T: bound, *Ts, **P]`."""
    for each in listed.named_children:
        node, rest = each, []
        while node.type in ("type", "constrained_type", "splat_type") and node.named_children:
            rest += node.named_children[1:]
            node = node.named_children[0]
        if node.type == "identifier":
            draft.bind(node, "type_parameter", scope, definition, each)
        draft.push(rest, scope, definition)


def _declare_parameters(
    draft: Draft,
    listed: Node,
    inside: int,
    around: int,
    outside: int,
    definition: int,
    function: int,
    *,
    is_bound: bool,
) -> None:
    """Names are local, annotations see type parameters, defaults see what stands around the function.

    A parameter that callers may name is noted as a keyword of the function; `self` is none.
    """
    children = [child for child in listed.named_children if child.type != "comment"]
    separators = [at for at, child in enumerate(children) if child.type == "positional_separator"]
    for at, child in enumerate(children):
        name: Node | None = child
        is_by_name = (not separators or at > separators[0]) and not (is_bound and at == 0)
        if child.type in ("default_parameter", "typed_default_parameter"):
            name = child.child_by_field_name("name")
            value = child.child_by_field_name("value")
            if value is not None:
                draft.stack.append((value, outside, definition))
        elif child.type == "typed_parameter":
            name = child.named_children[0]
        annotation = child.child_by_field_name("type")
        if annotation is not None:
            draft.stack.append((annotation, around, definition))
        if name is None:
            continue
        if name.type == "identifier":
            use = draft.bind(name, "parameter", inside, definition, child)
            if is_bound and at == 0:
                draft.scopes[inside].receiver = draft.name_of(name)
            if is_by_name:
                draft.member(name, "keyword", "this", use, function)
        elif name.type in ("list_splat_pattern", "dictionary_splat_pattern", "tuple_pattern"):
            for each in name.named_children:
                bind_target(draft, each, inside, definition, child, "parameter")


def visit_lambda(draft: Draft, node: Node, scope: int, definition: int) -> None:
    inside = draft.open_scope("function", node, scope)
    parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
    if body is not None:
        draft.stack.append((body, inside, definition))
    if parameters is not None:
        _declare_parameters(draft, parameters, inside, scope, scope, definition, NONE, is_bound=False)


def visit_class(draft: Draft, node: Node, scope: int, definition: int, decorated: Node | None = None) -> None:
    extent = node if decorated is None else decorated
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        draft.push(node.named_children, scope, definition)
        return
    made = _define(draft, "class", name, node, extent, body, scope, definition)
    around = _open_type_parameters(draft, node, scope, made)
    inside = draft.open_scope("class", node, around, class_name=draft.name_of(name))
    if body is not None:
        draft.stack.append((body, inside, made))
    bases = node.child_by_field_name("superclasses")
    for child in reversed(bases.named_children if bases is not None else []):
        if child.type == "keyword_argument":
            value = child.child_by_field_name("value")
            draft.stack.append((child if value is None else value, around, made))
        else:
            _read_base(draft, child, around, made)


def _read_base(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`A`, `a.A`, `A[T]`; of anything else only a run tells which class it is."""
    base = node
    if base.type == "subscript":
        value = base.child_by_field_name("value")
        draft.push([child for child in base.named_children if child != value], scope, definition)
        base = node if value is None else value
    if base.type == "identifier":
        draft.read(base, "base", scope, definition)
    elif base.type == "attribute":
        visit_attribute(draft, base, scope, definition, "base")
    elif base.type != "comment":
        draft.member_at("", span_of(base), "base", "unknown", NONE, definition)
        draft.stack.append((base, scope, definition))


def visit_comprehension(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """Everything is in a scope of its own but what the first loop goes through."""
    inside = draft.open_scope("block", node, scope)
    clauses = [child for child in node.named_children if child.type == "for_in_clause"]
    waiting: list[tuple[Node, int, int]] = []
    for child in node.named_children:
        if child.type != "for_in_clause":
            waiting.append((child, inside, definition))
            continue
        left = child.child_by_field_name("left")
        for part in child.named_children:
            if left is not None and part == left:
                bind_target(draft, left, inside, definition, left, "variable")
            else:
                waiting.append((part, scope if child == clauses[0] else inside, definition))
    draft.stack.extend(reversed(waiting))


def visit_type_alias(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`type A[T] = …`"""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    name, listed = left, None
    while name is not None and name.type in ("type", "generic_type") and name.named_children:
        parts = name.named_children
        listed = next((part for part in parts if part.type == "type_parameter"), listed)
        name = parts[0]
    if name is None or name.type != "identifier" or right is None:
        # `type(a).b = c` reads like the beginning of an alias; the word is a name there.
        draft.note("type", (node.start_byte, node.start_byte + 4), "call", scope, definition)
        mark_seen(draft, node)
        draft.push(node.named_children, scope, definition)
        return
    draft.bind(name, "type", scope, definition, node)
    inside = draft.open_scope("type", node, scope)
    if listed is not None:
        declare_type_parameters(draft, listed, inside, definition)
    visit_type(draft, right, inside, definition)
