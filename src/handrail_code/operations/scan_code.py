"""`code.scan`: where a name is, what it is, who uses it, and what may break (CONT 4.1). Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CONFLICT, E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault, Json, Success
from handrail.contract.parameters import MintedId, PathText
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import WritePorts
from handrail_code.operations.code_answers import AskedOfCode, CodeCall
from handrail_code.operations.scanning import (
    MODES,
    AnalyzedCode,
    FileDeps,
    OutlinedFile,
    RippleOfCode,
    Scanning,
    SearchedCode,
    TraceOfCode,
)
from handrail_code.scan.search import AskedKind

COMMAND = "js-scan"
MOST_RESULTS = 200
"""Results of one page of a search or an outline."""
MOST_DEPTH = 10


class ScanCode(AskedOfCode, frozen=True, kw_only=True):
    """What to look for."""

    search: (
        Annotated[str, Meta(description="Names with this text.", min_length=1, max_length=200)] | UnsetType
    ) = UNSET
    analyze: Annotated[str, Meta(description="One in detail.", max_length=1000)] | UnsetType = UNSET
    trace: Annotated[str, Meta(description="Its callers, as a tree.", max_length=1000)] | UnsetType = UNSET
    ripple: Annotated[str, Meta(description="What may break.", max_length=1000)] | UnsetType = UNSET
    outline: Annotated[PathText, Meta(description="What it defines.", max_length=1000)] | UnsetType = UNSET
    deps: Annotated[PathText, Meta(description="Imports and importers.", max_length=1000)] | UnsetType = UNSET
    scope: Annotated[PathText, Meta(description="Only below it.", max_length=1000)] | UnsetType = UNSET
    kind: Annotated[list[AskedKind], Meta(description="Only these kinds.", max_length=6)] | UnsetType = UNSET
    hash: (
        Annotated[list[MintedId], Meta(description="Only with these hashes.", max_length=50)] | UnsetType
    ) = UNSET
    exported: Annotated[bool, Meta(description="Only exported.")] | UnsetType = UNSET
    text: Annotated[bool, Meta(description="Comments, too.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(description="Default 20.", ge=1, le=MOST_RESULTS)] | UnsetType = UNSET
    depth: Annotated[int, Meta(description="Of a trace; default 3.", ge=1, le=MOST_DEPTH)] | UnsetType = UNSET
    down: Annotated[bool, Meta(description="Trace callees.")] | UnsetType = UNSET


def scan_code(rt: WritePorts, request: ScanCode) -> Success:
    """Answer one question about the code.

    Raises Fault E_USAGE, E_NOT_FOUND, E_VALIDATION, E_IO, and what a token that is not accepted raises.
    """
    call = CodeCall(rt, request, COMMAND)
    mode = _find_mode(call.given) if call.resumed is None else ""
    return call.read(lambda source: call.perform(source, mode, Scanning(source).perform))


def _find_mode(given: Mapping[str, Json]) -> str:
    """Raises Fault E_USAGE unless the caller asks exactly one thing."""
    named = [mode for mode in MODES if mode in given]
    if len(named) == 1:
        return named[0]
    raise Fault(
        E_USAGE,
        "Ask one thing: --search, --analyze, --trace, --ripple, --outline, --deps or --continuation.",
        details={"usage": "--search TEXT"},
        hint="Begin with --search and a part of the name.",
    )


OPERATION = Operation(
    name="code.scan",
    effect="read",
    where="client",
    summary="Search JavaScript, TypeScript and Python; see uses and what may break.",
    input=ScanCode,
    output=SearchedCode,
    variants=(AnalyzedCode, TraceOfCode, RippleOfCode, OutlinedFile, FileDeps),
    perform=scan_code,
    default_sort="rank, path",
    shape=Shape(
        levels={
            "minimal": (
                *("status", "results.id", "results.file", "results.line", "results.name", "symbol.id"),
                *("complete", "warnings", "continuation_tokens"),
            ),
            "standard": None,
            "full": None,
        },
        select="top",
        untrusted=("results.signature", "symbol.signature", "doc"),
    ),
    errors=(E_CONFLICT.code, "INVALID_TOKEN", "TOKEN_EXPIRED", "ACTION_NOT_ALLOWED", "KEYRING_INVALID"),
)
