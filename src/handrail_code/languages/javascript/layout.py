"""How a file is laid out: its top-level statements, the lists in them, and what runs when it is loaded. Pure.

Facts say what names mean; whoever moves text also has to know where statements, comments and commas stand.
Layout is read when an edit is planned and never kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail_code.facts.model import Span
from handrail_code.languages.draft import part_of, parts_of
from handrail_code.languages.extensions import language_of
from handrail_code.languages.grammars import Node, parse_text
from handrail_code.languages.javascript.declarations import FUNCTION_VALUES, quoted
from handrail_code.languages.javascript.loading import loading_call_of

StatementKind: TypeAlias = Literal[
    "import", "require", "export_list", "export_star", "export_default", "declaration", "variables",
    "exports_object", "exports_name", "exports_whole", "directive", "hash_bang", "other",
]  # fmt: skip

DECLARATIONS: Final = frozenset(
    {
        *("function_declaration", "generator_function_declaration", "function_signature"),
        *("class_declaration", "abstract_class_declaration", "interface_declaration"),
        *("type_alias_declaration", "enum_declaration", "internal_module", "module"),
    }
)
VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})
LAZY: Final = frozenset({"function_declaration", "generator_function_declaration", "method_definition"})
HOLDERS: Final = frozenset(
    {"variable_declarator", "pair", "assignment_expression", "export_statement", "field_definition"}
    | {"public_field_definition"}
)
PLACE_NAMES: Final = frozenset({b"__dirname", b"__filename", b"module", b"exports", b"arguments"})
JSX: Final = frozenset({"jsx_element", "jsx_self_closing_element", "jsx_fragment"})
MAX_NODES: Final = 1_000_000


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One name in a list of imports or exports."""

    start: int
    end: int
    outside: str
    """The name that other modules know."""
    inside: str
    """The name in this file, or for a re-export the name in the other module."""
    is_type: bool = False


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    kind: StatementKind
    start: int
    end: int
    lead: int
    """Where its comments begin that stand directly above it."""
    tail: int
    """Behind a comment on its last line."""
    declared_at: int = 0
    """Where the declaration begins, behind `export` and `default`."""
    is_exported: bool = False
    keyword: str = ""
    declarators: tuple[Span, ...] = ()
    pieces: tuple[Piece, ...] = ()
    braces: Span | None = None
    module_span: Span | None = None
    is_type: bool = False
    has_more: bool = False
    """Besides the list it takes a default, a namespace or something that is no plain name."""
    has_semicolon: bool = False
    default_span: Span | None = None
    """The name of a default import."""


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    statements: tuple[Statement, ...]
    comments: tuple[Span, ...]
    lazy: tuple[Span, ...]
    """Bodies and parameters of functions that do not run when the file is loaded."""
    local: tuple[Span, ...]
    """What means something else in another file: `import.meta`, `__dirname`, `module`, `this` at the top."""
    receivers: tuple[Span, ...]
    """`this` in functions that are not methods of a class: who calls them decides what it is."""
    elements: tuple[Span, ...] = ()
    """JSX, which calls a function that it does not name."""

    def statement_at(self, offset: int) -> Statement | None:
        for statement in self.statements:
            if statement.start <= offset < statement.end:
                return statement
        return None

    def runs_on_load(self, offset: int) -> bool:
        return not any(span.start <= offset < span.end for span in self.lazy)


def read_layout(path: str, text: bytes) -> Layout:
    """Of a text whose facts are known, so that it parses."""
    root = _parse(path, text)
    comments: list[Node] = []
    statements: list[Statement] = []
    children = [child for child in root.children if child.type != "empty_statement"]
    for at, child in enumerate(children):
        if child.type == "comment":
            comments.append(child)
        else:
            statements.append(_read_statement(children, at, text))
            is_first = all(each.kind in ("directive", "hash_bang") for each in statements)
            if statements[-1].kind == "directive" and not is_first:
                statements[-1] = msgspec.structs.replace(statements[-1], kind="other")
    lazy, local, receivers = _read_insides(root, text)
    return Layout(
        statements=tuple(statements),
        comments=tuple(Span(start=each.start_byte, end=each.end_byte) for each in comments),
        lazy=lazy,
        local=local,
        receivers=receivers,
        elements=tuple(_spans_of(root, JSX)),
    )


