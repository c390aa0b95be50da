"""What the rules promise of what a step asks for and what a reply tells (truth, section 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
