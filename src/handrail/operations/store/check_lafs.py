"""`lafs.check`: whether a document follows the response contract. A verdict for tool authors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import NOT_CONFORMANT
from handrail.contract.conformance.check import check
from handrail.contract.conformance.rules import Tier
from handrail.contract.disclosure.fields import Shape
from handrail.contract.envelopes.lafs import expand_minimal
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Answer, Call, Fault, Json
from handrail.contract.wording import quote
from handrail.runtime.operation import Input, Maybe, Operation, ReportOnly
from handrail.runtime.runtime import ReadPorts

MOST_DOCUMENTS = 1_000
MAX_DOCUMENT_BYTES = 4_194_304

DocumentKind = Literal["auto", "lafs", "cli", "ledger", "flags", "discovery", "card"]


class Document(Input, frozen=True, kw_only=True):
    """One text to check, and its origin."""

    source: str
    text: str


class CheckLafs(Input, frozen=True, kw_only=True):
    """The documents to check, and how strictly."""

    documents: Annotated[
        list[Document], Meta(description="The documents.", min_length=1, max_length=MOST_DOCUMENTS)
    ]
    kind: Maybe[Annotated[DocumentKind, Meta(description="What they are; auto looks at their keys.")]] = UNSET
    tier: Maybe[
        Annotated[
            Literal["core", "standard", "complete"], Meta(description="Adoption tier; default complete.")
        ]
    ] = UNSET
    ndjson: Maybe[Annotated[bool, Meta(description="Each line is a document of its own.")]] = UNSET
    expand_minimal: Maybe[
        Annotated[bool, Meta(description="Restore a minimal envelope before the check.")]
    ] = UNSET
    report_only: Maybe[ReportOnly] = UNSET


class Verdict(Answer, frozen=True, kw_only=True):
    """All reports; `ok` when every document conforms."""

    ok: bool
    checked: int
    reports: list[dict[str, Any]]


def check_lafs(_: ReadPorts, request: CheckLafs) -> Verdict:
    """Check every document.

    Raise Fault NOT_CONFORMANT with all reports unless the caller asked for a report only.
    """
    reports = _check_documents(request, "complete" if request.tier is UNSET else request.tier)
    failed = [report["source"] for report in reports if not report["ok"]]
    if failed and request.report_only is not True:
        message = f"{len(failed)} of {len(reports)} documents do not conform, first {quote(failed[0])}."
        raise Fault(NOT_CONFORMANT, message, details={"reports": reports})
    return Verdict(ok=not failed, checked=len(reports), reports=reports)


def _check_documents(request: CheckLafs, tier: Tier) -> list[dict[str, Any]]:
    kind = "auto" if request.kind is UNSET else request.kind
    reports = []
    for document in _split(request):
        decoded = _decode(document)
        if request.expand_minimal is True:
            decoded = _expand(decoded)
        report = msgspec.to_builtins(check(decoded, kind=kind, tier=tier))
        reports.append(report | {"source": document.source})
    return reports


def _split(request: CheckLafs) -> list[Document]:
    """Return the documents to check; with `ndjson` each line is one, named by its line number."""
    if request.ndjson is not True:
        return request.documents
    return [
        Document(source=f"{document.source}:{number}", text=line)
        for document in request.documents
        for number, line in enumerate(document.text.splitlines(), 1)
        if line.strip()
    ]


def _decode(document: Document) -> Json:
    try:
        return decode_json(document.text, max_bytes=MAX_DOCUMENT_BYTES)
    except Fault as fault:
        raise Fault(
            fault.kind, f"{quote(document.source)}: {fault.message}"[:1024], details=fault.details
        ) from fault


def _expand(document: Json) -> Json:
    """Return the envelope for a minimal rendering; facts about the caller are unknown here."""
    if not isinstance(document, dict):
        return document
    meta = document.get("_meta")
    request_id = meta.get("requestId") if isinstance(meta, dict) else None
    call = Call(
        operation="unknown.operation",
        request_id=request_id if isinstance(request_id, str) else "req_unknown",
        at="1970-01-01T00:00:00.000Z",
        transport="sdk",
    )
    return expand_minimal(document, call)


OPERATION = Operation(
    name="lafs.check",
    effect="read",
    where="client",
    summary="Check that documents conform to the response contract.",
    input=CheckLafs,
    output=Verdict,
    perform=check_lafs,
    shape=Shape(levels={"minimal": ("ok", "checked")}, drop_order=("reports",), windows=("reports",)),
    errors=("NOT_CONFORMANT",),
)
