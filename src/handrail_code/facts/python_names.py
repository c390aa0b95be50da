"""Python names across files: what an import, a member of a module or a starred name stands for. Pure.

A name at the top of a module and the name that others import are one thing in Python, so both are one slot,
`Exported`; the module's stub shares it. `slots.py` asks here for every Python path.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from handrail.contract.outcome import make_from
from handrail_code.facts.model import NONE, UNREAD, FileFacts, Import, Links, Member, Use
from handrail_code.facts.python_calls import Keywords, find_keywords
from handrail_code.facts.python_words import PYTHON, is_python
from handrail_code.facts.resolution import Resolved
from handrail_code.facts.source import Source, folders_up, list_folders
from handrail_code.facts.spelled_names import (
    Exported,
    Local,
    Shared,
    Slot,
    Split,
    Token,
    Trouble,
    doubt,
    list_leaking_uses,
)

LIST: Final = "__all__"


class PythonNames:
    def __init__(
        self,
        source: Source,
        facts: Callable[[str], FileFacts],
        links: Callable[[str], Links],
    ) -> None:
        self.source = source
        self.facts = facts
        self._links = links
        self._keywords: dict[Local, Keywords] = {}
        self._followed: list[Slot] = []
        self._tops: dict[str, dict[str, int]] = {}
        self._imports: dict[str, dict[int, list[Import]]] = {}

    @cached_property
    def modules(self) -> PythonModules:
        """Listed on first need: a project without Python never asks."""
        return PythonModules(self.source)

    # One file

    def top(self, path: str) -> dict[str, int]:
        """The names at the top of a module, with their bindings."""
        if path not in self._tops:
            bindings = self.facts(path).bindings
            self._tops[path] = {each.name: at for at, each in enumerate(bindings) if each.scope == 0}
        return self._tops[path]

    def imports_of(self, path: str, binding: int) -> list[Import]:
        if path not in self._imports:
            table: dict[int, list[Import]] = {}
            for each in self._links(path).imports:
                if each.binding != NONE:
                    table.setdefault(each.binding, []).append(each)
            self._imports[path] = table
        return self._imports[path].get(binding, [])

    def stars_of(self, path: str) -> list[Import]:
        return [each for each in self._links(path).imports if each.kind == "star"]

    def takes(self, path: str, name: str) -> bool:
        """Whether `from path import *` takes this name of the module."""
        if LIST not in self.top(path):
            return not name.startswith("_")
        return any(each.kind == "named" and each.exported == name for each in self._links(path).exports)

    def is_only_imported(self, path: str, binding: int) -> bool:
        """Nothing but one import binds this name."""
        facts = self.facts(path)
        if len(self.imports_of(path, binding)) != 1:
            return False
        uses = (facts.uses[at] for at in facts.bindings[binding].uses)
        return sum(1 for use in uses if use.role in ("declaration", "import", "write")) == 1

    # From a place to its slot

    def find_exported(self, module: str, name: str) -> Exported | None:
        """The name at the top of a module, or of one that it takes everything from."""
        waiting, seen = [module], {module}
        while waiting:
            path = waiting.pop(0)
            if path.endswith("/"):
                continue
            if name in self.top(path):
                return self._shared(path, name)
            beside = self.modules.beside(path)
            if beside is not None and name in self.top(beside):  # a type that only the stub has
                return Exported(path=beside, name=name)
            for star in self.stars_of(path):
                target = self.modules.find(path, star.module)
                if target is not None and target not in seen and not target.endswith("/"):
                    seen.add(target)
                    if self.takes(target, name):
                        waiting.append(target)
        return None

    def _shared(self, path: str, name: str) -> Exported:
        """A stub says what is in the module beside it: both have one slot."""
        other = self.modules.beside(path) if path.endswith(".pyi") else None
        return Exported(path=other if other is not None and name in self.top(other) else path, name=name)

    def slot_of_binding(self, path: str, binding: int) -> Slot:
        found = self.facts(path).bindings[binding]
        if found.scope == 0:
            return self._shared(path, found.name)
        return Local(path=path, binding=binding)

    def slot_of_use(self, path: str, use: Use) -> Slot | None:
        """A name without a binding here may come through `import *`."""
        if use.binding != NONE:
            return self.slot_of_binding(path, use.binding)
        if not self.stars_of(path) or use.name in self.top(path):
            return None
        return self.find_exported(path, use.name)

    def slot_of_import(self, path: str, found: Import) -> Exported | None:
        if found.imported in ("", "*"):
            return None
        target = self.modules.find(path, found.module)
        there = None if target is None else self.find_exported(target, found.imported)
        return None if there is None or self._is_itself(path, found, there) else there

    def _is_itself(self, path: str, found: Import, slot: Exported) -> bool:
        """`from package import module` inside of the package binds the name that it asks for."""
        return found.binding != NONE and self.slot_of_binding(path, found.binding) == slot

    def module_of_import(self, path: str, found: Import) -> str | None:
        """The module that an import's local name stands for, if it stands for one."""
        if found.kind == "star":
            return None
        if found.imported != "*":
            target = self.modules.find(path, found.module)
            if target is None:
                return None
            named = self.find_exported(target, found.imported)
            if named is not None and not self._is_itself(path, found, named):
                return self.module_of_slot(named)
            return self.modules.child(target, found.imported)
        if found.kind == "namespace" and found.imported_span is None and self._is_first_part(path, found):
            return self.modules.find(path, found.module.partition(".")[0])
        return self.modules.find(path, found.module)

    def _is_first_part(self, path: str, found: Import) -> bool:
        """`import a.b` binds `a`; `import a.b as c` binds the whole."""
        facts = self.facts(path)
        if found.binding == NONE:
            return False
        return any(
            facts.uses[at].start == found.module_span.start for at in facts.bindings[found.binding].uses
        )

    def module_of_slot(self, slot: Slot) -> str | None:
        """The module that a name stands for. Several imports of one name must mean the same."""
        if slot in self._followed:  # modules that import a name from each other in a circle
            return None
        binding = self._binding_of(slot)
        if binding is None:
            return None
        self._followed.append(slot)
        try:
            found = {self.module_of_import(binding[0], each) for each in self.imports_of(*binding)}
        finally:
            self._followed.pop()
        return found.pop() if len(found) == 1 else None

    def _binding_of(self, slot: Slot) -> tuple[str, int] | None:
        if isinstance(slot, Local):
            return slot.path, slot.binding
        if isinstance(slot, Exported) and slot.name in self.top(slot.path):
            return slot.path, self.top(slot.path)[slot.name]
        return None

    def module_behind_member(self, path: str, facts: FileFacts, member: Member) -> str | None:
        """The module whose name a member is: that of `x` in `x.name`."""
        names: list[str] = []
        while member.receiver == "member":
            member = facts.members[member.index]
            names.append(member.name)
        module: str | None = None
        if member.receiver == "use":
            slot = self.slot_of_use(path, facts.uses[member.index])
            module = None if slot is None else self.module_of_slot(slot)
        elif member.receiver == "import":
            module = self.modules.find(path, facts.imports[member.index].module)
        for name in reversed(names):
            if module is None:
                return None
            named = self.find_exported(module, name)
            module = self.modules.child(module, name) if named is None else self.module_of_slot(named)
        return module

    def slot_of_member(self, path: str, facts: FileFacts, member: Member) -> Slot | None:
        if member.role == "keyword" or not member.name:
            return None
        module = self.module_behind_member(path, facts, member)
        return None if module is None else self.find_exported(module, member.name)

    def home_of(self, slot: Slot) -> Slot:
        """Where a name was bound first: through imports, while nothing else binds it."""
        seen: set[Slot] = set()
        while slot not in seen:
            seen.add(slot)
            binding = self._binding_of(slot)
            if binding is None or not self.is_only_imported(*binding):
                return slot
            below = self.slot_of_import(binding[0], self.imports_of(*binding)[0])
            if below is None:
                return slot
            slot = below
        return slot

    # From a slot to its tokens

    def tokens(self, slot: Slot) -> Iterator[Token]:
        if isinstance(slot, Local):
            yield from self._tokens_of_binding(slot.path, slot.binding)
            yield from self.keywords_of(slot).tokens
            for beside, binding in self._twin_parameters(slot):
                yield from self._tokens_of_binding(beside, binding)
            return
        for path in (slot.path, self.modules.beside(slot.path)):
            if path is not None and slot.name in self.top(path):
                yield from self._tokens_of_binding(path, self.top(path)[slot.name])
        for path in self.source.candidates(slot.name):
            if is_python(path):
                yield from self._tokens_elsewhere(slot, path, self.facts(path))

    def _tokens_of_binding(self, path: str, binding: int) -> Iterator[Token]:
        facts = self.facts(path)
        imports = {
            each.imported_span.start: each
            for each in self.imports_of(path, binding)
            if each.imported_span is not None
        }
        for at in facts.bindings[binding].uses:
            use = facts.uses[at]
            found = imports.get(use.start)
            tie = None if found is None else self.slot_of_import(path, found)
            split: Split = "none" if found is None else "import"
            yield make_from(Token, use, path=path, tie=tie, split=split, is_first=False)

    def _tokens_elsewhere(self, slot: Exported | Shared, path: str, facts: FileFacts) -> Iterator[Token]:
        for found in facts.imports:
            span = found.imported_span
            if found.imported != slot.name or span is None or self.slot_of_import(path, found) != slot:
                continue
            tie: Slot | None = None
            split: Split = "none"
            if found.binding != NONE and facts.bindings[found.binding].name == slot.name:
                # `from x import a as a` says that the name is the same on purpose, and so it stays.
                tie = self.slot_of_binding(path, found.binding)
                uses = facts.bindings[found.binding].uses
                split = "import" if any(facts.uses[at].start == span.start for at in uses) else "none"
            own = {"definition": found.definition, "tie": tie, "split": split}
            yield make_from(Token, span, path=path, role="import", **own)
        for member in facts.members:
            if member.name == slot.name and self.slot_of_member(path, facts, member) == slot:
                yield make_from(Token, member, path=path)
        if self.stars_of(path):
            for use in facts.uses:
                if use.name == slot.name and use.binding == NONE and self.slot_of_use(path, use) == slot:
                    yield make_from(Token, use, path=path)

    def _twin_parameters(self, slot: Local) -> Iterator[tuple[str, int]]:
        """The same parameter in the stub of the module, or in the module of the stub."""
        facts, beside = self.facts(slot.path), self.modules.beside(slot.path)
        if beside is None or facts.bindings[slot.binding].kind != "parameter":
            return
        there = self.facts(beside)
        wanted = {
            _path_of(facts, at)
            for at, each in enumerate(facts.definitions)
            if each.binding == slot.binding and each.kind == "parameter"
        }
        for at, each in enumerate(there.definitions):
            if each.kind == "parameter" and each.binding != NONE and _path_of(there, at) in wanted:
                yield beside, each.binding

    def keywords_of(self, slot: Local) -> Keywords:
        """Where callers name a parameter."""
        if self.facts(slot.path).bindings[slot.binding].kind != "parameter":
            return Keywords()
        if slot not in self._keywords:
            self._keywords[slot] = find_keywords(self, slot)
        return self._keywords[slot]

    def definition_of(self, slot: Slot) -> tuple[FileFacts, int] | None:
        path, binding = self._binding_of(slot) or ("", NONE)
        facts = self.facts(path)
        at = next((at for at, each in enumerate(facts.definitions) if each.binding == binding), None)
        return None if at is None else (facts, at)

    def slot_of_callee(self, path: str, facts: FileFacts, member: Member) -> Slot | None:
        """What a call with this keyword calls. A variable or a parameter may hold anything."""
        slot: Slot | None = None
        if member.receiver == "use":
            slot = self.slot_of_use(path, facts.uses[member.index])
        elif member.receiver == "member":
            slot = self.slot_of_member(path, facts, facts.members[member.index])
        if slot is None:
            return None
        home = self.home_of(slot)
        binding = self._binding_of(home)
        if binding is None:
            return None
        kind = self.facts(binding[0]).bindings[binding[1]].kind
        return home if kind in ("function", "class", "import") else None

    def upwards(self, slot: Slot) -> Iterator[Slot]:
        """Names in other places that stand for this one."""
        if not isinstance(slot, Exported):
            return
        for path in self.source.candidates(slot.name):
            facts = self.facts(path) if is_python(path) else UNREAD
            for found in facts.imports:
                is_bound = found.imported == slot.name and found.binding != NONE
                if is_bound and self.slot_of_import(path, found) == slot:
                    yield self.slot_of_binding(path, found.binding)

    # What may be missing

    def importers_of(self, path: str) -> list[str]:
        """At least every file that imports this module."""
        name = self.modules.name_in_imports(path)
        files = self.source.candidates(name) if name else self.source.files()
        found = {each for each in files if is_python(each)}
        folder = self.modules.folder_of(path)
        if folder is not None:  # what lies in the package may call it `.` or `..`
            inside = folder + "/" if folder else ""
            found |= {each for each in self.source.files() if each.startswith(inside) and is_python(each)}
        return sorted(found)

    def leaks(self, slot: Exported) -> Iterator[Trouble]:
        """Places where the module, or a package that it lies in, goes somewhere as a whole."""
        for module in (slot.path, *self.modules.packages_of(slot.path)):
            for path in self.importers_of(module):
                facts = self.facts(path)
                for found in facts.imports:
                    if found.kind != "star" and self.module_of_import(path, found) == module:
                        for place in list_leaking_uses(facts, found, ("read", "call", "export")):
                            yield doubt("whole_module_used", path, place)
                yield from self._leaking_members(module, path, facts)
        for path in self.importers_of(slot.path):
            yield from self._list_in_classes(slot, path)

    def _list_in_classes(self, slot: Exported, path: str) -> Iterator[Trouble]:
        """An import in the body of a class makes a member of it."""
        facts = self.facts(path)
        for found in facts.imports:
            scope = 0 if found.binding == NONE else facts.bindings[found.binding].scope
            if facts.scopes[scope].kind != "class":
                continue
            if self.module_of_import(path, found) == slot.path or self.slot_of_import(path, found) == slot:
                yield doubt("unproven_member", path, found.statement)

    def _leaking_members(self, module: str, path: str, facts: FileFacts) -> Iterator[Trouble]:
        """`f(package.module)`: the module as a value that a member is."""
        name = self.modules.name_in_imports(module)
        received = {member.index for member in facts.members if member.receiver == "member"}
        for at, member in enumerate(facts.members):
            if member.name == "__dict__" and self.module_behind_member(path, facts, member) == module:
                yield doubt("whole_module_used", path, member)
            if member.name != name or member.role not in ("read", "call") or at in received:
                continue
            around = self.module_behind_member(path, facts, member)
            if around is None:
                continue
            named = self.find_exported(around, name)
            found = self.modules.child(around, name) if named is None else self.module_of_slot(named)
            if found == module:
                yield doubt("whole_module_used", path, member)

    def unknown_stars(self, path: str, name: str) -> Iterator[Trouble]:
        """Star imports of other people's modules in a file that uses a name nobody here binds."""
        if not any(use.name == name and use.binding == NONE for use in self.facts(path).uses):
            return
        for star in self.stars_of(path):
            if self.modules.find(path, star.module) is None:
                yield doubt("star_import", path, star.module_span)


