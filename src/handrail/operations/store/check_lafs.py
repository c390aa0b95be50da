"""`lafs.check`: does a document, or a server, keep the response contract? A verdict for tool authors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_NETWORK, NOT_CONFORMANT
from handrail.contract.conformance.check import (
    LAFS_MEDIA_TYPE,
    PROBLEM_TYPE,
    DiscoveryExchanges,
    check,
    endpoints_of,
    first_operation,
    is_envelope,
    judge_card,
    judge_discovery,
    judge_envelope,
    judge_problem,
)
from handrail.contract.conformance.rules import Tier
from handrail.contract.disclosure.fields import Shape
from handrail.contract.envelopes.lafs import expand_minimal
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Answer, Call, Fault, Json, refuse_argument
from handrail.contract.parameters import PathText
from handrail.contract.wording import quote
from handrail.runtime.operation import Input, Maybe, Operation, ReportOnly
from handrail.runtime.runtime import Runtime

MOST_DOCUMENTS = 1_000
MAX_DOCUMENT_BYTES = 4_194_304
_DISCOVERY_PATH = "/.well-known/lafs.json"
_CARD_PATH = "/.well-known/agent-card.json"
_NOTHING_PATH = "/no.operation"
_NOBODYS_LEDGER = "run_000000000000"
"""An id that no run has: whatever the server says about it is an envelope without anybody's data."""

DocumentKind = Literal["auto", "lafs", "cli", "ledger", "flags", "discovery", "card"]


class Document(Input, frozen=True, kw_only=True):
    """One text to check and where it came from."""

    source: str
    text: str


class CheckLafs(Input, frozen=True, kw_only=True):
    """What to check, and how strictly."""

    documents: Maybe[
        Annotated[list[Document], Meta(description="The documents.", min_length=1, max_length=MOST_DOCUMENTS)]
    ] = UNSET
    url: Maybe[
        Annotated[
            str,
            Meta(
                description="Judge a server instead: its discovery, card, ledger, an answer and a problem; "
                "or the one address.",
                max_length=2048,
            ),
        ]
    ] = UNSET
    token_file: Maybe[
        Annotated[PathText, Meta(description="With url: the file with the token to show.", max_length=4096)]
    ] = UNSET
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
    left_out: list[str] = []
    """Of a server: what could not be judged, and why."""


def check_lafs(rt: Runtime, request: CheckLafs) -> Verdict:
    """Check every document, or what a server answers.

    Raises Fault NOT_CONFORMANT with all reports unless the caller asked for a report only.
    """
    _check_given(request)
    tier: Tier = "complete" if request.tier is UNSET else request.tier
    left_out: list[str] = []
    if request.url is UNSET:
        reports = _check_documents(request, tier)
    else:
        reports = _check_server(rt, request, tier, left_out)
    failed = [report["source"] for report in reports if not report["ok"]]
    if failed and request.report_only is not True:
        message = f"{len(failed)} of {len(reports)} documents do not conform, first {quote(failed[0])}."
        raise Fault(NOT_CONFORMANT, message, details={"reports": reports})
    return Verdict(ok=not failed, checked=len(reports), reports=reports, left_out=left_out)


def _check_given(request: CheckLafs) -> None:
    """Raises Fault VALIDATION_ERROR unless there is one thing to judge."""
    if (request.documents is UNSET) == (request.url is UNSET):
        problem = "missing" if request.url is UNSET else "goes without url"
        raise refuse_argument("Give documents to check, or the url of a server.", "documents", problem)
    for name, value in (("kind", request.kind), ("ndjson", request.ndjson)):
        if request.url is not UNSET and value is not UNSET:
            raise refuse_argument(f"{name} goes with documents only.", name, "goes with documents only")


# A server


def _check_server(rt: Runtime, request: CheckLafs, tier: Tier, left_out: list[str]) -> list[dict[str, Any]]:
    """The discovery document and what it leads to; or one address, where the url names more than a server."""
    assert isinstance(request.url, str), "a server is named by its address"
    client = rt.http_client()
    headers = {"Accept": f"{LAFS_MEDIA_TYPE}, application/json", "User-Agent": "handrail-lafs-check"}
    if request.token_file is not UNSET:
        headers["Authorization"] = f"Bearer {client.read_token(request.token_file)}"
    origin = _origin(request.url)
    if request.url.rstrip("/") != origin:
        return [msgspec.to_builtins(judge_envelope(client.ask("GET", request.url, headers), tier))]
    address = origin + _DISCOVERY_PATH
    get = client.ask("GET", address, headers)
    tagged = {**headers, "If-None-Match": get.headers.get("etag", '"none"')}
    exchanges = DiscoveryExchanges(
        get=get,
        again=client.ask("GET", address, tagged),
        head=client.ask("HEAD", address, headers),
        post=client.ask("POST", address, {**headers, "Content-Type": "application/json"}),
    )
    reports = [judge_discovery(exchanges, tier)]
    card = client.ask("GET", origin + _CARD_PATH, headers)
    if card.status == 200:
        reports.append(judge_card(card, tier))
    else:
        left_out.append(f"The agent card: {_CARD_PATH} answered with {card.status}.")
    named = endpoints_of(get)
    context, envelope = named.get("context", ""), named.get("envelope", "")
    for name, address in (
        ("ledger", f"{context}/{_NOBODYS_LEDGER}?mode=summary"),
        ("answer", f"{envelope}/{first_operation(get)}"),
    ):
        if _origin(address) != origin:  # the token is for this server alone
            left_out.append(f"The {name}: the discovery document names no address of this server for it.")
            continue
        answer = client.ask("GET", address, headers)
        if is_envelope(answer):
            reports.append(judge_envelope(answer, tier))
        else:
            left_out.append(f"The {name}: {address} answered with {answer.status} and no envelope.")
    problem = {**headers, "Accept": f"{PROBLEM_TYPE}, application/json"}
    nothing = (envelope if _origin(envelope) == origin else origin) + _NOTHING_PATH
    reports.append(judge_problem(client.ask("GET", nothing, problem), tier))
    return [msgspec.to_builtins(report) for report in reports]


def _origin(url: str) -> str:
    """Scheme and authority, as they are written."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0].partition('#')[0]}"


# Documents


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
    """The documents to check; with `ndjson` each line is one, named by its line number."""
    documents = [] if request.documents is UNSET else request.documents
    if request.ndjson is not True:
        return documents
    return [
        Document(source=f"{document.source}:{number}", text=line)
        for document in documents
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
    """The envelope that a minimal rendering stands for; the caller's own facts are unknown here."""
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
    where="companion",
    summary="Check that documents or a server conform to the response contract.",
    input=CheckLafs,
    output=Verdict,
    perform=check_lafs,
    shape=Shape(levels={"minimal": ("ok", "checked")}, drop_order=("reports",), windows=("reports",)),
    errors=("NOT_CONFORMANT", E_NETWORK.code),
)
