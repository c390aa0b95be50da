"""The context ledger of a run as LAFS section 8 wants it: documents, checksum chain, folded view. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote

MAX_ENTRIES = 1_000_000
"""Handrail never compacts a ledger; this number says so in the form that LAFS requires."""


class ListChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One change of a list. An item leaves only by its own `remove`."""

    action: Literal["append", "remove"]
    id: str
    value: Json = None


class ContextDelta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one accepted change altered, and nothing else."""

    objective: str | UnsetType = UNSET
    constraints: tuple[ListChange, ...] = ()
    references: tuple[ListChange, ...] = ()
    decisions: tuple[ListChange, ...] = ()
    open_issues: tuple[ListChange, ...] = ()
    state: dict[str, Json] | UnsetType = UNSET


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One accepted change; `entry_id` is the id of the event that opens it."""

    entry_id: str
    version: int
    timestamp: str
    operation: str
    context_delta: ContextDelta


class LedgerDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole ledger, for `mode=full`."""

    ledger_id: str
    version: int
    created_at: str
    updated_at: str
    entries: tuple[LedgerEntry, ...]
    checksum: str | UnsetType = UNSET
    max_entries: int = MAX_ENTRIES


class Held(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An item that a list contains, or contained until a `remove`."""

    id: str
    value: Json = None


class LedgerDelta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The entries after `from_version`, for `mode=delta`; `to_version` and `checksum` are those it
    reaches.
    """

    ledger_id: str
    mode: Literal["delta"] = "delta"
    from_version: int
    to_version: int
    entries: tuple[LedgerEntry, ...]
    removed_constraints: tuple[Held, ...] = ()
    checksum: str | UnsetType = UNSET


class LedgerSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The summary, for `mode=summary`: enough to learn whether anything changed."""

    ledger_id: str
    version: int
    checksum: str | UnsetType = UNSET
    entry_count: int


class LedgerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fold of the deltas, for `view=state`, with the seven fields of LAFS section 8."""

    objective: str = ""
    constraints: tuple[Held, ...] = ()
    references: tuple[Held, ...] = ()
    decisions: tuple[Held, ...] = ()
    open_issues: tuple[Held, ...] = ()
    state: dict[str, Json] = {}
    version: int = 0


_LISTS = ("constraints", "references", "decisions", "open_issues")
"""Fields that a delta changes item by item."""

Entry: TypeAlias = LedgerEntry | dict[str, Json]
"""An entry that Handrail made, or that a caller decoded."""


def start_checksum(ledger_id: str) -> str:
    """Return the checksum of a ledger without entries; it binds the chain to its run."""
    return digest({"ledgerId": ledger_id})


def extend_checksum(previous: str, entry: Entry) -> str:
    """Return the checksum after one more entry, in constant work; a caller can verify a delta from what it
    knows.
    """
    return digest([previous, msgspec.to_builtins(entry)])


def fold_ledger(entries: Iterable[Entry], view: LedgerView | None = None) -> LedgerView:
    """Return the view after these entries, starting from a known one or from nothing.

    Full entries and any split of them into deltas give the same view.

    Raises: Fault E_VALIDATION when an entry is malformed, or is not the one after the version
    reached.
    """
    folding = _LedgerFolding(LedgerView() if view is None else view)
    for entry in entries:
        folding.take(entry if isinstance(entry, LedgerEntry) else _typed(entry))
    return folding.view()


def removed_constraints(entries: Iterable[LedgerEntry]) -> tuple[Held, ...]:
    """Return the constraints that these entries removed and did not restore."""
    removed: dict[str, Held] = {}
    for entry in entries:
        for change in entry.context_delta.constraints:
            if change.action == "remove":
                removed[change.id] = Held(id=change.id, value=change.value)
            else:
                removed.pop(change.id, None)
    return tuple(removed.values())


class _LedgerFolding:
    """A view that is being built: an entry costs only what it changes, however large the view is."""

    def __init__(self, view: LedgerView) -> None:
        self._objective, self._state, self._version = view.objective, view.state, view.version
        self._lists = {name: {one.id: one for one in getattr(view, name)} for name in _LISTS}

    def take(self, entry: LedgerEntry) -> None:
        if entry.version != self._version + 1:
            raise Fault(
                E_VALIDATION,
                f"Ledger entry {entry.version} does not follow version {self._version}.",
                details={"expected": self._version + 1, "got": entry.version},
                hint="Fetch the entries again from the last version you have, in order and without a filter.",
            )
        delta = entry.context_delta
        self._objective = self._objective if delta.objective is UNSET else delta.objective
        self._state = self._state if delta.state is UNSET else delta.state
        self._version = entry.version
        for name, held in self._lists.items():
            changes: tuple[ListChange, ...] = getattr(delta, name)
            for change in changes:
                if change.action == "remove":
                    held.pop(change.id, None)
                else:  # a known id keeps its place and takes the new value
                    held[change.id] = Held(id=change.id, value=change.value)

    def view(self) -> LedgerView:
        lists: dict[str, Any] = {name: tuple(held.values()) for name, held in self._lists.items()}
        return LedgerView(objective=self._objective, state=self._state, version=self._version, **lists)


def _typed(entry: dict[str, Json]) -> LedgerEntry:
    try:
        return msgspec.convert(entry, LedgerEntry)
    except msgspec.ValidationError as error:
        raise Fault(
            E_VALIDATION,
            f"A ledger entry is malformed: {quote(str(error))}.",
            hint="Pass the entries as the ledger gave them.",
        ) from None
