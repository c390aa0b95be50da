"""Where callers name a parameter: `f(a=1)`. Which calls are certain, and which are not. Pure.

A parameter is two things: a local name, and a key that callers may write. Calls whose function is proven are
tokens of the parameter. Calls that may mean the function and cannot be proven make a rename unsafe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

import msgspec

from handrail.contract.outcome import make_from
from handrail_code.facts.model import NONE, Definition, FileFacts, Member, Use
from handrail_code.facts.python_words import BUILTIN_NAMES, is_python
from handrail_code.facts.source import Source
from handrail_code.facts.spelled_names import Local, Placed, Slot, Token

CALLED_FOR_US: Final = frozenset({"__init_subclass__", "__prepare__", "__class_getitem__", "__call__"})
"""Methods that a call or a class statement reaches without their name."""
MAKERS: Final = frozenset({"__init__", "__new__"})
PASSING_ON: Final = frozenset({"partial", "partialmethod"})
PLAIN_BASES: Final = frozenset({"object", "ABC", "Generic", "Protocol", "NamedTuple", "Enum", "TypedDict"})
"""Classes that call none of their subclasses' methods by keyword."""


class Unclear(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the parameter may be named, or where somebody may look at its name."""

    path: str
    start: int
    end: int
    why: str


class Keywords(msgspec.Struct, frozen=True, kw_only=True):
    tokens: tuple[Token, ...] = ()
    unclear: tuple[Unclear, ...] = ()


class _Function(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    facts: FileFacts
    definition: Definition | None
    """None for a lambda."""
    parameter: str
    target: Slot | None
    """What a call of it calls: the function, or the class that it makes objects of."""
    names: frozenset[str]
    """Under which it may be called by whoever cannot be proven to call it."""
    is_passed_on: bool


class Names(Protocol):
    """What the search for callers asks of `PythonNames`."""

    @property
    def facts(self) -> Callable[[str], FileFacts]: ...
    @property
    def source(self) -> Source: ...
    def tokens(self, slot: Slot) -> Iterator[Token]: ...
    def slot_of_binding(self, path: str, binding: int) -> Slot: ...
    def slot_of_callee(self, path: str, facts: FileFacts, member: Member) -> Slot | None: ...
    def definition_of(self, slot: Slot) -> tuple[FileFacts, int] | None: ...


def find_keywords(python: Names, slot: Local) -> Keywords:
    facts = python.facts(slot.path)
    declared = next(
        (
            member
            for member in facts.members
            if member.role == "keyword"
            and member.receiver == "this"
            and facts.uses[member.index].binding == slot.binding
        ),
        None,
    )
    if declared is None:  # only a place in the call tells it
        return Keywords()
    function = _describe(python, slot, facts, declared)
    unclear = [*_look_at_names(function)]
    tokens: list[Token] = []
    for path in _files(python, function):
        other = python.facts(path)
        for member in other.members:
            if member.role != "keyword" or member.receiver == "this":
                continue
            if member.name not in (function.parameter, "**"):
                continue
            found = _judge(python, function, path, other, member)
            if isinstance(found, Token):
                tokens.append(found)
            elif found is not None:
                unclear.append(found)
    return Keywords(tokens=tuple(tokens), unclear=tuple(unclear))


def _describe(python: Names, slot: Local, facts: FileFacts, declared: Member) -> _Function:
    definition = owner = facts.definitions[declared.definition] if declared.definition != NONE else None
    is_maker = definition is not None and definition.binding == NONE and definition.name in MAKERS
    names = set() if definition is None else {definition.name}
    if definition is not None and is_maker:
        owner = facts.definitions[definition.container]
        names |= {owner.name, "cls", "super", "type"}
    target: Slot | None = None
    is_passed_on = not is_maker
    if owner is not None and owner.binding != NONE:
        target = python.slot_of_binding(slot.path, owner.binding)
        is_passed_on = any(token.role == "read" for token in python.tokens(target))
    return _Function(
        path=slot.path,
        facts=facts,
        definition=definition,
        parameter=declared.name,
        target=target,
        names=frozenset(names),
        is_passed_on=is_passed_on,
    )


def _files(python: Names, function: _Function) -> list[str]:
    found = set(python.source.candidates(function.parameter))
    for name in function.names - {"cls", "super", "type"}:
        found |= set(python.source.candidates(name))
    return sorted(path for path in found if is_python(path))


def _look_at_names(function: _Function) -> Iterator[Unclear]:
    """Decorators, test tools and base classes of other people, which may know parameters by name."""
    definition, facts = function.definition, function.facts
    if definition is None:
        return
    reasons = []
    if definition.name.startswith(("test", "pytest_")):
        reasons.append("A test tool passes values to this function by the names of its parameters.")
    if definition.name in CALLED_FOR_US:
        reasons.append("Python calls this method without its name, so its callers are unknown.")
    if any(each.kind == "decorator" and each.start == definition.start for each in facts.dynamic):
        reasons.append("A decorator of this function may look at its parameters by name.")
    for why in reasons:
        yield _doubt(function.path, definition, why)
    if definition.kind != "method":
        return
    for each in _list_bases(facts, definition.container):
        is_plain = each.name in PLAIN_BASES
        if not (_is_known_base(facts, each.binding, each.name) if isinstance(each, Use) else is_plain):
            why = "A base class from elsewhere may call this method by the names of its parameters."
            yield _doubt(function.path, each, why)


def _list_bases(facts: FileFacts, owner: int) -> list[Use | Member]:
    named: list[Use | Member] = [*facts.uses, *facts.members]
    return [each for each in named if each.role == "base" and each.definition == owner]


def _doubt(path: str, place: Placed, why: str) -> Unclear:
    return Unclear(path=path, start=place.start, end=place.end, why=why)


def _is_known_base(facts: FileFacts, binding: int, name: str) -> bool:
    """Defined in this file, or one that calls nothing by keyword."""
    if name in PLAIN_BASES or name.endswith(("Error", "Exception", "Warning")):
        return True
    if binding == NONE:
        return name in BUILTIN_NAMES
    return facts.bindings[binding].kind == "class"


def _judge(
    python: Names, function: _Function, path: str, facts: FileFacts, member: Member
) -> Token | Unclear | None:
    called = _called_name(facts, member)
    callee = python.slot_of_callee(path, facts, member)
    if callee is not None and callee == function.target:
        if member.name != "**":
            return make_from(Token, member, path=path)
        return _doubt(path, member, "This call may name the parameter.")
    is_possible = called in function.names
    if callee is not None:
        # Another thing of this project or of another package: it may still hand its keywords on.
        is_maker = function.definition is not None and function.definition.name in MAKERS
        is_possible = is_maker and member.name != "**" and _may_inherit(python, callee)
        is_possible = is_possible or (function.is_passed_on and called in PASSING_ON)
    elif function.is_passed_on and member.name != "**":
        is_possible = is_possible or member.receiver in ("unknown", "use")
    return _doubt(path, member, "This call may name the parameter.") if is_possible else None


def _may_inherit(python: Names, callee: Slot) -> bool:
    """Whether what is called is a class of this project without an `__init__` of its own."""
    found = python.definition_of(callee)
    if found is None:
        return False
    facts, at = found
    if facts.definitions[at].kind != "class":
        return False
    return bool(_list_bases(facts, at)) and not any(
        each.name in MAKERS and each.container == at for each in facts.definitions
    )


def _called_name(facts: FileFacts, member: Member) -> str:
    if member.receiver == "use":
        return facts.uses[member.index].name
    if member.receiver == "member":
        return facts.members[member.index].name
    return ""
