"""What one source file says about itself: scopes, bindings, uses, imports and exports. Pure.

Facts of a file depend on its path's extension and its bytes and on nothing else, so that they can be kept
under the digest of its content. No fact names another file's facts: `join.py` does that for each question.
Every position is an offset in bytes, start included and end excluded. Lists name each other by index;
`NONE` stands for "no such thing".
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

# The structs of a file hold no references to each other, so the garbage collector need not look at them.

FACTS_VERSION: Final = 20
"""Part of the key under which facts are kept: a change of meaning of any field raises it."""

NONE: Final = -1

VALUE: Final = 1
TYPE: Final = 2
NAMESPACE: Final = 4
EVERY_MEANING: Final = VALUE | TYPE | NAMESPACE

Language: TypeAlias = Literal["javascript", "jsx", "typescript", "tsx", "python"]
Kind: TypeAlias = Literal[
    "function",
    "class",
    "method",
    "property",
    "variable",
    "parameter",
    "type",
    "type_parameter",
    "enum",
    "enum_member",
    "namespace",
    "import",
    "label",
]
ScopeKind: TypeAlias = Literal[
    "module",
    "function",
    "parameters",
    "block",
    "class",
    "type",
    "infer",
    "namespace",
    "global",
    "enum",
    "name",
]
Role: TypeAlias = Literal[
    "declaration",  # the name of a definition that has a binding
    "read",
    "write",
    "call",
    "type",
    "shorthand",  # `{a}` in an expression: a property name and a use in one token
    "pattern",  # `{a}` in a pattern: a property name and a declaration or a write in one token
    "jsx",
    "import",  # the name of an import that is also the local name
    "export",  # the local name in `export {a}` or `export {a as b}`
    "doc",  # a name in a JSDoc tag
    "label",
    "base",  # a class that another one is made from
    "keyword",  # `f(a=1)`, and a parameter that callers may name
]
ReceiverKind: TypeAlias = Literal["use", "member", "import", "exports", "this", "unknown"]
ImportKind: TypeAlias = Literal[
    "named",
    "default",
    "namespace",
    "bare",
    "require",
    "dynamic",
    "type",  # `import("x").T` in a comment
    "star",  # `from x import *`
    "mentioned",  # a path in a string that nothing here loads: `jest.mock("./x")`
    "augmentation",  # a name inside `declare module "x" {}`: the same thing as that module's own
]
ExportKind: TypeAlias = Literal[
    "declared",  # `export function a() {}`
    "named",  # `export {a}`
    "default",
    "reexport",
    "star",
    "namespace",
    "assign",
    "commonjs",
    "global",  # `export as namespace a`
]
DynamicKind: TypeAlias = Literal[
    "eval",
    "with",
    "import",
    "require",
    "exports",
    "global",
    "exec",  # code with names of its own
    "globals",
    "locals",
    "getattr",
    "decorator",  # a decorated name, whose decorator may look at parameters
    "handed_on",  # a name whose value others get at once: `a = b.c = …`
    "this",  # `this[name]`
    "scope",  # a name of a class or of Python, known only in a run
]


class Span(msgspec.Struct, frozen=True, kw_only=True, array_like=True, order=True, gc=False):
    start: int
    end: int


class Scope(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    kind: ScopeKind
    start: int
    end: int
    parent: int


class Binding(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One symbol: everything in one scope that shares a name (merged declarations are one binding)."""

    name: str
    kind: Kind
    scope: int
    meaning: int
    uses: tuple[int, ...] = ()
    """Every use in this file, declarations and mentions in documentation included, in order."""
    inner: int = NONE
    """Of an enum or a namespace: the scope with its members."""
    is_exported: bool = False


