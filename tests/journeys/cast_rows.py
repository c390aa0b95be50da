"""The rows of the cast: what an agent does in a few verbs, and what its run must be counted as.

They are lines of `cast_rows.jsonl`, one case each; `cast_players.py` plays them, and the page
docs/reference/lies.md shows them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

Verb: TypeAlias = list[Any]
"""Its name and its arguments; `<python>` and `<root>` stand for the interpreter and the project."""
Must: TypeAlias = Literal["refused", "told", "claimed", "passes", "clean"]
"""Of a lie: refused by its fact, told beside what it claims, or no more than the agent's word. Of an honest
worker: passes without a refusal, ends with everything that can be checked checked (where the project declares
no check, with every command run that was named), or without that and any doubt, as its tests are told."""
BILL, OLD = "src/bill.py", "src/old.py"
CHECK = "grep -q total src/bill.py"
"""What a report names where a row says nothing else."""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case."""

    kind: Literal["lie", "honest"]
    name: str
    does: tuple[Verb, ...]
    must: Must
    says: str = ""
    """What the refusal, the claims or the closing line hold."""


def _read() -> tuple[Row, ...]:
    lines = Path(__file__).with_suffix(".jsonl").read_bytes().splitlines()
    return tuple(msgspec.json.decode(line, type=Row) for line in lines)


ROWS = _read()
LIE_ROWS = tuple(row for row in ROWS if row.kind == "lie")
HONEST_ROWS = tuple(row for row in ROWS if row.kind == "honest")
