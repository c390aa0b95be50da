"""What an agent does with the frame of a call: it puts its own work where the placeholder stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PLACEHOLDER = "…"


def filled_in(params: dict[str, Any], notes: str = "did it") -> dict[str, Any]:
    """The offered call with notes in place of every placeholder for text."""
    filled = _filled(params, notes)
    assert isinstance(filled, dict)
    return filled


def _filled(value: Any, notes: str) -> Any:
    if value == PLACEHOLDER or (isinstance(value, str) and value[:1] == "<" and value[-1:] == ">"):
        return notes
    if isinstance(value, dict):
        return {key: _filled(held, notes) for key, held in value.items() if key != PLACEHOLDER}
    if isinstance(value, list):
        return [_filled(held, notes) for held in value]
    return value


def make_named_files(project: str | Path) -> None:
    """The files that the printed examples speak of, so that a report may name them."""
    for name in ("src/a.py", "src/invoice.py", "tests/test_invoice.py"):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line = {number}\n" for number in range(60)), encoding="utf-8")
