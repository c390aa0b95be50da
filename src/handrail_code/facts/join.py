"""Questions about a whole project: what a place means, where a name is defined, and everything that uses it.

Files are joined here, for one question, from facts that know only their own file. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from handrail.contract.outcome import make_from
from handrail_code.facts.model import (
    NONE,
    UNREAD,
    Definition,
    DynamicKind,
    Export,
    Import,
    Kind,
    Member,
    Role,
    Span,
    Use,
)
from handrail_code.facts.python_words import is_python
from handrail_code.facts.resolution import Twins
from handrail_code.facts.slots import Slots
from handrail_code.facts.source import Source, find_holders
from handrail_code.facts.spelled_names import (
    Exported,
    Local,
    Placed,
    Slot,
    Token,
    Trouble,
    TroubleCode,
    doubt,
    list_leaking_uses,
)

Level: TypeAlias = Literal["exact", "alias", "member", "possible"]
Style: TypeAlias = Literal["follow", "keep", "public"]
"""`public`: like `follow`, and out through CommonJS exports and named re-exports as long as they spell it so.
`follow`: a name changes through all imports and exports that spell it the same. `keep`: it changes where
it is declared and in importers; what was imported, or is exported in a clause, stays on the other side."""

MAX_TROUBLES = 50


class Symbol(msgspec.Struct, frozen=True, kw_only=True):
    """One thing with a name; the slot where it is declared identifies it."""

    slot: Slot
    name: str
    kind: Kind


class Found(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    index: int
    definition: Definition


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    start: int
    end: int
    role: Role | Literal["text"]
    level: Level
    definition: int = NONE
    """The definition around it, in the facts of its file."""


def refer(path: str, place: Token | Use | Member, level: Level) -> Reference:
    return make_from(Reference, place, path=path, level=level)


def suspect(path: str, place: Placed) -> Reference:
    """Return a text that may mean it."""
    return Reference(path=path, start=place.start, end=place.end, role="text", level="possible")


class References(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Reference, ...]
    reasons: tuple[Trouble, ...]

    @property
    def sure(self) -> list[Reference]:
        """What certainly means it, under whatever name."""
        return [one for one in self.items if one.level in ("exact", "alias")]

    @property
    def unsure(self) -> list[Reference]:
        return [one for one in self.items if one.level in ("member", "possible")]


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """Slots that are one name, and every token that spells it."""

    slots: tuple[Slot, ...]
    tokens: tuple[Token, ...]


class Project:
    def __init__(self, source: Source, twins: Twins | None = None) -> None:
        self.source = source
        self.slots = Slots(source, twins)
        self.facts, self.look, self.read_facts = self.slots.facts, self.slots.look, self.slots.read_facts
        self._of_this: dict[str, list[Trouble]] = {}

    def symbol_of(self, path: str, index: int) -> Symbol | None:
        """The symbol of one definition; None for a method, a property or a key of an unknown object."""
        facts = self.read_facts(path)
        definition = facts.definitions[index]
        if definition.binding != NONE:
            return self.symbol_of_slot(self.slots.slot_of_binding(path, definition.binding))
        for export in facts.exports:
            if export.definition == index and export.kind == "commonjs" and export.exported != "=":
                return self.symbol_of_slot(Exported(path=path, name=export.exported))
        return None

    def home_of(self, path: str, binding: int) -> Local | None:
        """Return the binding that a local name stands for, in whatever file."""
        home = self.slots.home_of(self.slots.slot_of_binding(path, binding))
        return home if isinstance(home, Local) else None

    def symbol_of_slot(self, slot: Slot) -> Symbol | None:
        if isinstance(slot, Local):
            binding = self.read_facts(slot.path).bindings[slot.binding]
            return Symbol(slot=slot, name=binding.name, kind=binding.kind)
        if isinstance(slot, Exported):
            below = self.slots.home_of(slot)
            kind: Kind = "property"
            if isinstance(below, Local):
                kind = self.read_facts(below.path).bindings[below.binding].kind
            return Symbol(slot=slot, name=slot.name, kind=kind)
        for path in self.slots.candidates(slot.name):
            for at, each in enumerate(self.look(path).bindings):
                if each.name == slot.name and self.slots.slot_of_binding(path, at) == slot:
                    return Symbol(slot=slot, name=slot.name, kind=each.kind)
        return None

    def component(self, symbol: Symbol, style: Style) -> Component:
        """Everything that is this name: through `export *` always, through ties where they are followed."""
        waiting: list[Slot] = [symbol.slot]
        seen: dict[Slot, None] = {symbol.slot: None}
        tokens: dict[tuple[str, int], Token] = {}
        while waiting:
            slot = waiting.pop(0)
            for token in self.slots.tokens(slot):
                key = (token.path, token.start)
                known = tokens.get(key)
                if known is None or (known.tie is None and token.tie is not None):
                    tokens[key] = token
                if token.tie is None or token.tie in seen:
                    continue
                if _is_followed(token, style):
                    seen[token.tie] = None
                    waiting.append(token.tie)
            beside = [*self._twins_of(slot), *self._alternatives_of(slot)]
            if style == "public" and not is_python(slot.path):
                beside += [each for each in self._upwards(slot) if self._name_of(each) == symbol.name]
            for other in [*self.slots.same_default(slot, style != "keep"), *beside]:
                if other not in seen:
                    seen[other] = None
                    waiting.append(other)
        ordered = sorted(tokens.values(), key=lambda each: (each.path, each.start))
        return Component(slots=tuple(seen), tokens=tuple(ordered))

    def references(self, symbol: Symbol) -> References:
        """Return every place that means this symbol, under whatever name, then what may mean it."""
        slots, homes = self._slots_that_mean(symbol)
        items: dict[tuple[str, int], Reference] = {}
        for slot in slots:
            level: Level = "exact" if slot in homes else "alias"
            for token in self.slots.tokens(slot):
                items.setdefault((token.path, token.start), refer(token.path, token, level))
        names = sorted({self._name_of(slot) for slot in slots} - {"default", "="})
        candidates = sorted({path for name in names for path in self._candidates(slots, name)})
        for reference in self._weaker(slots, names, candidates):
            items.setdefault((reference.path, reference.start), reference)
        reasons = self.troubles(candidates, slots)
        for trouble in reasons:
            if trouble.code in PLACES_OF_USE:
                items.setdefault((trouble.path, trouble.start), suspect(trouble.path, trouble))
        return References(
            items=tuple(sorted(items.values(), key=lambda each: (each.path, each.start))),
            reasons=reasons,
        )

    def _slots_that_mean(self, symbol: Symbol) -> tuple[list[Slot], set[Slot]]:
        """Return the home, each export of it and every import of those, renamed or not; and which are homes.

        A module of several forms gives a home in each.
        """
        home = self.slots.home_of(symbol.slot)
        waiting, seen, homes = [home], {home: None}, {home}
        while waiting:
            slot = waiting.pop(0)
            if is_python(slot.path):
                # A name may have several imports behind it, and then it is at home where they meet.
                further = [each for each in self.slots.python.upwards(slot) if each not in seen]
                seen |= dict.fromkeys(further)
                waiting += further
                continue
            twins = [*self._twins_of(slot), *self._alternatives_of(slot)]
            further = [self.slots.home_of(twin) for twin in twins]
            homes.update(further)
            ties = (token.tie for token in self.slots.tokens(slot) if token.tie)
            for other in [*further, *twins, *self._upwards(slot), *ties]:
                if other not in seen and self.slots.home_of(other) in homes:
                    seen[other] = None
                    waiting.append(other)
        return list(seen), homes

    def _twins_of(self, slot: Slot) -> Iterator[Slot]:
        """Yield the same name in the other forms of each module that gives it."""
        if not isinstance(slot, Exported) or is_python(slot.path) or not self.slots.twins:
            return
        for module in self.givers_of(slot.path):
            for twin in self.slots.twins.of(module):
                found = self.slots.find_in_form(twin, slot.name)
                if found is not None and found != slot:
                    yield found

    def _alternatives_of(self, slot: Slot) -> Iterator[Slot]:
        """Yield the same name under other conditions of a package."""
        if isinstance(slot, Exported):
            yield from self.slots.alternatives(slot)

    def givers_of(self, path: str) -> list[str]:
        """Return a module, and all that give what it exports through `export *`."""
        waiting, seen = [path], [path]
        while waiting:
            module = waiting.pop(0)
            for importing in self.importers_of(module):
                stars = self.slots.exports_of(importing).get("*", ()) if importing not in seen else ()
                if any(self._is_module(importing, each.module, module) for each in stars):
                    seen.append(importing)
                    waiting.append(importing)
        return seen

    def _is_module(self, path: str, specifier: str, module: str) -> bool:
        """Whether an import of this file means the module, in whatever form."""
        found = self.slots.module_of(path, specifier)
        return found is not None and self._is_form(found, module)

    def _is_form(self, path: str, module: str) -> bool:
        return path == module or path in self.slots.twins.of(module)

    def _upwards(self, slot: Slot) -> Iterator[Slot]:
        """Slots that stand for this one under any name."""
        if isinstance(slot, Local):
            for export in self.slots.links(slot.path).exports:
                if export.binding == slot.binding:
                    yield Exported(path=slot.path, name=export.exported)
        elif isinstance(slot, Exported):
            for path in self._importing(slot):
                links = self.slots.links(path)
                for found in links.imports:
                    if found.binding != NONE and self.slots.slot_of_import(path, found) == slot:
                        yield self.slots.slot_of_binding(path, found.binding)
                for export in links.exports:
                    if export.kind == "reexport" and self.slots.slot_behind(path, export) == slot:
                        yield Exported(path=path, name=export.exported)

    def _importing(self, slot: Exported) -> Sequence[str]:
        """Files that may import this: those with its name; a default has none, so those with the module's."""
        if slot.name in ("default", "="):
            return self.importers_of(slot.path)
        return self.slots.candidates(slot.name)

    def importers_of(self, path: str) -> Sequence[str]:
        """At least every file that imports this module, by whatever name of it."""
        if is_python(path):
            return self.slots.python.importers_of(path)
        forms = [path, *self.slots.twins.of(path)]
        return sorted({each for form in forms for each in self._importers_of_form(form)})

    def _importers_of_form(self, path: str) -> Iterable[str]:
        spellings = self.slots.modules.spellings(path)
        if "" in spellings:
            return [each for each in self.source.files() if not is_python(each)]
        found = {each for text in spellings for each in self.slots.candidates(text)}
        folder, _, name = path.rpartition("/")
        if name.startswith("index."):  # its neighbours may call it `.` or `..`
            inside = (each for each in self.source.files() if each.startswith(folder + "/"))
            found.update(each for each in inside if not is_python(each))
        return found

    def _name_of(self, slot: Slot) -> str:
        return (
            self.read_facts(slot.path).bindings[slot.binding].name if isinstance(slot, Local) else slot.name
        )

    def _candidates(self, slots: Sequence[Slot], name: str) -> Sequence[str]:
        """Files that could mean this name: one file for a name that never leaves it."""
        first = slots[0]
        if len(slots) == 1 and isinstance(first, Local):
            binding = self.read_facts(first.path).bindings[first.binding]
            if not binding.is_exported and not self._is_public(first):
                return [first.path]
        of_language = is_python(first.path)
        return [path for path in self.source.candidates(name) if is_python(path) == of_language]

    def _weaker(
        self, slots: Sequence[Slot], names: Sequence[str], candidates: Sequence[str]
    ) -> Iterator[Reference]:
        """Members of this name with an unknown receiver, and the name in strings and comments."""
        is_public = any(self._is_public(slot) for slot in slots)
        for path in candidates:
            facts = self.look(path) if is_public else UNREAD
            for use in facts.uses:
                if use.role == "pattern" and use.name in names:  # `{a} = x` reads `x.a`
                    yield refer(path, use, "member")
            for member in facts.members:
                if member.name in names and member.role != "keyword":
                    yield refer(path, member, "member")
            yield from self.mentions(path, names)

    def mentions(self, path: str, names: Sequence[str]) -> Iterator[Reference]:
        """These names in strings and comments."""
        facts = self.facts(path)
        text = self.source.text(path) if facts is not None else None
        if facts is None or text is None:
            return
        # A comment that says `{a}` where no type is called so may still mean this value.
        identifiers = {use.start for use in facts.uses if use.role != "doc" or use.binding != NONE}
        identifiers |= {member.start for member in facts.members}
        for place in _words(text, names):
            if place.start not in identifiers:
                yield suspect(path, place)

    def troubles(self, paths: Sequence[str], slots: Sequence[Slot]) -> tuple[Trouble, ...]:
        """Return why references to these slots may be missing from these files."""
        found: list[Trouble] = []
        is_public = any(self._is_public(slot) for slot in slots)
        for path in paths:
            facts = self.facts(path)
            if facts is None:
                found += self.slots.list_unread(path)
                continue
            found += [doubt("parse_error", path, each) for each in facts.troubles[:1]]
            for each in facts.dynamic:
                code = DYNAMIC_CODES[each.kind]
                is_own = each.kind in ("eval", "with") or (each.kind == "exec" and is_python(path))
                if code is not None and (is_public or is_own):
                    found.append(doubt(code, path, each))
        for slot in slots:
            if isinstance(slot, Exported):
                found += self._leaks(slot)
                found += () if is_python(slot.path) else self._unresolved(slot)
            elif isinstance(slot, Local) and not is_python(slot.path) and self._is_public(slot):
                found += self._leaks_of_inner(slot)
            elif isinstance(slot, Local) and is_python(slot.path):
                unclear = self.slots.python.keywords_of(slot).unclear
                found += [doubt("unclear_call", each.path, each) for each in unclear]
        if is_public:
            found += [Trouble(code="skipped_file", path=each.path) for each in self.source.skipped()]
            found += [Trouble(code="unread_file", path=path) for path in self._holders(slots)]
        return tuple(found[:MAX_TROUBLES])

    def _holders(self, slots: Sequence[Slot]) -> Iterator[str]:
        """Files that nobody parses and that seem to use a name of these slots."""
        modules: set[str] = set()
        for slot in slots:
            if isinstance(slot, Exported) and is_python(slot.path):
                modules.add(self.slots.python.modules.name_in_imports(slot.path))
            elif isinstance(slot, Exported):
                modules |= self.slots.modules.spellings(slot.path)
        names = sorted({self._name_of(slot) for slot in slots} - {"default", "=", ""})
        if names:
            yield from find_holders(self.source, names, sorted(modules), is_python(slots[0].path))

    def _is_public(self, slot: Slot) -> bool:
        """Others may name it: it leaves its file, or the namespace or the enum that it stands in."""
        if not isinstance(slot, Local):
            return True
        facts = self.read_facts(slot.path)
        binding = facts.bindings[slot.binding]
        is_inner = facts.scopes[binding.scope].kind in ("namespace", "enum")
        return is_inner and (binding.is_exported or binding.kind == "enum_member")

    def _leaks(self, slot: Exported, seen: frozenset[Exported] = frozenset()) -> Iterator[Trouble]:
        """Yield places where the whole module goes somewhere that cannot be followed, and this name with it.

        What was `seen` stands for a module that holds the name, perhaps through others.
        """
        if is_python(slot.path):
            yield from self.slots.python.leaks(slot)
            for path in self.source.candidates(slot.name):
                if is_python(path):
                    yield from self.slots.python.unknown_stars(path, slot.name)
            return
        yield from self._untold_forms(slot)
        for module in self.givers_of(slot.path):
            is_commonjs = self.slots.is_commonjs(module)
            for path in self.importers_of(module):
                for found in self.slots.links(path).imports:
                    if self._is_whole(path, found, module):
                        is_named = found.kind == "mentioned"
                        for place in list_leaking_uses(self.read_facts(path), found, TAKING):
                            yield doubt("module_named" if is_named else "whole_module_used", path, place)
                for export in self.slots.links(path).exports:
                    is_default = is_commonjs and export.imported == "default"
                    is_whole = is_default or export.kind == "namespace"
                    if is_whole and self._is_module(path, export.module, module):
                        yield from self._leaks_of_reexport(path, export, seen | {slot})
                if is_commonjs:
                    yield from self._leaks_of_default(path, module)
        yield from self._list_of_this(slot.name)

    def _list_of_this(self, name: str) -> Sequence[Trouble]:
        """A function that is called as `module.f()` has the module for its `this`. Many share a name."""
        if name not in self._of_this:
            self._of_this[name] = [
                doubt("unproven_member", path, member)
                for path in self.slots.candidates(name)
                for member in self.look(path).members
                if member.name == name and member.receiver == "this" and member.index == NONE
            ]
        return self._of_this[name]

    def _leaks_of_reexport(self, path: str, export: Export, seen: frozenset[Exported]) -> Iterator[Trouble]:
        """`export * as a from` is a name for the whole module; so is `default` of a CommonJS one."""
        holder = Exported(path=path, name=export.exported)
        if export.kind != "namespace":
            yield doubt("whole_module_used", path, export.statement)
        elif holder not in seen:
            yield from self._leaks_of_whole(holder)
            yield from self._leaks(holder, seen)

    def _leaks_of_default(self, path: str, module: str) -> Iterator[Trouble]:
        """`a.default`, where a is this CommonJS module, is that module again."""
        facts = self.look(path)
        for member in facts.members:
            is_default = member.name == "default"
            behind = self.slots.module_of_receiver(path, facts, member) if is_default else None
            if behind is not None and self._is_form(behind, module):
                yield doubt("whole_module_used", path, member)

    def _leaks_of_inner(self, slot: Local) -> Iterator[Trouble]:
        """Of the enum or the namespace around a name."""
        facts = self.read_facts(slot.path)
        scope = facts.bindings[slot.binding].scope
        owner = next((at for at, each in enumerate(facts.bindings) if each.inner == scope), NONE)
        if owner != NONE:
            yield from self._leaks_of_whole(self.slots.slot_of_binding(slot.path, owner))

    def _leaks_of_whole(self, holder: Slot) -> Iterator[Trouble]:
        """Yield places where what holds a name goes somewhere as one thing."""
        around = self.symbol_of_slot(holder)
        received: dict[str, set[int]] = {}
        for whole in () if around is None else self._slots_that_mean(around)[0]:
            for token in self.slots.tokens(whole):
                if token.path not in received:
                    received[token.path] = set(self._receivers(token.path))
                is_read = token.role in ("read", "shorthand", "pattern")
                if is_read and token.start not in received[token.path]:
                    yield doubt("whole_module_used", token.path, token)

    def _receivers(self, path: str) -> Iterator[int]:
        """Yield where things begin that a member is named of."""
        facts = self.look(path)
        for member in facts.members:
            if member.receiver == "use":
                yield facts.uses[member.index].start
            elif member.receiver == "member":
                yield facts.members[member.index].start

    def _unresolved(self, slot: Exported) -> Iterator[Trouble]:
        """Imports of this name from a module name that was not resolved and may be this module."""
        for path in sorted({*self.slots.candidates(slot.name), *self.importers_of(slot.path)}):
            links = self.slots.links(path)
            for found in links.imports:
                if found.imported in (slot.name, "*") and self._may_be(path, found.module, slot):
                    yield doubt("unresolved_module", path, found.module_span)
            for export in links.exports:
                span = export.module_span
                is_taken = export.kind in ("star", "namespace") or export.imported == slot.name
                if span is not None and is_taken and self._may_be(path, export.module, slot):
                    yield doubt("unresolved_module", path, span)

    def _may_be(self, path: str, specifier: str, slot: Exported) -> bool:
        is_found = self.slots.resolve(path, specifier) is not None
        return not is_found and self.slots.modules.may_mean(path, specifier, slot.path)

    def _is_whole(self, path: str, found: Import, module: str) -> bool:
        """Whether an import holds this module as one thing; a default import does that to CommonJS."""
        if found.imported == "*":
            return self._is_module(path, found.module, module)
        if found.imported != "default" or found.binding == NONE:
            return False
        behind = self.slots.module_behind(path, found.binding)
        return behind is not None and self._is_form(behind, module)

    def _untold_forms(self, slot: Exported) -> Iterator[Trouble]:
        """Other forms of the module that hold the name and do not export it, so that nothing is proven."""
        source = self.slots.twins.make_from(slot.path)
        forms = self.slots.twins.of(slot.path)
        unproven = [twin for twin in forms if self.slots.find_in_form(twin, slot.name) is None]
        for path in [*unproven, *([source] if source is not None else [])]:
            places = _words(self.source.text(path) or b"", [slot.name])
            yield from (doubt("twin_file", path, place) for place in islice(places, 1))


