"""From what a walk found to facts, as far as it is the same in every language. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from handrail_code.facts.model import NONE, Definition, Scope, Span
from handrail_code.languages.draft import FoundDefinition, FoundMember, FoundScope, FoundUse

SIGNATURE_LENGTH = 200


class Order:
    """Everything by its position in the text, which is how facts refer to each other."""

    def __init__(self, uses: Sequence[FoundUse], members: Sequence[FoundMember], bindings: int) -> None:
        self.uses = sorted(range(len(uses)), key=lambda at: (uses[at].start, uses[at].end))
        self.members = sorted(range(len(members)), key=lambda at: members[at].start)
        self.use_place = find_places(self.uses)
        self.member_place = find_places(self.members)
        self.of_binding: list[list[int]] = [[] for _ in range(bindings)]
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


def make_scopes(scopes: Sequence[FoundScope]) -> tuple[Scope, ...]:
    return tuple(Scope(kind=each.kind, start=each.start, end=each.end, parent=each.parent) for each in scopes)


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
