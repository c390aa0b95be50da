"""What the walk over one syntax tree has found so far, as far as it is the same in every language. Pure.

A language adds what its rules of names need; its `assembly.py` makes facts of the whole. Walking and
resolving are two passes everywhere, because a name may be bound after its use.
"""

from __future__ import annotations

from handrail_code.facts.model import (
    NONE,
    DynamicKind,
    ImportKind,
    Kind,
    ReceiverKind,
    Role,
    ScopeKind,
)
from handrail_code.languages.grammars import Node


class FoundScope:
    __slots__ = ("end", "kind", "names", "parent", "start")

    def __init__(self, kind: ScopeKind, start: int, end: int, parent: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.parent = parent
        self.names: dict[str, int] = {}


class FoundBinding:
    __slots__ = ("kind", "name", "scope")

    def __init__(self, name: str, kind: Kind, scope: int) -> None:
        self.name = name
        self.kind = kind
        self.scope = scope


class FoundDefinition:
    __slots__ = ("complexity", "container", "end", "extent", "kind", "name", "start")

    def __init__(
        self, name: str, kind: Kind, span: tuple[int, int], extent: tuple[int, int], container: int
    ) -> None:
        self.name = name
        self.kind = kind
        self.start, self.end = span
        self.extent = extent
        self.container = container
        self.complexity = 0


class FoundUse:
    __slots__ = ("binding", "definition", "end", "name", "role", "scope", "start")

    def __init__(self, name: str, start: int, end: int, role: Role, scope: int, definition: int) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.role: Role = role
        self.scope = scope
        self.definition = definition
        self.binding = NONE


class FoundMember:
    __slots__ = ("definition", "end", "index", "name", "receiver", "role", "start")

    def __init__(self, name: str, start: int, end: int, role: Role, definition: int) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.role: Role = role
        self.definition = definition
        self.receiver: ReceiverKind = "unknown"
        self.index = NONE


class FoundImport:
    __slots__ = (
        *("definition", "imported", "imported_span", "is_followed", "kind", "module", "module_span"),
        *("statement", "use"),
    )

    def __init__(
        self,
        kind: ImportKind,
        module: str,
        module_span: tuple[int, int],
        statement: tuple[int, int],
        definition: int = NONE,
    ) -> None:
        self.kind = kind
        self.module = module
        self.module_span = module_span
        self.statement = statement
        self.definition = definition
        self.imported = ""
        self.imported_span: tuple[int, int] | None = None
        self.use = NONE
        """Of the name that it binds."""
        self.is_followed = False


class FoundSoFar:
    """The text, and the work that is left: a stack instead of recursion."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.dynamic: list[tuple[DynamicKind, int, int]] = []
        self.stack: list[tuple[Node, int, int]] = []

    def push(self, nodes: list[Node], scope: int, definition: int) -> None:
        self.stack.extend((node, scope, definition) for node in reversed(nodes))


def span_of(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte
