"""What the rules promise of forks, unsound sessions, repeated acks and bounded replies (truth, section 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
