"""What the walk over one Python file has found so far; `assembly.py` makes facts of it. Pure.

Python decides by the whole body of a function whether a name is local, and `global` and `nonlocal` send it
elsewhere. So the walk only notes who binds and who reads a name in which scope, and resolves nothing.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Literal

from handrail_code.facts.model import NONE, DynamicKind, Kind, ReceiverKind, Role, ScopeKind
from handrail_code.languages.draft import (
    FoundDefinition,
    FoundMember,
    FoundScope,
    FoundSoFar,
    FoundUse,
    span_of,
)
from handrail_code.languages.grammars import Node


@dataclass(slots=True)
class DraftScope(FoundScope):
    class_name: str = ""
    """The class around it, by which names such as `__a` are changed."""
    branches: list[tuple[int, int]] = field(default_factory=list)
    """Of a module or class: where statements stand that run perhaps, or more than once."""
    receiver: str = ""
    """Of a method: what it calls its object, usually `self`."""
    declared: dict[str, Literal["global", "nonlocal"]] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    """Names that have a definition already."""


@dataclass(slots=True)
class DraftDefinition(FoundDefinition):
    head: tuple[int, int] = (0, 0)
    """From the word `def` or `class` to the body."""
    doc: str = ""
    use: int = NONE


@dataclass(slots=True)
class DraftUse(FoundUse):
    key: str = ""
    """The name by which it is looked up: that of `__a` in a class has the class in it."""
    binds: Kind | None = None
    effect: int = 0
    """From where on the name is bound: `a = a` binds after its right side was read."""


class Draft(FoundSoFar):
    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.scopes: list[DraftScope] = []
        self.definitions: list[DraftDefinition] = []
        self.uses: list[DraftUse] = []
        self.listed: list[tuple[int, tuple[int, int]]] = []
        """Names in `__all__`: the use, and the span of the statement."""
        self.has_list = False
        """There is an `__all__`."""
        self.attributes: set[tuple[int, str]] = set()
        """Class and name of each attribute that a method gives to its object."""
        self.builtin_calls: list[tuple[int, DynamicKind, int, int]] = []
        """Calls that are dynamic if the called name is Python's own: the use, and what to note."""
        self.annotations: set[int] = set()
        """Node ids of strings that hold an expression, as in `a: "B"`."""
        self.seen_types: set[int] = set()

    def name_of(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte].decode()

    def open_scope(self, kind: ScopeKind, node: Node, parent: int, class_name: str | None = None) -> int:
        if class_name is None:
            class_name = self.scopes[parent].class_name if parent != NONE else ""
        self.scopes.append(DraftScope(kind, node.start_byte, node.end_byte, parent, class_name=class_name))
        return len(self.scopes) - 1

    def note_branch(self, node: Node, scope: int) -> None:
        around = self.scopes[scope]
        is_outermost = not around.branches or around.branches[-1][1] <= node.start_byte
        if around.kind in ("module", "class") and is_outermost:
            around.branches.append(span_of(node))

    def read(self, node: Node, role: Role, scope: int, definition: int) -> int:
        return self.note(self.name_of(node), span_of(node), role, scope, definition)

    def note(self, name: str, span: tuple[int, int], role: Role, scope: int, definition: int) -> int:
        use = DraftUse(name, *span, role, scope, definition, key=name, effect=span[1])
        if not name.isascii():
            use.key = unicodedata.normalize("NFKC", name)
        if name.startswith("__"):
            use.key = self._change_private(name, scope)
        self.uses.append(use)
        return len(self.uses) - 1

    def _change_private(self, name: str, scope: int) -> str:
        """`__a` in `class B` is `_B__a`."""
        class_name = self.scopes[scope].class_name.lstrip("_")
        return name if not class_name or name.endswith("__") else f"_{class_name}{name}"

    def bind(
        self,
        node: Node,
        kind: Kind,
        scope: int,
        definition: int,
        extent: Node | None = None,
        role: Role = "declaration",
    ) -> int:
        """A name is bound here; the first time in its scope it is also defined. Answers the use."""
        name = self.name_of(node)
        extent = node if extent is None else extent
        declared = self.scopes[scope].declared.get(name)
        home = 0 if declared == "global" else NONE if declared == "nonlocal" else scope
        is_first = home != NONE and name not in self.scopes[home].defined
        made = self.read(node, role if is_first or role != "declaration" else "write", scope, definition)
        use = self.uses[made]
        use.binds = kind
        use.effect = extent.end_byte
        if is_first:
            self.scopes[home].defined.add(name)
            container = NONE if declared == "global" else definition
            self.define(node, self.kind_in(kind, home), extent, container, made)
        return made

    def kind_in(self, kind: Kind, scope: int) -> Kind:
        if self.scopes[scope].kind != "class":
            return kind
        return "method" if kind == "function" else "property" if kind == "variable" else kind

    def define(self, node: Node, kind: Kind, extent: Node, container: int, use: int) -> int:
        span = span_of(extent)
        self.definitions.append(
            DraftDefinition(self.name_of(node), kind, *span_of(node), span, container, head=span, use=use)
        )
        return len(self.definitions) - 1

    def member(self, node: Node, role: Role, receiver: ReceiverKind, index: int, definition: int) -> int:
        return self.member_at(self.name_of(node), span_of(node), role, receiver, index, definition)

    def member_at(
        self,
        name: str,
        span: tuple[int, int],
        role: Role,
        receiver: ReceiverKind,
        index: int,
        definition: int,
    ) -> int:
        self.members.append(FoundMember(name, *span, role, definition, receiver, index))
        return len(self.members) - 1


def plain_text_of(node: Node, text: bytes) -> tuple[str, tuple[int, int]] | None:
    """What stands between the quotes and where, of a string that is written as it reads."""
    if node.type != "string" or node.named_child_count != 3:
        return None
    start, content = node.named_children[0], node.named_children[1]
    if content.type != "string_content" or content.child_count:
        return None
    if text[start.start_byte : start.start_byte + 1] not in (b"'", b'"', b"r", b"R"):
        return None
    return text[content.start_byte : content.end_byte].decode(), span_of(content)
