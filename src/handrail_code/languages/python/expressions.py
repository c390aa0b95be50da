"""Names that are read: identifiers, members, calls with their keywords, and names in strings. Pure."""

from __future__ import annotations

import re
from typing import Final

from handrail_code.facts.model import NONE, DynamicKind, ReceiverKind, Role
from handrail_code.languages.draft import FoundImport, part_of, parts_of, span_of
from handrail_code.languages.grammars import Node
from handrail_code.languages.python.draft import Draft, plain_text_of
from handrail_code.languages.python.type_syntax import mark_strings, read_type

BY_NAME: Final = frozenset({"getattr", "setattr", "delattr", "hasattr"})
"""`getattr(a, "b")` is `a.b`; so are a test tool's `setattr(a, "b", …)` and `patch.object(a, "b")`."""
PATHS: Final = frozenset({"patch", "setattr", "delattr"})
"""Calls whose first argument may be a dotted name of something: `patch("a.b.c")`."""
TYPED: Final = frozenset({"cast", "assert_type"})
"""Calls whose first argument is a type, perhaps in a string."""
NAMESPACES: Final[dict[str, DynamicKind]] = {
    "eval": "eval",
    "exec": "eval",
    "globals": "globals",
    "locals": "locals",
    "vars": "locals",
    "dir": "locals",
}
IMPORTERS: Final = frozenset({"import_module", "__import__"})
TABLES: Final = frozenset({"sys.modules", "modules"})
LOOKUPS: Final = frozenset({"get", "pop", "setdefault", "__getitem__"})
"""Of `sys.modules`."""
LIST: Final = "__all__"
DOTTED: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def visit_identifier(draft: Draft, node: Node, scope: int, definition: int) -> None:
    draft.read(node, "read", scope, definition)


def visit_attribute(draft: Draft, node: Node, scope: int, definition: int, role: Role = "read") -> int:
    """`a.b.c`: the use of `a`, and members that know what they are members of. Answers the last member."""
    names: list[Node] = []
    while node.type == "attribute":
        names.append(part_of(node, "attribute"))
        node = part_of(node, "object")
    receiver, index = read_receiver(draft, node, scope, definition)
    for name in reversed(names):
        index = draft.member(name, role if name is names[0] else "read", receiver, index, definition)
        receiver = "member"
    return index


def read_receiver(draft: Draft, node: Node, scope: int, definition: int) -> tuple[ReceiverKind, int]:
    """What a member belongs to: a name, another member, or something that only a run would tell."""
    if node.type == "identifier":
        return "use", draft.read(node, "read", scope, definition)
    if node.type == "attribute":
        return "member", visit_attribute(draft, node, scope, definition)
    loaded = _read_loading(draft, node, scope, definition)
    if loaded != NONE:
        draft.imports[loaded].is_followed = True
        return "import", loaded
    draft.stack.append((node, scope, definition))
    return "unknown", NONE


def _read_loading(draft: Draft, node: Node, scope: int, definition: int) -> int:
    """The import that `import_module("a")` or `sys.modules["a"]` is; NONE for anything else."""
    before = len(draft.imports)
    if node.type == "call" and _called_name(draft, node) in (*IMPORTERS, *LOOKUPS):
        visit_call(draft, node, scope, definition)
    elif node.type == "subscript" and _is_module_table(draft, part_of(node, "value")):
        visit_subscript(draft, node, scope, definition)
    else:
        return NONE
    is_loaded = len(draft.imports) > before and draft.imports[-1].statement == span_of(node)
    return len(draft.imports) - 1 if is_loaded else NONE


def _called_name(draft: Draft, call: Node) -> str:
    """Of `a(…)`, `a.b(…)`, and `sys.modules.get(…)`; empty for calls of anything else."""
    function = part_of(call, "function")
    if function.type == "identifier":
        return draft.name_of(function)
    owner = part_of(function, "object") if function.type == "attribute" else None
    if owner is None or not (owner.type == "identifier" or _is_module_table(draft, owner)):
        return ""
    called = draft.name_of(part_of(function, "attribute"))
    return called if called not in LOOKUPS or _is_module_table(draft, owner) else ""


