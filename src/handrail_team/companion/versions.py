"""Companion and server say their versions in each call: those of one major version go together."""

from __future__ import annotations

from handrail import __version__
from handrail.contract.catalogue import VERSION_UNSUPPORTED
from handrail.contract.outcome import Fault


def require_same_major(other: str, whose: str) -> None:
    """Raises Fault VERSION_UNSUPPORTED unless both have the same major version."""
    own = __version__.partition(".")[0]
    if other.partition(".")[0] == own:
        return
    raise Fault(
        VERSION_UNSUPPORTED,
        f"The companion and the server have different versions: {__version__} here, {other} there.",
        details={"requested": other[:40], "supported": [__version__]},
        hint=f"Update the older one: {whose} with handrail update.",
    )
