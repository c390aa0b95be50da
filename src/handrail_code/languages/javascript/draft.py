"""What the walk over one syntax tree has found so far; `assembly.py` makes facts of it. Pure.

Walking and resolving are two passes because a name may be declared after its use (hoisting). The walk adds
scopes, bindings and uses with the scope they stand in; nothing is resolved before it has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from handrail_code.facts.model import NONE, VALUE, ExportKind, Kind, ReceiverKind, Role, ScopeKind
from handrail_code.languages.draft import (
    FoundBinding,
    FoundDefinition,
    FoundMember,
    FoundScope,
    FoundSoFar,
    FoundUse,
)
from handrail_code.languages.grammars import Node

HOISTS_TO: frozenset[ScopeKind] = frozenset({"module", "function", "namespace", "global"})
"""The kinds of scope in which a `var` lands."""
MODULE = -2
"""What `this` is outside of every function: in CommonJS the exports, as they are at first."""


@dataclass(slots=True)
class DraftScope(FoundScope):
    is_strict: bool = False
    this: int = NONE
    """The definition of the class that `this` is an instance of; of a class's scope, the class; or MODULE."""


@dataclass(slots=True)
class DraftDefinition(FoundDefinition):
    binding: int = NONE
    head_end: int = NONE
    """Where the body begins."""


@dataclass(slots=True)
class DraftExport:
    kind: ExportKind
    exported: str
    statement: tuple[int, int]
    exported_span: tuple[int, int] | None = None
    local_span: tuple[int, int] | None = None
    local_use: int = NONE
    module: str = ""
    module_span: tuple[int, int] | None = None
    imported: str = ""
    definition: int = NONE
    member: int = NONE
    is_type_only: bool = False


@dataclass(slots=True)
class DraftAssignment:
    """`left = right` where the left side may turn out to be `exports` or a member of it."""

    use: int
    """The assigned name, for `exports = …`."""
    member: int
    """The assigned member."""
    statement: tuple[int, int]
    is_held: bool
    """Its value goes elsewhere, too: `const a = exports.a = …`."""
    right_use: int = NONE
    right_definition: int = NONE
    spreads: list[tuple[int, int]] = field(default_factory=list)
    """Of an object on the right: what is spread into it and is no `require` call."""
    stars: list[int] = field(default_factory=list)
    """Imports of whole modules that the right side is, or spreads."""
    keys: list[tuple[str, tuple[int, int], int, int]] | None = None
    """Of an object on the right: name, span, the use behind it or NONE, the member or NONE."""