def _parse(path: str, text: bytes) -> Node:
    language = language_of(path)
    assert language is not None, "only sources have a layout"
    root = parse_text(language, text, lambda: True)
    assert root is not None, "nobody stops this parser"
    return root


def _read_statement(children: list[Node], at: int, text: bytes) -> Statement:
    node = children[at]
    shared = _Shared(node, _lead(children, at, text), _tail(children, at, text), text)
    match node.type:
        case "import_statement":
            return _read_import(shared)
        case "export_statement":
            return _read_export(shared)
        case "hash_bang_line":
            return shared.make("hash_bang")
        case "expression_statement":
            return _read_expression(shared)
        case _:
            return _read_declaration(shared, node, False)


class _Shared:
    """What every kind of statement has."""

    def __init__(self, node: Node, lead: int, tail: int, text: bytes) -> None:
        self.node = node
        self.lead = lead
        self.tail = tail
        self.text = text

    def make(self, kind: StatementKind, **own: Any) -> Statement:
        node = self.node
        made = Statement(
            kind=kind,
            start=node.start_byte,
            end=node.end_byte,
            lead=self.lead,
            tail=self.tail,
            declared_at=node.start_byte,
            has_semicolon=self.text[node.end_byte - 1 : node.end_byte] == b";",
        )
        return msgspec.structs.replace(made, **own)

    def piece(self, node: Node, outside: str, inside: str, is_type: bool = False) -> Piece:
        span = (node.start_byte, node.end_byte)
        return Piece(start=span[0], end=span[1], outside=outside, inside=inside, is_type=is_type)

    def word(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte].decode()


def _span(node: Node) -> Span:
    return Span(start=node.start_byte, end=node.end_byte)


def _module_span(source: Node | None) -> Span | None:
    inside = None if source is None else quoted(source)
    return None if inside is None else _span(inside)


def _read_import(shared: _Shared) -> Statement:
    node = shared.node
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    parts = clause.named_children if clause is not None else []
    named = next((part for part in parts if part.type == "named_imports"), None)
    return shared.make(
        "import",
        pieces=_pieces(shared, named, "import_specifier"),
        braces=None if named is None else _span(named),
        module_span=_module_span(node.child_by_field_name("source")),
        is_type=any(child.type == "type" for child in node.children),
        has_more=named is None or len(parts) != 1,
        default_span=_span(parts[0]) if parts and parts[0].type == "identifier" else None,
    )


def _pieces(shared: _Shared, parent: Node | None, kind: str) -> tuple[Piece, ...]:
    """Of an import or an export list: in the first the name of the others stands first."""
    made = []
    for child in parent.named_children if parent is not None else ():
        if child.type != kind:
            continue
        alias = child.child_by_field_name("alias")
        first = shared.word(part_of(child, "name"))
        second = first if alias is None else shared.word(alias)
        names = (first, second) if kind == "import_specifier" else (second, first)
        made.append(shared.piece(child, *names, any(each.type == "type" for each in child.children)))
    return tuple(made)


def _read_export(shared: _Shared) -> Statement:
    node = shared.node
    declaration = node.child_by_field_name("declaration")
    is_default = any(child.type == "default" for child in node.children)
    if declaration is not None:
        return _read_declaration(shared, declaration, True)
    clause = next((child for child in node.named_children if child.type == "export_clause"), None)
    is_type = any(child.type == "type" for child in node.children)
    source = _module_span(node.child_by_field_name("source"))
    if clause is not None:
        return shared.make(
            "export_list",
            pieces=_pieces(shared, clause, "export_specifier"),
            braces=_span(clause),
            module_span=source,
            is_type=is_type,
        )
    if source is not None:
        return shared.make("export_star", module_span=source, is_type=is_type)
    return shared.make("export_default" if is_default else "other")


