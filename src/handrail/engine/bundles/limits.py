"""Size limits of a bundle: export checks them before it writes, and import before it parses. Pure."""

from __future__ import annotations

import re

MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 80
"""The deepest context that a run accepts, plus the levels that a bundle puts around it."""
MOST_VALUES = 4_000_000
"""Limit for commas and opening brackets outside of texts: a wide document costs memory, not bytes."""
MOST_EVENTS = 250_000
MOST_CONTRACT_PLACES = 500_000
"""Limit for places in the schemas of all contracts of all pinned workflows; each of them is checked."""
MOST_FOLDED = 20_000_000
"""Limit for what folding copies: the facts that a node has when it gets one more, the keys of a changed
context.
"""

# An unclosed text matches up to the end; otherwise a failing match would be tried again at every quote.
_TEXTS = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'


def estimate_width(text: str | bytes) -> int:
    """Return a cheap upper bound of the width: characters inside texts count too."""
    if isinstance(text, bytes):
        return text.count(b",") + text.count(b"[") + text.count(b"{")
    return text.count(",") + text.count("[") + text.count("{")


def measure_width(text: str) -> int:
    """Return the exact width. Commas inside texts do not count."""
    return estimate_width(re.sub(_TEXTS, "", text, flags=re.DOTALL))
