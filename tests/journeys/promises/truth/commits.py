"""What the rules promise of writes, disclosure and declarations of commands (truth, section 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