def _read_declaration(shared: _Shared, node: Node, is_exported: bool) -> Statement:
    inner = node
    if node.type == "ambient_declaration" and node.named_children:
        inner = node.named_children[0]
    own = {"declared_at": node.start_byte, "is_exported": is_exported}
    if inner.type not in VARIABLES:
        return shared.make("declaration" if inner.type in DECLARATIONS else "other", **own)
    declarators = [child for child in inner.named_children if child.type == "variable_declarator"]
    made = shared.make(
        "variables",
        **own,
        keyword=shared.text[inner.start_byte : declarators[0].start_byte].decode().strip(),
        declarators=tuple(_span(each) for each in declarators),
    )
    if len(declarators) == 1 and not is_exported:
        return _read_required(shared, declarators[0], made)
    return made


def _read_required(shared: _Shared, declarator: Node, made: Statement) -> Statement:
    """`const {a, b: c} = require("x")` is a list of imports, `const x = require("x")` a whole module."""
    name, value = part_of(declarator, "name"), declarator.child_by_field_name("value")
    call = loading_call_of(value) if value is not None and value.type == "call_expression" else None
    if call is None or shared.word(part_of(call, "function")) != "require":
        return made
    given = part_of(call, "arguments").named_children
    source = _module_span(given[0]) if len(given) == 1 and given[0].type == "string" else None
    if source is None:
        return made
    pieces = _pattern_pieces(shared, name)
    is_list = name.type == "object_pattern" and len(pieces) == len(name.named_children)
    return msgspec.structs.replace(
        made,
        kind="require",
        pieces=pieces if is_list else (),
        braces=_span(name) if is_list else None,
        module_span=source,
        has_more=not is_list,
    )


def _pattern_pieces(shared: _Shared, pattern: Node) -> tuple[Piece, ...]:
    made = []
    for child in pattern.named_children:
        key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
        if child.type in ("shorthand_property_identifier_pattern", "shorthand_property_identifier"):
            key = value = child
        if key is None or value is None or value.type not in ("identifier", child.type):
            continue
        if key.type not in ("property_identifier", child.type):
            continue
        made.append(shared.piece(child, shared.word(key), shared.word(value)))
    return tuple(made)


def _read_expression(shared: _Shared) -> Statement:
    inside = parts_of(shared.node)
    only = inside[0] if len(inside) == 1 else shared.node
    if only.type == "string":
        return shared.make("directive")
    if only.type in ("internal_module", "module"):
        return shared.make("declaration")
    if only.type != "assignment_expression":
        return shared.make("other")
    left, right = part_of(only, "left"), part_of(only, "right")
    target = shared.word(left).replace(" ", "")
    if target == "module.exports":
        pieces = _pattern_pieces(shared, right) if right.type == "object" else ()
        return shared.make(
            "exports_object" if right.type == "object" else "exports_whole",
            pieces=pieces,
            braces=_span(right) if right.type == "object" else None,
            has_more=right.type != "object" or len(pieces) != len(right.named_children),
        )
    if target.startswith(("exports.", "module.exports.")) and target.count(".") <= 2:
        inner = shared.word(right) if right.type == "identifier" else ""
        return shared.make("exports_name", pieces=(shared.piece(only, target.rpartition(".")[2], inner),))
    return shared.make("other")


def _line_start(text: bytes, at: int) -> int:
    return text.rfind(b"\n", 0, at) + 1


def _lead(children: list[Node], at: int, text: bytes) -> int:
    """The comments directly above, each on lines of its own; a comment for the whole file stays."""
    start = children[at].start_byte
    if text[_line_start(text, start) : start].strip(b" \t\xef\xbb\xbf"):
        return start
    while at > 0 and children[at - 1].type == "comment":
        comment = children[at - 1]
        between = text[comment.end_byte : start]
        before = text[_line_start(text, comment.start_byte) : comment.start_byte]
        if between.strip() or between.count(b"\n") > 1 or before.strip(b" \t\xef\xbb\xbf"):
            break
        if _is_for_the_file(text[comment.start_byte : comment.end_byte]):
            break
        start = comment.start_byte
        at -= 1
    return start


