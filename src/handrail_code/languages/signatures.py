"""What a function takes, and what a call of it gives, read from the syntax trees of one file. Pure.

`None` stands for what the text does not show: a decorator, several overloads, arguments that are spread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from handrail_code.languages.extensions import language_of
from handrail_code.languages.grammars import Node, parse_text
from handrail_code.languages.reading import go_on

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "lambda"})
_VALUES = {
    "variable_declarator": "value",
    "pair": "value",
    "public_field_definition": "value",
    "field_definition": "value",
    "assignment_expression": "right",
    "assignment": "right",
}
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class", "class_definition"})
_CALLS = {"call_expression": "function", "new_expression": "constructor", "call": "function"}
_AROUND_CALLEE = {"member_expression": "property", "attribute": "attribute", "non_null_expression": ""}
_ARGUMENTS = frozenset({"arguments", "argument_list"})
_SPREAD = frozenset({"spread_element", "list_splat", "dictionary_splat"})
_DEFAULTED = frozenset(
    {"optional_parameter", "assignment_pattern", "default_parameter", "typed_default_parameter"}
)
_RESTS = frozenset({"rest_pattern", "list_splat_pattern", "dictionary_splat_pattern"})
_KNOWN_DECORATORS = frozenset({b"@staticmethod", b"@classmethod"})


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a function, without the object that it is called on."""

    names: tuple[str, ...] = ()
    """Those that take an argument by its place."""
    required: tuple[bool, ...] = ()
    """For each of them, whether it has no default."""
    unnamed: int = 0
    """How many of them only take an argument by its place."""
    has_rest: bool = False
    required_keywords: tuple[str, ...] = ()


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gives."""

    count: int
    """By their places."""
    keywords: frozenset[str] = frozenset()


def read_parameters(path: str, text: bytes, start: int, end: int) -> Parameters | None:
    """Those of the function, the method or the class whose name stands here."""
    name = _find_node(_parse(path, text), start, end)
    holder = None if name is None else name.parent
    if holder is not None and holder.type in ("member_expression", "attribute"):
        holder = holder.parent  # `exports.name = function () {}`
    if holder is None:
        return None
    if holder.type in _CLASSES:
        return _read_class(holder)
    if holder.type in _VALUES:
        value = holder.child_by_field_name(_VALUES[holder.type])
        while value is not None and value.type == "parenthesized_expression":
            value = value.named_children[0] if value.named_children else None
        return _read_function(value) if value is not None and value.type in _FUNCTIONS else None
    return _read_function(holder) if holder.child_by_field_name("name") == name else None


def read_arguments(path: str, text: bytes, starts: Collection[int]) -> dict[int, Arguments]:
    """What the calls give whose callee's name begins at these places; without those that spread something."""
    root = _parse(path, text)
    found: dict[int, Arguments] = {}
    for start in starts:
        node = _find_node(root, start, start + 1)
        given = None if node is None else _read_call(node)
        if given is not None:
            found[start] = given
    return found


def _parse(path: str, text: bytes) -> Node | None:
    language = language_of(path)
    return None if language is None else parse_text(language, text, go_on)


def _find_node(root: Node | None, start: int, end: int) -> Node | None:
    return None if root is None else root.named_descendant_for_byte_range(start, end)


def _read_class(node: Node) -> Parameters | None:
    """Of what makes its objects, where the class itself says that once."""
    body = node.child_by_field_name("body")
    if body is None or (node.parent is not None and node.parent.type == "decorated_definition"):
        return None
    makers = [each for each in map(_undecorate, body.named_children) if _name_of(each) in _MAKERS]
    return _read_function(makers[0]) if len(makers) == 1 and _name_of(makers[0]) != b"__new__" else None


_MAKERS = frozenset({b"constructor", b"__init__", b"__new__"})


def _name_of(node: Node) -> bytes | None:
    name = node.child_by_field_name("name")
    return None if name is None else name.text


