"""The questions of `code.scan`, each answered on one state of the files."""

# ruff: noqa: PLC0415 - each question loads its own code

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from handrail.contract.outcome import Answer, Json, make_from
from handrail.contract.tokens.continuation import NextAction
from handrail_code.facts.join import Found, Level, Project, Reference
from handrail_code.facts.model import NONE
from handrail_code.facts.source import line_and_column
from handrail_code.facts.spelled_names import Trouble, doubt
from handrail_code.operations.code_answers import (
    BareAnswer,
    CodeAnswer,
    Offer,
    UnsurePlace,
    describe_unsure,
    offer_locate,
)
from handrail_code.operations.named_symbols import (
    FoundCode,
    Wanted,
    check_file,
    check_scope,
    describe_definition,
    describe_nothing,
    list_definitions,
    narrow,
    refuse_unknown,
)
from handrail_code.operations.project_source import ProjectSource
from handrail_code.scan.ids import make_id
from handrail_code.scan.search import Match, search

if TYPE_CHECKING:
    from handrail_code.scan.callers import Linked
    from handrail_code.scan.outline import Dependency


class SearchResult(FoundCode, frozen=True, kw_only=True):
    """One match. A use has no id and no hash: its `signature` is its line, its `container` is around it."""

    match: str
    """`definition`, how the name is used, or `text`."""


class SearchedCode(CodeAnswer, frozen=True, kw_only=True):
    """Where a text is part of a name."""

    results: list[SearchResult]
    count: int
    total: int
    has_more: bool
    message: str
    """What to do when there is nothing, or too much to choose; else empty."""


class LinkedCode(Answer, frozen=True, kw_only=True):
    """Another definition, or the top of a file."""

    id: str
    name: str
    file: str
    line: int
    """Where the call is."""
    count: int


class AnalyzedCode(CodeAnswer, frozen=True, kw_only=True):
    """One definition in detail."""

    symbol: FoundCode
    doc: str
    parameters: list[str]
    complexity: int
    """Decisions in its body plus one; 0 without a body."""
    calls: list[LinkedCode]
    call_count: int
    callers: list[LinkedCode]
    caller_count: int
    exported_as: list[str]
    imported_by: list[str]
    tests: list[str]
    references: dict[str, int]
    """How many of each level: exact, alias, member, possible."""
    unsure: list[UnsurePlace]
    unsure_count: int


class TracedCode(Answer, frozen=True, kw_only=True):
    """One definition of a tree; the ones above it come before it."""

    index: int
    parent: int
    """The index of the definition above it; -1 for the one that was asked about."""
    depth: int
    id: str
    name: str
    file: str
    lines: list[int]
    """Where the calls are, in the file of the caller."""
    repeated: bool
    """It is in the tree already, and is not followed again."""


class TraceOfCode(CodeAnswer, frozen=True, kw_only=True):
    """Callers, or callees, as a tree."""

    symbol: FoundCode
    depth: int
    tree: list[TracedCode]
    left_out: int
    unsure: list[UnsurePlace]
    unsure_count: int


class RippleLayer(Answer, frozen=True, kw_only=True):
    """Files that are equally far away."""

    distance: int
    files: list[str]
    file_count: int


class RippleOfCode(CodeAnswer, frozen=True, kw_only=True):
    """What may break."""

    symbol: FoundCode
    score: int
    """0 to 100, by the formula in the documentation."""
    risk: Literal["low", "medium", "high"]
    layers: list[RippleLayer]
    entry_points: list[str]
    tests: list[str]
    unsure: list[UnsurePlace]
    unsure_count: int


class OutlinedFile(CodeAnswer, frozen=True, kw_only=True):
    """The definitions of a file."""

    file: str
    results: list[FoundCode]
    count: int
    total: int
    has_more: bool


class FileLink(Answer, frozen=True, kw_only=True):
    """One module or importer."""

    module: str
    file: str
    """Empty for a package, and where `resolved` is false."""
    resolved: bool
    line: int
    names: list[str]


class FileDeps(CodeAnswer, frozen=True, kw_only=True):
    """What a file takes and gives."""

    file: str
    imports: list[FileLink]
    exports: list[str]
    importers: list[FileLink]
    importer_count: int


