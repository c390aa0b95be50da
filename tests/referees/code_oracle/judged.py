"""What came of one rename that both the service and we were asked for."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Place: TypeAlias = tuple[str, int, int]
Verdict: TypeAlias = Literal["identical", "refused", "missing", "wrong"]
"""`wrong`: we would edit a place that the service leaves alone. `missing`: only the other way round."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One rename that both were asked for."""

    package: str
    kind: str
    name: str
    path: str
    start: int
    verdict: Verdict
    missing: tuple[Place, ...] = ()
    extra: tuple[Place, ...] = ()
    is_silent: bool = False
    """Said to be complete, and a place is missing that is not even listed."""
    why: str = ""
    """For a refusal its code, for a difference the explanation, empty where there is none."""
