"""Bytes, terminals, the index and the cost of learning (truth, sections 3 and 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
