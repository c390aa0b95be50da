"""What still works after edits of real packages: one row per package and kind of edit, kept for the page."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

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