def _is_for_the_file(comment: bytes) -> bool:
    marks = (b"@license", b"@fileoverview", b"@file ", b"@module", b"@packageDocumentation", b"@jsx")
    starts = (b"/*!", b"///", b"// @ts-check", b"// @ts-nocheck", b"/* eslint", b"/* global")
    if b"-next-line" in comment:
        return False
    return comment.startswith(starts) or any(mark in comment for mark in marks)


def _tail(children: list[Node], at: int, text: bytes) -> int:
    end = children[at].end_byte
    if at + 1 < len(children) and children[at + 1].type == "comment":
        comment = children[at + 1]
        between = text[end : comment.start_byte]
        after = text[comment.end_byte : text.find(b"\n", comment.end_byte) % (len(text) + 1)]
        if not between.strip() and b"\n" not in between and not after.strip():
            return comment.end_byte
    return end


def _read_insides(root: Node, text: bytes) -> tuple[tuple[Span, ...], tuple[Span, ...], tuple[Span, ...]]:
    lazy: list[Span] = []
    local: list[Span] = []
    receivers: list[Span] = []
    waiting: list[tuple[Node, str]] = [(root, "top")]
    left = MAX_NODES
    while waiting and left:
        left -= 1
        node, owner = waiting.pop()
        if node.type == "meta_property" or (
            node.type in ("identifier", "this", "super") and _is_local(node, text, owner)
        ):
            local.append(_span(node))
        if node.type == "this" and owner == "function":
            receivers.append(_span(node))
        if _is_lazy(node):
            lazy.extend(_inside(node))
        inner = _owner(node, owner)
        waiting.extend((child, inner) for child in node.named_children)
    return tuple(lazy), tuple(local), tuple(receivers)


def _owner(node: Node, owner: str) -> str:
    """Whose `this` and `arguments` stand in this node."""
    if node.type in ("function_declaration", "generator_function_declaration", "function_expression"):
        return "function"
    if node.type in ("generator_function", "method_definition"):
        is_member = node.parent is not None and node.parent.type == "class_body"
        return "member" if is_member else "function"
    return "member" if node.type == "class_body" else owner


def _is_local(node: Node, text: bytes, owner: str) -> bool:
    if node.type in ("this", "super"):
        return owner == "top"
    name = text[node.start_byte : node.end_byte]
    return name in PLACE_NAMES and (name != b"arguments" or owner == "top")


def _is_lazy(node: Node) -> bool:
    if node.type in LAZY:
        return True
    parent = node.parent
    if node.type not in FUNCTION_VALUES or parent is None or parent.type not in HOLDERS:
        return False
    return not any(child.type == "static" for child in parent.children)


def _inside(node: Node) -> Iterator[Span]:
    for field in ("parameters", "parameter", "body"):
        child = node.child_by_field_name(field)
        if child is not None:
            yield _span(child)


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    """One declaration somewhere inside: `function a() {}`, `class A {}`, `const a = () => {}`."""

    start: int
    end: int
    lead: int
    tail: int
    local: tuple[Span, ...]
    """What it takes from the function around it besides names: `this`, `arguments`, `super`."""
    templates: tuple[Span, ...]


def read_inner(path: str, text: bytes, offset: int) -> Inner | None:
    """The statement that declares the name at this offset and nothing else; None where there is none."""
    root = _parse(path, text)
    node = root.descendant_for_byte_range(offset, offset + 1)
    while node is not None and node.type not in DECLARATIONS and node.type not in VARIABLES:
        node = node.parent
    if node is None or node.parent is None or node.parent.type not in ("statement_block", "switch_case"):
        return None
    if sum(child.type == "variable_declarator" for child in node.named_children) > 1:
        return None
    siblings = node.parent.children
    at = next(at for at, each in enumerate(siblings) if each == node)
    _, local, _ = _read_insides(node, text)
    return Inner(
        start=node.start_byte,
        end=node.end_byte,
        lead=_lead(siblings, at, text),
        tail=_tail(siblings, at, text),
        local=local,
        templates=tuple(_spans_of(node, frozenset({"template_string"}))),
    )


def _spans_of(node: Node, kinds: frozenset[str]) -> Iterator[Span]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in kinds:
            yield _span(one)
        waiting.extend(one.named_children)
