"""Names across files: which tokens must change together when one name changes. Pure.

The problem: `export {a}` and `import {a}` are each one token with two meanings. A slot is one meaning: a
local binding of a file (`Local`), a name that a module exports (`Exported`), or a name that all scripts share
(`Shared`). Every token belongs to one slot, or to two that it ties together. Two slots are the same thing
when no token stands between them (`export function a`, `export *`); they are tied when one token serves both.
Whoever renames a slot either follows the ties, so that the name changes everywhere, or splits the token in
two (`export {b as a}`), so that the other side keeps its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.contract.outcome import make_from
from handrail_code.facts.model import (
    NONE,
    UNLINKED,
    UNREAD,
    Binding,
    Export,
    FileFacts,
    Import,
    Links,
    Member,
    Role,
    Unreadable,
    Use,
    list_ties,
)
from handrail_code.facts.python_names import PythonNames
from handrail_code.facts.python_words import is_python
from handrail_code.facts.resolution import Modules, Resolved, Twins
from handrail_code.facts.source import Source
from handrail_code.facts.spelled_names import Exported, Local, Shared, Slot, Split, Token, Trouble

MAX_CHAIN = 20
"""How many members one after the other are looked at."""


class Slots:
    """Facts of one project, joined when asked. Nothing that crosses files is ever kept elsewhere."""

    def __init__(self, source: Source, twins: Twins | None = None) -> None:
        self.source = source
        self.modules = Modules(source)
        self._links: dict[str, Links | Unreadable | None] = {}
        self._exports: dict[str, dict[str, list[Export]]] = {}
        self._imports: dict[str, dict[int, Import]] = {}
        self._twins = twins
        self.python = PythonNames(source, self.look, self.links)

    def facts(self, path: str) -> FileFacts | None:
        found = self.source.facts(path)
        return found if isinstance(found, FileFacts) else None

    def look(self, path: str) -> FileFacts:
        """The facts of a file; nothing is in one that has none."""
        return self.facts(path) or UNREAD

    def read_facts(self, path: str) -> FileFacts:
        """Of a file that something known stands in."""
        facts = self.facts(path)
        assert facts is not None, "what is known of a file comes from its facts"
        return facts

    def links(self, path: str) -> Links:
        """What ties a file to others. It is kept for every file; facts are asked of the source each time."""
        if path not in self._links:
            self._links[path] = self.source.links(path)
        found = self._links[path]
        return found if isinstance(found, Links) else UNLINKED

    def list_unread(self, path: str) -> tuple[Trouble, ...]:
        """Why a file has no facts; empty where it has them, or where there is no such file."""
        self.links(path)
        found = self._links[path]
        if not isinstance(found, Unreadable):
            return ()
        is_late = found.reason == "too_long_to_parse"
        return (Trouble(code="too_long_to_parse" if is_late else "unreadable_file", path=path),)

    def candidates(self, name: str) -> Sequence[str]:
        """Files that may use a JavaScript name: in another language the same name is another thing."""
        return [path for path in self.source.candidates(name) if not is_python(path)]

    def exports_of(self, path: str) -> dict[str, list[Export]]:
        """The explicit exports of a module by name; `*` holds its `export *`."""
        if path not in self._exports:
            table: dict[str, list[Export]] = {}
            for export in self.links(path).exports:
                table.setdefault("*" if export.kind == "star" else export.exported, []).append(export)
            self._exports[path] = table
        return self._exports[path]

    def import_of(self, path: str, binding: int) -> Import | None:
        """The import that a local name stands for."""
        if path not in self._imports:
            found = self.links(path).imports
            self._imports[path] = {each.binding: each for each in found if each.binding != NONE}
        return self._imports[path].get(binding)

    def resolve(self, path: str, specifier: str) -> Resolved | None:
        modules = self.python.modules if is_python(path) else self.modules
        return modules.resolve(path, specifier)

    def module_of(self, path: str, specifier: str) -> str | None:
        found = self.resolve(path, specifier)
        return None if found is None else found.path

    @property
    def twins(self) -> Twins:
        """Found by the names of files and by packages, on first need."""
        if self._twins is None:
            self._twins = Twins(frozenset(self.source.files()), self.modules.list_entries())
        return self._twins

    def find_exported(self, path: str, name: str) -> Exported | None:
        """The module that explicitly exports this name, through any number of `export *`.

        What one form of a module does not export, another may.
        """
        if is_python(path):
            return self.python.find_exported(path, name)
        found, seen = self._find_in_form([path], name)
        if found is None and self.twins:
            others = [twin for each in seen for twin in self.twins.of(each) if twin not in seen]
            found, _ = self._find_in_form(others, name)
        return found

    def find_in_form(self, path: str, name: str) -> Exported | None:
        """The same in this form of the module alone."""
        return self._find_in_form([path], name)[0]

    def _find_in_form(self, paths: Sequence[str], name: str) -> tuple[Exported | None, list[str]]:
        waiting, seen = list(paths), list(paths)
        while waiting:
            path = waiting.pop(0)
            table = self.exports_of(path)
            if name in table and name != "*":
                return Exported(path=path, name=name), seen
            if name in ("default", "="):
                continue
            for star in table.get("*", ()):
                target = self.module_of(path, star.module)
                if target is not None and target not in seen:
                    seen.append(target)
                    waiting.append(target)
        return None, seen

    def alternatives(self, slot: Exported) -> Iterator[Exported]:
        """The same name in the modules that an importer gets under other conditions of a package.json."""
        if slot.name in ("default", "=") or is_python(slot.path):
            return
        for path in self.candidates(slot.name):
            for each in list_ties(self.links(path)):
                found = self.resolve(path, each.module) if each.imported in (slot.name, "*") else None
                if found is None or not found.others:
                    continue
                homes = [self.find_exported(module, slot.name) for module in (found.path, *found.others)]
                if slot in homes:
                    yield from (home for home in homes if home is not None and home != slot)

    def module_behind(self, path: str, binding: int) -> str | None:
        """The module whose names are members of this local name: `import * as x`, `x = require("y")`."""
        found = self.import_of(path, binding)
        if found is None:
            return None
        target = self.module_of(path, found.module)
        if target is None:
            return None
        if found.imported == "*":
            return target
        if found.imported == "default" and self.is_commonjs(target):
            return target
        for export in self.exports_of(target).get(found.imported, ()):
            if export.kind == "namespace":
                return self.module_of(target, export.module)
        return None

    def is_commonjs(self, path: str) -> bool:
        """Whether a default import is the module as a whole, by the source of a declaration file."""
        links = self.links(path)
        if links is UNLINKED or links.is_commonjs:
            return links.is_commonjs
        if "default" in self.exports_of(path):
            return False
        return any(self.links(twin).is_commonjs for twin in self.twins.of(path))

    def slot_of_binding(self, path: str, binding: int) -> Slot:
        if is_python(path):
            return self.python.slot_of_binding(path, binding)
        facts = self.read_facts(path)
        found = facts.bindings[binding]
        is_top = found.scope == 0 and not facts.is_module and found.kind != "label"
        if is_top or facts.scopes[found.scope].kind == "global":
            return Shared(name=found.name)
        return Local(path=path, binding=binding)

    def slot_of_import(self, path: str, found: Import) -> Exported | None:
        """What an import takes from the other module; None for a whole module or another package."""
        if is_python(path):
            return self.python.slot_of_import(path, found)
        return None if found.imported in ("", "*") else self.slot_behind(path, found)

    def slot_behind(self, path: str, tie: Import | Export) -> Exported | None:
        """The name in the other module that an import or a re-export names."""
        target = self.module_of(path, tie.module)
        return None if target is None else self.find_exported(target, tie.imported)

    def slot_of_member(self, path: str, facts: FileFacts, member: Member) -> Slot | None:
        """What `x.name` means, where x is a module or `exports`."""
        if is_python(path):
            return self.python.slot_of_member(path, facts, member)
        if member.receiver == "exports":
            return self.find_exported(path, member.name)
        if member.receiver == "member":
            return self._slot_in_chain(path, facts, member)
        target = self.module_of_receiver(path, facts, member)
        if target is not None:
            return self.find_exported(target, member.name)
        binding = facts.uses[member.index].binding if member.receiver == "use" else NONE
        return None if binding == NONE else self._slot_of_inner(path, binding, member.name)

    def module_of_receiver(self, path: str, facts: FileFacts, member: Member) -> str | None:
        """The module that x is in `x.name`."""
        if member.receiver == "import":
            return self.module_of(path, facts.imports[member.index].module)
        if member.receiver != "use":
            return None
        used = facts.uses[member.index]
        if used.binding != NONE:
            return self.module_behind(path, used.binding)
        named = self.exports_of(path).get(used.name, ())
        return path if any(export.kind == "global" for export in named) else None

    def _slot_in_chain(self, path: str, facts: FileFacts, member: Member) -> Slot | None:
        """`x.y.name`, where `x.y` is a module, an enum or a namespace."""
        chain = [member]
        while chain[-1].receiver == "member":
            chain.append(facts.members[chain[-1].index])
            if len(chain) > MAX_CHAIN:
                return None
        slot = self.slot_of_member(path, facts, chain.pop())
        while slot is not None and chain:
            name = chain.pop().name
            module = self._module_behind_slot(slot)
            slot = self._slot_within(slot, name) if module is None else self.find_exported(module, name)
        return slot

    def _module_behind_slot(self, slot: Slot) -> str | None:
        """The module that a name stands for: `export * as name`, or an exported import of a whole one."""
        if isinstance(slot, Local):
            return self.module_behind(slot.path, slot.binding)
        if isinstance(slot, Shared):
            return None
        for export in self.exports_of(slot.path).get(slot.name, ()):
            if export.kind == "namespace":
                return self.module_of(slot.path, export.module)
            if export.binding != NONE:
                return self.module_behind(slot.path, export.binding)
        return None

    def _slot_of_inner(self, path: str, binding: int, name: str) -> Slot | None:
        """A member of an imported enum or namespace."""
        home = self.home_of(Local(path=path, binding=binding))
        return None if not isinstance(home, Local) or home.path == path else self._slot_within(home, name)

    def _slot_within(self, slot: Slot, name: str) -> Slot | None:
        """A name inside an enum or a namespace."""
        home = self.home_of(slot)
        if not isinstance(home, Local):
            return None
        bindings = self.read_facts(home.path).bindings
        inner = bindings[home.binding].inner
        for at, found in enumerate(bindings if inner != NONE else ()):
            if found.scope == inner and found.name == name:
                return Local(path=home.path, binding=at)
        return None

    def home_of(self, slot: Slot) -> Slot:
        """Where a name was declared first: through imports and re-exports, renamed or not."""
        if is_python(slot.path):
            return self.python.home_of(slot)
        seen: set[Slot] = set()
        while slot not in seen:
            seen.add(slot)
            if isinstance(slot, Local):
                found = self.import_of(slot.path, slot.binding)
                there = None if found is None else self.slot_of_import(slot.path, found)
                if there is None:
                    return slot
                slot = there
            elif isinstance(slot, Exported):
                below = self._below_export(slot)
                if below is None:
                    return slot
                slot = below
            else:
                return slot
        return slot

    def _below_export(self, slot: Exported) -> Slot | None:
        for export in self.exports_of(slot.path).get(slot.name, ()):
            if export.binding != NONE:
                return self.slot_of_binding(slot.path, export.binding)
            if export.kind == "reexport":
                return self.slot_behind(slot.path, export)
        return None

    def same_default(self, slot: Slot, is_followed_home: bool) -> Iterator[Slot]:
        """Importers that call a default export by its own name; and back, where names are followed home."""
        if is_python(slot.path):
            return
        facts = self.facts(slot.path) if isinstance(slot, Local) else None
        if facts is None or not isinstance(slot, Local):
            return
        name = facts.bindings[slot.binding].name
        for export in facts.exports:
            if export.binding == slot.binding and export.exported == "default":
                yield from self._default_importers(Exported(path=slot.path, name="default"), name)
        found = self.import_of(slot.path, slot.binding)
        if found is not None and found.imported == "default" and is_followed_home:
            home = self.slot_of_import(slot.path, found)
            below = None if home is None else self._below_export(home)
            there = self.facts(below.path) if isinstance(below, Local) else None
            if there is None or home is None or not isinstance(below, Local):
                return
            if there.bindings[below.binding].name != name:
                return
            if _is_declared_default(there, below.binding):
                yield below
            else:
                yield from self._default_importers(home, name)

    def _default_importers(self, slot: Exported, name: str) -> Iterator[Slot]:
        for path in self.candidates(name):
            facts = self.look(path)
            for found in facts.imports:
                if found.imported == "default" and found.binding != NONE:
                    is_same = facts.bindings[found.binding].name == name
                    if is_same and self.slot_of_import(path, found) == slot:
                        yield self.slot_of_binding(path, found.binding)

    # The tokens of a slot

    def tokens(self, slot: Slot) -> Iterator[Token]:
        if is_python(slot.path):
            yield from self.python.tokens(slot)
            return
        if isinstance(slot, Local):
            yield from self._tokens_of_local(slot)
        elif isinstance(slot, Exported):
            yield from self._tokens_of_exported(slot)
        else:
            yield from self._tokens_of_shared(slot)

    def _tokens_of_local(self, slot: Local) -> Iterator[Token]:
        facts = self.read_facts(slot.path)
        binding = facts.bindings[slot.binding]
        ties = self._ties_of_local(slot, facts)
        for at in binding.uses:
            use = facts.uses[at]
            tie, split, is_first = ties.get((use.start, use.end), (None, "none", True))
            if split == "none":
                split = _split_of_use(use)
                is_first = split == "none" and is_first
            yield make_from(Token, use, path=slot.path, tie=tie, split=split, is_first=is_first)
        if facts.scopes[binding.scope].kind in ("enum", "namespace"):
            yield from self._member_tokens_elsewhere(slot, binding)

    def _ties_of_local(
        self, slot: Local, facts: FileFacts
    ) -> dict[tuple[int, int], tuple[Slot | None, Split, bool]]:
        ties: dict[tuple[int, int], tuple[Slot | None, Split, bool]] = {}
        for export in facts.exports:
            if export.binding != slot.binding or export.exported_span is None or export.local_span is None:
                continue
            if export.exported_span != export.local_span:
                continue
            tied = Exported(path=slot.path, name=export.exported)
            key = (export.local_span.start, export.local_span.end)
            if export.kind == "commonjs":
                ties[key] = (tied, "shorthand", False)
            elif export.kind == "named":
                ties[key] = (tied, "export", True)
            else:
                ties[key] = (tied, "none", True)
        found = self.import_of(slot.path, slot.binding)
        if found is not None and found.imported_span is not None:
            tied_to = self.slot_of_import(slot.path, found)
            key = (found.imported_span.start, found.imported_span.end)
            if any(
                (facts.uses[at].start, facts.uses[at].end) == key for at in facts.bindings[slot.binding].uses
            ):
                ties[key] = (tied_to, _split_of_import(found), False)
        return ties

    def _member_tokens_elsewhere(self, slot: Local, binding: Binding) -> Iterator[Token]:
        """`Enum.Member` and `Namespace.name` in other files."""
        for path in self.candidates(binding.name):
            other = self.look(path) if path != slot.path else UNREAD
            for member in other.members:
                if member.name == binding.name and self.slot_of_member(path, other, member) == slot:
                    yield make_from(Token, member, path=path)

    def _tokens_of_exported(self, slot: Exported) -> Iterator[Token]:
        for export in self.exports_of(slot.path).get(slot.name, ()):
            yield from self._tokens_of_export(slot, export)
        if slot.name == "=":
            return
        for path in self.candidates(slot.name):
            facts = self.look(path)
            for found in facts.imports:
                if found.imported != slot.name or found.imported_span is None:
                    continue
                if self.slot_of_import(path, found) == slot:
                    yield self._import_token(path, facts, found)
            for export in facts.exports:
                is_taken = export.kind == "reexport" and export.imported == slot.name
                if is_taken and self.slot_behind(path, export) == slot:
                    yield from _reexport_token(path, export)
            for member in facts.members:
                if member.name != slot.name or _is_key_of_import(facts, member):
                    continue
                if self.slot_of_member(path, facts, member) == slot:
                    yield self._member_of_module(path, facts, member)

    def _member_of_module(self, path: str, facts: FileFacts, member: Member) -> Token:
        """In `{a} = module` the member is a local name in the same token."""
        local = next((use for use in facts.uses if use.start == member.start), None)
        if member.role != "pattern" or local is None or local.binding == NONE:
            return make_from(Token, member, path=path)
        return make_from(
            Token, member, path=path, tie=self.slot_of_binding(path, local.binding), split="pattern"
        )

    def _tokens_of_export(self, slot: Exported, export: Export) -> Iterator[Token]:
        is_commonjs, is_both = export.kind == "commonjs", export.exported_span == export.local_span
        if export.exported_span is None:
            return
        if is_commonjs and export.member != NONE and export.binding == NONE:
            return  # the member itself is found among the members
        tie: Slot | None = None
        split: Split = "none"
        if is_both and export.kind == "reexport":
            tie, split = self.slot_behind(slot.path, export), "export"
        elif is_both and export.binding != NONE:
            tie = self.slot_of_binding(slot.path, export.binding)
            split = "shorthand" if is_commonjs else "export" if export.kind == "named" else "none"
        role: Role = "shorthand" if split == "shorthand" else "export"
        yield make_from(
            Token,
            export.exported_span,
            path=slot.path,
            role=role,
            definition=export.definition,
            tie=tie,
            split=split,
            is_first=tie is None or is_commonjs,
        )

    def _import_token(self, path: str, facts: FileFacts, found: Import) -> Token:
        span = found.imported_span
        assert span is not None, "only imports with a name come here"
        tie: Slot | None = None
        split: Split = "none"
        if found.binding != NONE and any(
            facts.uses[at].start == span.start for at in facts.bindings[found.binding].uses
        ):
            tie = self.slot_of_binding(path, found.binding)
            split = _split_of_import(found)
        own = {"definition": found.definition, "tie": tie, "split": split}
        return make_from(Token, span, path=path, role="import", **own)

    def _tokens_of_shared(self, slot: Shared) -> Iterator[Token]:
        meaning = self.meaning_of_shared(slot)
        for path in self.candidates(slot.name):
            for use in self.look(path).uses:
                if use.name != slot.name:
                    continue
                is_global = use.binding == NONE and bool(use.meaning & meaning)
                if is_global or (use.binding != NONE and self.slot_of_binding(path, use.binding) == slot):
                    split = _split_of_use(use)
                    yield make_from(Token, use, path=path, split=split, is_first=False)

    def meaning_of_shared(self, slot: Shared) -> int:
        meaning = 0
        for path in self.candidates(slot.name):
            for at, binding in enumerate(self.look(path).bindings):
                if binding.name == slot.name and self.slot_of_binding(path, at) == slot:
                    meaning |= binding.meaning
        return meaning


def _reexport_token(path: str, export: Export) -> Iterator[Token]:
    span = export.local_span
    if span is None:
        return
    is_both = span == export.exported_span
    tie = Exported(path=path, name=export.exported) if is_both else None
    own = {"definition": export.definition, "tie": tie, "split": "export" if is_both else "none"}
    yield make_from(Token, span, path=path, role="export", **own)


def _split_of_use(use: Use) -> Split:
    return use.role if use.role in ("shorthand", "pattern") else "none"


def _split_of_import(found: Import) -> Split:
    if found.kind == "augmentation":
        return "none"
    return "pattern" if found.kind in ("require", "dynamic") else "import"


def _is_declared_default(facts: FileFacts, binding: int) -> bool:
    """`export default function a`, as against `export default a`."""
    return any(
        export.binding == binding and export.exported == "default" and export.local_span is not None
        for export in facts.exports
        if not any(
            facts.uses[at].role == "export" and facts.uses[at].start == export.local_span.start
            for at in facts.bindings[binding].uses
            if export.local_span is not None
        )
    )


def _is_key_of_import(facts: FileFacts, member: Member) -> bool:
    """`b` in `{b: c} = require("x")` is a key for the grammar and an imported name for us."""
    return any(
        found.imported_span is not None and found.imported_span.start == member.start
        for found in facts.imports
    )
