"""What still works after edits of real packages: one row per package and kind of edit, kept for the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tests.referees.equipment import NotAvailable

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "edits.json")
OWN_TESTS = "own tests"


class EditedPackage(msgspec.Struct, frozen=True, kw_only=True):
    package: str
    edit: str
    judge: str
    done: int
    refused: int
    good_before: int
    """Test files that pass, modules that load, or sources that compile."""
    broken: int
    """Those that were good and are not any more."""


def is_kept(row: EditedPackage) -> bool:
    return row.broken == 0 and row.good_before > 0 and row.done > 0


def take_per_kind(arguments: Sequence[str], usual: int) -> tuple[list[str], int]:
    """The words of a call without `--per-kind N`, and N."""
    words = list(arguments)
    at = words.index("--per-kind") if "--per-kind" in words else len(words)
    return words[:at] + words[at + 2 :], int(words[at + 1]) if at < len(words) else usual


def check_packages(checks: Mapping[str, Callable[[], EditedPackage]], arguments: Sequence[str]) -> int:
    """Check the packages that are named, else all; with `--record` the rows are kept."""
    names = [word for word in arguments if not word.startswith("--")]
    try:
        rows = [check() for name, check in checks.items() if not names or name in names]
    except NotAvailable as trouble:
        print(f"Skipped: {trouble}.")
        return 0
    if "--record" in arguments:
        keep_rows(rows)
    return 0 if all(map(is_kept, rows)) else 1


def keep_rows(rows: Sequence[EditedPackage]) -> None:
    """Put these rows in the place of older ones of the same packages, edits and judges."""
    known = {(row.edit, row.judge, row.package): row for row in [*read_rows(), *rows]}
    ordered = [known[key] for key in sorted(known)]
    with open(KEPT, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def read_rows() -> list[EditedPackage]:
    if not os.path.exists(KEPT):
        return []
    with open(KEPT, "rb") as file:
        return msgspec.json.decode(file.read(), type=list[EditedPackage])
