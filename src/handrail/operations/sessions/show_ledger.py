"""`ledger.show`: the context ledger of a run: whole, only what is new, or only its present position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    LEDGER_VERSION_AHEAD,
    RUN_NOT_FOUND,
    SESSION_NOT_FOUND,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import take_first, take_newest
from handrail.contract.ids import RunId
from handrail.contract.ledger import (
    LedgerDelta,
    LedgerDocument,
    LedgerEntry,
    LedgerSummary,
    LedgerView,
    extend_checksum,
    fold_ledger,
    removed_constraints,
    start_checksum,
)
from handrail.contract.outcome import Fault, Json, LedgerRef, NextCall, Page, Success, refuse_argument
from handrail.contract.parameters import MintedId, TokenText
from handrail.contract.wording import quote
from handrail.operations.finding import FoundRun, find_run
from handrail.projections.ledger import ledger_entries
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import PAGE_BYTES, page_of, read_place
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow, require_healthy

DEFAULT_LIMIT = 100
MOST_ENTRIES = 1_000
MOST_OFFSET = 10**9
MOST_PATTERNS = 50
LIST_BYTES = 8_192
"""Most bytes of each list in the state: the newest that fit."""
_LISTS = {
    "constraints": "constraints",
    "references": "references",
    "decisions": "decisions",
    "open_issues": "openIssues",
}

Mode: TypeAlias = Literal["full", "delta", "summary"]

_PATTERN = re.compile(r"!?[a-z_]+\.([a-z_]+|\*)")


class ShowLedger(Input, frozen=True, kw_only=True):
    """The run, and how much of its ledger."""

    run_id: Annotated[MintedId, Meta(description="Run id.", min_length=1, max_length=128)]
    mode: Maybe[Annotated[Mode, Meta(description="How much; default full.")]] = UNSET
    since_version: Maybe[
        Annotated[int, Meta(description="With delta: the version you have.", ge=0, le=MOST_OFFSET)]
    ] = UNSET
    filter_by_operation: Maybe[
        Annotated[str, Meta(description="Only these operations: exact, run.* or !run.*.", max_length=2_000)]
    ] = UNSET
    without_checksum: Maybe[Annotated[bool, Meta(description="Leave the checksum out.")]] = UNSET
    view: Maybe[
        Annotated[Literal["entries", "state"], Meta(description="state: what all entries add up to.")]
    ] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Entries per page.", ge=1, le=MOST_ENTRIES)]] = UNSET
    offset: Maybe[Annotated[int, Meta(description="With full: entries to skip.", ge=0, le=MOST_OFFSET)]] = (
        UNSET
    )
    cursor: Maybe[Annotated[TokenText, Meta(description="With delta: next_cursor of the page before.")]] = (
        UNSET
    )


class ShownView(LedgerView, frozen=True, kw_only=True):
    """`view=state` as it is shown: the newest items of each list that fit."""

    omitted: dict[str, int] | UnsetType = UNSET
    """Number of items left out of each list, if any. The entries have all of them."""


class _Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """The whole ledger; `checksums[k]` is the one after k entries."""

    run_id: RunId
    entries: tuple[LedgerEntry, ...]
    checksums: tuple[str, ...]
    created_at: str
    updated_at: str

    @property
    def version(self) -> int:
        return len(self.entries)


def show_ledger(rt: ReadPorts, request: ShowLedger) -> Success:
    """Return the ledger. Raise Fault RUN_NOT_FOUND, VALIDATION_ERROR,
    LEDGER_VERSION_AHEAD or SESSION_NOT_HEALTHY.
    """
    mode: Mode = "full" if request.mode is UNSET else request.mode
    patterns = _patterns(request)
    _check_fitting(request, mode)
    ledger = _ledger(rt, _find(rt, request.run_id))
    if request.view == "state":
        return _success(ledger, _show(fold_ledger(ledger.entries)))
    match mode:
        case "full":
            return _full(ledger, request, patterns)
        case "delta":
            return _delta(rt, ledger, request, patterns)
        case "summary":
            return _success(
                ledger,
                LedgerSummary(
                    ledger_id=ledger.run_id,
                    version=ledger.version,
                    checksum=_checksum(request, ledger, ledger.version),
                    entry_count=ledger.version,
                ),
            )
        case never:
            assert_never(never)


def _show(view: LedgerView) -> ShownView:
    """Return the view with the newest items of each list that fit, and the number of those left out."""
    held = msgspec.structs.asdict(view)
    lists = {name: take_newest(reversed(held[name]), LIST_BYTES)[0] for name in _LISTS}
    omitted = {name: len(held[name]) - len(shown) for name, shown in lists.items()}
    left = {_LISTS[name]: count for name, count in omitted.items() if count}
    return ShownView(**held | {name: tuple(shown) for name, shown in lists.items()}, omitted=left or UNSET)


def _find(rt: ReadPorts, asked: str) -> FoundRun:
    try:
        found = find_run(rt, asked)
    except Fault as fault:
        if fault.kind is not SESSION_NOT_FOUND:
            raise
        raise Fault(
            RUN_NOT_FOUND,
            f"There is no run {quote(asked)} in this store.",
            details={"run_id": asked[:128]},
            next_call=NextCall(operation="session.list", params={}),
        ) from fault
    require_healthy(found.session)
    return found


def _ledger(rt: ReadPorts, found: FoundRun) -> _Ledger:
    history, run = found.session.history, found.run
    loaded = rt.log.load(history.session_id)
    assert loaded is not None, "a session that was just read is there"
    name = load_pinned_workflow(rt.log, run.workflow_hash).name
    entries = tuple(ledger_entries(history, loaded.records[: history.head], run.run_id, name))
    checksums = [start_checksum(run.run_id)]
    for entry in entries:
        checksums.append(extend_checksum(checksums[-1], entry))
    return _Ledger(
        run_id=run.run_id,
        entries=entries,
        checksums=tuple(checksums),
        created_at=run.started_at,
        updated_at=entries[-1].timestamp,
    )


def _full(ledger: _Ledger, request: ShowLedger, patterns: Sequence[str]) -> Success:
    chosen = [entry for entry in ledger.entries if _fits(entry, patterns)]
    limit = DEFAULT_LIMIT if request.limit is UNSET else request.limit
    offset = 0 if request.offset is UNSET else request.offset
    document = LedgerDocument(
        ledger_id=ledger.run_id,
        version=ledger.version,
        created_at=ledger.created_at,
        updated_at=ledger.updated_at,
        entries=(),
        checksum=_checksum(request, ledger, ledger.version),
    )
    window = [msgspec.to_builtins(entry) for entry in chosen[offset : offset + limit]]
    fitting, _ = take_first(window, PAGE_BYTES)
    items = tuple(fitting or window[:1])
    page = Page(
        items=items,
        list_key="entries",
        style="offset",
        limit=limit,
        offset=offset,
        has_more=offset + len(items) < len(chosen),
        total=len(chosen),
    )
    return _success(ledger, document, page)


def _delta(rt: ReadPorts, ledger: _Ledger, request: ShowLedger, patterns: Sequence[str]) -> Success:
    assert request.since_version is not UNSET, "a delta without a version was refused"
    since = request.since_version
    if since > ledger.version:
        raise Fault(
            LEDGER_VERSION_AHEAD,
            f"The ledger is at version {ledger.version}; {since} is ahead of it.",
            details={"since_version": since, "version": ledger.version},
            next_call=NextCall(operation="ledger.show", params={"runId": request.run_id, "mode": "summary"}),
        )
    before = read_place(rt, OPERATION, request)
    reached = since if before is None else int(before[0])
    limit = DEFAULT_LIMIT if request.limit is UNSET else request.limit
    chosen = [entry for entry in ledger.entries[reached:] if _fits(entry, patterns)]
    page = page_of(
        rt, OPERATION, msgspec.structs.replace(request, limit=limit), chosen, _sort_key, lambda entry: entry
    )
    until = page.items[-1]["version"] if page.has_more else ledger.version
    document = LedgerDelta(
        ledger_id=ledger.run_id,
        from_version=reached,
        to_version=until,
        entries=(),
        removed_constraints=removed_constraints(ledger.entries[reached:until]),
        checksum=_checksum(request, ledger, until),
    )
    return _success(ledger, document, msgspec.structs.replace(page, list_key="entries", is_whole=True))


def _success(ledger: _Ledger, document: msgspec.Struct, page: Page | None = None) -> Success:
    data: dict[str, Json] = msgspec.to_builtins(document)
    if page is not None:
        data["entries"] = []  # reserves its place among the keys; the page fills it
    place = LedgerRef(ledger_id=ledger.run_id, version=ledger.version, previous_version=ledger.version)
    return Success(data=data, page=page, ledger=place)


def _checksum(request: ShowLedger, ledger: _Ledger, version: int) -> str | UnsetType:
    return UNSET if request.without_checksum is True else ledger.checksums[version]


def _sort_key(entry: LedgerEntry) -> tuple[str, ...]:
    return (f"{entry.version:012d}", entry.entry_id)


def _patterns(request: ShowLedger) -> tuple[str, ...]:
    if request.filter_by_operation is UNSET:
        return ()
    patterns = tuple(part.strip() for part in request.filter_by_operation.split(","))
    if len(patterns) > MOST_PATTERNS or not all(map(_PATTERN.fullmatch, patterns)):
        raise _unfitting("filterByOperation", "is not a list of operations", "run.start, run.* or !run.*")
    return patterns


def _fits(entry: LedgerEntry, patterns: Sequence[str]) -> bool:
    """Whether an entry matches a wanted pattern and no unwanted one; without wanted patterns, all match."""
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    if any(fnmatchcase(entry.operation, pattern) for pattern in unwanted):
        return False
    return not wanted or any(fnmatchcase(entry.operation, pattern) for pattern in wanted)


def _check_fitting(request: ShowLedger, mode: Mode) -> None:
    """Check that each parameter has a meaning in this mode."""
    if mode == "delta" and request.since_version is UNSET:
        raise _unfitting("sinceVersion", "is missing", "the version you have, 0 for all")
    for name, value, only in (
        ("sinceVersion", request.since_version, "delta"),
        ("cursor", request.cursor, "delta"),
        ("offset", request.offset, "full"),
    ):
        if value is not UNSET and mode != only:
            raise _unfitting(name, f"goes with mode {only} only", "")
    if request.view == "state" and mode != "full":
        raise _unfitting("view", "state goes with mode full only", "")


def _unfitting(name: str, problem: str, expected: str) -> Fault:
    return refuse_argument(f"{name} {problem}.", name, problem, expected)


OPERATION = Operation(
    name="ledger.show",
    effect="read",
    summary="Show the context ledger of a run: whole, what is new, or only where it stands.",
    input=ShowLedger,
    output=LedgerDocument,
    variants=(LedgerDelta, LedgerSummary, ShownView),
    perform=show_ledger,
    shape=Shape(
        rows="entries",
        untrusted=(
            *("entries.contextDelta", "removedConstraints"),
            *("objective", "constraints", "references", "decisions", "openIssues"),
        ),
    ),
    default_sort="version, entryId",
    errors=(
        "RUN_NOT_FOUND",
        "LEDGER_VERSION_AHEAD",
        "SESSION_NOT_HEALTHY",
        "STORE_CORRUPT",
        "WORK_LIMIT_EXCEEDED",
    ),
)
