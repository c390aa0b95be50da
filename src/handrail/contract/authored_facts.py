"""What is known of the place of a file before it is made. Pure."""

from __future__ import annotations

import msgspec


class FilePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a new file would go."""

    path: str
    """Absolute, with every link resolved."""
    content: bytes | None = None
    """What is there now, up to a megabyte; None when nothing is."""
    missing_directories: tuple[str, ...] = ()
    """Outermost first."""