def _is_module_table(draft: Draft, node: Node) -> bool:
    return draft.name_of(node) in TABLES


def visit_subscript(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`sys.modules["a"]` is the module a."""
    value, keys = part_of(node, "value"), node.children_by_field_name("subscript")
    draft.push(node.named_children, scope, definition)
    if _is_module_table(draft, value) and len(keys) == 1:
        _load(draft, node, keys[0], definition)


def _load(draft: Draft, node: Node, name: Node, definition: int) -> None:
    """A call or a subscript gives the module of this name: the last import is that module."""
    found = plain_text_of(name, draft.text)
    if found is None:
        is_own = name.type == "identifier" and draft.name_of(name) == "__name__"
        draft.dynamic.append(("globals" if is_own else "import", *span_of(node)))
        return
    path, span = found
    if DOTTED.fullmatch(path):
        _read_path(draft, path, span[0], node, definition, "import")
    elif not path.startswith("."):
        return
    above = node.parent
    is_dropped = above is not None and above.type in ("expression_statement", "delete_statement")
    is_first_given = _called_name(draft, node) == "__import__" if node.type == "call" else False
    for module in [path, path.partition(".")[0]] if is_first_given and "." in path else [path]:
        made = FoundImport("dynamic", module, span, span_of(node), definition, "*", is_followed=is_dropped)
        draft.imports.append(made)


def visit_chain(draft: Draft, node: Node, scope: int, definition: int) -> None:
    visit_attribute(draft, node, scope, definition)


def visit_call(draft: Draft, node: Node, scope: int, definition: int) -> None:
    function, arguments = part_of(node, "function"), part_of(node, "arguments")
    receiver: ReceiverKind = "unknown"
    index, name = NONE, ""
    if function.type == "identifier":
        receiver, index = "use", draft.read(function, "call", scope, definition)
        name = draft.uses[index].name
    elif function.type == "attribute":
        receiver, index = "member", visit_attribute(draft, function, scope, definition, "call")
        name = draft.members[index].name
    else:
        draft.stack.append((function, scope, definition))
    if arguments.type != "argument_list":  # f(x for x in y)
        draft.stack.append((arguments, scope, definition))
        return
    given = parts_of(arguments)
    rest = _read_special(draft, node, name, receiver, index, given, scope, definition)
    for child in rest:
        if child.type == "keyword_argument":
            _read_keyword(draft, child, receiver, index, name, scope, definition)
        elif child.type == "dictionary_splat":
            span = (child.start_byte, child.start_byte + 2)
            draft.member_at("**", span, "keyword", receiver, index, definition)
    draft.push([child for child in rest if child.type != "keyword_argument"], scope, definition)


def _read_keyword(
    draft: Draft,
    node: Node,
    receiver: ReceiverKind,
    index: int,
    called: str,
    scope: int,
    definition: int,
) -> None:
    name, value = part_of(node, "name"), part_of(node, "value")
    draft.member(name, "keyword", receiver, index, definition)
    if called == "TypeVar" and draft.name_of(name) in ("bound", "default"):
        mark_strings(draft, value)
    draft.stack.append((value, scope, definition))


def _read_special(
    draft: Draft,
    node: Node,
    name: str,
    receiver: ReceiverKind,
    index: int,
    given: list[Node],
    scope: int,
    definition: int,
) -> list[Node]:
    """Calls that name things in strings, or make names at run time. Answers the arguments that are left."""
    # From the certain to the guessed: what the builtins mean is known, a method name such as `patch` is only
    # likely. The first that fits decides, because a call read twice would be renamed twice.
    plain = [child for child in given if child.type not in ("keyword_argument", "dictionary_splat")]
    if receiver == "use" and name in ("vars", "dir") and len(plain) == 1:
        # `vars(a)` is `a.__dict__`, and `dir(a)` has its keys.
        owner, at = read_receiver(draft, plain[0], scope, definition)
        draft.member_at("__dict__", span_of(plain[0]), "read", owner, at, definition)
        return [child for child in given if child != plain[0]]
    if receiver == "use" and name in NAMESPACES:
        if name in ("eval", "exec"):
            # With a namespace of its own the text sees no names of this file.
            kind: DynamicKind = "eval" if len(plain) < 2 else "exec"
            draft.builtin_calls.append((index, kind, *span_of(node)))
        elif not plain or name == "globals":
            draft.builtin_calls.append((index, NAMESPACES[name], *span_of(node)))
        return given
    if _is_list_method(draft, name, receiver, index) and scope == 0:
        for child in plain:
            list_names(draft, child, node, scope, definition)
        return given
    if name in TYPED and plain:
        mark_strings(draft, plain[0])
        return given
    if plain and (name in IMPORTERS or (name in LOOKUPS and _called_name(draft, node) == name)):
        _load(draft, node, plain[0], definition)
        return given
    first = plain_text_of(plain[0], draft.text) if plain else None
    if first is not None and name in PATHS and DOTTED.fullmatch(first[0]):
        _read_path(draft, first[0], first[1][0], node, definition, "read")
        return given
    is_by_name = name in BY_NAME or (name == "object" and receiver == "member" and _is_patch(draft, index))
    if is_by_name and len(plain) >= 2 and (receiver == "use" or name != "hasattr"):
        return _read_by_name(draft, node, plain, given, scope, definition)
    return given


def _read_by_name(
    draft: Draft, node: Node, plain: list[Node], given: list[Node], scope: int, definition: int
) -> list[Node]:
    second = plain_text_of(plain[1], draft.text)
    if second is None:
        draft.dynamic.append(("getattr", *span_of(node)))
        return given
    receiver, index = read_receiver(draft, plain[0], scope, definition)
    draft.member_at(second[0], second[1], "read", receiver, index, definition)
    return [child for child in given if child not in (plain[0], plain[1])]


def _is_list_method(draft: Draft, name: str, receiver: ReceiverKind, index: int) -> bool:
    """`__all__.append(…)`, `__all__.extend(…)`."""
    if name not in ("append", "extend") or receiver != "member":
        return False
    member = draft.members[index]
    return member.receiver == "use" and draft.uses[member.index].name == LIST


def _is_patch(draft: Draft, index: int) -> bool:
    member = draft.members[index] if index != NONE else None
    if member is None:
        return False
    if member.receiver == "use":
        return draft.uses[member.index].name == "patch"
    return member.receiver == "member" and draft.members[member.index].name == "patch"


def _read_path(draft: Draft, path: str, start: int, node: Node, definition: int, role: Role) -> None:
    """`"a.b.c"` as the members b and c of the module a."""
    first, *rest = path.split(".")
    span = (start, start + len(first.encode()))
    made = FoundImport("dynamic", first, span, span_of(node), definition, "*", is_followed=True)
    draft.imports.append(made)
    receiver: ReceiverKind = "import"
    index, at = len(draft.imports) - 1, span[1] + 1
    for name in rest:
        end = at + len(name.encode())
        index = draft.member_at(name, (at, end), role, receiver, index, definition)
        receiver, at = "member", end + 1


def list_names(draft: Draft, value: Node, statement: Node, scope: int, definition: int) -> None:
    """The names in a list that becomes part of `__all__`."""
    draft.has_list = True
    waiting = [value]
    while waiting:
        node = waiting.pop()
        found = plain_text_of(node, draft.text)
        if found is not None:
            use = draft.note(found[0], found[1], "export", scope, definition)
            draft.listed.append((use, span_of(statement)))
        elif node.type in ("list", "tuple", "parenthesized_expression") or node.type == "binary_operator":
            waiting.extend(reversed(node.named_children))
        elif node.type != "comment":
            draft.dynamic.append(("exports", *span_of(node)))


def visit_string(draft: Draft, node: Node, scope: int, definition: int) -> None:
    if node.id in draft.annotations:
        found = plain_text_of(node, draft.text)
        if found is not None:
            read_type(draft, *found[1], scope, definition)
        return
    draft.push([child for child in node.named_children if child.type == "interpolation"], scope, definition)
