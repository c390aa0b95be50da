"""Members of classes in JavaScript and TypeScript: the places that mean one, as far as proven. Pure.

The class behind `x.name` is proven for `this` in its body, for the class itself (`Class.name`), and for a
name that says its class: `x: Class`, or `const x = new Class()`. Every other place that spells the name is
unsure, unless the member is `private`: then the compiler keeps it within the braces of its class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from handrail_code.facts.join import Found, Project, Reference, refer, suspect
from handrail_code.facts.model import NONE, Definition, FileFacts, Member, Span, Use
from handrail_code.facts.python_words import is_python
from handrail_code.facts.spelled_names import Shared, Trouble, doubt

_MODIFIERS = re.compile(rb"[^)\n]*$")
_ANNOTATED = re.compile(rb"\s*[?!]?\s*:\s*([A-Za-z_$][\w$]*)\s*(?:[,);]|=(?!>))")
_MADE = re.compile(rb"\s*=\s*new\s+([A-Za-z_$][\w$]*)\s*\([^()'\"`/]*\)\s*(?:;|\n(?!\s*[.?\[(`]))")
_CONSTANT = re.compile(rb"\bconst\s+$")
_HERITAGE = re.compile(r"\b(?:extends|implements)\b|…$")
_TYPED = (".ts", ".tsx", ".mts", ".cts")


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """What a place names a member of: the instances of a class, or the class itself."""

    path: str
    index: int
    is_static: bool


class MemberUses(msgspec.Struct, frozen=True, kw_only=True):
    """Every place that spells the name of a member."""

    owner: Owner
    proven: tuple[Reference, ...]
    other: tuple[Reference, ...]
    """Members of other classes."""
    unsure: tuple[Reference, ...]
    troubles: tuple[Trouble, ...]
    """Why a place may be missing, or mean another thing than it seems."""


def find_member_uses(project: Project, found: Found) -> MemberUses | None:
    """None where it is no member of a class that can be proven."""
    owner = _find_declaring(project, found)
    if owner is None:
        return None
    home = _definition(project, owner)
    is_private = _is_private(project, found)
    if _HERITAGE.search(home.signature) is not None and not is_private:
        return None
    name = found.definition.name
    proven, other, unsure = list[Reference](), list[Reference](), list[Reference]()
    untold: list[Reference] = []
    paths = project.slots.candidates(name)
    for path, place in _list_places(project, paths, name):
        reference = refer(path, place, "member")
        there = find_owner(project, path, place) if isinstance(place, Member) else None
        if there == owner:
            proven.append(msgspec.structs.replace(reference, level="exact"))
            continue
        is_other = there is not None and _is_other(project, there, home, name)
        is_kept_out = is_private and _is_kept_out(project, path, place.start, owner)
        (other if is_other or is_kept_out else unsure).append(reference)
        untold += [] if is_other or not is_kept_out else [reference]
    judged = {(each.path, each.start) for each in (*proven, *other, *unsure)}
    unsure += [
        each
        for each in _list_quoted(project, paths, name)
        if (each.path, each.start) not in judged and (each.path == owner.path or not is_private)
    ]
    return MemberUses(
        owner=owner,
        proven=tuple(proven),
        other=tuple(other),
        unsure=tuple(unsure),
        troubles=(
            *_list_troubles(project, found, owner, paths, is_private),
            # The compiler keeps a private member to its class, and `(x as any).name` is past the compiler.
            *(doubt("unproven_member", each.path, each) for each in untold),
        ),
    )


def find_owner(project: Project, path: str, member: Member) -> Owner | None:
    """The class behind one place; None where it cannot be known."""
    facts = project.look(path)
    if is_python(path):
        return None
    if member.receiver == "this" and member.index != NONE:
        is_static = member.role == "declaration" and _is_marked(project, path, facts, member, b"static")
        return Owner(path=path, index=member.index, is_static=is_static)
    if member.receiver != "use":
        return None
    used = facts.uses[member.index]
    itself = _find_class(project, path, used)
    if itself is not None:
        return Owner(path=itself[0], index=itself[1], is_static=True)
    named = _find_annotation(project, path, facts, used)
    there = None if named is None else _find_class(project, path, named)
    return None if there is None else Owner(path=there[0], index=there[1], is_static=False)


def list_taken(project: Project, uses: MemberUses, name: str) -> Iterator[Reference]:
    """Places that name another member of the class, or of a class that has a base and may inherit from it."""
    for path, place in _list_places(project, project.slots.candidates(name), name):
        there = find_owner(project, path, place) if isinstance(place, Member) else None
        if there is None:
            continue
        is_heir = _HERITAGE.search(_definition(project, there).signature) is not None
        if is_heir or (there.path, there.index) == (uses.owner.path, uses.owner.index):
            yield refer(path, place, "member")


def _find_declaring(project: Project, found: Found) -> Owner | None:
    for member in project.look(found.path).members:
        if member.start == found.definition.start and member.role == "declaration":
            return find_owner(project, found.path, member) if member.receiver == "this" else None
    return None


def _find_class(project: Project, path: str, used: Use) -> tuple[str, int] | None:
    """The one class that a name stands for; none where declarations are merged."""
    home = None if used.binding == NONE else project.home_of(path, used.binding)
    if home is None:
        return None
    facts = project.read_facts(home.path)
    made = [at for at, each in enumerate(facts.definitions) if each.binding == home.binding]
    written = any(facts.uses[at].role == "write" for at in facts.bindings[home.binding].uses)
    if len(made) != 1 or written or facts.definitions[made[0]].kind != "class":
        return None
    return home.path, made[0]


def _find_annotation(project: Project, path: str, facts: FileFacts, used: Use) -> Use | None:
    """The class in `x: Class` or `const x = new Class()`, where x is declared once."""
    if used.binding == NONE:
        return None
    uses = [facts.uses[at] for at in facts.bindings[used.binding].uses]
    declared = [use for use in uses if use.role == "declaration"]
    text = project.source.text(path) or b""
    if len(declared) != 1:
        return None
    found = _ANNOTATED.match(text, declared[0].end)
    if found is None and _CONSTANT.search(text, max(0, declared[0].start - 20), declared[0].start):
        found = _MADE.match(text, declared[0].end)
    at = NONE if found is None else found.start(1)
    return next((use for use in facts.uses if use.start == at and use.role in ("type", "call")), None)


def _list_places(project: Project, paths: Sequence[str], name: str) -> Iterator[tuple[str, Member | Use]]:
    """Members of this name, and `{name}`, which is one in the same token."""
    for path in paths:
        facts = project.look(path)
        for member in facts.members:
            if member.name == name:
                yield path, member
        for use in facts.uses:
            if use.name == name and use.role in ("shorthand", "pattern"):
                yield path, use


def _is_other(project: Project, there: Owner, home: Definition, name: str) -> bool:
    """A class that declares the name itself, alone; one of the same name may be the same class again."""
    definition = _definition(project, there)
    is_apart = definition.name != home.name and _HERITAGE.search(definition.signature) is None
    return is_apart and any(
        each.name == name
        and each.receiver == "this"
        and each.role == "declaration"
        and find_owner(project, there.path, each) == there
        for each in project.look(there.path).members
    )


def _is_private(project: Project, found: Found) -> bool:
    is_typed = found.path.endswith(_TYPED) and ".d." not in found.path
    return is_typed and b"private" in _modifiers(project, found.path, found.definition).split()


def _is_kept_out(project: Project, path: str, start: int, owner: Owner) -> bool:
    """Whether the compiler sees that a place is not the private member: `x["name"]` it lets through."""
    home = _definition(project, owner)
    is_inside = path == owner.path and home.extent_start <= start < home.extent_end
    text = project.source.text(path) or b""
    is_quoted = text[start - 1 : start] in (b"'", b'"', b"`")
    return path.endswith(_TYPED) and ".d." not in path and not is_inside and not is_quoted


def _list_troubles(
    project: Project, found: Found, owner: Owner, paths: Sequence[str], is_private: bool
) -> Iterator[Trouble]:
    """What is not private may be reached by `x[key]` in any file, and what has a base by the base."""
    home, declared = _definition(project, owner), found.definition
    if not is_private or _HERITAGE.search(home.signature) is not None:
        yield doubt("unproven_member", found.path, declared)
    for place in project.look(owner.path).dynamic:
        if place.kind == "this" and home.extent_start <= place.start < home.extent_end:
            yield doubt("computed_member", owner.path, place)
    for each in _list_quoted(project, paths, declared.name):
        yield doubt("computed_member", each.path, each)
    yield from project.troubles(paths, [Shared(name=declared.name)])


def _list_quoted(project: Project, paths: Sequence[str], name: str) -> Iterator[Reference]:
    """`Object.defineProperty(C.prototype, "name", …)`: a text that may name the member."""
    spelled = re.compile(rb"(['\"`])" + re.escape(name.encode()) + rb"\1")
    for path in paths:
        for each in spelled.finditer(project.source.text(path) or b""):
            yield suspect(path, Span(start=each.start() + 1, end=each.end() - 1))


def _is_marked(project: Project, path: str, facts: FileFacts, member: Member, word: bytes) -> bool:
    for each in facts.definitions:
        if each.start == member.start:
            return word in _modifiers(project, path, each).split()
    return False


def _modifiers(project: Project, path: str, definition: Definition) -> bytes:
    """What stands before the name, on its line and behind its decorators."""
    text = project.source.text(path) or b""
    found = _MODIFIERS.search(text[definition.extent_start : definition.start])
    return b"" if found is None else found[0]


def _definition(project: Project, owner: Owner) -> Definition:
    facts = project.read_facts(owner.path)
    return facts.definitions[owner.index]
