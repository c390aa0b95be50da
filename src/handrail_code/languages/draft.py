"""What the walk over one syntax tree has found so far, as far as it is the same in every language. Pure.

A language adds what its rules of names need; its `assembly.py` makes facts of the whole. Walking and
resolving are two passes everywhere, because a name may be bound after its use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from handrail_code.facts.model import (
    NONE,
    VALUE,
    DynamicKind,
    ImportKind,
    Kind,
    ReceiverKind,
    Role,
    ScopeKind,
)
from handrail_code.languages.grammars import Node

LABEL = ":"
"""Before the name of a label while names are resolved: labels have names of their own."""


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

    def push(self, nodes: list[Node], scope: int, definition: int) -> None:
        self.stack.extend((node, scope, definition) for node in reversed(nodes))

    def count_branch(self, definition: int) -> None:
        """The complexity of the definition around a branch grows."""
        if definition != NONE:
            self.definitions[definition].complexity += 1


def span_of(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte
