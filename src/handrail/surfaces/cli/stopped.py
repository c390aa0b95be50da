"""What a call says that a signal or its deadline ended before anything was committed. Pure."""

from __future__ import annotations

from handrail.contract.catalogue import E_INTERRUPTED, E_TIMEOUT
from handrail.contract.outcome import Failure
from handrail.surfaces.cli.process import Interrupted


def stopped(stop: Interrupted) -> Failure:
    """Nothing was changed, and that is certain: inside a commit nothing stops a call."""
    if stop.is_deadline:
        return Failure(
            kind=E_TIMEOUT, message="The deadline passed; nothing was changed.", details={"committed": False}
        )
    return Failure(
        kind=E_INTERRUPTED,
        message="A signal ended the call; nothing was changed.",
        details={"committed": False},
    )