USUAL_RESULTS = 20
MOST_LISTED = 100
"""Callers, callees, importers and files that one answer names; the others are counted."""
MOST_UNSURE = 50
"""Unsure places that one answer names; the others are counted."""
USUAL_DEPTH = 3
_ANALYZED = 3
"""Results of a search that get a token of their own; the others are reached by their ids."""
_LINE_LENGTH = 160
_SEVERAL = "Several definitions have this name: which one? Take its id or its token."
MODES = ("search", "analyze", "trace", "ripple", "outline", "deps")


class Scanning:
    """One call on one state of the files."""

    def __init__(self, source: ProjectSource) -> None:
        self._source = source
        self._project = Project(source)

    def perform(self, action: str, asked: Mapping[str, Json]) -> BareAnswer:
        match action:
            case "search" | "more" | "back":
                return self._search(asked)
            case "outline":
                return self._outline(asked)
            case "deps":
                return self._list_deps(asked)
            case _:
                return self._about_one(action, asked)

    def _search(self, asked: Mapping[str, Json]) -> BareAnswer:
        limit = int(asked.get("limit", USUAL_RESULTS))
        offset = int(asked.get("offset", 0))
        text = str(asked.get("search", ""))
        found = search(
            self._project,
            text,
            scope=check_scope(self._source, str(asked.get("scope", ""))),
            kinds=asked.get("kind", ()),
            hashes=asked.get("hash", ()),
            is_exported=asked.get("exported") is True,
            has_text=asked.get("text") is True,
            offset=offset,
            limit=limit,
        )
        results = [self._describe_match(match) for match in found.matches]
        parameters = {name: value for name, value in asked.items() if name not in ("target", "offset")}
        if offset:
            parameters["offset"] = offset
        offers = self._offer_results([match.found for match in found.matches])
        if offset + len(results) < found.total:
            more = NextAction(id="more", label="Next results")
            offers.append(Offer(action=more, parameters={"offset": offset + len(results)}))
        message = "" if found.total else describe_nothing(self._source)
        return BareAnswer(
            kind=SearchedCode,
            fields=_page(results, found.total, offset) | {"message": message},
            results=msgspec.to_builtins(results),
            action="search",
            parameters=parameters,
            offers=offers,
            reasons=describe_unsure(self._source, found.troubles),
        )

    def _describe_match(self, match: Match) -> SearchResult:
        if match.found is not None:
            described = msgspec.structs.asdict(describe_definition(self._source, match.found))
            is_import = match.found.definition.kind == "import"  # it names what is defined elsewhere
            return SearchResult(**described, match="import" if is_import else "definition")
        text = self._source.text(match.path) or b""
        line, column = line_and_column(text, match.start)
        facts = self._project.facts(match.path)
        around = "" if facts is None or match.around < 0 else facts.definitions[match.around].name
        return SearchResult(
            id="",
            file=match.path,
            line=line,
            column=column,
            end_line=line,
            span=[match.start, match.end],
            kind="reference",
            name=match.name,
            container=around,
            exported=False,
            signature=_show_line(text, match.start),
            hash="",
            match=match.role,
        )

    def _about_one(self, action: str, asked: Mapping[str, Json]) -> BareAnswer:
        """Analyze, trace or ripple. A name of several definitions answers with those to choose from."""
        named = str(asked.get("target", "") or asked.get(action, ""))
        wanted = Wanted(
            name=named,
            hashes=() if "target" in asked else tuple(asked.get("hash", ())),
        )
        listed = narrow(self._source, list_definitions(self._source, wanted))
        if not listed:
            raise refuse_unknown(self._source, wanted)
        if len(listed) > 1:
            return self._let_choose(listed)
        found = listed[0]
        parameters = {name: value for name, value in asked.items() if name not in MODES[1:]}
        if "search" not in asked:
            parameters[action] = make_id(found)
        parameters["target"] = make_id(found)
        match action:
            case "trace":
                return self._trace(found, parameters)
            case "ripple":
                return self._ripple(found, parameters)
            case _:
                return self._analyze(found, parameters)

    def _let_choose(self, listed: Sequence[Found]) -> BareAnswer:
        shown = listed[:USUAL_RESULTS]
        results = [
            SearchResult(**msgspec.structs.asdict(describe_definition(self._source, one)), match="definition")
            for one in shown
        ]
        return BareAnswer(
            kind=SearchedCode,
            fields=_page(results, len(listed)) | {"message": _SEVERAL},
            results=msgspec.to_builtins(results),
            action="search",
            parameters={"search": shown[0].definition.name},
            offers=self._offer_results(list(shown)),
        )

    def _analyze(self, found: Found, parameters: dict[str, Json]) -> BareAnswer:
        from handrail_code.scan.callers import find_callers, find_uses, is_test, list_callees

        project, own, binding = self._project, found.path, found.definition.binding
        facts, used = project.read_facts(own), find_uses(project, found)
        callers, called = find_callers(project, found, used), list_callees(project, found)
        unsure = list(dict.fromkeys([*used.unsure, *callers.unsure]))
        users = {one.path for one in used.sure} - {own}
        importing = {one.path for one in used.sure if one.role == "import"} - {own}
        exported = {one.exported for one in facts.exports if binding != NONE and one.binding == binding}
        inside = (one for one in facts.definitions if one.container == found.index)
        fields = {
            "symbol": describe_definition(self._source, found),
            "doc": found.definition.doc,
            "parameters": [one.name for one in inside if one.kind == "parameter"],
            "complexity": found.definition.complexity,
            "calls": [self._link(one) for one in called[:MOST_LISTED]],
            "call_count": len(called),
            "callers": [self._link(one) for one in callers.known[:MOST_LISTED]],
            "caller_count": len(callers.known),
            "exported_as": sorted(exported),
            "imported_by": sorted(importing)[:MOST_LISTED],
            "tests": sorted(path for path in users if is_test(path))[:MOST_LISTED],
            "references": dict.fromkeys(get_args(Level), 0) | Counter(one.level for one in used.items),
            **self._describe_unsure(unsure),
        }
        return self._describe(AnalyzedCode, "analyze", fields, parameters, callers.troubles, found)

    def _trace(self, found: Found, parameters: dict[str, Json]) -> BareAnswer:
        from handrail_code.scan.callers import trace_callees, trace_callers

        is_down = parameters.get("down") is True
        depth = int(parameters.get("depth", USUAL_DEPTH))
        traced = (trace_callees if is_down else trace_callers)(self._project, found, depth)
        fields = {
            "symbol": describe_definition(self._source, found),
            "depth": depth,
            "tree": [self._describe_node(index, node) for index, node in enumerate(traced.nodes)],
            "left_out": traced.left_out,
            **self._describe_unsure(traced.unsure),
        }
        return self._describe(TraceOfCode, "trace", fields, parameters, traced.troubles, found)

    def _ripple(self, found: Found, parameters: dict[str, Json]) -> BareAnswer:
        from handrail_code.scan.outline import ModuleGraph, ripple

        reach = ripple(self._project, ModuleGraph(self._project), found)
        fields = {
            "symbol": describe_definition(self._source, found),
            "score": reach.score,
            "risk": reach.risk,
            "layers": [
                RippleLayer(distance=at + 1, files=list(layer[:MOST_LISTED]), file_count=len(layer))
                for at, layer in enumerate(reach.layers)
            ],
            "entry_points": list(reach.entry_points[:MOST_LISTED]),
            "tests": list(reach.tests[:MOST_LISTED]),
            **self._describe_unsure(reach.unsure),
        }
        return self._describe(RippleOfCode, "ripple", fields, parameters, reach.troubles, found)

    def _describe(
        self,
        kind: type[CodeAnswer],
        action: str,
        fields: dict[str, Any],
        parameters: dict[str, Json],
        troubles: Sequence[Trouble],
        found: Found,
    ) -> BareAnswer:
        labels = {"analyze": "Analyze it", "trace": "Trace its callers", "ripple": "See what may break"}
        offers = [
            Offer(action=NextAction(id=name, label=label)) for name, label in labels.items() if name != action
        ]
        offers.append(offer_locate(self._source, found, "locate"))
        if "search" in parameters:
            offers.append(Offer(action=NextAction(id="back", label="Back to the search")))
        return BareAnswer(
            kind=kind,
            fields=fields,
            results=msgspec.to_builtins(fields),
            action=action,
            parameters=parameters,
            offers=offers,
            reasons=describe_unsure(self._source, troubles),
        )

    def _describe_unsure(self, unsure: Sequence[Reference | Trouble]) -> dict[str, Any]:
        return {
            "unsure": describe_unsure(self._source, unsure[:MOST_UNSURE]),
            "unsure_count": len(unsure),
        }

    def _find_line(self, path: str, start: int) -> int:
        return line_and_column(self._source.text(path) or b"", start)[0]

    def _link(self, one: Linked) -> LinkedCode:
        return make_from(
            LinkedCode,
            one,
            id="" if one.found is None else make_id(one.found),
            file=one.spot_path if one.found is None else one.found.path,
            line=self._find_line(one.spot_path, one.spots[0]),
            count=len(one.spots),
        )

    def _link_file(self, one: Dependency, place: str) -> FileLink:
        """One module or importer, named in the file `place`."""
        own = {"file": one.path, "resolved": one.is_resolved, "names": list(one.names)}
        return make_from(FileLink, one, line=self._find_line(place, one.start), **own)

    def _describe_node(self, index: int, node: Linked) -> TracedCode:
        is_elsewhere = node.found is None and bool(node.name)
        return make_from(
            TracedCode,
            node,
            index=index,
            id="" if node.found is None else make_id(node.found),
            file="" if is_elsewhere else node.spot_path if node.found is None else node.found.path,
            lines=sorted({self._find_line(node.spot_path, spot) for spot in node.spots}),
            repeated=node.is_repeated,
        )

    def _offer_results(self, found: Sequence[Found | None]) -> list[Offer]:
        """What can be done with the first results; definitions come first in every list."""
        definitions = [(at, one) for at, one in enumerate(found) if one is not None][:_ANALYZED]
        offers = [_offer_about(f"analyze:{at}", f"Analyze match #{at + 1}", one) for at, one in definitions]
        for at, one in definitions[:1]:
            offers += [
                _offer_about(f"trace:{at}", f"Trace callers of match #{at + 1}", one),
                _offer_about(f"ripple:{at}", f"See what match #{at + 1} may break", one),
                offer_locate(self._source, one, f"locate:{at}"),
            ]
        return offers

    def _outline(self, asked: Mapping[str, Json]) -> BareAnswer:
        from handrail_code.scan.outline import outline

        path = check_file(self._source, str(asked.get("outline", "")))
        facts = self._project.read_facts(path)
        listed = list(outline(path, facts))
        limit, offset = int(asked.get("limit", MOST_LISTED)), int(asked.get("offset", 0))
        shown = listed[offset : offset + limit]
        results = [describe_definition(self._source, one) for one in shown]
        offers = self._offer_results(list(shown))
        if offset + len(shown) < len(listed):
            more = NextAction(id="outline", label="The rest of the file")
            offers.append(Offer(action=more, parameters={"offset": offset + len(shown)}))
        troubles = [doubt("parse_error", path, one) for one in facts.troubles[:1]]
        return BareAnswer(
            kind=OutlinedFile,
            fields={"file": path, **_page(results, len(listed), offset)},
            results=msgspec.to_builtins(results),
            action="outline",
            parameters={"outline": path}
            | {name: asked[name] for name in ("limit", "offset") if name in asked},
            offers=offers,
            reasons=describe_unsure(self._source, troubles),
        )

    def _list_deps(self, asked: Mapping[str, Json]) -> BareAnswer:
        from handrail_code.scan.outline import ModuleGraph, list_dependencies, list_exports

        path = check_file(self._source, str(asked.get("deps", "")))
        facts = self._project.read_facts(path)
        dependencies = list_dependencies(self._project, path, facts)
        importers = ModuleGraph(self._project).importers_of(path)
        fields: dict[str, Any] = {
            "file": path,
            "imports": [self._link_file(one, path) for one in dependencies],
            "exports": list_exports(facts),
            "importers": [self._link_file(one, one.path) for one in importers[:MOST_LISTED]],
            "importer_count": len(importers),
        }
        unresolved = [
            Trouble(code="unresolved_module", path=path, start=one.start, end=one.start + 1)
            for one in dependencies
            if not one.is_resolved
        ]
        return BareAnswer(
            kind=FileDeps,
            fields=fields,
            results=msgspec.to_builtins(fields),
            action="deps",
            parameters={"deps": path},
            offers=[
                Offer(action=NextAction(id="outline", label="Its definitions"), parameters={"outline": path})
            ],
            reasons=describe_unsure(self._source, unresolved),
        )


def _page(results: Sequence[FoundCode], total: int, offset: int = 0) -> dict[str, Any]:
    has_more = offset + len(results) < total
    return {"results": results, "count": len(results), "total": total, "has_more": has_more}


def _show_line(text: bytes, offset: int) -> str:
    start = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    return text[start : end if end >= 0 else len(text)].strip()[:_LINE_LENGTH].decode("utf-8", "replace")


def _offer_about(action_id: str, label: str, found: Found) -> Offer:
    return Offer(action=NextAction(id=action_id, label=label), parameters={"target": make_id(found)})
