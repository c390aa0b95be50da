"""Members of a report that Handrail fills in: what changed, and what it executed. Pure.

An agent is never asked for what Handrail can find out. Such members are `readOnly` in the schema of a
contract. If an agent sends them anyway, they are not refused and not used. If the files could not be read,
those that the agent names are stored as `stated`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.engine.events import ChangeSum
from handrail.workflows.compiled import Contract
from handrail.workflows.contracts.own_members import FILES, list_own_members

MOST_FILES_LISTED = 100
"""Limit for the files that a report lists, the largest changes first; `filesTotal` counts all."""
MOST_RESULTS = 20

FileChange: TypeAlias = Literal["added", "modified", "deleted"]


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that changed; without lines if it is binary, or if its content was not compared."""

    path: str
    change: FileChange
    added: int | None = None
    removed: int | None = None

    @property
    def size(self) -> int:
        return (self.added or 0) + (self.removed or 0)


class Computed(msgspec.Struct, frozen=True, kw_only=True):
    """What Handrail knows of the work at the moment of a report."""

    changes: tuple[ChangedFile, ...] | None = None
    """Every file that changed since the run began; None if the files could not be read."""
    checks: tuple[dict[str, Any], ...] = ()
    """The last result of each check that Handrail executed in the run."""
    proofs: tuple[dict[str, Any], ...] = ()
    """The proofs of these files, one for each check."""


def wants_changes(contract: Contract) -> bool:
    """Whether Handrail fills in the files that changed."""
    return FILES in list_own_members(contract.schema)


def fill_in(contract: Contract, body: dict[str, Any], known: Computed | None) -> dict[str, Any]:
    """Return an artifact with what Handrail knows in place of what the agent sent. If `known` is None,
    nothing is known.
    """
    own = list_own_members(contract.schema)
    sent = drop_computed(contract, body)
    if FILES in own:
        sent |= _list_changes(sent, body.get(FILES), known)
    if known is not None:
        results = {"checks": known.checks, "proofs": known.proofs}
        sent |= {name: list(rows[:MOST_RESULTS]) for name, rows in results.items() if name in own and rows}
    return sent


def drop_computed(contract: Contract, body: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an artifact that is the agent's own, as sent or as stored."""
    own = list_own_members(contract.schema)
    if not own:
        return body
    sent = {name: value for name, value in body.items() if name not in own}
    return _lift_reasons(sent, body.get(FILES)) if FILES in own else sent


def _lift_reasons(sent: dict[str, Any], files: Any) -> dict[str, Any]:
    """Return the report with the reasons from the agent's list of files, unless it gives other reasons."""
    if sent.get("why"):
        return sent
    reasons = {row["path"]: row["why"] for row in _list_rows(files) if isinstance(row.get("why"), str)}
    without = {name: value for name, value in sent.items() if name != "why"}
    return without | ({"why": reasons} if reasons else {})


def _list_rows(files: Any) -> list[dict[str, Any]]:
    rows = files if isinstance(files, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("path"), str)]


def _name_files(why: Any) -> list[dict[str, Any]]:
    """Return a row for each file for which an agent gives a reason."""
    reasons = why if isinstance(why, dict) else {}
    return [{"path": path, "why": one} for path, one in reasons.items()]


def _list_changes(sent: Mapping[str, Any], files: Any, known: Computed | None) -> dict[str, Any]:
    if known is None or known.changes is None:
        rows = (_list_rows(files) or _name_files(sent.get("why")))[:MOST_FILES_LISTED]
        return {FILES: rows, "source": "stated"} if rows else {}
    largest = sorted(known.changes, key=lambda one: (-one.size, one.path))[:MOST_FILES_LISTED]
    why = sent.get("why")
    reasons = why if isinstance(why, dict) else {}
    total = sum_changes(known.changes)
    return {
        FILES: [_write_row(one, reasons.get(one.path)) for one in largest],
        "filesTotal": total.files,
        "linesAdded": total.added,
        "linesRemoved": total.removed,
        "source": "observed",
    }


def _write_row(one: ChangedFile, why: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "change": one.change}
    if one.added is not None and one.removed is not None:
        row |= {"added": one.added, "removed": one.removed}
    return row | ({"why": why} if isinstance(why, str) else {})


def sum_changes(changes: Sequence[ChangedFile]) -> ChangeSum:
    """Return how many files changed, and how many lines."""
    added, removed = sum(one.added or 0 for one in changes), sum(one.removed or 0 for one in changes)
    return ChangeSum(files=len(changes), added=added, removed=removed)
