"""What the rules promise of workflow and contract files (truth, section 5)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
