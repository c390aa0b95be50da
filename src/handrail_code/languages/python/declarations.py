"""Functions, classes, parameters, type parameters and comprehensions: what opens a scope. Pure."""

from __future__ import annotations

from typing import Final

from handrail_code.facts.model import NONE, Kind
from handrail_code.languages.draft import part_of, parts_of, span_of
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
    inner = part_of(node, "definition")
    decorators = _list_decorators(node)
    visit = visit_class if inner.type == "class_definition" else visit_function
    visit(draft, inner, scope, definition, node)
    if not all(_is_plain(draft, decorator) for decorator in decorators):
        draft.dynamic.append(("decorator", *span_of(part_of(inner, "name"))))
    draft.push(decorators, scope, definition)


def _list_decorators(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type == "decorator"]


def _is_plain(draft: Draft, decorator: Node) -> bool:
    found = decorator.named_children[0]
    if found.type == "call":
        found = part_of(found, "function")
    return draft.name_of(found).rpartition(".")[2] in PLAIN_DECORATORS


def visit_function(
    draft: Draft, node: Node, scope: int, definition: int, decorated: Node | None = None
) -> None:
    """`decorated` is the function with its decorators."""
    extent = node if decorated is None else decorated
    made = _define(draft, "function", node, extent, scope, definition)
    around = _open_type_parameters(draft, node, scope, made)
    inside = draft.open_scope("function", node, around)
    parameters, returned = part_of(node, "parameters"), node.child_by_field_name("return_type")
    listed = (*node.named_children, *parameters.named_children)
    draft.push([child for child in listed if child.type == "comment"], inside, made)
    draft.stack.append((part_of(node, "body"), inside, made))
    if returned is not None:
        draft.stack.append((returned, around, made))
    is_static = any(draft.name_of(each) == "@staticmethod" for each in _list_decorators(extent))
    is_bound = draft.scopes[scope].kind == "class" and not is_static
    _declare_parameters(draft, parameters, inside, around, scope, made, made, is_bound=is_bound)


def _define(draft: Draft, kind: Kind, node: Node, extent: Node, scope: int, definition: int) -> int:
    """Every `def` and `class` is a definition, also where it replaces another of its name."""
    name, body = part_of(node, "name"), part_of(node, "body")
    before = len(draft.definitions)
    use = draft.bind(name, kind, scope, definition, extent)
    if len(draft.definitions) == before:
        is_global = draft.scopes[scope].declared.get(draft.name_of(name)) == "global"
        home, container = (0, NONE) if is_global else (scope, definition)
        draft.define(name, draft.kind_in(kind, home), extent, container, use)
    draft.uses[use].role = "declaration"
    made = draft.definitions[before]
    made.complexity = 0 if kind == "class" else 1
    made.head = (node.start_byte, body.start_byte)
    made.doc = _docstring(draft, body)
    return before


def _docstring(draft: Draft, body: Node) -> str:
    first = next(iter(body.named_children), body)
    if first.type != "expression_statement":
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
    children = parts_of(listed)
    separators = [at for at, child in enumerate(children) if child.type == "positional_separator"]
    for at, child in enumerate(children):
        name = child
        is_by_name = (not separators or at > separators[0]) and not (is_bound and at == 0)
        if child.type in ("default_parameter", "typed_default_parameter"):
            name = part_of(child, "name")
            draft.stack.append((part_of(child, "value"), outside, definition))
        elif child.type == "typed_parameter":
            name = child.named_children[0]
        annotation = child.child_by_field_name("type")
        if annotation is not None:
            draft.stack.append((annotation, around, definition))
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
    parameters = node.child_by_field_name("parameters")
    draft.stack.append((part_of(node, "body"), inside, definition))
    if parameters is not None:
        _declare_parameters(draft, parameters, inside, scope, scope, definition, NONE, is_bound=False)


def visit_class(draft: Draft, node: Node, scope: int, definition: int, decorated: Node | None = None) -> None:
    extent = node if decorated is None else decorated
    made = _define(draft, "class", node, extent, scope, definition)
    around = _open_type_parameters(draft, node, scope, made)
    inside = draft.open_scope("class", node, around, class_name=draft.definitions[made].name)
    draft.stack.append((part_of(node, "body"), inside, made))
    bases = node.child_by_field_name("superclasses")
    for child in reversed(bases.named_children if bases is not None else []):
        if child.type == "keyword_argument":
            draft.stack.append((part_of(child, "value"), around, made))
        else:
            _read_base(draft, child, around, made)


def _read_base(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`A`, `a.A`, `A[T]`; of anything else only a run tells which class it is."""
    base = node
    if base.type == "subscript":
        base = part_of(base, "value")
        draft.push([child for child in node.named_children if child != base], scope, definition)
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
        left = part_of(child, "left")
        for part in child.named_children:
            if part == left:
                bind_target(draft, left, inside, definition, left, "variable")
            else:
                waiting.append((part, scope if child == clauses[0] else inside, definition))
    draft.stack.extend(reversed(waiting))


def visit_type_alias(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`type A[T] = …`"""
    name, listed = part_of(node, "left"), None
    while name.type in ("type", "generic_type"):
        parts = name.named_children
        listed = next((part for part in parts if part.type == "type_parameter"), listed)
        name = parts[0]
    if name.type != "identifier":
        # `type(a).b = c` reads like the beginning of an alias; the word is a name there.
        draft.note("type", (node.start_byte, node.start_byte + 4), "call", scope, definition)
        mark_seen(draft, node)
        draft.push(node.named_children, scope, definition)
        return
    draft.bind(name, "type", scope, definition, node)
    inside = draft.open_scope("type", node, scope)
    if listed is not None:
        declare_type_parameters(draft, listed, inside, definition)
    visit_type(draft, part_of(node, "right"), inside, definition)
