"""Two names that a rename makes equal are written as one again: `{a: a}` as `{a}`, `a as a` as `a`. Pure.

A rename writes one token as two where only one side changes. The rename back then gives the bytes that were
there before, so it writes them as one. Only what is spelt as a rename spells it is joined: `{a:b}` and
`{"a": b}` stay two names.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.code_tools.facts.model import FileFacts, Span
from handrail.code_tools.facts.slots import Token

PAIR = b": "
ALIAS = b" as "


def rejoin(facts: FileFacts, text: bytes, token: Token, new_name: str) -> tuple[int, int] | None:
    """What goes away beside the token, or over it, so that one name is left; None where two stay."""
    spelled = new_name.encode()
    for first, second, between in _pairs(facts, text, token):
        if text[first.end : second.start] != between:
            continue
        if second.start == token.start and text[first.start : first.end] == spelled:
            return first.start, second.start
        if first.start == token.start and text[second.start : second.end] == spelled:
            return first.end, second.end
    return None


def _pairs(facts: FileFacts, text: bytes, token: Token) -> Iterator[tuple[Span, Span, bytes]]:
    """Places of two names that may be written as one; the token is one of them."""
    here = Span(start=token.start, end=token.end)
    for found in facts.imports:
        span = found.imported_span
        is_near = span is not None and token.start == span.end + len(ALIAS)
        if span is not None and is_near and token.role == "declaration":
            yield span, here, ALIAS
    for export in facts.exports:
        if export.local_span is None or export.exported_span is None:
            continue
        if export.kind == "commonjs":
            yield export.exported_span, export.local_span, PAIR
        else:
            yield export.local_span, export.exported_span, ALIAS
    for member in facts.members:
        if member.end + len(PAIR) != token.start:
            continue
        follows = text[token.end :].lstrip()[:2]
        is_last = follows[:1] in (b",", b"}")
        is_default = follows[:1] == b"=" and follows != b"=="
        is_value = token.role == "read" and member.role == "declaration" and is_last
        is_target = token.role in ("declaration", "write") and member.role == "pattern"
        if is_value or (is_target and (is_last or is_default)):
            yield Span(start=member.start, end=member.end), here, PAIR