def _path_of(facts: FileFacts, at: int) -> tuple[str, ...]:
    """The names of a definition and of those around it, from the inside out."""
    names: list[str] = []
    while at != NONE:
        names.append(facts.definitions[at].name)
        at = facts.definitions[at].container
    return tuple(names)


INIT: Final = "__init__"
USUAL_ROOTS: Final = ("", "src", "lib")


class PythonModules:
    """Resolution for one project. Its file identifies a module; a folder without `__init__` ends with `/`.

    Nothing here asks an interpreter for its path. A folder is a root if packages lie in it: the nearest to
    the importing file wins, and a name that two other roots have is not guessed.
    """

    def __init__(self, source: Source) -> None:
        self._files = frozenset(path for path in source.files() if is_python(path))
        self._known: dict[tuple[str, str], str | None] = {}

    def resolve(self, importer: str, specifier: str) -> Resolved | None:
        found = self.find(importer, specifier)
        return None if found is None or found.endswith("/") else Resolved(path=found)

    def find(self, importer: str, specifier: str) -> str | None:
        key = (posixpath.dirname(importer), specifier)
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def child(self, module: str, name: str) -> str | None:
        """The module `name` inside a package."""
        folder = self.folder_of(module)
        return None if folder is None else self._find_in(folder, name)

    def folder_of(self, module: str) -> str | None:
        """Of a package; None for any other module."""
        if module.endswith("/"):
            return module.rstrip("/")
        folder, _, name = module.rpartition("/")
        return folder if name.partition(".")[0] == INIT else None

    def beside(self, path: str) -> str | None:
        """The stub of a module, or the module of a stub."""
        other = path + "i" if path.endswith(".py") else path.removesuffix("i")
        return other if other in self._files else None

    def packages_of(self, path: str) -> Iterator[str]:
        """Those that a module lies in: each has the next, or the module, for an attribute."""
        package = posixpath.dirname(path)
        package = posixpath.dirname(package) if path == self._init_of(package) else package
        while package and (init := self._init_of(package)) is not None:
            yield init
            package = posixpath.dirname(package)

    def name_in_imports(self, path: str) -> str:
        """The last part of a module's name: whoever imports it spells that, or imports it from `.`."""
        folder, _, name = path.rpartition("/")
        stem = name.partition(".")[0]
        return posixpath.basename(folder) if stem == INIT else stem

    def _find(self, folder: str, specifier: str) -> str | None:
        bare = specifier.lstrip(".")
        dots = len(specifier) - len(bare)
        parts = bare.split(".") if bare else []
        if dots:
            for _ in range(dots - 1):
                if not folder:
                    return None
                folder = posixpath.dirname(folder)
            plain = folder + "/" if folder in self._folders else None
            return self._descend(self._init_of(folder) or plain, parts)
        near = self._find_near(folder, parts[0])
        if near is None:
            far = self._find_far(parts[0])
            near = far[0] if len(far) == 1 else None
        return None if near is None else self._descend(near, parts[1:])

    def _descend(self, module: str | None, parts: list[str]) -> str | None:
        for part in parts:
            module = None if module is None else self.child(module, part)
        return module

    def _find_near(self, folder: str, name: str) -> str | None:
        """From the folder in which the importer's own package lies outwards, then the usual places."""
        while folder and self._init_of(folder) is not None:
            folder = posixpath.dirname(folder)
        found = (self._find_in(root, name) for root in (*folders_up(folder), *USUAL_ROOTS))
        return next((each for each in found if each is not None and not each.endswith("/")), None)

    def _find_far(self, name: str) -> list[str]:
        """Packages of this name in other roots; then folders without `__init__`, if there is no package."""
        found = [self._find_in(root, name) for root in self._roots]
        packages = [each for each in found if each is not None and not each.endswith("/")]
        if packages:
            return packages
        plain = [self._find_in(root, name) for root in USUAL_ROOTS]
        return [each for each in plain if each is not None]

    def _find_in(self, folder: str, name: str) -> str | None:
        base = f"{folder}/{name}" if folder else name
        package = self._init_of(base)
        if package is not None:
            return package
        for extension in PYTHON:
            if base + extension in self._files:
                return base + extension
        return base + "/" if base in self._folders else None

    def _init_of(self, folder: str) -> str | None:
        base = f"{folder}/{INIT}" if folder else INIT
        return next((base + each for each in PYTHON if base + each in self._files), None)

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        """Folders that are no package and hold one."""
        inits = (INIT + ".py", INIT + ".pyi")
        packages = {posixpath.dirname(path) for path in self._files if posixpath.basename(path) in inits}
        above = {posixpath.dirname(folder) for folder in packages if folder}
        return tuple(sorted(above - packages))

    @cached_property
    def _folders(self) -> frozenset[str]:
        return list_folders(self._files)
