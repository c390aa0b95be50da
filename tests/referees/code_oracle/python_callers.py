"""What uses each function and class of a Python package, told by Python's own parser and its tables of names.

Only what follows from scopes and imports: a name, an imported name, a member of an imported module. Methods
are in no table, so every member of that name may be one.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Mapping, Sequence

import msgspec

Spot = tuple[str, int]
SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


class Uses(msgspec.Struct, frozen=True, kw_only=True):
    calls: frozenset[Spot]
    values: frozenset[Spot]
    """Handed on: whoever gets it may call it."""


class _Module:
    """One file: its names at the top, where each comes from, and every place that reads one of them."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in text.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.text = text
        self.imported: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                source = self._resolve(node)
                self.imported |= {one.asname or one.name: (source, one.name) for one in node.names}
            elif isinstance(node, ast.Import):
                for one in node.names:
                    first = one.name.partition(".")[0]
                    self.imported[one.asname or first] = ("", one.name if one.asname else first)
        self.called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        self.reads = list(self._list_reads(self.tree, symtable.symtable(text.decode(), path, "exec")))

    def _resolve(self, node: ast.ImportFrom) -> str:
        parts = self.name.split(".")
        base = parts if self.path.endswith("__init__.py") else parts[:-1]
        above = base[: len(base) - node.level + 1] if node.level else []
        return ".".join([*above, *([node.module] if node.module else [])])

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def name_spot(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
        start = self.offset(node.lineno, node.col_offset)
        return self.text.index(node.name.encode(), start + (5 if isinstance(node, ast.ClassDef) else 3))

    def _list_reads(
        self, tree: ast.AST, table: symtable.SymbolTable, left_out: Sequence[ast.AST] = ()
    ) -> Iterator[ast.Name | ast.Attribute]:
        """Names that mean one at the top of the file, and members."""
        inner = list(table.get_children())
        waiting: list[ast.AST] = list(ast.iter_child_nodes(tree))
        while waiting:
            node = waiting.pop(0)
            if node in left_out:
                continue
            is_scope = isinstance(node, SCOPES)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if _is_top(table, node.id):
                    yield node
            elif isinstance(node, ast.Attribute):
                yield node
            if is_scope:
                own = next((one for one in inner if one.get_lineno() == _line_of(node)), None)
                if own is not None:
                    inner.remove(own)
                    outside = _outside(node)
                    waiting[:0] = outside
                    yield from self._list_reads(node, own, outside)
                continue
            waiting[:0] = list(ast.iter_child_nodes(node))


def _line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _outside(node: ast.AST) -> list[ast.AST]:
    """What of a definition is read in the scope around it."""
    found: list[ast.AST] = list(getattr(node, "decorator_list", []))
    if isinstance(node, ast.ClassDef):
        return [*found, *node.bases, *node.keywords]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return [node.generators[0].iter]
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        found += [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]
    return found


def _is_top(table: symtable.SymbolTable, name: str) -> bool:
    try:
        symbol = table.lookup(name)
    except KeyError:
        return False
    return table.get_type() == "module" or symbol.is_global() or symbol.is_imported()


def list_python_uses(texts: Mapping[str, bytes]) -> Iterator[tuple[str, int, Uses]]:
    """Each function and class at the top of a file with what uses it; methods with nothing."""
    modules = {
        module.name: module
        for path, text in sorted(texts.items())
        if path.endswith(".py")
        for module in [_Module(path, text)]
    }
    for module in modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [one.name for one in module.tree.body if isinstance(one, type(node))]
                if names.count(node.name) == 1:  # overloads and branches are several places
                    yield module.path, module.name_spot(node), _find_uses(modules, module.name, node.name)
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef):
                    yield module.path, module.name_spot(inner), Uses(calls=frozenset(), values=frozenset())


def _find_uses(modules: Mapping[str, _Module], home: str, name: str) -> Uses:
    calls: set[Spot] = set()
    values: set[Spot] = set()
    for module in modules.values():
        for read in module.reads:
            if isinstance(read, ast.Name):
                is_meant = _comes_from(modules, module.name, read.id) == (home, name)
                start = module.offset(read.lineno, read.col_offset)
            else:
                owner = read.value
                whole = module.imported.get(owner.id) if isinstance(owner, ast.Name) else None
                there = (
                    None if whole is None else _comes_from(modules, ".".join(filter(None, whole)), read.attr)
                )
                is_meant = there == (home, name)
                end = module.offset(read.end_lineno or 0, read.end_col_offset or 0)
                start = end - len(read.attr.encode())
            if is_meant:
                (calls if id(read) in module.called else values).add((module.path, start))
    return Uses(calls=frozenset(calls), values=frozenset(values))


def _comes_from(modules: Mapping[str, _Module], module: str, name: str) -> tuple[str, str]:
    """Through imports to where it is defined."""
    for _ in range(20):
        there = modules[module].imported.get(name) if module in modules else None
        if there is None:
            break
        module, name = there
    return module, name