class Draft(FoundSoFar):
    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.scopes: list[DraftScope] = []
        self.definitions: list[DraftDefinition] = []
        self.uses: list[FoundUse] = []
        self.exports: list[DraftExport] = []
        self.assignments: list[DraftAssignment] = []
        self.loaded: list[tuple[int, Node]] = []
        """Import of a whole module, and the name or pattern of a parameter that it becomes the value of."""
        self.objects: dict[int, DraftAssignment] = {}
        """Node id of an object literal -> the assignment whose right side it is."""
        self.comments: list[tuple[int, int, int, int]] = []
        """Start, end, and the scope and definition it stands in."""
        self.anchors: dict[int, int] = {}
        """Node id of a function or definition -> where a comment that documents it ends up before."""
        self.documented: dict[int, int] = {}
        """Such a place -> the definition there."""
        self.signatures: dict[int, int] = {}
        """Such a place -> the scope of the parameters there."""
        self.generic_scopes: dict[int, int] = {}
        """Binding of a class or interface -> the scope of its type parameters, shared by merged parts."""
        self.function_values: set[int] = set()
        """Where function expressions and arrows begin."""
        self.generics: dict[int, int] = {}
        """Place of a declaration, as for `documented` -> the scope with its type parameters."""
        self.sloppy_functions: list[tuple[int, int]] = []
        """Block and binding of each function that was declared in a block of sloppy code."""
        self.augmented: dict[int, tuple[str, tuple[int, int], tuple[int, int]]] = {}
        """Scope of `declare module "x"` -> the module, its span, and the statement's."""
        self.exports_receivers: set[int] = set()
        """Uses of `exports` before a member."""
        self.exports_members: set[int] = set()
        """Members `module.exports` before a further member."""
        self.module_receivers: list[tuple[int, int]] = []
        """Where `this` stands outside of every function."""
        self.whole_parameters: set[int] = set()
        """Bindings of parameters that are one name, as against names in a pattern."""
        self.is_module = False

    def name_of(self, node: Node) -> str:
        name = self.text[node.start_byte : node.end_byte].decode()
        return _unescape(name) if "\\" in name else name

    def open_scope(self, kind: ScopeKind, node: Node, parent: int) -> int:
        is_strict = parent != NONE and self.scopes[parent].is_strict
        made = DraftScope(kind, node.start_byte, node.end_byte, parent, is_strict=is_strict)
        if parent != NONE and self.scopes[parent].kind != "class":
            made.this = self.scopes[parent].this
        self.scopes.append(made)
        return len(self.scopes) - 1

    def owner(self, scope: int) -> int:
        """The class whose body this scope is; NONE for any other scope, and for a class without a name."""
        return self.scopes[scope].this if self.scopes[scope].kind == "class" else NONE

    def var_scope(self, scope: int) -> int:
        scopes = self.scopes
        while scopes[scope].kind not in HOISTS_TO:
            scope = scopes[scope].parent
        return scope

    def declare(
        self, node: Node, kind: Kind, meaning: int, scope: int, definition: int, role: Role = "declaration"
    ) -> int:
        """Bind the name that stands at this node; answers the index of the use."""
        name = self.name_of(node)
        binding = self.bind(name, kind, meaning, scope)
        use = self.use(node, role, scope, meaning, definition, name)
        self.uses[use].binding = binding
        return use

    def bind(self, name: str, kind: Kind, meaning: int, scope: int) -> int:
        names = self.scopes[scope].names
        known = names.get(name)
        if known is None:
            self.bindings.append(FoundBinding(name, kind, scope, meaning))
            names[name] = len(self.bindings) - 1
            return len(self.bindings) - 1
        binding = self.bindings[known]
        if meaning & VALUE and not binding.meaning & VALUE:
            binding.kind = kind  # `interface A` beside `const A`: the value is what people search for
        binding.meaning |= meaning
        return known

    def hoist(self, name: str, scope: int) -> int:
        """The scope of a `var` of this name: a parameter of the same name is the same variable."""
        target = self.var_scope(scope)
        parent = self.scopes[target].parent
        if parent != NONE and self.scopes[parent].kind == "parameters" and name in self.scopes[parent].names:
            return parent
        return target

    def use(
        self, node: Node, role: Role, scope: int, meaning: int, definition: int, name: str | None = None
    ) -> int:
        name = self.name_of(node) if name is None else name
        self.uses.append(FoundUse(name, node.start_byte, node.end_byte, role, scope, definition, meaning))
        return len(self.uses) - 1

    def member(
        self,
        node: Node,
        role: Role,
        definition: int,
        receiver: ReceiverKind = "unknown",
        index: int = NONE,
        meaning: int = VALUE,
    ) -> int:
        """A member of something; one of a module is all that is taken of it there."""
        place = (self.name_of(node), node.start_byte, node.end_byte)
        self.members.append(FoundMember(*place, role, definition, receiver, index, meaning))
        if receiver == "import":
            self.imports[index].is_followed = True
        return len(self.members) - 1

    def define(self, node: Node, kind: Kind, extent: Node, container: int, use: int = NONE) -> int:
        """A definition of the name at this node; `use` is the one by which it was declared."""
        start = self.anchors.get(extent.id, extent.start_byte)
        span = (start, extent.end_byte)
        made = DraftDefinition(self.name_of(node), kind, node.start_byte, node.end_byte, span, container)
        if use != NONE:
            made.binding = self.uses[use].binding
        self.definitions.append(made)
        self.documented.setdefault(start, len(self.definitions) - 1)
        return len(self.definitions) - 1

    def export(self, made: DraftExport, use: int = NONE) -> None:
        """Add an export; `use` is the local name behind it."""
        if use != NONE:
            made.local_use, made.local_span = use, (self.uses[use].start, self.uses[use].end)
        self.exports.append(made)

    def generic_scope(self, definition: int, node: Node, scope: int) -> int:
        """Where the type parameters of this class, interface or type alias are declared."""
        binding = self.definitions[definition].binding
        if binding not in self.generic_scopes:
            self.generic_scopes[binding] = self.open_scope("type", node, scope)
        made = self.generic_scopes[binding]
        self.generics.setdefault(self.definitions[definition].extent[0], made)
        return made


def _unescape(name: str) -> str:
    """`\\u0061` and `\\u{61}` in an identifier, as the letter they stand for."""
    parts = name.split("\\u")
    made = [parts[0]]
    for part in parts[1:]:
        digits, rest = (
            part[1:].split("}", 1) if part.startswith("{") and "}" in part else (part[:4], part[4:])
        )
        try:
            made.append(chr(int(digits, 16)) + rest)
        except (ValueError, OverflowError):
            made.append("\\u" + part)
    return "".join(made)