def _undecorate(node: Node) -> Node:
    inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else None
    return node if inner is None else inner


def _read_function(node: Node) -> Parameters | None:
    alone = node.child_by_field_name("parameter")  # `a => …`
    if alone is not None:
        return Parameters(names=(_spell(alone),), required=(True,))
    listed = node.child_by_field_name("parameters")
    if node.type not in ("function_definition", "lambda"):
        return None if listed is None else _read_list(listed.named_children)
    decorators = _list_decorators(node)
    if not _KNOWN_DECORATORS.issuperset(decorators):
        return None
    read = _read_list(() if listed is None else listed.named_children)
    return _drop_object(read) if _is_method(node) and b"@staticmethod" not in decorators else read


def _list_decorators(node: Node) -> list[bytes]:
    around = node.parent
    if around is None or around.type != "decorated_definition":
        return []
    return [each.text or b"" for each in around.named_children if each.type == "decorator"]


def _is_method(node: Node) -> bool:
    around = node.parent
    if around is not None and around.type == "decorated_definition":
        around = around.parent
    return around is not None and around.parent is not None and around.parent.type == "class_definition"


def _drop_object(read: Parameters) -> Parameters:
    return msgspec.structs.replace(
        read, names=read.names[1:], required=read.required[1:], unnamed=max(0, read.unnamed - 1)
    )


def _read_list(nodes: Iterable[Node]) -> Parameters:
    names: list[str] = []
    required: list[bool] = []
    keywords: list[str] = []
    unnamed, has_rest, is_by_name = 0, False, False
    for node in nodes:
        pattern = node.child_by_field_name("pattern") or _inner_rest(node) or node
        if node.type == "comment" or pattern.type == "this":
            continue
        if node.type == "positional_separator":
            unnamed = len(names)
        elif node.type == "keyword_separator":
            is_by_name = True
        elif pattern.type in _RESTS:
            is_many = pattern.type != "dictionary_splat_pattern"
            has_rest, is_by_name = has_rest or is_many, is_by_name or is_many
        else:
            has_default = node.type in _DEFAULTED or node.child_by_field_name("value") is not None
            if not is_by_name:
                names.append(_spell(node))
                required.append(not has_default)
            elif not has_default:
                keywords.append(_spell(node))
    return Parameters(
        names=tuple(names),
        required=tuple(required),
        unnamed=unnamed,
        has_rest=has_rest,
        required_keywords=tuple(keywords),
    )


def _inner_rest(node: Node) -> Node | None:
    """`*args: int`: the type is around the star."""
    inner = node.named_children[0] if node.type == "typed_parameter" and node.named_children else None
    return inner if inner is not None and inner.type in _RESTS else None


def _spell(node: Node) -> str:
    """The name of a parameter; of a pattern its text."""
    for field in ("name", "pattern", "left"):
        node = node.child_by_field_name(field) or node
    if node.type == "typed_parameter":
        node = node.named_children[0]
    return (node.text or b"").decode("utf-8", "replace")


def _read_call(node: Node) -> Arguments | None:
    """None where the name is not what is called, or what is given cannot be counted."""
    callee, call = node, node.parent
    while call is not None and call.type in _AROUND_CALLEE:
        field = _AROUND_CALLEE[call.type]
        if field and call.child_by_field_name(field) != callee:
            return None
        callee, call = call, call.parent
    if call is None or call.type not in _CALLS or call.child_by_field_name(_CALLS[call.type]) != callee:
        return None
    listed = call.child_by_field_name("arguments")
    if listed is None:
        return Arguments(count=0)  # `new A`
    if listed.type == "generator_expression":
        return Arguments(count=1)
    given = [each for each in listed.named_children if each.type != "comment"]
    if listed.type not in _ARGUMENTS or any(each.type in _SPREAD for each in given):
        return None
    named = [each for each in given if each.type == "keyword_argument"]
    return Arguments(count=len(given) - len(named), keywords=frozenset(_spell(each) for each in named))