TAKING: Final = frozenset(get_args(Role)) - {"declaration", "doc"}
"""How a name is used that holds a whole module, wherever that may go then."""
PLACES_OF_USE: frozenset[TroubleCode] = frozenset(
    {"whole_module_used", "module_named", "twin_file", "unresolved_module", "unread_file"}
)
"""Troubles that are places where the name is perhaps read."""

DYNAMIC_CODES: dict[DynamicKind, TroubleCode | None] = {
    "eval": "eval",
    "with": "with",
    "import": "dynamic_import",
    "require": "dynamic_require",
    "exports": "computed_exports",
    "global": "global_declaration",
    "exec": "eval",
    "globals": "names_as_data",
    "locals": None,
    "getattr": "computed_member",
    "decorator": None,
    "handed_on": None,
    "this": None,
    "scope": None,
}
"""What a place that makes names at run time says about names that leave their file; None for nothing."""


def _is_followed(token: Token, style: Style) -> bool:
    """Whether the other slot of a token changes along with the first.

    An exported name always carries its importers along. A local name carries what it was imported from, or
    is exported as, only where names are followed; and never out into an object, whose shape others may know.
    """
    if token.split == "none" or (token.role == "import" and token.is_first):
        return True
    if style == "public" and isinstance(token.tie, Exported):
        return True
    return style != "keep" and (token.split != "shorthand" or token.is_first)


def _words(text: bytes, names: Sequence[str]) -> Iterator[Span]:
    if not names:
        return
    joined = b"|".join(re.escape(name.encode()) for name in names)
    for found in re.finditer(rb"(?<![\w$])(?:" + joined + rb")(?![\w$])", text):
        yield Span(start=found.start(), end=found.end())
