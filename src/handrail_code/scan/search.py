"""Where a text stands as a name: definitions first, then uses, ranked and in pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from handrail_code.facts.join import Found, Project
from handrail_code.facts.model import NONE, FileFacts, Kind, Member, Role, Span, Use
from handrail_code.facts.spelled_names import Trouble, doubt

AskedKind: TypeAlias = Literal["function", "class", "method", "variable", "type", "import"]

_KINDS: dict[AskedKind, frozenset[Kind]] = {
    "function": frozenset({"function"}),
    "class": frozenset({"class"}),
    "method": frozenset({"method", "property"}),
    "variable": frozenset({"variable", "parameter"}),
    "type": frozenset({"type", "enum", "enum_member", "namespace", "type_parameter"}),
    "import": frozenset({"import"}),
}


MOST_SKIPPED = 3
"""Skipped files that a search names as reasons; all of them are counted elsewhere."""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """One place. A definition has `found`; a use has its role and the definition around it."""

    path: str
    start: int
    end: int
    name: str
    role: str
    """`definition`, how a name is used, or `text` for a mention outside of code."""
    found: Found | None = None
    around: int = NONE


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    matches: tuple[Match, ...]
    total: int
    troubles: tuple[Trouble, ...]


def search(
    project: Project,
    text: str,
    *,
    scope: str = "",
    kinds: Collection[AskedKind] = (),
    hashes: Sequence[str] = (),
    is_exported: bool = False,
    has_text: bool = False,
    offset: int = 0,
    limit: int = 20,
) -> SearchAnswer:
    """Every name that holds the text; mentions in strings and comments only if asked for."""
    # The source names the files that can hold the text, so that one word does not read a whole project. What
    # was not read is reported as a trouble: "no match" is only as good as what was looked at.
    wanted = frozenset(kind for one in kinds for kind in _KINDS[one])
    only_definitions = bool(wanted or hashes or is_exported)
    folder = scope.removeprefix("./").rstrip("/")
    matches: list[Match] = []
    troubles: list[Trouble] = []
    for path in project.source.candidates(text):
        if folder and not _is_below(path, folder):
            continue
        facts = project.facts(path)
        if facts is None:
            troubles += project.slots.list_unread(path)
            continue
        troubles += [doubt("parse_error", path, one) for one in facts.troubles[:1]]
        for match in _definitions(path, facts, text):
            assert match.found is not None, "a definition"
            definition = match.found.definition
            fits = (not wanted or definition.kind in wanted) and (definition.exported or not is_exported)
            if fits and (not hashes or has_hash(definition.digest, hashes)):
                matches.append(match)
        if not only_definitions:
            matches += _uses(path, facts, text)
            if has_text:
                matches += _mentions(path, facts, project.source.text(path) or b"", text)
    skipped = (one.path for one in project.source.skipped() if not folder or _is_below(one.path, folder))
    troubles += [Trouble(code="skipped_file", path=path) for path in islice(skipped, MOST_SKIPPED)]
    matches.sort(key=lambda match: _rank(match, text))  # before the cut: the best come first on every page
    return SearchAnswer(
        matches=tuple(matches[offset : offset + limit]), total=len(matches), troubles=tuple(troubles)
    )


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def has_hash(digest: str, hashes: Sequence[str]) -> bool:
    """Whether the digest is one of these, or begins with one."""
    bare = digest.rpartition(":")[2]
    asked = (one.rpartition(":")[2] for one in hashes)
    return bool(bare) and any(one and bare.startswith(one) for one in asked)


def _definitions(path: str, facts: FileFacts, text: str) -> Iterator[Match]:
    for index, definition in enumerate(facts.definitions):
        if text in definition.name:
            found = Found(path=path, index=index, definition=definition)
            yield Match(
                path=path,
                start=definition.start,
                end=definition.end,
                name=definition.name,
                role="definition",
                found=found,
                around=definition.container,
            )


def _uses(path: str, facts: FileFacts, text: str) -> Iterator[Match]:
    defined = {definition.start for definition in facts.definitions}
    used = {use.start for use in facts.uses}
    named: list[Use | Member] = [*facts.uses, *(each for each in facts.members if each.start not in used)]
    for use in named:
        # The key of an object is declared by no definition; all other declarations are.
        is_defined = use.start in defined or (use.role == "declaration" and isinstance(use, Use))
        if text in use.name and not is_defined:
            yield Match(
                path=path, start=use.start, end=use.end, name=use.name, role=use.role, around=use.definition
            )
    known = defined | used | {member.start for member in facts.members}
    for name, span, role, around in _list_linked(facts):
        if span is not None and text in name and span.start not in known:
            known.add(span.start)
            yield Match(path=path, start=span.start, end=span.end, name=name, role=role, around=around)


def _list_linked(facts: FileFacts) -> Iterator[tuple[str, Span | None, Role, int]]:
    """Names of other modules, and names for others: nothing in the file itself has to use them."""
    for found in facts.imports:
        yield found.imported, found.imported_span, "import", found.definition
    for export in facts.exports:
        yield export.exported, export.exported_span, "export", export.definition
        if export.module:
            yield export.imported, export.local_span, "export", export.definition


def _mentions(path: str, facts: FileFacts, content: bytes, text: str) -> Iterator[Match]:
    """The text where no name holds it."""
    named = sorted(
        [(one.start, one.end) for one in facts.uses]
        + [(one.start, one.end) for one in facts.members]
        + [(one.start, one.end) for one in facts.definitions]
    )
    at = 0
    for found in re.finditer(re.escape(text.encode()), content):
        while at < len(named) and named[at][1] <= found.start():
            at += 1
        if at == len(named) or found.end() <= named[at][0]:
            yield Match(path=path, start=found.start(), end=found.end(), name=text, role="text")


def _rank(match: Match, text: str) -> tuple[int, bool, bool, bool, bool, str, int]:
    """Definitions over uses, exact names, definitions over imports, exported, the top of a file, path."""
    definition = None if match.found is None else match.found.definition
    group = 0 if definition is not None else 2 if match.role == "text" else 1
    return (
        group,
        match.name != text,
        definition is not None and definition.kind == "import",
        definition is None or not definition.exported,
        match.around != NONE,
        match.path,
        match.start,
    )