class Definition(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One place that declares a name. A method, a property or a key has no binding."""

    name: str
    kind: Kind
    start: int
    end: int
    extent_start: int
    extent_end: int
    binding: int = NONE
    container: int = NONE
    """The definition around this one."""
    exported: bool = False
    signature: str = ""
    """The declaration without its body, on one line, cut when it is long."""
    doc: str = ""
    complexity: int = 0
    """Decisions in the body plus one; 0 where there is no body."""
    digest: str = ""
    """Of the bytes of the whole extent; empty for parameters and the like."""
    twin: int = 0
    """How many before it in the file have its name and its bytes."""


class Use(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One identifier that lexical rules resolve: to a binding of this file or, without one, to a global."""

    name: str
    start: int
    end: int
    role: Role
    binding: int = NONE
    meaning: int = VALUE
    definition: int = NONE
    """The innermost function, class, method or variable definition around it."""


class Member(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One name that lexical rules do not resolve: `x.name`, a key, a method, `T.Name`, `<X.Name>`."""

    name: str
    start: int
    end: int
    role: Role
    receiver: ReceiverKind = "unknown"
    index: int = NONE
    """Of the receiver in `uses`, `members` or `imports`; of `this`, and of a member in the body of a class,
    the definition of the class."""
    definition: int = NONE
    is_proven: bool = False
    """Also among the uses: a member of an enum or namespace of this file."""


class Import(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One name, or one whole module, that comes from elsewhere."""

    kind: ImportKind
    module: str
    module_span: Span
    """The text between the quotes."""
    imported: str
    """The name there; `default`, `*` for the whole module, or empty for a bare import."""
    imported_span: Span | None
    """Where the imported name stands; equal to the local name's span in `import {a}`."""
    binding: int = NONE
    is_type_only: bool = False
    statement: Span
    definition: int = NONE
    is_followed: bool = False
    """Of a whole module without a local name: all that is read of it is known, as members or names."""


class Export(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One name under which others see something of this module."""

    kind: ExportKind
    exported: str
    """`default`, `*` for `export *`, `=` for `export =` and for a replaced `module.exports`."""
    exported_span: Span | None
    binding: int = NONE
    """The local symbol behind it, if there is one."""
    local_span: Span | None = None
    module: str = ""
    module_span: Span | None = None
    imported: str = ""
    """The name in `module` for a re-export."""
    statement: Span
    definition: int = NONE
    member: int = NONE
    """For `exports.name = …`: the member that names it."""
    is_type_only: bool = False


class Dynamic(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A place where names are made at run time: what is found is then perhaps not all."""

    kind: DynamicKind
    start: int
    end: int


class ParseTrouble(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    start: int
    end: int


class FileFacts(msgspec.Struct, frozen=True, kw_only=True, tag="facts"):
    language: Language
    is_module: bool
    """Has ES or CommonJS imports or exports; the top level of any other file is shared with all scripts."""
    is_commonjs: bool
    is_declaration: bool
    """A `.d.ts` or `.pyi` file."""
    scopes: tuple[Scope, ...]
    bindings: tuple[Binding, ...]
    definitions: tuple[Definition, ...]
    uses: tuple[Use, ...]
    members: tuple[Member, ...]
    imports: tuple[Import, ...]
    exports: tuple[Export, ...]
    dynamic: tuple[Dynamic, ...]
    troubles: tuple[ParseTrouble, ...]
    """At most a few: any trouble means that the file is never edited."""


class Links(msgspec.Struct, frozen=True, kw_only=True, tag="facts"):
    """What ties a file to others, without the rest of its facts, so that memory has room for all files."""

    is_commonjs: bool
    imports: tuple[Import, ...]
    exports: tuple[Export, ...]


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, tag="unreadable"):
    """A file without facts, and why."""

    reason: Literal["not_text", "too_large", "too_deep", "too_long_to_parse", "unknown_language"]


ReadFile: TypeAlias = FileFacts | Unreadable


def links_of(facts: FileFacts) -> Links:
    return Links(is_commonjs=facts.is_commonjs, imports=facts.imports, exports=facts.exports)


def list_ties(facts: FileFacts | Links) -> list[Import | Export]:
    """Everything that may name another module."""
    return [*facts.imports, *facts.exports]


UNREAD: Final = FileFacts(
    language="javascript",
    is_module=False,
    is_commonjs=False,
    is_declaration=False,
    scopes=(),
    bindings=(),
    definitions=(),
    uses=(),
    members=(),
    imports=(),
    exports=(),
    dynamic=(),
    troubles=(),
)
"""What a file without facts says: nothing."""
UNLINKED: Final = links_of(UNREAD)
