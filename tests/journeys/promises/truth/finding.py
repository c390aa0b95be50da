"""Finding the way: resume, closing a run, moved sessions (truth, sections 3 and 6)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
