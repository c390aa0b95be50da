"""From what a walk found to facts, as far as it is the same in every language. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from handrail_code.facts.model import (
    NONE,
    Binding,
    Definition,
    Dynamic,
    Export,
    FileFacts,
    Import,
    Language,
    Member,
    ParseTrouble,
    ReceiverKind,
    Scope,
    Span,
    Use,
)
from handrail_code.languages.draft import LABEL, FoundDefinition, FoundImport, FoundMember, FoundSoFar

SIGNATURE_LENGTH = 200
_F = TypeVar("_F", bound=msgspec.Struct)


class Order:
    """Everything by its position in the text, which is how facts refer to each other."""

    def __init__(self, draft: FoundSoFar) -> None:
        uses, members = draft.uses, draft.members
        self.uses = sorted(range(len(uses)), key=lambda at: (uses[at].start, uses[at].end))
        self.members = sorted(range(len(members)), key=lambda at: members[at].start)
        self.places: dict[ReceiverKind, list[int]] = {
            "use": find_places(self.uses),
            "member": find_places(self.members),
        }
        """Where each thing came to stand that a member may belong to."""
        self.of_binding: list[list[int]] = [[] for _ in draft.bindings]
        """The uses of each binding."""
        for place, at in enumerate(self.uses):
            if uses[at].binding != NONE:
                self.of_binding[uses[at].binding].append(place)


def find_places(order: Sequence[int]) -> list[int]:
    """Where each came to stand."""
    places = [NONE] * len(order)
    for place, at in enumerate(order):
        places[at] = place
    return places


def make_facts(
    draft: FoundSoFar,
    order: Order,
    *,
    language: Language,
    is_module: bool,
    is_commonjs: bool,
    is_declaration: bool,
    definitions: Iterable[Definition],
    imports: Iterable[FoundImport],
    exports: Iterable[Export],
    troubles: tuple[ParseTrouble, ...],
) -> FileFacts:
    """After every use has its binding."""
    dynamic = sorted(set(draft.dynamic), key=lambda each: (each[1], each[2], each[0]))
    return FileFacts(
        language=language,
        is_module=is_module,
        is_commonjs=is_commonjs,
        is_declaration=is_declaration,
        scopes=tuple(make_fact(Scope, each) for each in draft.scopes),
        bindings=tuple(
            make_fact(Binding, each, name=each.name.removeprefix(LABEL), uses=tuple(order.of_binding[at]))
            for at, each in enumerate(draft.bindings)
        ),
        definitions=tuple(definitions),
        uses=tuple(
            Use(
                name=each.name.removeprefix(LABEL),
                start=each.start,
                end=each.end,
                role=each.role,
                binding=each.binding,
                meaning=each.meaning,
                definition=each.definition,
            )
            for each in map(draft.uses.__getitem__, order.uses)
        ),
        members=tuple(_make_member(draft.members[at], order) for at in order.members),
        imports=tuple(_make_import(draft, each) for each in imports),
        exports=tuple(exports),
        dynamic=tuple(Dynamic(kind=kind, start=start, end=end) for kind, start, end in dynamic),
        troubles=troubles,
    )


def make_fact(kind: type[_F], found: object, **own: Any) -> _F:
    """What was found as a fact: with these fields of its own, and with what is called the same in both.

    Uses and members are not made so: there are many, and it would take a fifth of the time of a file.
    """
    for name in kind.__struct_fields__:
        if name not in own:
            own[name] = getattr(found, name)
    return kind(**own)


def _make_member(each: FoundMember, order: Order) -> Member:
    places = None if each.index == NONE else order.places.get(each.receiver)
    return Member(
        name=each.name,
        start=each.start,
        end=each.end,
        role=each.role,
        receiver=each.receiver,
        index=each.index if places is None else places[each.index],
        definition=each.definition,
        is_proven=each.is_proven,
    )


def _make_import(draft: FoundSoFar, each: FoundImport) -> Import:
    return make_fact(
        Import,
        each,
        module_span=make_span(each.module_span),
        imported_span=make_optional_span(each.imported_span),
        binding=NONE if each.use == NONE else draft.uses[each.use].binding,
        statement=make_span(each.statement),
    )


def make_span(span: tuple[int, int]) -> Span:
    return Span(start=span[0], end=span[1])


def make_optional_span(span: tuple[int, int] | None) -> Span | None:
    return None if span is None else make_span(span)


def make_definition(
    text: bytes,
    each: FoundDefinition,
    *,
    binding: int,
    is_exported: bool,
    doc: str,
    head: tuple[int, int] | None,
    head_end: str = "",
) -> Definition:
    """`head` is where the signature stands; None for a definition that has neither that nor a digest."""
    start, end = each.extent
    return make_fact(
        Definition,
        each,
        extent_start=start,
        extent_end=end,
        binding=binding,
        exported=is_exported,
        signature="" if head is None else _shorten(text, head, head_end),
        doc=doc,
        digest="" if head is None else hashlib.sha256(text[start:end]).hexdigest(),
        twin=0,
    )


def _shorten(text: bytes, span: tuple[int, int], ending: str) -> str:
    start, end = span
    head = text[start : min(end, start + 4 * SIGNATURE_LENGTH)].decode(errors="ignore")
    line = " ".join(head.split()).removesuffix(ending)
    return line if len(line) <= SIGNATURE_LENGTH else line[: SIGNATURE_LENGTH - 1] + "…"
