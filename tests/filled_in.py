"""What an agent does with the frame of a call: it puts its own work where the placeholder stands."""

from __future__ import annotations

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
