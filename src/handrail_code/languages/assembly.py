"""From what a walk found to facts, as far as it is the same in every language. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

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
        scopes=tuple(
            Scope(kind=each.kind, start=each.start, end=each.end, parent=each.parent) for each in draft.scopes
        ),
        bindings=tuple(
            Binding(
                name=each.name.removeprefix(LABEL),
                kind=each.kind,
                scope=each.scope,
                meaning=each.meaning,
                uses=tuple(order.of_binding[at]),
                inner=each.inner,
                is_exported=each.is_exported,
            )
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
    return Import(
        kind=each.kind,
        module=each.module,
        module_span=make_span(each.module_span),
        imported=each.imported,
        imported_span=make_optional_span(each.imported_span),
        binding=NONE if each.use == NONE else draft.uses[each.use].binding,
        is_type_only=each.is_type_only,
        statement=make_span(each.statement),
        definition=each.definition,
        is_followed=each.is_followed,
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
    return Definition(
        name=each.name,
        kind=each.kind,
        start=each.start,
        end=each.end,
        extent_start=start,
        extent_end=end,
        binding=binding,
        container=each.container,
        exported=is_exported,
        signature="" if head is None else _shorten(text, head, head_end),
        doc=doc,
        complexity=each.complexity,
        digest="" if head is None else hashlib.sha256(text[start:end]).hexdigest(),
    )


def _shorten(text: bytes, span: tuple[int, int], ending: str) -> str:
    start, end = span
    head = text[start : min(end, start + 4 * SIGNATURE_LENGTH)].decode(errors="ignore")
    line = " ".join(head.split()).removesuffix(ending)
    return line if len(line) <= SIGNATURE_LENGTH else line[: SIGNATURE_LENGTH - 1] + "…"
