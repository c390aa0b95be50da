"""Giving memory back to the machine after a burst. On its own, because every call would pay for `ctypes`."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def give_back_memory() -> None:
    """Free what only the collector finds, and return what the allocator keeps for later. Never raises."""
    gc.collect()
    with suppress(OSError, AttributeError):  # an allocator without this call
        ctypes.CDLL(None).malloc_trim(0)
