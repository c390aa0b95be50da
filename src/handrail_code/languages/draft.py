"""What the walk over one syntax tree has found so far, as far as it is the same in every language. Pure.

A language adds what its rules of names need; its `assembly.py` makes facts of the whole. Walking and
resolving are two passes everywhere, because a name may be bound after its use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from handrail_code.facts.model import (
    NONE,
    VALUE,
    DynamicKind,
    ImportKind,
    Kind,
    Language,
    ReceiverKind,
    Role,
    ScopeKind,
)
from handrail_code.languages.grammars import Node, kind_names

LABEL = ":"
"""Before the name of a label while names are resolved: labels have names of their own."""
MAX_SCOPE_DEPTH = 400
MAX_STACK = 2_000_000


@dataclass(slots=True)
class FoundScope:
    kind: ScopeKind
    start: int
    end: int
    parent: int
    names: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class FoundBinding:
    name: str
    kind: Kind
    scope: int
    meaning: int = VALUE
    is_exported: bool = False
    inner: int = NONE
    is_var: bool = False
    """Declared by `var` or as a function: a function in a block may join it."""


@dataclass(slots=True)
class FoundDefinition:
    name: str
    kind: Kind
    start: int
    end: int
    extent: tuple[int, int]
    container: int
    complexity: int = 0


@dataclass(slots=True)
class FoundUse:
    name: str
    start: int
    end: int
    role: Role
    scope: int
    definition: int
    meaning: int = VALUE
    binding: int = NONE


@dataclass(slots=True)
class FoundMember:
    name: str
    start: int
    end: int
    role: Role
    definition: int
    receiver: ReceiverKind = "unknown"
    index: int = NONE
    meaning: int = VALUE
    is_proven: bool = False


@dataclass(slots=True)
class FoundImport:
    kind: ImportKind
    module: str
    module_span: tuple[int, int]
    statement: tuple[int, int]
    definition: int = NONE
    imported: str = ""
    imported_span: tuple[int, int] | None = None
    use: int = NONE
    """Of the name that it binds."""
    is_type_only: bool = False
    is_followed: bool = False


def like(found: FoundImport, **own: Any) -> FoundImport:
    """Another import by the same statement."""
    return replace(found, **own)


class FoundSoFar:
    """Everything found so far, and the work that is left: a stack instead of recursion."""

    scopes: Sequence[FoundScope]
    uses: Sequence[FoundUse]
    definitions: Sequence[FoundDefinition]

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.bindings: list[FoundBinding] = []
        self.members: list[FoundMember] = []
        self.imports: list[FoundImport] = []
        self.dynamic: list[tuple[DynamicKind, int, int]] = []
        self.stack: list[tuple[Node, int, int]] = []
        self.exported: dict[int, tuple[tuple[int, int], bool]] = {}
        """Node id of a declaration under `export` -> the statement, and whether it is the default."""

    def push(self, nodes: list[Node], scope: int, definition: int) -> None:
        self.stack.extend((node, scope, definition) for node in reversed(nodes))

    def push_others(self, node: Node, read: Node | None, scope: int, definition: int) -> None:
        """What stands in a node beside the child that was read already."""
        self.stack.extend((child, scope, definition) for child in node.named_children if child != read)

    def count_branch(self, definition: int) -> None:
        """The complexity of the definition around a branch grows."""
        if definition != NONE:
            self.definitions[definition].complexity += 1


_D = TypeVar("_D", bound=FoundSoFar)
Visit: TypeAlias = Callable[[_D, Node, int, int], None]


def skip(draft: FoundSoFar, node: Node, scope: int, definition: int) -> None:
    """Nothing in it is a name."""


def walk_tree(
    draft: _D,
    language: Language,
    visits: dict[str, Visit[_D]],
    finish: Visit[_D] = skip,
) -> _D | None:
    """Visit everything that waits, or None where scopes nest deeper than anyone writes.

    Nothing here calls itself: nodes wait on a stack, so that deep nesting costs memory and never the program.
    `finish` gets each exported declaration once it was read, with its scope and its first use.
    """
    by_number = [visits.get(name) for name in kind_names(language)]
    unread = len(by_number)
    stack, exported, scopes = draft.stack, draft.exported, draft.scopes
    depths = [0]
    while stack:
        node, scope, definition = stack.pop()
        number = node.kind_id
        visit = by_number[number] if number < unread else None
        if visit is None:
            children = node.named_children
            if children:
                children.reverse()
                stack.extend([(child, scope, definition) for child in children])
        elif exported and node.id in exported:
            first_use = len(draft.uses)
            visit(draft, node, scope, definition)
            if node.id in exported:
                finish(draft, node, scope, first_use)
        else:
            visit(draft, node, scope, definition)
        if len(scopes) > len(depths):
            for new in scopes[len(depths) :]:
                depths.append(depths[new.parent] + 1)
            if depths[-1] > MAX_SCOPE_DEPTH:
                return None
        if len(stack) > MAX_STACK:
            return None
    return draft


def part_of(node: Node, field: str) -> Node:
    """Return a part that the grammar always has: in a text that misses it, an empty one stands there."""
    found = node.child_by_field_name(field)
    assert found is not None, "the parser makes no node before it has all parts of it"
    return found


def parts_of(node: Node) -> list[Node]:
    """Return what stands in a node, without comments, which may stand anywhere."""
    return [child for child in node.named_children if child.type != "comment"]


def span_of(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte
