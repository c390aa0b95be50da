"""How long something took, by two times of the log."""

from __future__ import annotations

from datetime import datetime


def find_seconds(before: str, at: str) -> int | None:
    """Return the seconds between two times; None if one is missing or cannot be read."""
    try:
        took = datetime.fromisoformat(at) - datetime.fromisoformat(before)
    except ValueError:
        return None
    return max(0, int(took.total_seconds()))
