"""Modules that an expression loads, `require("x")` and `import("x")`, and what becomes of them. Pure.

The forms in which every use of such a module is known are a closed set: a plain member, the names of a
pattern, a local name, `.then` with a function, a statement that drops it. Whatever else holds a module may
read any name of it, and then its import is not marked as followed.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail_code.facts.model import EVERY_MEANING, NONE, VALUE, ImportKind
from handrail_code.languages.draft import FoundImport, part_of, parts_of, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.javascript.declarations import FUNCTION_VALUES, quoted, unquoted
from handrail_code.languages.javascript.draft import Draft

TRANSPARENT = frozenset(
    {"parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression"}
)
PATH_STARTS = (b"./", b"../")
SHORTHAND = "shorthand_property_identifier_pattern"


def read_loading_call(draft: Draft, call: Node, scope: int, definition: int) -> int:
    """`require("x")` or `import("x")` as an import of the whole module; NONE for any other call."""
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.type != "arguments":
        return NONE
    is_require = (
        function.type == "identifier" and draft.text[function.start_byte : function.end_byte] == b"require"
    )
    if not is_require and function.type != "import":
        return NONE
    given = parts_of(arguments)
    is_text = bool(given) and given[0].type in ("string", "template_string")
    module = quoted(given[0]) if is_text else None
    if module is None or (is_require and len(given) != 1):
        if given or not is_require:
            draft.dynamic.append(("require" if is_require else "import", *span_of(call)))
        return NONE
    if is_require:
        draft.use(function, "call", scope, VALUE, definition)
    draft.push(given[1:], scope, definition)
    kind: ImportKind = "require" if is_require else "dynamic"
    made = FoundImport(kind, draft.name_of(module), span_of(module), span_of(call), definition, "*")
    made.is_followed = _is_dropped(call)
    draft.imports.append(made)
    return len(draft.imports) - 1


def _is_dropped(call: Node) -> bool:
    """The call is a statement: `await import("x")`."""
    above = call.parent
    while above is not None and above.type in ("await_expression", "parenthesized_expression"):
        above = above.parent
    return above is not None and above.type == "expression_statement"


def loading_call_of(node: Node) -> Node | None:
    """The call in `require("x")`, `(await import("x"))` and the like; a promise is no module yet."""
    is_awaited = False
    while node.type in (*TRANSPARENT, "await_expression"):
        is_awaited = is_awaited or node.type == "await_expression"
        node = parts_of(node)[0]
    if node.type != "call_expression":
        return None
    return node if is_awaited or not is_importing(node) else None


def is_importing(call: Node) -> bool:
    """`import("x")`, whose value is a promise in an expression and the module itself in a type."""
    function = call.child_by_field_name("function")
    return function is not None and function.type == "import"


def read_then(draft: Draft, call: Node, scope: int, definition: int) -> bool:
    """`import("x").then(m => …)`: the parameter of the function is the module."""
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or arguments is None or function.type != "member_expression":
        return False
    loading, name = part_of(function, "object"), part_of(function, "property")
    if loading.type != "call_expression" or not is_importing(loading):
        return False
    if draft.text[name.start_byte : name.end_byte] != b"then":
        return False
    made = read_loading_call(draft, loading, scope, definition)
    if made == NONE:
        return False
    draft.member(name, "call", definition)
    given = parts_of(arguments)
    if not given or given[0].type not in FUNCTION_VALUES:
        return True
    taken, is_without = _first_parameter(given[0])
    if taken is not None:
        draft.loaded.append((made, taken))
    draft.imports[made].is_followed = is_without and given[0].type == "arrow_function"
    return True


def _first_parameter(function: Node) -> tuple[Node | None, bool]:
    """The name or the pattern of the first parameter; and whether there is no parameter at all."""
    only = function.child_by_field_name("parameter")
    parameters = [only] if only is not None else parts_of(part_of(function, "parameters"))
    if not parameters:
        return None, True
    first = parameters[0]
    if first.type == "required_parameter" and first.child_by_field_name("value") is None:
        first = part_of(first, "pattern")
    return (first if first.type in ("identifier", "object_pattern") else None), False


def bind_loaded(draft: Draft) -> None:
    """After the walk, when parameters have their bindings."""
    if not draft.loaded:
        return
    declared = {use.start: at for at, use in enumerate(draft.uses) if use.role in ("declaration", "pattern")}
    for made, pattern in draft.loaded:
        bind_module(draft, made, pattern, declared)


def bind_module(draft: Draft, made: int, name: Node, declared: dict[int, int]) -> None:
    """The module as the value of a name or of a pattern; `declared` has the uses in it by their start."""
    whole = draft.imports[made]
    if name.type == "identifier":
        whole.use = declared[name.start_byte]
        _let_mean_all(draft, whole.use)
    elif name.type == "object_pattern":
        whole.is_followed = _take_names(draft, name, whole, declared)


def _let_mean_all(draft: Draft, use: int) -> None:
    """What comes from another module may be anything there."""
    draft.bindings[draft.uses[use].binding].meaning = EVERY_MEANING


def _take_names(draft: Draft, pattern: Node, whole: FoundImport, declared: dict[int, int]) -> bool:
    """One import per plain name. Answers whether that is all: a rest or a computed key takes the module."""
    keys = list(_list_keys(pattern))
    for key, value in keys:
        if key is None:
            continue
        made = import_like(whole, draft.name_of(key), span_of(key))
        if value is not None and value.type == "assignment_pattern":
            value = value.child_by_field_name("left")
        if value is not None and value.type in ("identifier", SHORTHAND):
            made.use = declared.get(value.start_byte, NONE)
        if made.use != NONE:
            _let_mean_all(draft, made.use)
        draft.imports.append(made)
    return all(key is not None for key, _ in keys)


def _list_keys(pattern: Node) -> Iterator[tuple[Node | None, Node | None]]:
    """Each plain key of an object and what gets its value; no key for a rest and for a computed one."""
    for child in pattern.named_children:
        part = child.named_children[0] if child.type == "object_assignment_pattern" else child
        key: Node | None = part if part.type == SHORTHAND else None
        if part.type == "pair_pattern":
            key = unquoted(part_of(part, "key"))
        if key is not None and key.type not in (SHORTHAND, "property_identifier", "string_fragment"):
            key = None
        if part.type != "comment":
            yield key, part if part.type == SHORTHAND else part.child_by_field_name("value")


def import_like(whole: FoundImport, name: str, span: tuple[int, int]) -> FoundImport:
    """One name of a module that is loaded as a whole."""
    return FoundImport(
        whole.kind, whole.module, whole.module_span, whole.statement, whole.definition, name, span
    )


def link_pattern(draft: Draft, pattern: Node, use: int, first_member: int, definition: int) -> None:
    """`{a, b: c} = x` reads `x.a` and `x.b`; with a rest or a computed key it reads all of x."""
    keys = [key for key, _ in _list_keys(pattern)]
    made = {each.start: each for each in draft.members[first_member:]}
    for key in keys if None not in keys else ():
        assert key is not None, "each was looked at"
        member = made.get(key.start_byte)
        if member is None:
            member = draft.members[draft.member(key, "pattern", definition)]
        member.receiver, member.index = "use", use


def visit_template(draft: Draft, node: Node, scope: int, definition: int) -> None:
    visit_string(draft, node, scope, definition)
    draft.push(node.named_children, scope, definition)


def visit_string(draft: Draft, node: Node, scope: int, definition: int) -> None:  # noqa: ARG001 - one shape for all
    """A path in a string may be given to what loads modules: `jest.mock("./x")`."""
    if not draft.text.startswith(PATH_STARTS, node.start_byte + 1):
        return
    fragment = quoted(node)
    if fragment is None:
        return
    span = span_of(fragment)
    draft.imports.append(FoundImport("mentioned", draft.name_of(fragment), span, span, definition, "*"))
