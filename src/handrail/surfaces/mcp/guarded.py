"""Trouble of this surface as a value: the one place here where an exception becomes a failure."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from handrail.contract.catalogue import INTERNAL_ERROR
from handrail.contract.outcome import Failure, Fault, failure_of
from handrail.runtime.runtime import Runtime

_T = TypeVar("_T")


def guarded(runtime: Runtime, work: Callable[[], _T]) -> _T | Failure:
    """What the work answers; trouble is an answer too, also a defect of this surface."""
    return _tried(work, lambda: runtime.incidents.record(traceback.format_exc()))


def _tried(work: Callable[[], _T], record: Callable[[], str]) -> _T | Failure:
    try:
        return work()
    except Fault as fault:
        return failure_of(fault)
    except Exception:  # noqa: BLE001 - the protocol library would send the exception's own words to the client
        # Keeping the traceback may fail for the same reason: no memory, no descriptor.
        incident = _tried(record, str)
        return Failure(
            kind=INTERNAL_ERROR,
            message="Handrail met an error that it does not know.",
            details={"incident": incident} if isinstance(incident, str) and incident else {},
        )
